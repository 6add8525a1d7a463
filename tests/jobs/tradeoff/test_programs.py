"""The programs of the front against plain sums and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.arrays import FloatArray
from statveil.core.statistics import statistics_of
from statveil.jobs.tradeoff.front import DEFAULT, distortion_of
from statveil.jobs.tradeoff.programs import TUNING, FrontProgram, Piece, Term, largest_moves, least_moves, tangent_of, terms_of
from statveil.protect.keep.wishes import Keep, targets_of
from tests.jobs.tradeoff.stories import market

MARKET = market()
UP_AND_DOWN = np.where(MARKET.sensitive, np.where(np.cumsum(MARKET.sensitive) % 2 == 1, 1, -1), 0)


@pytest.fixture(scope="module")
def program() -> FrontProgram:
    return FrontProgram(MARKET, targets_of(DEFAULT, MARKET), UP_AND_DOWN)


def test_distortion_by_the_statistics_themselves() -> None:
    keep = Keep(mean="all", variance="sensitive", correlation="sensitive", slope="all")
    deviation = np.arange(MARKET.size) % 7 - 3
    every = statistics_of(MARKET.value, MARKET.value + deviation)
    some = statistics_of(MARKET.value, MARKET.value + deviation, subset=MARKET.sensitive)
    asked = abs(every.mean.after - every.mean.before) / every.variance.before**0.5 + abs(1 - every.slope)
    asked += 1 - some.correlation**2 + abs(some.variance_ratio - 1)
    assert distortion_of(targets_of(keep, MARKET), deviation) == pytest.approx(asked)


def test_nothing_changed_is_no_distortion() -> None:
    assert distortion_of(targets_of(DEFAULT, MARKET), np.zeros(MARKET.size, dtype=np.int64)) == 0


@given(st.lists(st.integers(-50, 50), min_size=25, max_size=25), st.lists(st.integers(-50, 50), min_size=25, max_size=25))
def test_a_tangent_of_the_variance_never_exceeds_it(first: list[int], second: list[int]) -> None:
    [target] = targets_of(Keep(variance="all"), MARKET)
    here, there = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    tangent = tangent_of(target, here)
    ratio = float(there.var()) / target.variance_before
    assert tangent.factor @ there + tangent.shift <= ratio + 1e-9
    assert tangent.factor @ here + tangent.shift == pytest.approx(float(here.var()) / target.variance_before)


def test_the_terms_are_exact_where_they_are_taken() -> None:
    targets = targets_of(DEFAULT, MARKET)
    near = least_moves(MARKET, UP_AND_DOWN)
    assert sum(told(term, near) for term in terms_at(near)) == pytest.approx(distortion_of(targets, near))


def test_the_variance_is_told_as_well_where_sensitive_cells_go_the_other_way() -> None:
    """Its distance from one, where it is below: a tangent in the deviations would take a cell's turn for four times its square."""
    near = least_moves(MARKET, UP_AND_DOWN)
    [target] = targets_of(Keep(variance="sensitive"), MARKET)
    for cell in np.flatnonzero(MARKET.sensitive):
        turned = near.copy()
        turned[cell] = -near[cell]
        [term] = terms_of(target, near, [tangent_of(target, near)], MARKET.sensitive[target.cells])
        below = 1 - statistics_of(MARKET.value, MARKET.value + turned.astype(int), subset=MARKET.sensitive).variance_ratio
        moved = turned[target.cells].mean() - near[target.cells].mean()
        assert value_of(term[-1], turned) == pytest.approx(below - moved**2 / target.variance_before)


def terms_at(near: FloatArray) -> list[Term]:
    targets = targets_of(DEFAULT, MARKET)
    return [term for each in targets for term in terms_of(each, near, [tangent_of(each, near)], MARKET.sensitive[each.cells])]


def told(term: Term, deviation: FloatArray) -> float:
    return max(0.0, *(value_of(piece, deviation) for piece in term))


def value_of(piece: Piece, deviation: FloatArray) -> float:
    own = deviation[piece.cells]
    sizes = 0.0 if piece.sizes is None else float(piece.sizes @ np.abs(own))
    return float(piece.factor @ own) + sizes + piece.shift


def test_less_distortion_costs_more_change(program: FrontProgram) -> None:
    near = least_moves(MARKET, UP_AND_DOWN)
    least = program.least_distortion(near, 1e9, seconds=300)
    assert least is not None
    loose = program.least_change(least.deviation, least.distortion * 3 + 0.05, seconds=300)
    tight = program.least_change(least.deviation, least.distortion * 1.2 + 0.001, seconds=300)
    assert loose is not None
    assert tight is not None
    assert loose.cost <= tight.cost + 1e-6
    assert tight.cost <= least.cost + 1e-6
    for point in (least, loose, tight):
        deviation = program.whole(point, seconds=300)
        assert deviation is not None
        assert MARKET.accepts(deviation)


def test_smaller_caps_for_a_little_more_change(program: FrontProgram) -> None:
    least = program.least_distortion(least_moves(MARKET, UP_AND_DOWN), 1e9, seconds=300)
    assert least is not None
    point = program.least_change(least.deviation, least.distortion * 1.5 + 0.01, seconds=300)
    assert point is not None
    tighter = program.smallest_caps(point, seconds=300)
    assert tighter is not None
    assert tighter.cost <= point.cost * (1 + TUNING.more_change) + 1e-6
    used, before = (largest_moves(MARKET, UP_AND_DOWN, each.deviation) for each in (tighter, point))
    assert float((used / before).sum()) <= 2 + 1e-6


def test_caps_are_measured_in_levels_and_in_shares_of_the_value() -> None:
    deviation = np.zeros(MARKET.size, dtype=np.int64)
    deviation[0], deviation[2] = 150, -6  # a level of 100, and a tenth of 60
    assert largest_moves(MARKET, MARKET.senses_of(deviation), deviation) == pytest.approx([1.5, 0.1])
