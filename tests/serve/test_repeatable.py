"""The same numbers for ever: other machines' settings, other editions of the records, other orders (T21, F17)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from statveil.serve.config import check_config
from statveil.serve.service import TableService
from tests.serve.village import VILLAGE, Record, ask, open_village, village_content, write_village

SCRIPT = """
import sys
from pathlib import Path
from tests.serve.village import ask, open_village
print(open_village(Path(sys.argv[1]), store={"file": sys.argv[2]}).answer(ask("region", "trade", measure="units")).to_bytes().hex())
"""


def answered(folder: Path, store: str, **settings: str) -> str:
    """What a process with these settings and a store of its own answers; the counter is of the first store, so it has none here."""
    (folder / "key.counter").unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), store], env={**os.environ, **settings}, capture_output=True, text=True, check=True,
        cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    return done.stdout


def test_locale_time_zone_and_hash_seed_decide_nothing(tmp_path: Path) -> None:
    write_village(tmp_path)
    plain = answered(tmp_path, "one.sqlite", PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    assert answered(tmp_path, "two.sqlite", PYTHONHASHSEED="7", TZ="Pacific/Kiritimati", LC_ALL="tr_TR.UTF-8") == plain


def test_a_respondent_moves_the_same_way_in_every_edition(tmp_path: Path) -> None:
    """T21: six editions, values that change by less than one percent; the mean is as far from the truth as each of them."""
    changes = []
    for edition in range(6):
        rows: tuple[Record, ...] = tuple((*record[:4], record[4] + record[4] * edition // 600) for record in VILLAGE)
        answer = open_village(tmp_path, rows, id="village", store={"file": f"{edition}.sqlite"}).answer(ask("region", "trade"))
        (tmp_path / "key.counter").unlink()
        truth = next(row[4] for row in rows if row[0] == "smith")
        changes.append(int(answer.values[2, 2]) / truth - 1)
    assert answer.dimensions[0].codes[2] == "N1"
    assert len(set(np.sign(changes))) == 1
    assert abs(float(np.mean(changes))) >= 0.1


def test_two_datasets_of_one_server_share_factors_and_nothing_else(tmp_path: Path) -> None:
    write_village(tmp_path)
    content = village_content()
    content["dataset"] = [content["dataset"][0], {**content["dataset"][0], "id": "edition 2"}]
    config = check_config(content, base=tmp_path)
    service = TableService.open(config, config.key())
    one = service.answer(ask("trade"))
    two = service.answer(replace(ask("trade"), dataset="edition 2"))
    assert (one.values == two.values).all()
    assert one.hash != two.hash


def test_the_order_of_requests_does_not_change_an_answer_that_needs_no_repair(tmp_path: Path) -> None:
    queries = [ask("region"), ask("trade"), ask("region", "trade"), ask("region:part", "trade")]
    given = []
    for number, order in enumerate((queries, queries[::-1])):
        service = open_village(tmp_path, store={"file": f"{number}.sqlite"})
        answers = {service.check(query): service.answer(query).to_bytes() for query in order}
        given.append(answers)
        (tmp_path / "key.counter").unlink()
    assert given[0] == given[1]
