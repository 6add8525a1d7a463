from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from statveil.server.engine.protection.reference import factors, noised
from tests.server.village import key_of

HOLDINGS = [f"H{number}" for number in range(2_000)]


def test_a_factor_is_permanent_whatever_else_is_in_the_file() -> None:
    """T21: neither the order of records nor the other holdings of a period decide it."""
    all_of_them, some = factors(key_of(), "turnover", HOLDINGS), factors(key_of(), "turnover", HOLDINGS[7:3:-1])
    assert all_of_them.sign[7:3:-1].tolist() == some.sign.tolist()
    assert all_of_them.size[7:3:-1].tolist() == some.size.tolist()


def test_factors_of_two_variables_and_of_two_keys_have_nothing_in_common() -> None:
    """T23: the ratio of two variables of one holding is not kept."""
    turnover = factors(key_of(1), "turnover", HOLDINGS)
    for other in (factors(key_of(1), "persons", HOLDINGS), factors(key_of(2), "turnover", HOLDINGS)):
        assert abs(float(np.corrcoef(turnover.sign, other.sign)[0, 1])) < 0.1
        assert abs(float(np.corrcoef(turnover.size, other.size)[0, 1])) < 0.1


def test_signs_are_even_and_sizes_fill_their_range() -> None:
    drawn = factors(key_of(), "turnover", HOLDINGS)
    assert abs(int(drawn.sign.sum())) < 200
    assert drawn.size.min() < 0.01
    assert drawn.size.max() > 0.99
    assert drawn.size.max() < 1


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=50), st.randoms(use_true_random=False))
def test_every_value_is_moved_by_the_least_share_or_more_and_never_below_zero(values: list[int], random: object) -> None:
    sign = np.array([random.choice([-1, 1]) for _ in values])  # type: ignore[attr-defined]
    size = np.array([random.random() for _ in values])  # type: ignore[attr-defined]
    moved = noised(np.array(values), sign, size, least=12, most=20)
    for value, direction, now in zip(values, sign.tolist(), moved.tolist(), strict=True):
        change = direction * (now - value)
        assert change >= Fraction(12, 100) * value
        assert change <= Fraction(20, 100) * value + 1
        assert now >= 0
