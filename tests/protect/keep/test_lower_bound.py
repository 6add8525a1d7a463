"""The bound of what keeping statistics costs: below every table that keeps them, and proved in exact fractions."""

from __future__ import annotations

import dataclasses
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.protect.fixed_senses import FixedSenses, adjust_with_senses
from statveil.protect.keep.keeping_search import KeepingMessage, KeepingTask, search_keeping
from statveil.protect.keep.lower_bound import ConvexRelaxation, LowerBoundSearch, likely_boxes, likely_senses, proved_least
from statveil.protect.keep.tabu.objective import Moments, moments_of
from statveil.protect.keep.wishes import Keep, Target, targets_of
from tests.protect.keep.tables import small_table
from tests.protect.problems import problem_of, two_way_relations, with_margins

S = "sensitive"
WITHIN = 0.05


def a_square(*, reach: int = 8) -> sv.ProtectionProblem:
    """Two rows and two columns; three cells are sensitive by 3, 4 and 2, and inner cells move by `reach` at most."""
    value = with_margins(np.array([[20, 60], [90, 30]])).ravel()
    return problem_of(value, two_way_relations(2, 2), levels={0: 3, 1: 4, 3: 2}, lower=value - reach, upper=value + reach)


def kept(asked: dict[str, str], now: Moments) -> bool:
    return not (
        ("slope" in asked and abs(now.slope - 1) > WITHIN)
        or ("variance" in asked and abs(now.variance_ratio - 1) > WITHIN)
        or ("correlation" in asked and now.correlation < 1 - WITHIN)
    )


def least_by_hand(problem: sv.ProtectionProblem, target: Target, asked: dict[str, str], reach: int) -> float:
    """Every table of four inner cells, one by one."""
    best = np.inf
    for inner in product(range(-reach, reach + 1), repeat=4):
        deviation = with_margins(np.array(inner).reshape(2, 2)).ravel()
        if problem.accepts(deviation) and kept(asked, moments_of(target, deviation[target.cells].astype(float))):
            best = min(best, problem.cost(deviation))
    return float(best)


@pytest.mark.parametrize("asked", [{"slope": S}, {"correlation": S}, {"variance": S}, {"variance": S, "correlation": S, "slope": S}])
def test_no_table_that_keeps_the_statistics_changes_less_than_the_bound(asked: dict[str, str]) -> None:
    problem = a_square(reach=6)
    target = targets_of(Keep(within=WITHIN, **asked), problem)[0]  # type: ignore[arg-type]
    least = least_by_hand(problem, target, asked, 6)
    bound = proved_least(ConvexRelaxation(problem, target, within=WITHIN, ceiling=200.0), seconds=300)
    assert 0 < bound <= least + 1e-6


@pytest.mark.slow
def test_a_ceiling_below_every_such_table_is_proved_to_be_too_low() -> None:
    """Cells that all move one way, as they must here, take more of the rest than senses that cancel out."""
    asked = {"variance": S, "correlation": S, "slope": S}
    value = with_margins(np.array([[50, 60], [70, 80]])).ravel()
    problem = problem_of(value, two_way_relations(2, 2), levels={0: 9, 1: 9, 3: 9, 4: 9}, lower=value - 40, upper=value + 40)
    target = targets_of(Keep(within=WITHIN, **asked), problem)[0]  # type: ignore[arg-type]
    plain = sv.adjust(problem, method="exact").objective
    relaxation = ConvexRelaxation(problem, target, within=WITHIN, ceiling=1.5 * plain)
    assert proved_least(relaxation, seconds=300) == relaxation.ceiling


def test_the_exact_bound_of_a_box_is_the_programs_and_any_multipliers_give_one() -> None:
    problem = small_table()
    target = targets_of(Keep(within=WITHIN, correlation=S), problem)[0]
    relaxation = ConvexRelaxation(problem, target, within=WITHIN, ceiling=1000.0)
    for box in relaxation.boxes()[::7]:
        found = relaxation.solve(box, seconds=300)
        if found is not None and found.excess < 1e-9:
            assert float(relaxation.proved(found)) == pytest.approx(found.bound, rel=1e-6)
            worse = found._replace(multipliers=np.random.Generator(np.random.PCG64(1)).normal(size=found.multipliers.size))
            assert relaxation.proved(worse) <= found.bound + 1e-6


def test_the_boxes_cover_every_sum_and_halves_make_up_their_box() -> None:
    problem = a_square()
    relaxation = ConvexRelaxation(problem, targets_of(Keep(within=WITHIN, variance=S, slope=S), problem)[0], within=WITHIN, ceiling=100.0)
    boxes = relaxation.boxes()
    assert all(one.highest == other.lowest for one, other in pairwise(boxes))
    assert boxes[0].lowest == -24  # three cells that move by 8
    one, other = relaxation.halves(boxes[0])
    assert (one.lowest, other.highest, one.highest) == (boxes[0].lowest, boxes[0].highest, other.lowest)


def test_a_search_without_time_claims_nothing() -> None:
    problem = a_square()
    relaxation = ConvexRelaxation(problem, targets_of(Keep(within=WITHIN, variance=S), problem)[0], within=WITHIN, ceiling=100.0)
    search = LowerBoundSearch(relaxation)
    assert list(search.fine_boxes(lambda: 0.0)) == []
    assert search.bound == 0
    assert proved_least(relaxation, seconds=0.0) == 0


def test_likely_senses_are_those_that_the_statistics_need() -> None:
    """Equal levels in cells that lie close together: their order is kept only where all move one way."""
    value = with_margins(np.array([[50, 60], [70, 80]])).ravel()
    problem = problem_of(value, two_way_relations(2, 2), levels={0: 9, 1: 9, 3: 9, 4: 9}, lower=value - 40, upper=value + 40)
    target = targets_of(Keep(within=WITHIN, variance=S, correlation=S, slope=S), problem)[0]
    relaxation = ConvexRelaxation(problem, target, within=WITHIN, ceiling=1000.0)
    assert likely_boxes(relaxation, lambda: 0.0) == []
    found = likely_senses(relaxation, lambda: 300.0)
    assert found
    assert all(abs(int(senses.sum())) == 4 for senses in found)


@pytest.mark.slow
def test_a_correlation_that_the_plain_tables_senses_spoil_is_kept_by_others() -> None:
    """A table that turns neighbours against each other; asked for the correlation, the search finds senses that do not."""
    rng = np.random.Generator(np.random.PCG64(3))
    inner = rng.integers(100, 140, size=(7, 7))
    value = with_margins(inner).ravel()
    own = np.arange(64).reshape(8, 8)[:7, :7].ravel()
    levels = {int(cell): 9 for cell in own}
    problem = problem_of(value, two_way_relations(7, 7), levels=levels, lower=value - 400, upper=value + 400)
    problem = dataclasses.replace(problem, lower=np.maximum(problem.lower, 0))
    keep = Keep(within=0.02, correlation=S)
    (target,) = targets_of(keep, problem)
    senses = np.where(problem.sensitive, np.where(np.arange(64) % 2, 1, -1), 0)
    plain = adjust_with_senses(FixedSenses(problem), senses, seconds=300)
    assert plain is not None

    def correlation(table: np.ndarray) -> float:
        assert problem.accepts(table)
        return moments_of(target, table[target.cells].astype(float)).correlation

    def enough(message: KeepingMessage) -> None:
        if message.table is not None and correlation(message.table) >= 0.98:
            raise StopIteration

    assert correlation(plain) < 0.9
    with pytest.raises(StopIteration):
        search_keeping(KeepingTask(problem, [target], keep, plain, problem.cost(plain), 300.0, 0), enough)


@pytest.mark.slow
@pytest.mark.shared
def test_hier13x13x13d_has_no_table_within_ten_percent_that_keeps_all_three(shared_data: Path) -> None:
    """The least change is 88,773 or less: a table of that change is known. No table of 1.1 times that keeps all within 0.005."""
    problem = sv.read_jj(shared_data / "csplib" / "hier13x13x13d.jj", weights="unit")
    target = targets_of(Keep(within=0.005, variance=S, correlation=S, slope=S), problem)[0]
    relaxation = ConvexRelaxation(problem, target, within=0.005, ceiling=1.1 * 88_773)
    assert proved_least(relaxation, seconds=600) == relaxation.ceiling
