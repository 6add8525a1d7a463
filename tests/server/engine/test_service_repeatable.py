"""The same numbers for ever: other machines' settings, other editions of the records, other orders (T21, F17)."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from statveil.jobs.server_config import check_config
from statveil.server.engine.service import TableService, exact_cells
from statveil.server.web.formats import FORMATS
from tests.server.live import INSIDE, served
from tests.server.village import VILLAGE, Record, ask, open_village, village_content, write_server, write_village
from tests.server.workers.test_start_faults import TABLES, WEB

FIRST = {"STATVEIL_TEST_YEAR": "2026", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
LATER = {"STATVEIL_TEST_YEAR": "2038", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "random"}
WISHES = [
    {"dimensions": [{"id": "region"}, {"id": "trade"}], "measure": "turnover"},
    {"dimensions": [{"id": "trade"}], "measure": "units"},
    {"dimensions": [{"id": "region", "level": "part"}], "measure": "turnover", "filters": {"trade": ["food"]}},
    {"dimensions": [{"id": "region"}], "measure": "units", "totals": False},
]


@pytest.mark.slow
def test_f17_a_server_in_another_year_place_and_language_makes_the_same_bytes_anew(tmp_path: Path) -> None:
    """Not from its store: the second server has the key and the records, and an empty store. Its clock shows the end of 32-bit time."""
    write_server(tmp_path, web=WEB)
    told = []
    for number, settings in enumerate((FIRST, LATER)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("records.parquet", "regions.csv", "key", "server.toml"):
            shutil.copy(tmp_path / name, folder)
        with served(folder, folder / "server.toml", PYTHONPATH=str(INSIDE), **settings) as server, server.client() as client:
            asked = [(form.name, wish) for form in FORMATS for wish in WISHES][:: -1 if number else 1]
            answers = {(form, json.dumps(wish)): client.post(f"{TABLES}?format={form}", json=wish) for form, wish in asked}
        assert {answer.status_code for answer in answers.values()} == {200}
        assert {answer.headers["date"].split()[3] for answer in answers.values()} == {settings["STATVEIL_TEST_YEAR"]}
        told.append({name: answer.content for name, answer in answers.items()})
    assert told[0] == told[1]
    assert len(told[0]) == len(FORMATS) * len(WISHES) == 32


def test_a_respondent_moves_the_same_way_in_every_edition(tmp_path: Path) -> None:
    """T21: six editions under their own ids, values that change by less than one percent: the mean is as far off as each of them."""
    changes = []
    for edition in range(6):
        rows: tuple[Record, ...] = tuple((*record[:4], record[4] + record[4] * edition // 600) for record in VILLAGE)
        service = open_village(tmp_path, rows, id=f"village {edition}")
        answer = service.answer(replace(ask("region", "trade"), dataset=f"village {edition}"))
        truth = next(row[4] for row in rows if row[0] == "smith")
        changes.append(int(answer.values[2, 2]) / truth - 1)
    assert answer.dimensions[0].codes[2] == "N1"
    assert len(set(np.sign(changes))) == 1
    assert abs(float(np.mean(changes))) >= 0.1


def test_two_editions_on_one_server_keep_every_direction(tmp_path: Path) -> None:
    write_village(tmp_path)
    content = village_content()
    content["dataset"] = [content["dataset"][0], {**content["dataset"][0], "id": "edition 2"}]
    config = check_config(content, base=tmp_path)
    service = TableService.open(config, config.key())
    one, two = service.answer(ask("region", "trade")), service.answer(replace(ask("region", "trade"), dataset="edition 2"))
    true, sensitive = exact_cells(service, ask("region", "trade"))
    moved = [np.sign(answer.values - true)[sensitive].tolist() for answer in (one, two)]
    assert moved[0] == moved[1]
    assert one.hash != two.hash


def test_the_order_of_requests_does_not_change_an_answer(tmp_path: Path) -> None:
    queries = [ask("region"), ask("trade"), ask("region", "trade"), ask("region:part", "trade")]
    given = []
    for number, order in enumerate((queries, queries[::-1])):
        service = open_village(tmp_path, store={"file": f"{number}.sqlite"})
        answers = {service.check(query): service.answer(query).to_bytes() for query in order}
        given.append(answers)
        (tmp_path / "key.counter").unlink()
    assert given[0] == given[1]
