"""What the office says about single cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from statveil.core.errors import FormatError, RuleError
from statveil.risk.assess import assess
from statveil.risk.rules import Manual, ManualCell, MinimumFrequency, PPercent, Waiver
from statveil.risk.sensitivity import UNBOUNDED
from tests.risk.cells import firms, one_view, table_of, without_respondents


def say(area="A0", **what):
    return Manual([ManualCell(cell={"area": area}, **what)])


@pytest.fixture
def table():
    """A0 is sensitive by the p% rule, A1 and A2 are not."""
    return table_of([firms(200), firms(50, 50, 50), firms(10, 10, 10)], scale=1, decimals=1)


def test_a_cell_is_sensitive_because_the_office_says_so(table):
    found = assess(without_respondents(table), [say("A1", status="sensitive", lower="0.75", upper=3)])
    assert found.sensitive.tolist() == [False, True, False]
    assert (found.lower_level[1], found.upper_level[1]) == (8, 30)
    assert found.reasons_of(1) == ("manual status",)


def test_levels_in_percent_of_the_value(table):
    assert assess(table, [say("A1", status="sensitive")]).upper_level[1] == 30
    assert assess(table, [say("A1", status="sensitive", level=(2, 10))]).lower_level[1] == 3
    by_list = Manual([ManualCell(cell={"area": "A1"}, status="sensitive")], level=50)
    assert assess(table, [by_list]).upper_level[1] == 75


def test_levels_of_zero_still_move_the_cell_by_one_unit(table):
    assert assess(table, [say("A1", status="sensitive", lower=0, upper=0)]).lower_level[1] == 1


def test_the_strictest_of_rule_and_office_wins(table):
    found = assess(table, [PPercent(10), say("A0", status="sensitive", lower=1, upper=9)])
    assert (found.lower_level[0], found.upper_level[0]) == (20, 90)
    assert found.reasons_of(0) == ("p% rule, p = 10", "manual status")


@pytest.mark.parametrize("office", [say("A0", status="safe"), Waiver([{"area": "A0"}]), Waiver([{"area": "A0"}], view="table")])
def test_a_cell_declared_safe_or_waived_is_not_sensitive(table, office):
    found = assess(table, [PPercent(10), office])
    assert not found.sensitive.any()
    assert found.reasons_of(0) == ()
    assert found.upper_level[0] == 0


def test_lists_have_words():
    assert (Manual([]).words, Waiver([]).words) == ("manual status", "waiver")


def test_costs_bounds_and_frozen_cells(table):
    found = assess(table, [say("A1", status="frozen", cost=2.5), say("A2", minimum=1.23, maximum=4.56), say("A2", minimum=-5)])
    assert found.frozen.tolist() == [False, True, False]
    assert found.weight[1] == 2.5
    assert np.isnan(found.weight[[0, 2]]).all()
    assert (found.minimum[2], found.maximum[2]) == (13, 45)
    assert (found.minimum[0], found.maximum[0]) == (-UNBOUNDED, UNBOUNDED)


def test_a_frozen_cell_may_not_be_sensitive_unless_it_is_declared_safe(table):
    with pytest.raises(RuleError, match="area = A0 is frozen, but it is sensitive"):
        assess(table, [PPercent(10), say("A0", status="frozen")])
    assert not assess(table, [PPercent(10), say("A0", status="frozen"), say("A0", status="safe")]).sensitive.any()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (say(status="sensitive"), say(status="safe"), "A0 is declared sensitive and also safe"),
        (say(status="sensitive"), Waiver([{"area": "A0"}]), "safe or waived"),
        (say(cost=1), say(cost=2), "two different costs"),
        (say(minimum=5), say(maximum=4), "a minimum above its maximum"),
    ],
)
def test_lists_that_contradict_each_other_are_refused(table, first, second, message):
    with pytest.raises(RuleError, match=message):
        assess(table, [first, second])


def test_the_same_cost_twice_is_no_contradiction(table):
    assert assess(table, [say(cost=2), say(cost=2)]).weight[0] == 2


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"area": "B7"}, "unknown codes: area = B7"),
        ({"place": "A0"}, "'place' is not a dimension of 'table'. Known: area"),
        ({}, "The cell grand total of 'table' is empty"),
    ],
)
def test_cells_that_are_not_there_are_refused(table, cell, message):
    with pytest.raises(RuleError, match=message):
        assess(table, [Waiver([cell])])


def test_a_cell_of_linked_tables_says_which_table_is_meant(table):
    linked = replace(table, views=(one_view(3, "spring"), one_view(3, "autumn")))
    assert assess(linked, [say("A1", status="sensitive", view="autumn")]).sensitive[1]
    with pytest.raises(RuleError, match=r"does not say which is meant\. Known: spring, autumn"):
        assess(linked, [say("A1", status="sensitive")])
    with pytest.raises(RuleError, match="no table 'winter'"):
        assess(linked, [say("A1", status="sensitive", view="winter")])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"status": "secret"}, "unknown status 'secret'. Known: sensitive, safe, frozen"),
        ({"status": "sensitive", "lower": 3}, "lower and upper belong together"),
        ({"status": "sensitive", "lower": -3, "upper": 3}, "zero or more"),
        ({"status": "sensitive", "level": 0}, "Manual: level must be more than 0"),
        ({"status": "safe", "level": 5}, "not declared sensitive"),
        ({"cost": 0}, "Manual: cost must be more than 0"),
        ({"minimum": 5, "maximum": 4}, "minimum is above maximum"),
        ({"minimum": "much"}, "Manual: minimum must be a finite number"),
    ],
)
def test_statements_are_checked_at_the_door(what, message):
    with pytest.raises(RuleError, match=message):
        say(**what)


def test_an_amount_beyond_all_measure_is_refused(table):
    with pytest.raises(RuleError, match="too large"):
        assess(table, [say(maximum=10**30)])


def test_a_list_from_a_file(table, tmp_path):
    path = tmp_path / "apriori.csv"
    path.write_text("area,status,lower,upper,cost,minimum,maximum\nA1,sensitive,1.5,2,,,\nA2,frozen,,,3,,\n\n", encoding="utf-8")
    found = assess(table, [Manual.from_csv(path)])
    assert found.lower_level.tolist() == [0, 15, 0]
    assert found.frozen.tolist() == [False, False, True]
    assert found.weight[2] == 3


def test_a_list_with_semicolons_and_decimal_commas(table, tmp_path):
    path = tmp_path / "apriori.csv"
    path.write_text("area;status;level;view\nA1;sensitive;12,5;table\n", encoding="utf-8-sig")
    assert assess(table, [Manual.from_csv(str(path), level=1)]).upper_level[1] == 19


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("area,status\nA1\n", FormatError, "list.csv, line 2: 1 fields where the header has 2"),
        ("area,status\nA1,safe\nA2,secret\n", RuleError, "list.csv, line 3: Manual: unknown status"),
        ('area,cost\nA1,"1,000"\n', RuleError, "line 2: Manual: cost must be a finite number"),
        ("area\nA1\n", FormatError, "says nothing about its cells"),
        ("", FormatError, "says nothing about its cells"),
    ],
)
def test_faults_in_a_file_are_named_by_their_line(tmp_path, text, error, message):
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        Manual.from_csv(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        Manual.from_csv(tmp_path / "missing.csv")


def test_manual_words_do_not_hide_the_other_reasons(table):
    found = assess(table, [MinimumFrequency(3), say("A0", status="sensitive")])
    assert set(found.reasons) == {"minimum frequency rule, n = 3", "manual status"}
