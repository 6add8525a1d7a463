"""From a table to the problem: what is rounded, how far cells must and may move, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.jobs.tables.released import requirements_of
from statveil.protect.options import NO_LIMIT
from tests.audit.stories import TOTAL, A, B, C, audit, row, sensitivity_of, with_a_set

UNIT = sv.Options(weights="unit")


def ranges(problem: sv.ProtectionProblem) -> list[tuple[int | None, int | None]]:
    """Lowest and highest released value of every cell; None where there is no limit."""

    def shown(bound: int) -> int | None:
        return None if abs(bound) >= NO_LIMIT else bound

    return [(shown(int(low)), shown(int(high))) for low, high in zip(problem.lower, problem.upper, strict=True)]


# -- rounding and levels ------------------------------------------------------------------------------------------------


def test_weighted_sums_are_rounded_to_what_is_published() -> None:
    """2 x 1.25 = 2.5 and 3 x 1.5 = 4.5 are rounded to the even 2 and 4, their sum 7.0 is 7: the problem must mend that."""
    firms = pd.DataFrame({"area": ["A", "B"], "sales": [2, 3], "weight": ["1.25", "1.5"]})
    spec = sv.TableSpec(dimensions={"area": None}, measure="sales", weight="weight", decimals=0)
    table = sv.tabulate(sv.read_microdata(firms), spec)
    problem = sv.systems.build_problem(table, sensitivity_of(table), UNIT)
    assert problem.value.tolist() == [7, 2, 4]
    assert np.abs(problem.residual).tolist() == [1]


def test_levels_are_measured_from_the_exact_value() -> None:
    """10.4 - 3 = 7.4 and 10.4 + 3 = 13.4: published are 7 and 14, so the rounded 10 moves by 3 down or by 4 up."""
    table = row("10.4", "20.6", decimals=1, published=0)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: 30}), UNIT)
    assert (problem.value[A], problem.lower_level[A], problem.upper_level[A]) == (10, 3, 4)
    assert not problem.sensitive[B]
    assert problem.lower_level[B] == problem.upper_level[B] == 0


def test_thousands_are_published_in_thousands() -> None:
    table = row(10_400, 20_600, published=-3)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: (1_000, 3_000)}), UNIT)
    assert problem.value.tolist() == [31, 10, 21]
    assert (problem.lower_level[A], problem.upper_level[A]) == (1, 4)  # 9 is at or below 9.4, and 14 at or above 13.4


def test_a_cell_too_large_for_exact_arithmetic_is_refused() -> None:
    table = row(2**53, 1)
    with pytest.raises(sv.InputError, match="too large to be computed exactly"):
        sv.systems.build_problem(table, sensitivity_of(table), UNIT)


# -- signs, zeros, frozen cells -----------------------------------------------------------------------------------------


def test_cells_keep_their_sign_and_never_vanish() -> None:
    table = row(10, -20, 30)
    assert ranges(sv.systems.build_problem(table, sensitivity_of(table), UNIT)) == [(1, None), (1, None), (None, -1), (1, None)]


def test_what_rounds_to_zero_may_stay_there() -> None:
    table = row("0.4", "-0.4", "3.0", decimals=1, published=0)
    assert ranges(sv.systems.build_problem(table, sensitivity_of(table), UNIT))[A:C] == [(0, None), (None, 0)]


def test_a_zero_stays_and_a_sensitive_zero_goes_up() -> None:
    table = row(0, 0, 30)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {B: 2}), UNIT)
    assert ranges(problem)[A] == (0, 0)
    assert ranges(problem)[B] == (0, None)
    assert (bool(problem.can_go_down[B]), bool(problem.can_go_up[B])) == (False, True)


def test_a_cell_below_its_level_can_only_go_up() -> None:
    """T18: 3 - 5 is below zero, and 3 - 3 would be a zero that tells."""
    table = row(3, 3, 30)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: 5, B: 3}), UNIT)
    assert problem.can_go_down[[A, B]].tolist() == [False, False]
    assert problem.can_go_up[[A, B]].tolist() == [True, True]


def test_a_negative_cell_near_zero_can_only_go_down() -> None:
    table = row(-3, 40)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: 5}), UNIT)
    assert (bool(problem.can_go_down[A]), bool(problem.can_go_up[A])) == (True, False)


def test_a_frozen_cell_has_no_room() -> None:
    table = row(10, 20, 30)
    problem = sv.systems.build_problem(table, sensitivity_of(table, frozen=[B]), UNIT)
    assert ranges(problem) == [(1, None), (1, None), (20, 20), (1, None)]


# -- bounds -------------------------------------------------------------------------------------------------------------


def bounded(table: sv.Table, bounds: sv.Bounds, **said: object) -> list[tuple[int | None, int | None]]:
    return ranges(sv.systems.build_problem(table, sensitivity_of(table, **said), sv.Options(bounds=bounds)))  # type: ignore[arg-type]


def test_percentages_are_rounded_inwards() -> None:
    """12.5% of 10, 20 and 30 are 1.25, 2.5 and 3.75."""
    wanted = [(53, 67), (9, 11), (18, 22), (27, 33)]
    assert bounded(row(10, 20, 30), sv.Bounds(percent_down=12.5, percent_up=12.5)) == wanted


def test_percentages_are_exact_as_written() -> None:
    """0.7% of 1000 is 7, though 0.7 / 100 * 1000 is less in floating point."""
    assert bounded(row(1000, 1000), sv.Bounds(percent_up=0.7, percent_down=0.7))[A] == (993, 1007)


def test_percentages_of_a_negative_cell_are_of_its_size() -> None:
    assert bounded(row(-20, 50), sv.Bounds(percent_down=10, percent_up=25))[A] == (-22, -15)


def test_absolute_bounds_hold_for_all_cells() -> None:
    assert bounded(row(10, 20), sv.Bounds(minimum=5, maximum=35)) == [(5, 35), (5, 35), (5, 35)]


def test_absolute_bounds_never_exclude_the_value_itself() -> None:
    assert bounded(row(10, 20), sv.Bounds(minimum=15, maximum=25)) == [(15, 30), (10, 25), (15, 25)]


@pytest.mark.parametrize(("amount", "units"), [(0.29, 29), (1.1, 110), (0.57, 57), (2.01, 201)])
def test_absolute_bounds_are_exact_as_written(amount: float, units: int) -> None:
    """0.29 * 100 is less than 29 in floating point, and 1.1 * 100 more than 110."""
    assert bounded(row("0.01", "9.99", decimals=2), sv.Bounds(maximum=amount))[A] == (1, units)
    assert bounded(row("8.00", "9.99", decimals=2), sv.Bounds(minimum=amount))[A] == (units, None)


def test_absolute_bounds_are_amounts_also_when_thousands_are_published() -> None:
    assert bounded(row(10_400, 20_600, published=-3), sv.Bounds(minimum=4_500, maximum=40_900)) == [(5, 40)] * 3


def test_bounds_beyond_all_numbers_are_none() -> None:
    assert bounded(row(10, 20), sv.Bounds(minimum=-1e300, maximum=1e300, percent_up=1e300)) == [(1, None)] * 3


def test_a_sensitive_cell_can_reach_its_level_whatever_the_bounds() -> None:
    wanted = [(30, 30), (6, 13), (20, 20)]
    assert bounded(row(10, 20), sv.Bounds(percent_down=0, percent_up=0), levels={A: (4, 3)}) == wanted


def test_a_cap_limits_how_far_a_sensitive_cell_goes() -> None:
    table = row(100, 20)
    options = sv.Options(cap=1.5)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: (7, 5)}), options)
    assert ranges(problem)[A] == (90, 107)  # 1.5 x 7 = 10.5 and 1.5 x 5 = 7.5, rounded inwards
    assert ranges(problem)[B] == (1, None)


def test_a_cap_of_one_still_reaches_the_nearest_safe_value() -> None:
    table = row("10.4", "20.6", decimals=1, published=0)
    problem = sv.systems.build_problem(table, sensitivity_of(table, {A: 30}), sv.Options(cap=1))
    assert ranges(problem)[A] == (7, 14)


def test_a_cells_own_bounds_win() -> None:
    table = row("10.0", "20.0", "30.0", decimals=1, published=0)
    sensitivity = sensitivity_of(table, {A: 40}, minimum={A: 72, C: 292}, maximum={B: 214})
    problem = sv.systems.build_problem(table, sensitivity, UNIT)
    assert ranges(problem)[A:] == [(8, None), (1, 21), (30, None)]
    assert not problem.can_go_down[A]


def test_the_sum_of_a_set_that_nobody_reads_may_go_anywhere_but_beyond_its_own_bounds() -> None:
    table = with_a_set()
    both = table.unions[0].cell
    assert ranges(sv.systems.build_problem(table, sensitivity_of(table, {both: 10}), UNIT))[both] == (None, None)
    bounded = sensitivity_of(table, {both: 10}, minimum={both: 85}, maximum={both: 150})
    assert ranges(sv.systems.build_problem(table, bounded, UNIT))[both] == (85, 150)


def test_own_bounds_that_leave_no_room_are_refused_in_words() -> None:
    table = row(10, 20)
    with pytest.raises(sv.InputError, match="bound"):
        sv.systems.build_problem(table, sensitivity_of(table, frozen=[A], minimum={A: 15}), UNIT)


# -- costs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "wanted"), [("unit", [1, 1, 1]), ("inverse", [1 / 29, 1 / 4, 1 / 25]), ("inverse-sqrt", [29**-0.5, 1 / 2, 1 / 5])]
)
def test_a_change_costs_by_the_size_of_the_cell(weights: str, wanted: list[float]) -> None:
    table = row(4, 25)
    problem = sv.systems.build_problem(table, sensitivity_of(table), sv.Options(weights=weights))  # type: ignore[arg-type]
    assert problem.weight == pytest.approx(wanted)


def test_a_zero_costs_as_one_unit() -> None:
    table = row(0, 25)
    assert sv.systems.build_problem(table, sensitivity_of(table), sv.Options()).weight[A] == 1


def test_a_cost_of_the_user_replaces_the_usual_one() -> None:
    table = row(4, 25)
    assert sv.systems.build_problem(table, sensitivity_of(table, weight={B: 7.5}), UNIT).weight.tolist() == [1, 1, 7.5]


def test_costs_are_per_amount_not_per_published_unit() -> None:
    """With one decimal a unit of change is a tenth; squared, a hundredth."""
    table = row("0.4", "2.5", decimals=1)
    assert sv.systems.build_problem(table, sensitivity_of(table), UNIT).weight == pytest.approx([0.1, 0.1, 0.1])
    assert sv.systems.build_problem(table, sensitivity_of(table), sv.Options()).weight == pytest.approx([0.1 / 2.9, 0.1 / 0.4, 0.1 / 2.5])
    assert sv.systems.build_problem(table, sensitivity_of(table), sv.Options(weights="unit", norm="l2")).weight == pytest.approx([0.01] * 3)


def test_a_cell_that_stands_in_two_places_costs_twice() -> None:
    """With trade B found in the north only, the column B and its only cell are one cell with two places."""
    table = sv.table_from_cells(
        {"region": sv.Hierarchy.flat("NS"), "trade": sv.Hierarchy.flat("AB")}, {("N", "A"): 1, ("N", "B"): 2, ("S", "A"): 4}
    )
    problem = sv.systems.build_problem(table, sensitivity_of(table), UNIT)
    places = dict(zip(problem.value.tolist(), problem.weight.tolist(), strict=True))
    assert places == {7: 1, 5: 1, 2: 2, 3: 1, 1: 1, 4: 2}


# -- the problem and the audit agree ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    table: sv.Table
    sensitivity: sv.rules.Sensitivity
    options: sv.Options


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """Rows of three cells with every wish at once: decimals lost in rounding, signs, levels, bounds, caps, frozen cells."""
    lost = draw(st.integers(0, 2))
    unit = 10**lost
    numbers = draw(st.lists(st.integers(-30, 60) | st.just(0), min_size=3, max_size=3))
    table = replace(row(*(number * unit + draw(st.integers(0, unit - 1)) for number in numbers)), scale=lost, decimals=0)
    chosen = draw(st.sets(st.sampled_from([TOTAL, A, B, C])))
    levels = {cell: (unit + draw(st.integers(0, 8 * unit)), unit + draw(st.integers(0, 8 * unit))) for cell in sorted(chosen)}
    others = sorted({TOTAL, A, B, C} - chosen)
    frozen = sorted(draw(st.sets(st.sampled_from(others), max_size=1))) if others else []
    near = st.integers(-10 * unit, 10 * unit)
    sensitivity = sensitivity_of(
        table,
        levels,
        frozen=frozen,
        minimum={cell: int(table.value[cell]) - abs(draw(near)) for cell in draw(st.sets(st.sampled_from(range(4)), max_size=1))},
        maximum={cell: int(table.value[cell]) + abs(draw(near)) for cell in draw(st.sets(st.sampled_from(range(4)), max_size=1))},
    )
    percent = st.none() | st.sampled_from([0, 0.7, 12.5, 50, 130])
    amount = st.none() | st.sampled_from([-7.3, 0.1, 20, 33.35])
    low, high = draw(amount), draw(amount)
    if low is not None and high is not None and low > high:
        low, high = high, low
    bounds = sv.Bounds(percent_down=draw(percent), percent_up=draw(percent), minimum=low, maximum=high)
    options = sv.Options(
        variant=draw(st.sampled_from(["at-least", "exact"])), bounds=bounds, cap=draw(st.none() | st.sampled_from([1, 1.37, 2]))
    )
    return Asked(table, sensitivity, options)


def built(case: Asked) -> sv.ProtectionProblem:
    try:
        return sv.systems.build_problem(case.table, case.sensitivity, case.options)
    except sv.InputError:  # a frozen cell's own bounds may leave it no room
        assume(False)
        raise


@pytest.mark.slow
@given(asked(), st.data())
@settings(max_examples=200, deadline=None)
def test_the_problem_accepts_what_the_audit_passes_and_nothing_else(case: Asked, data: st.DataObject) -> None:
    problem = built(case)
    parts = [data.draw(interesting(problem, cell)) for cell in (A, B, C)]
    value = np.array([sum(parts) + data.draw(st.sampled_from([0, 0, 0, 0, 1])), *parts])
    passed = audit(case.table, value, case.sensitivity, requirements_of(case.options)).passed
    assert problem.accepts(value - problem.value) == passed


def interesting(problem: sv.ProtectionProblem, cell: int) -> st.SearchStrategy[int]:
    """Released values at and next to every edge: bounds, levels, zero, the value itself."""
    edges = [problem.free.low, problem.free.high, problem.down.high, problem.up.low]
    near = {int(edge[cell]) for edge in edges if abs(int(edge[cell])) < 10_000} | {0, -int(problem.value[cell])}
    return st.sampled_from(sorted({int(problem.value[cell]) + edge + step for edge in near for step in (-1, 0, 1)}))


@pytest.mark.slow
@given(asked())
@settings(max_examples=15, deadline=None)
def test_whatever_a_method_finds_passes_the_audit(case: Asked) -> None:
    problem = built(case)
    try:
        adjustment = sv.adjust(problem, limits=sv.Limits(seconds=60))
    except sv.InfeasibleProblem:
        return
    assert audit(case.table, problem.value + adjustment.deviation, case.sensitivity, requirements_of(case.options)).passed
