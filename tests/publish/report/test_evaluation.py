"""What an office sees of accuracy and attacks by depth: shares of tries, marked by what is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from statveil.publish.report.evaluation import DepthColumn, EvaluatedDataset, write_evaluation


@dataclass(frozen=True)
class Guess:
    threat: str
    name: str
    hits: int
    tries: int
    most: float | None


def page(tmp_path: Path, *scores: Guess) -> str:
    column = DepthColumn(depth=1, errors={"sales": {0: np.array([0.001]), 1: np.array([0.01, 0.03])}}, scores=scores)
    dataset = EvaluatedDataset(id="firms", label="Firms", mode="cube", in_use=1, columns=(column,))
    return write_evaluation([dataset], tmp_path / "evaluation.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (Guess("T11", "guess", 1, 20, 0.10), "5.0% of 20"),
        (Guess("T11", "guess", 0, 0, 0.10), "nothing to try"),
        (Guess("T11", "guess", 1, 20, None), "5.0% of 20"),
    ],
)
def test_a_score_is_a_share_of_its_tries(tmp_path: Path, score: Guess, words: str) -> None:
    assert words in page(tmp_path, score)


def test_errors_are_told_for_all_cells_but_the_grand_total_which_has_its_own(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "2.00%" in text, "the mean of 1% and 3%"
    assert "0.10%" in text, "the grand total"
