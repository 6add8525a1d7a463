"""The methods side by side on the village: what each does to its only vet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.compare import methods
from statveil.jobs.compare.compare import MethodRow, judged_table, recommendation
from statveil.jobs.compare.folder import compare_to_folder
from statveil.jobs.compare.measures import Loss, Risk
from statveil.jobs.compare.methods import JudgedTable, MethodAnswer, usual_base
from tests.cli.stories import run
from tests.jobs.compare.stories import village


def row(name: str, lost: float, *, close: int = 0) -> MethodRow:
    loss = Loss(cells=9, suppressed=0, moved=1, lost=lost, change=lost, broken=0, correlation=1.0, slope=1.0, variance_ratio=1.0)
    return MethodRow(name=name, words=name, seconds=1.0, loss=loss, risk=Risk(sensitive=2, close=close, exact=0, narrow=0))


def test_the_safe_one_that_loses_least_is_recommended_and_the_reason_told() -> None:
    chosen, reason = recommendation([row("one", 0.2), row("two", 0.1), row("three", 0.01, close=1)])
    assert chosen == "two"
    assert "10.0%" in reason
    assert "Left out, because sensitive cells are disclosed: three." in reason


def test_none_is_recommended_where_none_is_safe() -> None:
    assert recommendation([row("one", 0.1, close=2)])[0] == ""
    assert recommendation([MethodRow(name="one", words="one", seconds=0.0, failed="no")])[0] == ""


def test_unknown_methods_and_bases_are_refused(tmp_path: Path) -> None:
    job = village(tmp_path)
    with pytest.raises(InputError, match="Known: adjustment"):
        sv.compare(job, methods=["magic"])
    with pytest.raises(InputError, match="at least 1"):
        sv.compare(job, base=0)


def test_rounding_and_cell_key_publish_numbers_too_close_to_the_truth(tmp_path: Path) -> None:
    found = sv.compare(village(tmp_path), methods=["rounding", "cell-key"], base=5)
    rounding, noise = found["rounding"], found["cell-key"]
    assert rounding.loss is not None
    assert rounding.risk is not None
    assert (rounding.loss.broken, rounding.risk.close, rounding.risk.narrow, rounding.safe) == (0, 1, 1, False)
    assert noise.loss is not None
    assert noise.loss.broken > 0
    assert found.recommended == ""


@pytest.mark.slow
def test_suppression_hides_the_only_vet_and_three_cells_with_her(tmp_path: Path) -> None:
    """Of twelve cells the vet of street A, a baker beside her, and two cells of another street: fewer show her."""
    found = sv.compare(village(tmp_path), methods=["suppression"])["suppression"]
    assert found.loss is not None
    assert found.risk is not None
    assert (found.loss.suppressed, found.loss.moved, found.loss.broken) == (4, 0, 0)
    assert found.loss.lost == pytest.approx(4 / 12)
    assert (found.risk.exact, found.risk.narrow, found.safe) == (0, 0, True)
    assert found.quality == "proved best"


def test_counts_are_perturbed_by_their_table(tmp_path: Path) -> None:
    found = sv.compare(village(tmp_path, measure=""), methods=["cell-key"])
    assert found["cell-key"].parameters == "D = 5, V = 3, js = 2"
    assert usual_base(judged_table(village(tmp_path, measure=""))) == 5


def test_a_method_that_fails_is_told_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(judged: JudgedTable, seconds: float) -> MethodAnswer:
        raise InputError("cannot be done")

    entries = {"bad": methods.ComparedMethod("bad", 0.1, fails), "rounding": methods.COMPARED["rounding"]}
    monkeypatch.setattr("statveil.jobs.compare.compare.COMPARED", entries)
    found = sv.compare(village(tmp_path))
    assert found["bad"].failed == "cannot be done"
    assert found["rounding"].loss is not None


@pytest.mark.slow
def test_all_methods_end_up_on_one_page(tmp_path: Path) -> None:
    outcome = compare_to_folder(village(tmp_path), tmp_path / "out")
    assert [each.name for each in outcome.found.rows] == list(methods.COMPARED)
    adjustment = outcome.found["adjustment"]
    assert adjustment.safe
    assert outcome.found.recommended in ("adjustment", "keep", "suppression")
    page = (tmp_path / "out" / "internal" / "compare.html").read_text(encoding="utf-8")
    assert outcome.found.reason in page.replace("&#39;", "'")
    assert "CONFIDENTIAL" in page
    figures = json.loads((tmp_path / "out" / "internal" / "compare.json").read_text(encoding="utf-8"))
    assert figures["recommended"] == outcome.found.recommended


@pytest.mark.slow
def test_the_command_shows_a_line_for_each_method(tmp_path: Path) -> None:
    village(tmp_path)
    shown = run("compare", tmp_path / "job.toml", "--methods", "rounding,cell-key", "--base", 5)
    assert shown.exit_code == 0
    assert "controlled rounding" in shown.output
    assert (tmp_path / "job-compare" / "internal" / "compare.html").is_file()
    told = run("compare", tmp_path / "job.toml", "--methods", "rounding", "--force", "--json")
    assert json.loads(told.stdout)["methods"][0]["name"] == "rounding"
