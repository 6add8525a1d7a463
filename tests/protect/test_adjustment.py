"""Words that are proved: what a certificate shows, what a solver claims, and what nobody knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from statveil.core.limits import Ending
from statveil.protect.adjustment import Adjustment, ending_of, how_good


def adjustment(**known: Any) -> Adjustment:
    none = np.zeros(2, dtype=np.int64)
    words: dict[str, Any] = {"trace": (), "method": "auto", "seed": 0, "seconds": 1.0, "deviation": none, "senses": none}
    return Adjustment(objective=8.0, **words, **known)


@pytest.mark.parametrize(
    ("certified", "claimed", "ending"),
    [
        (8.0, 8.0, Ending.OPTIMAL),
        (8.0 * (1 - 1e-10), 0.0, Ending.OPTIMAL),
        (8.0 * (1 - 1e-7), 0.0, Ending.FEASIBLE),
        (5.0, 8.0, Ending.CLAIMED),
        (5.0, 8.0 * (1 - 1e-7), Ending.CLAIMED),
        (5.0, 7.9, Ending.FEASIBLE),
        (0.0, 0.0, Ending.FEASIBLE),
    ],
)
def test_optimal_is_what_the_certificate_proves(certified: float, claimed: float, ending: Ending) -> None:
    assert ending_of(8.0, certified=certified, claimed=claimed) is ending


def test_nothing_changed_is_optimal_without_further_proof() -> None:
    assert ending_of(0.0, certified=0.0, claimed=0.0) is Ending.OPTIMAL


def test_a_claim_is_called_one_beside_what_is_certified() -> None:
    """Eight was found, five is certified, and a solver says that eight is the best: at most 60% above."""
    found = adjustment(bound=8.0, bound_by="solver", certified_bound=5.0, ending=Ending.CLAIMED)
    assert how_good(found) == "a solver says it is the best possible, not certified; at most 60.00% above the best possible"
    assert "proved" not in how_good(found)


def test_the_other_words() -> None:
    proved = adjustment(bound=8.0, bound_by="tree", certified_bound=8.0 * (1 - 1e-10), ending=Ending.OPTIMAL)
    assert (how_good(proved), proved.gap) == ("proved the best possible", 0.0)
    near = adjustment(bound=5.0, bound_by="cuts", certified_bound=5.0, ending=Ending.FEASIBLE)
    assert how_good(near) == "at most 60.00% above the best possible"
    unknown = adjustment(bound=8.0, bound_by="solver", ending=Ending.CLAIMED)
    assert how_good(unknown).endswith("not certified; how far from the best possible is not known")
    assert math.isinf(adjustment(bound=0.0, ending=Ending.FEASIBLE).certified_gap)
