"""What statistics can reach together: never less than a table reaches, and by hand where that is known."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.protect.keep import verdict
from statveil.protect.keep.lower_bound import Box
from statveil.protect.keep.reach import Node, Reach, ReachInTable, sum_of
from statveil.protect.keep.verdict import OutOfReach, judge
from statveil.protect.keep.wishes import Keep, targets_of
from tests.protect.keep.tables import AMPLE, small_table
from tests.protect.problems import problem_of
from tests.reference.kept import safe_tables, small_random_table, smallest_within

S = "sensitive"
CLOSE = Fraction(1, 1000)
WISHES = [
    {"mean": S, "variance": S, "slope": S},
    {"mean": S, "correlation": S},
    {"variance": S, "correlation": S, "slope": S},
    {"mean": "all", "slope": "all"},
    {"mean": S},
]


def ample() -> float:
    return 300.0


def row_of_four(level: int = 20) -> sv.ProtectionProblem:
    """Cells 100 to 400 and their total, each of the four sensitive by its level: Var = 12,500."""
    value = np.array([100, 200, 300, 400, 1000])
    levels = dict.fromkeys(range(4), level)
    return problem_of(value, [[1, 1, 1, 1, -1]], levels=levels, lower=value - 90, upper=value + 90)


def test_with_the_mean_kept_slope_and_variance_need_a_third_of_the_levels_mean_square() -> None:
    """V is 400 / 12,500 = 0.032 or more, and 2 L + V <= w with L >= -w leaves V <= 3 w: w >= 0.0107."""
    problem = row_of_four()
    (target,) = targets_of(Keep(mean=S, slope=S, variance=S, within=0.001), problem)
    shown = Reach(problem, target).least_within(CLOSE, ample)
    assert shown is not None
    assert float(shown) == pytest.approx(0.032 / 3, abs=1e-4)
    assert float(shown) <= 0.032 / 3


def test_what_a_table_keeps_is_not_excluded() -> None:
    """Up, down, down, up by 20 each: mean kept, L = 0, V = 0.032."""
    problem = row_of_four()
    (target,) = targets_of(Keep(mean=S, slope=S, variance=S, within=0.04), problem)
    for way in (Reach, ReachInTable):
        assert way(problem, target).least_within(Fraction(33, 1000), ample) is None


def test_cells_that_may_move_in_step_are_excluded_from_nothing() -> None:
    problem = dataclasses.replace(row_of_four(), lower=np.full(5, -(10**9)), upper=np.full(5, 10**9))
    (target,) = targets_of(Keep(slope=S, variance=S, within=0.001), problem)
    assert Reach(problem, target).least_within(CLOSE, ample) is None


@pytest.mark.parametrize("seed", range(5))
def test_no_distance_that_a_table_reaches_is_said_to_be_out_of_reach(seed: int) -> None:
    problem = small_random_table(seed)
    tables = safe_tables(problem)
    for wish in WISHES:
        for target in targets_of(Keep(within=0.001, **wish), problem):  # type: ignore[arg-type]
            for way in (Reach, ReachInTable):
                shown = way(problem, target).least_within(CLOSE, ample)
                assert shown is None or float(shown) <= smallest_within(target, tables)


def test_senses_and_whole_numbers_close_what_mixtures_of_moves_leave_open() -> None:
    """Three cells that move by exactly 5, 3 and 3 add up to nothing in no way; a mixture of moves does."""
    value = np.array([50, 60, 70, 180])
    problem = problem_of(value, [[1, 1, 1, -1]], levels={0: 5, 1: 3, 2: 3}, variant="exact")
    (target,) = targets_of(Keep(mean=S), problem)
    assert Reach(problem, target).least_within(CLOSE, ample) is None
    assert ReachInTable(problem, target).least_within(CLOSE, ample) == 1


@pytest.mark.parametrize("wish", WISHES[:3])
def test_whatever_the_weights_no_table_is_below_the_least(wish: dict[str, str]) -> None:
    """Random weights of the conditions and multipliers of the relations: of every safe table in the box the sum is the least or more."""
    rng = np.random.Generator(np.random.PCG64(7))
    problem, within = small_random_table(3), Fraction(1, 10)
    (target,) = targets_of(Keep(within=0.1, **wish), problem)  # type: ignore[arg-type]
    reach = ReachInTable(problem, target)
    rows = list(reach.rows(Box(-20.0, 20.0, -1.0, 1.0), within))
    node = Node(Box(-20.0, 20.0, -1.0, 1.0), reach._first_ranges())
    for _ in range(5):
        multipliers = [Fraction(each) for each in rng.normal(size=reach.reduced.rhs.size)]
        weighed = sum_of(rows, rng.random(len(rows)).tolist())
        least = reach.least(weighed, node, multipliers)
        for table in safe_tables(problem)[::50]:
            moves = table[target.cells]
            square = Fraction(int(target.size * (moves @ moves)), reach._scatter)
            values = target.value.astype(np.int64)
            linear = Fraction(int((target.size * values - values.sum()) @ moves), reach._scatter)
            here = weighed.square * square + weighed.linear * linear + weighed.total * int(moves.sum()) + weighed.constant
            assert here >= least


def test_without_time_nothing_is_claimed() -> None:
    problem = row_of_four()
    (target,) = targets_of(Keep(mean=S, slope=S, variance=S, within=0.001), problem)
    assert Reach(problem, target).least_within(CLOSE, lambda: 0.0) is None


def test_the_first_target_out_of_reach_is_told_and_no_other() -> None:
    problem = row_of_four()
    keep = Keep(slope=[S, "all"], mean=S, variance=S, within=0.001)
    heard: list[OutOfReach] = []
    judge(problem, targets_of(keep, problem), keep.within, 300.0, heard.append)
    assert {each.place for each in heard} == {0}
    assert heard[-1].least > CLOSE


@pytest.mark.slow
def test_a_verdict_names_the_smallest_distance_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a third of V: two cells go up and two down by whole numbers, which leaves 0.0131."""
    monkeypatch.setattr(verdict, "TUNING", verdict.TUNING._replace(share=1.0, most_seconds=300.0))
    with pytest.raises(sv.InfeasibleProblem, match=r"together with the mean: no safe table comes nearer than 0\.013") as failure:
        sv.adjust(row_of_four(), keep=Keep(mean=S, slope=S, variance=S, within=0.001), limits=AMPLE)
    assert failure.value.exit_code == 3
    assert "Ask for within = 0.0131 or more, or for less at once." in failure.value.hint


@pytest.mark.parametrize(("distance", "words"), [(0.0106661, "0.0107"), (0.0107, "0.0107"), (0.5, "0.5"), (0.000123401, "0.000124")])
def test_a_distance_is_rounded_up(distance: float, words: str) -> None:
    assert verdict._rounded_up(distance) == words


def test_small_tables_are_granted_what_they_can_keep() -> None:
    """The slope of the small table's sensitive cells can be kept within 0.05 (docs of `small_table`: half of each value to move)."""
    problem = small_table()
    keep = Keep(slope=S, within=0.05)
    heard: list[OutOfReach] = []
    judge(problem, targets_of(keep, problem), keep.within, 300.0, heard.append)
    assert heard == []


@pytest.mark.shared
def test_exact_levels_of_cox_and_kelly_leave_no_mean(shared_data: Path) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    heard: list[OutOfReach] = []
    judge(problem, targets_of(Keep(mean=S), problem), None, 300.0, heard.append)
    assert heard == [OutOfReach(0, Fraction(1))]
