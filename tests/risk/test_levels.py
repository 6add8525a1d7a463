"""Levels that hide: each step by hand, and what every step promises by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

import statveil as sv
from statveil.core.errors import InputError
from statveil.core.floors import AS_GIVEN, Floors
from statveil.core.secret import SecretKey
from statveil.risk import levels
from statveil.risk.assess import assess
from statveil.risk.levels import (
    STEPS,
    TUNING,
    draw_levels,
    lift_counts,
    lift_tiny,
    raise_levels,
    still_standing_out,
    with_key,
)
from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.risk.rules.base import LIMIT
from statveil.risk.sensitivity import UNBOUNDED
from statveil.tables.table import Table, find_cell
from statveil.tables.tabulate import tabulate
from tests.risk.cells import firms, judged, levels_of, one_view, table_of

KEY, OTHER = SecretKey(b"k" * 32), SecretKey(b"o" * 32)
TENTH = Fraction(1, 10)


def at(table: Table, *codes: str) -> int:
    """The cell that stands at these codes."""
    view = table.views[0]
    wanted = [dimension.position[code] for dimension, code in zip(view.dimensions, codes, strict=True)]
    return int(view.cell[np.flatnonzero((view.coordinates == wanted).all(axis=1))[0]])


# The wishes.


def test_the_key_of_the_floors_is_their_own_or_the_offices_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_key(Floors(key=KEY), make=False).key is KEY
    assert with_key(Floors(key=KEY, scheme="exact"), make=False) == Floors(scheme="exact")
    monkeypatch.setenv("STATVEIL_KEY", "6f" * 32)
    office = with_key(Floors(cap=2), make=False)
    assert (office.cap, office.key.fingerprint if office.key else None) == (2, OTHER.fingerprint)


# Small counts.


def people(**towns: int) -> pd.DataFrame:
    return pd.DataFrame({"town": [town for town, count in towns.items() for _ in range(count)]})


def of_towns(frame: pd.DataFrame, **how: str) -> Table:
    return tabulate(sv.read_microdata(frame), sv.TableSpec(dimensions={"town": None}, **how))


def test_no_count_below_the_smallest_safe_one_comes_of_a_sensitive_one() -> None:
    """Of one, two and three persons nobody may say from the release that they are so few; of four and more they are no rule's matter."""
    table = of_towns(people(a=1, b=2, c=3, d=4, e=30))
    rules = [MinimumFrequency(4)]
    found = assess(table, rules)
    raised = lift_counts(table, found, found, rules, None)
    assert [levels_of(raised, at(table, town)) for town in "abc"] == [(1, 3), (2, 2), (3, 1)]  # down to nothing is no way to go
    assert [int(raised.minimum[at(table, town)]) for town in "de"] == [4, 4]


def test_a_large_sensitive_count_may_fall_but_not_below_that() -> None:
    table = of_towns(people(a=9, b=30))
    found = judged(table, {at(table, "a"): 2})
    raised = lift_counts(table, found, found, [], None)
    assert levels_of(raised, at(table, "a")) == (2, 2)
    assert int(raised.minimum[at(table, "a")]) == TUNING.small_count


def test_a_count_that_the_rules_let_out_stays_free() -> None:
    table = of_towns(people(a=2, b=30))
    found = judged(table, {})
    assert int(lift_counts(table, found, found, [], None).minimum[at(table, "a")]) == -UNBOUNDED


def test_weighted_counts_are_counts_and_amounts_are_not() -> None:
    frame = people(a=2, b=30).assign(weight=1, sales=7)
    weighted = of_towns(frame, weight="weight")
    found = judged(weighted, {at(weighted, "a"): 1})
    assert levels_of(lift_counts(weighted, found, found, [], None), at(weighted, "a")) == (2, 1)
    sales = of_towns(frame, measure="sales")
    found = judged(sales, {at(sales, "a"): 1})
    assert levels_of(lift_counts(sales, found, found, [MinimumFrequency(4)], KEY), at(sales, "a")) == (1, 1)


def test_what_a_small_count_rises_to_says_nothing_of_it() -> None:
    """Of one, two and three persons each released count from four to seven comes as often: drawn by the key and the codes alone."""
    towns = {f"t{number}": 1 + number % 3 for number in range(600)}
    table, rules = of_towns(people(**towns)), [MinimumFrequency(4)]
    raised = raise_levels(table, assess(table, rules), rules, Floors(key=KEY, coalitions=False))
    cells = np.array([at(table, town) for town in towns])
    released = (table.value + raised.upper_level)[cells]
    assert (table.value - raised.lower_level)[cells].max() == 0  # none can fall
    for count in (1, 2, 3):
        told = released[np.array(list(towns.values())) == count]
        assert np.unique(told).tolist() == [4, 5, 6, 7]
        assert np.bincount(told)[4:].min() > 30


def test_levels_as_given_stay_as_they_are() -> None:
    table = table_of([firms(90, 10), firms(5)])
    found = judged(table, {0: 3, 1: (1, 2)})
    assert raise_levels(table, found, [PPercent(p=10)], AS_GIVEN) is found


@given(
    cells=st.lists(st.lists(st.integers(0, 200), min_size=1, max_size=10), min_size=1, max_size=8),
    asked=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=8, max_size=8),
    some=st.sets(st.integers(0, 7)),
    tiny=st.booleans(),
    coalitions=st.booleans(),
    scheme=st.sampled_from(["drawn", "exact"]),
    coalition=st.integers(1, 2),
)
def test_no_step_lowers_a_level_or_touches_a_cell_that_is_not_sensitive(
    cells: list[list[int]],
    asked: list[tuple[int, int]],
    some: set[int],
    tiny: bool,
    coalitions: bool,
    scheme: levels.FloorScheme,
    coalition: int,
) -> None:
    table = table_of([firms(*cell) for cell in cells])
    found = judged(table, {cell: asked[cell] for cell in some if cell < len(cells)})
    floors = Floors(scheme=scheme, tiny=tiny, coalitions=coalitions, key=KEY)
    raised = raise_levels(table, found, [PPercent(p=10, coalition=coalition)], floors)
    for name in ("lower_level", "upper_level", "minimum"):
        assert (getattr(raised, name) >= getattr(found, name)).all()
        assert (getattr(raised, name) == getattr(found, name))[~found.sensitive].all()
    assert raised.maximum.tolist() == found.maximum.tolist()


# Drawn levels.

A_MILLION = 10**6


def drawn(leaders: Sequence[int], key: SecretKey | None = KEY, cap: float = 1.45) -> list[float]:
    """The factor of each cell, led by these respondents, of a level of a million."""
    table = replace(table_of([firms(5)] * len(leaders)), leader=np.array(leaders, dtype=np.uint64))
    found = draw_levels(table, judged(table, dict.fromkeys(range(len(leaders)), A_MILLION)), cap, key)
    assert found.lower_level.tolist() == found.upper_level.tolist()
    return (found.upper_level / A_MILLION).tolist()


def test_cells_with_the_same_leader_share_their_factor() -> None:
    first, second, again, last = drawn([7, 8, 7, 2**64 - 1])
    assert first == again
    assert len({first, second, last}) == 3


def test_factors_are_of_the_key_and_of_who_leads_in_whatever_order() -> None:
    assert drawn([7, 8]) == drawn([8, 7])[::-1] == drawn([7, 8], SecretKey(b"k" * 32))
    assert not set(drawn([7, 8])) & set(drawn([7, 8], OTHER))


def test_where_few_leaders_come_and_go_the_others_keep_nearly_their_factors() -> None:
    before, after = np.array(drawn(range(400))), np.array(drawn(range(10, 410)))
    assert np.median(np.abs(before[10:] - after[:390])) < 0.1 * 0.45


@given(led=st.lists(st.integers(1, 30), min_size=1, max_size=60), seed=st.binary(min_size=32, max_size=32))
def test_no_table_has_bad_luck_any_range_of_factors_has_its_share_of_the_cells(led: list[int], seed: bytes) -> None:
    factors = drawn([leader for leader, cells in enumerate(led) for _ in range(cells)], SecretKey(seed))
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.35, 0.45)):
        found = sum(low <= factor - 1 <= high for factor in factors)
        assert abs(found - sum(led) * (high - low) / 0.45) <= 2 * max(led)


def test_a_leader_of_one_cell_beside_one_of_many_is_as_hard_to_guess() -> None:
    found = [drawn([1, *[2] * 9], SecretKey(number.to_bytes(32)))[0] for number in range(600)]
    assert kstest((np.array(found) - 1) / 0.45, "uniform").statistic < 0.08


@pytest.mark.parametrize("cap", [1.45, 3])
def test_factors_are_uniform_between_one_and_the_cap(cap: float) -> None:
    factors = np.array(drawn(range(5000), cap=cap))
    assert factors.min() >= 1
    assert factors.max() <= cap
    assert kstest((factors - 1) / (cap - 1), "uniform").statistic < 0.02


def test_a_drawn_level_is_rounded_up_and_never_overflows() -> None:
    table = replace(table_of([firms(5)] * 3), leader=np.array([7, 7, 7], dtype=np.uint64))
    found = draw_levels(table, judged(table, {0: 1, 1: LIMIT - 1}), 1.45, KEY)
    assert found.upper_level.tolist() == [2, LIMIT, 0]
    assert levels.drawn_factors(KEY, [7], [3], Fraction(45, 100))[0] > STEPS


def test_cells_that_nobody_leads_are_drawn_by_where_they_stand() -> None:
    """Zeros of unnamed records: were their factor one, cells published at that factor times their neighbours' size would be seen."""
    zeros = drawn([0, 0, 0, 5])
    assert len(set(zeros)) == 4
    table = table_of([firms(5)] * 2)
    both = draw_levels(table, judged(table, {0: A_MILLION, 1: A_MILLION}), 1.45, KEY).upper_level
    assert both[0] != both[1]
    assert draw_levels(table, judged(table, {}), 1.45, KEY).upper_level.tolist() == [0, 0]


def test_a_zero_is_drawn_alike_in_a_table_with_one_dimension_more() -> None:
    """Its codes name it, those of totals do not."""
    firms_ = pd.DataFrame({"town": ["a", "b", "b", "b"], "trade": ["x", "y", "y", "y"], "sales": [0, 5, 7, 9]})
    found = []
    for dimensions in (["town"], ["town", "trade"]):
        table = tabulate(sv.read_microdata(firms_), sv.TableSpec(dimensions=dict.fromkeys(dimensions), measure="sales"), top=8)
        cell = find_cell(table, {"town": "a"}, None)
        found.append(levels._who_draws(table, np.array([cell])).tolist())
    assert found[0] == found[1] != [0]


def test_a_set_of_cells_without_a_leader_is_drawn_by_its_number() -> None:
    table = replace(table_of([firms(0)] * 3), views=(one_view(2),), leader=np.zeros(3, dtype=np.uint64))
    assert np.unique(levels._who_draws(table, np.arange(3))).size == 3


def test_levels_are_not_drawn_without_a_key() -> None:
    with pytest.raises(InputError, match="need the office's key"):
        drawn([7], None)
    table = table_of([firms(5)])
    with pytest.raises(InputError, match="floors='exact'"):
        raise_levels(table, judged(table, {0: 1}), [], Floors())


TOWNS = {
    "town": ["a", "a", "b", "b", "b", "c", "c", "c"],
    "owner": ["x", "y", "x", "z", "z", "y", "x", "w"],
    "sales": [500, 20, 300, 90, 210, 70, 70, 5],
}


@pytest.mark.parametrize("holding", ["owner", None])
def test_shuffled_records_have_the_same_levels(holding: str | None) -> None:
    spec = sv.TableSpec(dimensions={"town": None}, measure="sales", holding=holding)
    frame, rules = pd.DataFrame(TOWNS), [PPercent(p=40), MinimumFrequency(4)]
    found = []
    for seed in range(6):
        table = tabulate(sv.read_microdata(frame.sample(frac=1, random_state=seed)), spec, top=8)
        found.append(raise_levels(table, assess(table, rules), rules, Floors(key=KEY)))
    assert found[0].sensitive.sum() >= 3
    for name in ("sensitive", "lower_level", "upper_level", "minimum"):
        assert all((getattr(each, name) == getattr(found[0], name)).all() for each in found)


# Next to nothing.

SQUARE = {
    ("a", "x"): 0, ("a", "y"): 100, ("a", "z"): 200,
    ("b", "x"): 5, ("b", "y"): 300, ("b", "z"): 400,
    ("c", "x"): 500, ("c", "y"): 600, ("c", "z"): 700,
}  # fmt: skip


def square() -> Table:
    return sv.table_from_cells({"row": sv.Hierarchy.flat("abc"), "column": sv.Hierarchy.flat("xyz")}, SQUARE)


def line(*values: int, tree: sv.Hierarchy | None = None) -> Table:
    """Cells A, B, C, ... under one total, or the leaves of the tree in its order."""
    flat = sv.Hierarchy.flat([chr(65 + i) for i in range(len(values))])
    tree = flat if tree is None else tree
    return sv.table_from_cells({"area": tree}, {(code,): value for code, value in zip(tree.leaves, values, strict=True)})


def test_a_tiny_cell_moves_as_far_as_its_small_neighbours_are_large() -> None:
    table = square()
    b_x, a_y = at(table, "b", "x"), at(table, "a", "y")
    found = lift_tiny(table, judged(table, {b_x: 1, a_y: 1}))
    assert levels_of(found, b_x) == (300, 300)  # 300 and 400 beside it, 500 below; the zero above counts for nothing
    assert levels_of(found, a_y) == (1, 1)  # 5 is not among its neighbours, and 100 is not a tenth of 200


def test_a_lifted_cell_is_a_larger_neighbour() -> None:
    table = square()
    a_x, b_x = at(table, "a", "x"), at(table, "b", "x")
    found = lift_tiny(table, judged(table, {a_x: 1, b_x: 1}))
    assert levels_of(found, b_x) == (300, 300)
    assert levels_of(found, a_x) == (100, 100)  # at first 5 was its smallest neighbour; then that one may be 305


def test_a_lifted_cell_that_its_neighbours_left_behind_must_go_further() -> None:
    """b x is 5 beside 300, 400 and 500. Released at 305 it is small beside 1000 and more, and at 600 it is not."""
    table = square()
    b_x = at(table, "b", "x")
    found = judged(table, {b_x: 1})
    released = np.where(table.value > 5, 1000, table.value)
    released[b_x] = 305
    assert still_standing_out(table, found, released)[b_x] == 495  # half of 1000
    assert still_standing_out(table, found, released).sum() == 495
    released[b_x] = 600
    assert still_standing_out(table, found, released).sum() == 0


def test_rounds_of_lifting_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "TUNING", TUNING._replace(rounds=1))
    table = square()
    a_x, b_x = at(table, "a", "x"), at(table, "b", "x")
    assert levels_of(lift_tiny(table, judged(table, {a_x: 1, b_x: 1})), a_x) == (5, 5)


def test_larger_levels_of_a_tiny_cell_stay() -> None:
    table = square()
    b_x = at(table, "b", "x")
    assert levels_of(lift_tiny(table, judged(table, {b_x: (1000, 2)})), b_x) == (1000, 300)
    assert levels_of(lift_tiny(table, judged(table, {b_x: (400, 301)})), b_x) == (400, 301)


def test_neighbours_are_measured_by_a_low_quantile_not_by_the_smallest() -> None:
    table = line(0, 1, *range(20, 30))  # eleven neighbours: the second smallest
    assert levels_of(lift_tiny(table, judged(table, {at(table, "A"): 1})), at(table, "A")) == (20, 20)


def test_a_tenth_is_tiny_and_a_unit_more_is_not() -> None:
    table = line(30, 31, 300, 300, 300)
    tenth, more = at(table, "A"), at(table, "B")
    found = lift_tiny(table, judged(table, {tenth: 3, more: 3}))
    assert levels_of(found, tenth) == (3, 3)  # 31 is its smallest neighbour
    table = line(30, 300, 300, 300)
    assert levels_of(lift_tiny(table, judged(table, {tenth: 3})), tenth) == (300, 300)
    table = line(31, 300, 300, 300)
    assert levels_of(lift_tiny(table, judged(table, {tenth: 3})), tenth) == (3, 3)


PAIRS = sv.Hierarchy(parent={"N": "Total", "S": "Total", "n1": "N", "n2": "N", "s1": "S", "s2": "S"})


def test_a_cell_with_few_neighbours_is_measured_by_its_level() -> None:
    table = line(0, 40, 60, 70, tree=PAIRS)
    n1 = at(table, "n1")
    assert levels_of(lift_tiny(table, judged(table, {n1: 1})), n1) == (40, 40)  # of 40, 60 and 70; north is 40, south 130
    table = line(0, 0, 60, 70, tree=PAIRS)
    assert levels_of(lift_tiny(table, judged(table, {n1: 1})), n1) == (60, 60)


def test_levels_of_two_tables_are_not_mixed() -> None:
    frame = pd.DataFrame({"area": ["p", "p", "q", "q"], "trade": list("uvuv"), "sales": [0, 0, 50, 70]})
    specs = [sv.TableSpec(dimensions={name: None}, measure="sales", name=name) for name in ("area", "trade")]
    table = tabulate(sv.read_microdata(frame), specs)
    p = at(table, "p")
    assert table.value[p] == 0
    assert levels_of(lift_tiny(table, judged(table, {p: 1})), p) == (120, 120)  # q, the other area; u and v are of another table


def test_where_all_is_zero_there_is_nothing_to_measure_by() -> None:
    table = line(0, 0, 0)
    a = at(table, "A")
    assert levels_of(lift_tiny(table, judged(table, {a: 1})), a) == (1, 1)
    assert levels_of(lift_tiny(table, judged(table, {})), a) == (0, 0)


def test_many_cells_are_worked_on_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    table, asked = square(), dict.fromkeys(range(16), 1)
    whole = raise_levels(table, judged(table, asked), [], Floors(key=KEY))
    monkeypatch.setattr(levels, "TUNING", TUNING._replace(chunk=3))
    pieces = raise_levels(table, judged(table, asked), [], Floors(key=KEY))
    assert pieces.lower_level.tolist() == whole.lower_level.tolist()
    assert pieces.upper_level.tolist() == whole.upper_level.tolist()


def test_a_total_beside_zeros_that_rise_can_only_rise_and_so_can_its_only_part() -> None:
    areas = {"A": "Total", "B": "Total", "C": "Total"}
    tree = sv.Hierarchy(parent={**areas, **{f"{area.lower()}{i}": area for area in areas for i in (1, 2)}})
    table = line(100, 0, 100, 50, 70, 0, tree=tree)
    cells = {code: at(table, code) for code in ("A", "a1", "a2", "B", "b1", "C", "c1", "c2", "Total")}
    found = lift_tiny(table, judged(table, {cells[code]: 3 for code in ("A", "a1", "a2", "b1", "B", "c1")}))
    assert levels_of(found, cells["a1"]) == levels_of(found, cells["A"]) == (101, 3)
    assert levels_of(found, cells["a2"]) == (50, 50)  # the zero itself: next to nothing
    for code in ("b1", "B", "c1"):  # two parts, or a zero that need not rise
        assert levels_of(found, cells[code]) == (3, 3)
    assert levels_of(found, cells["C"]) == levels_of(found, cells["Total"]) == (0, 0)
