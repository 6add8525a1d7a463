"""Each method on the village: what it hides, and what it loses."""

from __future__ import annotations

from pathlib import Path

import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.compare import methods
from statveil.jobs.compare.compare import judged_table
from statveil.jobs.compare.methods import JudgedTable, MethodAnswer, usual_base
from tests.jobs.compare.stories import village


@pytest.mark.slow
def test_rounding_and_cell_key_publish_numbers_too_close_to_the_truth(tmp_path: Path) -> None:
    found = sv.classical.compare(village(tmp_path), methods=["rounding", "cell-key"], base=5)
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
    found = sv.classical.compare(village(tmp_path), methods=["suppression"])["suppression"]
    assert found.loss is not None
    assert found.risk is not None
    assert (found.loss.suppressed, found.loss.moved, found.loss.broken) == (4, 0, 0)
    assert found.loss.lost == pytest.approx(4 / 12)
    assert (found.risk.exact, found.risk.narrow, found.safe) == (0, 0, True)
    assert found.quality == "proved best"


def test_counts_are_perturbed_by_their_table(tmp_path: Path) -> None:
    found = sv.classical.compare(village(tmp_path, measure=""), methods=["cell-key"])
    assert found["cell-key"].parameters == "D = 5, V = 3, js = 2"
    assert usual_base(judged_table(village(tmp_path, measure=""))) == 5


@pytest.mark.slow
def test_a_method_that_fails_is_told_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(judged: JudgedTable, seconds: float) -> MethodAnswer:
        raise InputError("cannot be done")

    entries = {"bad": methods.ComparedMethod("bad", 0.1, fails), "rounding": methods.COMPARED["rounding"]}
    monkeypatch.setattr("statveil.jobs.compare.compare.COMPARED", entries)
    found = sv.classical.compare(village(tmp_path))
    assert found["bad"].failed == "cannot be done"
    assert found["rounding"].loss is not None
