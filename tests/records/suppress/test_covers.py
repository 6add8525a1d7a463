"""Cheapest and minimal covers of unsafe combinations, against all subsets of few fields."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from statveil.records.suppress.covers import cheapest_covers, maximal_sets, minimal_covers, minimal_sets

FIELDS = 5
MASKS = np.arange(1, 2**FIELDS)


def pattern(unsafe: set[int]) -> np.ndarray:
    """One bit for each combination of fields, set where it is unsafe."""
    word = np.zeros(1, dtype=np.uint64)
    for mask in unsafe:
        word[0] |= np.uint64(1) << np.uint64(mask - 1)
    return word


def covers_of(sets: list[int]) -> list[int]:
    return [cover for cover in range(2**FIELDS) if all(cover & each for each in sets)]


unsafe_sets = st.sets(st.integers(1, 2**FIELDS - 1), min_size=1, max_size=6)


@given(unsafe=unsafe_sets, cost=st.lists(st.integers(1, 20), min_size=FIELDS, max_size=FIELDS))
def test_the_cheapest_cover_is_the_cheapest_of_all_subsets(unsafe: set[int], cost: list[int]) -> None:
    price = {cover: sum(each for field, each in enumerate(cost) if cover >> field & 1) for cover in covers_of(sorted(unsafe))}
    chosen, paid = cheapest_covers(pattern(unsafe)[np.newaxis, :], MASKS, np.array(cost))
    assert paid.tolist() == [min(price.values())]
    assert price[int(chosen[0])] == int(paid[0])


@given(unsafe=unsafe_sets)
def test_minimal_and_maximal_combinations(unsafe: set[int]) -> None:
    least = [each for each in unsafe if not any(other & each == other and other != each for other in unsafe)]
    most = [each for each in unsafe if not any(other & each == each and other != each for other in unsafe)]
    assert minimal_sets(pattern(unsafe), MASKS) == sorted(least)
    assert maximal_sets(pattern(unsafe), MASKS) == sorted(most)


@given(unsafe=unsafe_sets)
def test_all_minimal_covers_are_found_or_too_many(unsafe: set[int]) -> None:
    covers = covers_of(sorted(unsafe))
    minimal = [each for each in covers if not any(other & each == other and other != each for other in covers)]
    assert minimal_covers(sorted(unsafe)) == sorted(minimal)
    assert minimal_covers([0b11111], most=4) is None
