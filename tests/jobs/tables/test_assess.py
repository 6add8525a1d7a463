"""Unions of cells that one holding dominates: declared, searched for, judged by the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.core.floors import AS_GIVEN
from statveil.jobs.tables.assess import LinkedTables, assess_records, find_sets
from statveil.protect.options import NO_LIMIT

STREET = pd.DataFrame(
    [("A", "x", "H", 100), ("A", "y", "H", 100)]
    + [("A", "z", f"g{i}", 50) for i in range(4)]
    + [("B", trade, f"{trade}{i}", 50) for trade in "xyz" for i in range(4)],
    columns=["area", "trade", "group", "sales"],
)
"""In area A, holding H is alone in trades x and y; everywhere else there are four equal holdings."""
RULES = [sv.PPercent(20)]
PAIR = sv.CellSet(cells=[{"area": "A", "trade": "x"}, {"area": "A", "trade": "y"}])


def table(**further: Any) -> sv.TableSpec:
    return sv.TableSpec(**{"dimensions": {"area": None, "trade": None}, "measure": "sales", "holding": "group", **further})


def judged(**links: Any) -> tuple[sv.Table, sv.rules.Sensitivity]:
    return assess_records(sv.read_microdata(STREET), LinkedTables(tables=[table()], **links), RULES)


def test_measures_of_different_decimals_are_linked_only_with_a_choice() -> None:
    """Published together in hundredths, just the numbers of staff that moved would have decimals."""
    data = sv.read_microdata(STREET.assign(staff=2, sales=[f"{sales}.25" for sales in STREET.sales]).astype(str))
    specs = [table(name=measure, measure=measure) for measure in ("sales", "staff")]
    with pytest.raises(sv.InputError, match=r"different decimals \('sales' 2, 'staff' 0\)"):
        assess_records(data, LinkedTables(tables=specs), RULES)
    for decimals in (0, 2):
        chosen = [replace(spec, decimals=decimals) for spec in specs]
        assert assess_records(data, LinkedTables(tables=chosen), RULES)[0].decimals == decimals
    nothing = sv.read_microdata(STREET.assign(staff=0, sales=[f"{sales}.25" for sales in STREET.sales]).astype(str))
    assert assess_records(nothing, LinkedTables(tables=specs), RULES)[0].decimals == 2  # zeros stay zeros


def released(release: sv.Release) -> dict[tuple[str, ...], int]:
    view = release.protected.views[0]
    labels = [tuple(axis.codes[place] for axis, place in zip(view.dimensions, row, strict=True)) for row in view.coordinates]
    return dict(zip(labels, release.protected.value[view.cell].tolist(), strict=True))


def protect(options: sv.Options | None = None, **links: Any) -> sv.Release:
    linked = sv.LinkedTables(tables=table(), **links)
    return sv.protect_table(STREET, linked, rules=RULES, options=options or sv.Options(floors=AS_GIVEN), limits=sv.Limits(seconds=60))


@pytest.mark.slow
def test_without_its_set_a_holding_is_published_as_it_is() -> None:
    """The cheapest table moves H's two cells against each other: what H sells in both is still 200."""
    numbers = released(protect())
    assert numbers["A", "x"] + numbers["A", "y"] == 200


@pytest.mark.slow
@pytest.mark.parametrize("links", [{"sets": [PAIR]}, {"search_sets": True}])
def test_a_set_moves_as_a_whole(links: dict[str, Any]) -> None:
    """The p% rule on the union: H has all of 200, so it must move by 20% of that."""
    release = protect(**links)
    numbers = released(release)
    assert abs(numbers["A", "x"] + numbers["A", "y"] - 200) >= 40
    assert release.sensitivity.upper_level[release.table.unions[0].cell] == 40
    assert release.audit.passed


def test_the_search_finds_the_cells_of_one_holding_under_one_total() -> None:
    (found,) = find_sets(sv.read_microdata(STREET), [table()], RULES)
    assert found.cells == PAIR.cells


def test_the_search_needs_holdings() -> None:
    with pytest.raises(sv.errors.RuleError, match="no holding is given"):
        find_sets(sv.read_microdata(STREET), [table(holding=None)], RULES)


def test_a_set_that_the_rules_call_safe_is_left_out() -> None:
    found, sensitivity = judged(sets=[sv.CellSet(cells=[{"area": "A", "trade": "x"}, {"area": "B", "trade": "y"}]), PAIR])
    kept, _ = judged(sets=[PAIR])
    assert found.size == kept.size == sensitivity.sensitive.size == 13
    assert found.value.tolist() == kept.value.tolist()
    assert [union.cell for union in found.unions] == [12]


def test_a_declared_level_makes_any_set_sensitive() -> None:
    harmless = sv.CellSet(cells=[{"area": "A", "trade": "z"}, {"area": "B", "trade": "z"}], level=(5, 10))
    found, sensitivity = judged(sets=[harmless])
    total = found.unions[0].cell
    assert found.value[total] == 400
    assert total < found.shown  # it is trade z as a whole, which the table shows
    assert (sensitivity.lower_level[total], sensitivity.upper_level[total]) == (20, 40)
    assert sensitivity.reasons_of(total) == ("set of cells declared sensitive",)


def test_bounds_on_published_numbers_do_not_bind_a_sum_that_is_not_published() -> None:
    table, sensitivity = judged(sets=[PAIR])
    problem = sv.systems.build_problem(table, sensitivity, sv.Options(bounds=sv.Bounds(maximum=150, percent_down=10), cap=1))
    union = table.unions[0].cell
    assert problem.upper[union] >= NO_LIMIT
    assert problem.lower[union] <= -NO_LIMIT
    assert problem.upper[0] == 1000
    assert 0 < problem.weight[union] < problem.weight[0]


@pytest.mark.slow
def test_a_tampered_union_is_found() -> None:
    """One unit around a circle keeps every total of rows and columns, but not the sum of the set."""
    release = protect(sets=[PAIR])
    cells = {code: release.protected.views[0].cell[place] for place, code in enumerate(released(release))}
    value = release.protected.value.copy()
    for code, change in ((("A", "x"), 1), (("B", "x"), -1), (("A", "z"), -1), (("B", "z"), 1)):
        value[cells[code]] += change
    with pytest.raises(sv.AuditFailed, match="FAILED  Every total is the sum of its parts: 8 checked, 1 faults"):
        replace(release, protected=replace(release.protected, value=value))


@pytest.mark.slow
def test_the_reports_show_published_cells_only(tmp_path: Any) -> None:
    release = protect(sets=[PAIR])
    internal = release.to_report(tmp_path / "internal.html", edition="internal").read_text(encoding="utf-8")
    assert "Of the 12 cells, 2" in internal
    assert release.to_report(tmp_path / "report.html").is_file()
    (file,) = release.to_csv(tmp_path / "table.csv")
    assert len(file.read_text(encoding="utf-8").splitlines()) == 13


def test_the_search_does_not_depend_on_the_order_of_records() -> None:
    shuffled = STREET.sample(frac=1, random_state=np.random.default_rng(5).integers(2**31))
    assert find_sets(sv.read_microdata(shuffled), [table()], RULES) == find_sets(sv.read_microdata(STREET), [table()], RULES)


@pytest.mark.slow
def test_a_set_that_cannot_move_is_named_without_values() -> None:
    """Both cells may move by a fifth at most, and together they would have to move by a half."""
    impossible = replace(PAIR, level=50)
    options = sv.Options(bounds=sv.Bounds(percent_up=20, percent_down=20))
    with pytest.raises(sv.InfeasibleProblem) as refused:
        protect(sets=[impossible], options=options)
    assert "the set of area=A, trade=x and area=A, trade=y" in str(refused.value)
    assert not any(number in str(refused.value) for number in ("100", "120", "200", "300"))


def test_the_wish_to_search_is_yes_or_no() -> None:
    with pytest.raises(sv.InputError, match="search_sets must be True or False"):
        protect(search_sets="holding")
