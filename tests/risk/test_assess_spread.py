"""A total and its only child are the same records: what is declared safe by one name is safe by the other, and is told."""

from __future__ import annotations

import pandas as pd
import pytest

import statveil as sv
from statveil.core.errors import RuleError
from statveil.risk.assess import assess
from statveil.risk.rules import Manual, ManualCell, MinimumFrequency, PPercent, Waiver
from statveil.tables.tabulate import tabulate

SHOPS = pd.DataFrame(
    [("s1", "ba", 30), ("s1", "ba", 30), *(("n1", "ba", 40 + i) for i in range(3)), *(("n2", "ba", 50 + i) for i in range(3))],
    columns=["area", "trade", "sales"],
)
"""The south is s1 alone, with two shops; n1 and n2 are the north, with three shops each."""
TREE = sv.Hierarchy(parent={"north": "Total", "n1": "north", "n2": "north", "south": "Total", "s1": "south"})
RULES = [MinimumFrequency(3)]
SOUTH, S1 = {"area": "south"}, {"area": "s1"}


def table(*others: sv.TableSpec) -> sv.Table:
    spec = sv.TableSpec(dimensions={"area": [TREE]}, measure="sales")
    return tabulate(sv.read_microdata(SHOPS), [spec, *others] if others else spec)


def safe(*cells: dict[str, str], spread: bool = False) -> Manual:
    return Manual([ManualCell(cell=cell, status="safe") for cell in cells], spread=spread)


def test_the_story() -> None:
    found = assess(table(), RULES)
    assert table().value[found.sensitive].tolist() == [60]  # the south and s1 are one cell
    assert found.spread == ()


@pytest.mark.parametrize("office", [safe(SOUTH), Waiver([SOUTH])])
def test_a_total_declared_safe_does_not_free_its_only_child_in_silence(office: Manual | Waiver) -> None:
    with pytest.raises(
        RuleError, match=r"The cell area = south is declared safe\. It has few respondents, and area = s1 is the same"
    ) as caught:
        assess(table(), [*RULES, office])
    assert "spread=True" in str(caught.value)
    assert "60" not in str(caught.value)


@pytest.mark.parametrize(
    "office",
    [safe(SOUTH, spread=True), Waiver([SOUTH], spread=True), Manual([ManualCell(cell=SOUTH, status="safe", spread=True)])],
)
def test_it_does_when_that_is_asked_for_and_it_is_told(office: Manual | Waiver) -> None:
    found = assess(table(), [*RULES, office])
    assert not found.sensitive.any()
    (told,) = found.spread
    assert (told.named, told.reached, told.freed) == (("area = south",), ("area = s1",), True)
    assert told.words == "area = south was declared safe, which a rule calls sensitive; so was area = s1, the same records"


def test_it_does_when_all_its_names_are_named() -> None:
    for office in ([safe(SOUTH, S1)], [safe(SOUTH), Waiver([S1])]):
        found = assess(table(), [*RULES, *office])
        assert not found.sensitive.any()
        assert found.spread == ()


def test_a_child_declared_safe_reaches_its_total() -> None:
    (told,) = assess(table(), [*RULES, safe(S1, spread=True)]).spread
    assert (told.named, told.reached) == (("area = s1",), ("area = south",))


def test_a_cell_of_one_name_is_declared_safe_as_ever() -> None:
    found = assess(table(), [MinimumFrequency(4), safe({"area": "n1"}), safe(SOUTH, S1)])
    assert table().value[found.sensitive].tolist() == [153]  # n2
    assert found.spread == ()


def test_what_was_safe_anyway_is_told_and_not_refused() -> None:
    (told,) = assess(table(), [MinimumFrequency(2), safe(SOUTH)]).spread
    assert not told.freed
    assert told.words == "area = south was declared safe; so was area = s1, the same records"


def test_few_respondents_are_as_many_as_the_rule_asks_or_fewer_than_three() -> None:
    with pytest.raises(RuleError, match="few respondents"):
        assess(table(), [PPercent(90), safe(SOUTH)])
    assert assess(table(), [PPercent(90), MinimumFrequency(2), safe(SOUTH)]).spread[0].freed


def test_a_margin_of_linked_tables_has_one_name() -> None:
    """The two tables are the same by area: what they share is not said to have been reached."""
    crossed = sv.TableSpec(dimensions={"area": [TREE], "trade": None}, measure="sales", name="crossed")
    linked = table(crossed)
    office = Manual([ManualCell(cell=cell, status="safe", view="table") for cell in (SOUTH, S1)])
    with pytest.raises(RuleError, match="area = south, trade = ba and area = s1, trade = ba is the same records"):
        assess(linked, [*RULES, office])
    both = Manual([ManualCell(cell={**cell, "trade": "Total"}, status="safe", view="crossed") for cell in (SOUTH, S1)], spread=True)
    (told,) = assess(linked, [*RULES, both]).spread
    assert told.named == ("area = south", "area = s1")
    assert told.reached == ("area = south, trade = ba", "area = s1, trade = ba")


def test_the_grand_total_has_a_name_too() -> None:
    data = sv.read_microdata(SHOPS[SHOPS.area == "s1"])
    alone = tabulate(data, sv.TableSpec(dimensions={"area": [TREE]}, measure="sales"))
    (told,) = assess(alone, [*RULES, safe({}, spread=True)]).spread
    assert (told.named, told.reached) == (("grand total",), ("area = south", "area = s1"))


def test_only_what_is_safe_spreads() -> None:
    with pytest.raises(RuleError, match="spread is for cells declared safe"):
        ManualCell(cell=SOUTH, status="sensitive", spread=True)
    assert assess(table(), [Manual([ManualCell(cell=SOUTH, status="sensitive")], spread=True)]).spread == ()
