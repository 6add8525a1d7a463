"""Figures of a perturbation, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.records.perturb.figures import linked_share
from tests.records.perturb.stories import KEY, records, workers


def test_figures_of_microaggregation_by_hand() -> None:
    """1, 2, 3 become 2: two of three changed, spread kept apart; only the middle one is nearest to itself, and so are all of 11."""
    data = records({"id": range(6), "wage": [1, 2, 3, 10, 11, 12]})
    (figures,) = sv.perturb.perturb_records(data, [sv.perturb.Microaggregation(["wage"])]).figures
    assert figures.changed == pytest.approx(4 / 6)
    assert figures.mean == (6.5, 6.5)
    assert figures.linked == pytest.approx(2 / 6)
    assert figures.loss == pytest.approx(4 / 6 / (np.sqrt(2) * np.std([1, 2, 3, 10, 11, 12])))


def test_figures_of_pram_tell_how_sure_a_reader_is() -> None:
    (figures,) = sv.perturb.perturb_records(records(workers()), [sv.perturb.Pram(["degree"], keep=0.7)], key=KEY).figures
    share = workers()["degree"].count("none") / 400
    assert figures.sure == pytest.approx(0.7 + 0.3 * share)
    assert figures.as_json().keys() == {"column", "method", "values", "changed", "blanked", "moved", "sure"}


def test_linkage_guesses_among_equals() -> None:
    same = np.array([[1.0], [1], [2], [3]])
    assert linked_share(same, same) == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    assert linked_share(np.full((2, 1), np.nan), np.zeros((2, 1))) is None
