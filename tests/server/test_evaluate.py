"""`statveil serve --evaluate`: what each depth costs and withstands, on the data served, in one page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.audit.attacks.attacker import Effort
from statveil.jobs.server_config import read_config
from statveil.server import evaluate
from statveil.server.engine.scores import known_scores
from tests.server.village import VILLAGE, write_server

LITTLE = Effort(tables=6, rows=2, sets=6, pairs=10, cells=5, reversals=1, periods=2)
RECORDS = [(f"{unit}{copy}", f"{holding}{copy}", *rest, value + 7 * copy) for copy in range(5) for unit, holding, *rest, value in VILLAGE]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["cube", "section4"])
def test_every_depth_is_measured_and_the_scores_of_the_one_in_use_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(evaluate, "TUNING", evaluate.TUNING._replace(effort=LITTLE))
    config = write_server(tmp_path, RECORDS, web={}, mode=mode, depth=1)  # type: ignore[arg-type]
    said: list[str] = []
    page = evaluate.evaluate_to(config, tmp_path / "page.html", say=said.append)
    (told,) = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["datasets"]
    assert (told["mode"], told["in_use"], told["done"]) == (mode, 1, [1, 2])
    assert [(row["depth"], row["measure"]) for row in told["accuracy"]] == [(d, m) for d in (1, 2) for m in ("turnover", "units")]
    assert [row["name"] for row in told["levels"]] == ["region: part", "region: region", "trade: lowest"]
    assert {row["id"] for row in told["attacks"]} >= {"T01", "T07", "T24"}
    assert next(row for row in told["attacks"] if row["id"] == "T01")["verdicts"][1]["status"] == "passed"
    assert [row["threat"] for row in told["scores"]][:2] == (["T01", "rivals"] if mode == "cube" else [])
    assert all("refused" not in name or "InputError" in name for depth in told["depths"] for name in depth["facts"])
    assert "as it is now" in " ".join(known_scores(read_config(config), config))
    assert not (tmp_path / "store.sqlite").exists()
    text = page.read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "")
    assert "smith" not in text
    assert any(line.startswith("Depth 2. Preparing village") for line in said)


def test_a_depth_that_is_too_large_is_told_as_that(tmp_path: Path) -> None:
    from statveil.publish.report.evaluation import DepthColumn, EvaluatedDataset, write_evaluation

    column = DepthColumn(depth=1, reason="The lattice has too many positions.")
    page = write_evaluation([EvaluatedDataset(id="d", label="D", mode="cube", in_use=1, columns=(column,))], tmp_path / "page.html")
    assert "Depth 1: The lattice has too many positions." in page.read_text(encoding="utf-8")
