from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.arrays import frozen_array
from statveil.core.errors import DisclosureRefused
from statveil.data.hierarchy import Hierarchy
from statveil.protect.options import NO_LIMIT
from statveil.server.engine import attempt as attempt_module
from statveil.server.engine.protection import differencing_guard as guard_module
from statveil.server.engine.protection.differencing_guard import DifferencingGuard, nested_pairs
from statveil.server.engine.protection.stage_one import ServedCells
from statveil.server.store.protocol import SeenCell
from statveil.tables.spec import Dimension
from statveil.tables.table import View
from tests.server.engine.protection.test_stage_one import by_labels, cells_of, load
from tests.server.village import VILLAGE, Record, ask, open_village

ISLET: tuple[Record, ...] = (
    *VILLAGE,
    ("pub", "pub", "S1", "food", 95),
    *((f"i{n}", f"i{n}", "S2", "food", 150 + n) for n in range(4)),
    ("lone", "lone", "S2", "metal", 333),
)
"""In S2 all trades together are the food trade and one smith: the two sets differ by him alone."""


def seen(cells: ServedCells, positions: list[tuple[str, ...]], *, number: int = 1) -> list[SeenCell]:
    """As if these had been published at their true values."""
    at = by_labels(cells)
    return [
        SeenCell(
            number + place,
            0,
            int(cells.table.value[at[position]]),
            int(cells.table.records[at[position]]),
            np.array([cells.low[at[position]], cells.high[at[position]]], dtype="<u8").tobytes(),
        )
        for place, position in enumerate(positions)
    ]


def all_new(cells: ServedCells) -> np.ndarray:
    return np.ones(cells.size, np.bool_)


@pytest.mark.parametrize(
    ("published", "asked", "larger"), [(("S2", "food"), ("S2", "Total"), True), (("S2", "Total"), ("S2", "food"), False)]
)
def test_a_pair_that_differs_by_one_record_is_found(
    tmp_path: Path, published: tuple[str, ...], asked: tuple[str, ...], larger: bool
) -> None:
    """T07, whichever of the two was first."""
    data = load(tmp_path, ISLET)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=1, least=12)
    guard.learn(seen(cells, [published]))
    found = guard.find(cells, all_new(cells))
    assert found.cell.tolist() == [by_labels(cells)[asked]]
    assert found.larger.tolist() == [larger]
    assert guard.amount[found.target].tolist() == [333]


def test_the_fence_keeps_the_difference_away_from_the_record(tmp_path: Path) -> None:
    """The one of S2 is published at its truth: the other must stay 12% of 333 away from giving him away."""
    data = load(tmp_path, ISLET)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=1, least=12)
    guard.learn(seen(cells, [("S2", "food")]))
    fences = guard.fences(cells, guard.find(cells, all_new(cells)))
    at = by_labels(cells)["S2", "Total"]
    truth = int(cells.table.value[at])
    assert (fences.low[at] == truth + 40) != (fences.high[at] == truth - 40)
    others = np.arange(cells.size) != at
    assert (fences.low[others] == -NO_LIMIT).all()
    assert (fences.high[others] == NO_LIMIT).all()


def test_sets_that_differ_by_more_or_that_are_known_already_are_not_pairs(tmp_path: Path) -> None:
    data = load(tmp_path, ISLET)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=1, least=12)
    guard.learn(seen(cells, [("Total", "food")]))
    assert guard.find(cells, all_new(cells)).size == 0
    guard.learn(seen(cells, [("S2", "food")], number=9))
    assert guard.last == 9
    assert guard.find(cells, np.zeros(cells.size, np.bool_)).size == 0


def test_two_records_of_one_holding_are_one_respondent(tmp_path: Path) -> None:
    rows = (*ISLET[:-1], ("cafe", "cafe", "S1", "food", 85), ("lone1", "lone", "S2", "metal", 100), ("lone2", "lone", "S2", "metal", 233))
    data = load(tmp_path, rows)
    cells = cells_of(data, "region", "trade")
    for reach, pairs in ((1, 0), (2, 1)):
        guard = DifferencingGuard(data.block("turnover"), records=reach, least=12)
        guard.learn(seen(cells, [("S2", "food")]))
        assert guard.find(cells, all_new(cells)).size == pairs


def test_a_published_sensitive_cell_is_a_known_difference(tmp_path: Path) -> None:
    rows = (*ISLET[:-1], ("cafe", "cafe", "S1", "food", 85), ("one", "one", "S2", "metal", 100), ("two", "two", "S2", "metal", 233))
    data = load(tmp_path, rows)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=2, least=12)
    guard.learn(seen(cells, [("S2", "food")]))
    assert guard.find(cells, all_new(cells)).size == 0
    pair = seen(cells, [("S2", "metal")], number=2)[0]
    guard.learn([pair._replace(sense=1)])
    found = guard.find(cells, all_new(cells))
    assert found.target.tolist() == [-1]
    assert (guard.fences(cells, found).low == -NO_LIMIT).all()


def test_a_difference_that_is_as_good_as_the_truth_is_not_apart(tmp_path: Path) -> None:
    data = load(tmp_path, ISLET)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=1, least=12)
    guard.learn(seen(cells, [("S2", "food")]))
    found = guard.find(cells, all_new(cells))
    at, released = by_labels(cells)["S2", "Total"], cells.table.value.copy()
    for moved, near in ((0, 1), (39, 1), (40, 0), (-40, 0)):  # 12% of 333 is 39.96
        released[at] = cells.table.value[at] + moved
        assert guard.not_apart(found, released) == near


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
def test_a_cell_has_one_number_in_whatever_table_it_is_asked_for(tmp_path: Path, order: int) -> None:
    """Of all cells, by their prints, over all tables of both measures: totals before parts and after them."""
    service = open_village(tmp_path)
    for measure in ("units", "turnover"):
        asked = [("region",), ("trade",), ("region:part", "trade"), ("region:part",), ("region", "trade")][::order]
        published: dict[bytes, set[int]] = {}
        for dimensions in asked:
            whole = service.answer(ask(*dimensions, measure=measure))
            data, key = service.confidential("village")
            cells = cells_of(data, "region", "trade", measure=measure, key=key)
            for position, number in by_labels(cells).items():
                place = dict(zip(("region", "trade"), position, strict=True))
                shown = [each.id for each in whole.dimensions]
                if all(place[each] == "Total" for each in place if each not in shown) and all(
                    place[each.id] in each.codes for each in whole.dimensions
                ):
                    at = tuple(each.codes.index(place[each.id]) for each in whole.dimensions)
                    published.setdefault(cells.ids[number], set()).add(int(whole.values[at]))
        assert len(published) == len(cells.ids)
        assert all(len(values) == 1 for values in published.values())


def test_fences_do_not_move_a_count_that_no_rule_protects(tmp_path: Path) -> None:
    """Without a minimum frequency two counts may differ by exactly one; the order of requests still decides nothing."""
    rows: tuple[Record, ...] = tuple(
        (name, name, region, trade, 9)
        for name, region, trade in (
            ("a", "N1", "food"),
            ("b", "N1", "food"),
            ("c", "N1", "metal"),
            ("d", "S1", "metal"),
            ("e", "S1", "metal"),
        )
    )
    given = []
    for number, order in enumerate((1, -1)):
        (tmp_path / "key.counter").unlink(missing_ok=True)
        service = open_village(tmp_path, rows, rule=[{"type": "p-percent", "p": 10}], store={"file": f"{number}.sqlite"})
        asked = [("region:part",), ("trade",)][::order]
        given.append({each: service.answer(ask(*each, measure="units")).to_bytes() for each in asked})
    assert given[0] == given[1]


# Two ways to group the same towns, as two kinds of authorities have them: N2 is in one group and not in the other.
COUNTIES = "code,parent\nC1,Total\nC2,Total\nN1,C1\nN2,C1\nS1,C1\nS2,C2\n"
GROUPS = "code,parent\nG1,Total\nG2,Total\nN1,G1\nS1,G1\nN2,G2\nS2,G2\n"
TOWNS: tuple[Record, ...] = (
    *((f"a{n}", f"a{n}", "N1", "food", 100 + n) for n in range(5)),
    *((f"b{n}", f"b{n}", "S1", "metal", 120 + n) for n in range(5)),
    *((f"c{n}", f"c{n}", "S2", "metal", 140 + n) for n in range(5)),
    ("only", "only", "N2", "food", 500),
)


def two_geographies(folder: Path, **guard: object) -> dict[str, object]:
    (folder / "counties.csv").write_text(COUNTIES, encoding="utf-8")
    (folder / "groups.csv").write_text(GROUPS, encoding="utf-8")
    trees = {"hierarchies": ["counties.csv", "groups.csv"], "levels": [["county", "town"], ["group", "town"]]}
    return {"dimensions": {"region": trees, "trade": {}}, "filters": [], "guard": guard}


def test_overlapping_geographies_are_refused_at_the_step_that_completes_them(tmp_path: Path) -> None:
    """T07, F16: county C1 and group G1 differ by one enterprise. The first is answered, the second refused and told to the officer."""
    service = open_village(tmp_path, TOWNS, **two_geographies(tmp_path, action="refuse"))
    service.answer(ask("region:county"))
    with pytest.raises(DisclosureRefused, match="single respondents"):
        service.answer(ask("region:group"))
    assert [alarm.kind for alarm in service.store.alarms()] == ["differences refused"]
    service.answer(ask("region:county", "trade"))


@pytest.mark.parametrize("action", ["log", "virtual"])
def test_a_table_with_more_pairs_than_are_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """T07: what the guard has not looked at may be anything. The words are those of any pair; the officer is told why."""
    service = open_village(tmp_path, TOWNS, **two_geographies(tmp_path, action=action))
    service.answer(ask("region:county"))
    monkeypatch.setattr(guard_module, "TUNING", guard_module.TUNING._replace(most_pairs=1))
    with pytest.raises(DisclosureRefused, match="single respondents"):
        service.answer(ask("region:group"))
    assert [alarm.kind for alarm in service.store.alarms()] == ["more near-duplicates than can be looked at"]
    assert service.stored(service.check(ask("region:group"))) is None
    monkeypatch.undo()
    service.answer(ask("region:group"))


def test_pairs_are_looked_for_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load(tmp_path, ISLET)
    cells = cells_of(data, "region", "trade")
    guard = DifferencingGuard(data.block("turnover"), records=1, least=12)
    guard.learn(seen(cells, [("S2", "food"), ("S2", "Total")]))
    assert (guard.find(cells, all_new(cells)).size, guard.find(cells, all_new(cells)).too_many) == (2, False)
    monkeypatch.setattr(guard_module, "TUNING", guard_module.TUNING._replace(most_pairs=1))
    assert (guard.find(cells, all_new(cells)).size, guard.find(cells, all_new(cells)).too_many) == (1, True)


def test_two_workers_cannot_publish_the_halves_of_a_pair_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second finds the first's table under the lock, after it has looked and solved."""
    slow, quick = (open_village(tmp_path, TOWNS, **two_geographies(tmp_path, action="refuse")) for _ in range(2))
    plain, answers = attempt_module.reference_if_safe, []

    def interrupted(*given: Any, **told: Any) -> Any:
        if not answers:
            answers.append(None)
            quick.answer(ask("region:county"))
        return plain(*given, **told)

    monkeypatch.setattr(attempt_module, "reference_if_safe", interrupted)
    with pytest.raises(DisclosureRefused):
        slow.answer(ask("region:group"))
    assert slow.stored(slow.check(ask("region:group"))) is None
    assert [alarm.kind for alarm in slow.store.alarms()] == ["differences refused"]


def test_what_others_record_elsewhere_does_not_hold_a_table_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = (open_village(tmp_path, TOWNS, **two_geographies(tmp_path)) for _ in range(2))
    slow.answer(ask("region:county"))
    plain, calls = attempt_module.reference_if_safe, []

    def interrupted(*given: Any, **told: Any) -> Any:
        calls.append(None)
        if len(calls) == 1:
            quick.answer(ask("region:group"))
        return plain(*given, **told)

    monkeypatch.setattr(attempt_module, "reference_if_safe", interrupted)
    slow.answer(ask("trade"))
    assert len(calls) == 2  # one for each table


def test_a_budget_of_near_duplicates_is_spent_per_client_and_in_all(tmp_path: Path) -> None:
    service = open_village(tmp_path, TOWNS, **two_geographies(tmp_path, budget_per_client=0))
    service.answer(ask("region:county"), client="a")
    with pytest.raises(DisclosureRefused):
        service.answer(ask("region:group"), client="a")
    assert "500" not in str(service.store.alarms())
    assert service.store.alarms()[0].kind == "budget of near-duplicates spent"


def test_a_budget_is_one_for_all_measures_and_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process spends it on another measure while this one solves."""
    slow, quick = (open_village(tmp_path, TOWNS, **two_geographies(tmp_path, budget=3)) for _ in range(2))
    for measure in ("turnover", "units"):
        slow.answer(ask("region:county", measure=measure))
    plain, answers = attempt_module.reference_if_safe, []

    def interrupted(*given: Any, **told: Any) -> Any:
        if not answers:
            answers.append(None)
            quick.answer(ask("region:group", measure="units"))
        return plain(*given, **told)

    monkeypatch.setattr(attempt_module, "reference_if_safe", interrupted)
    with pytest.raises(DisclosureRefused):
        slow.answer(ask("region:group"))
    assert slow.store.spent("") == 2
    assert slow.store.alarms()[-1].kind == "budget of near-duplicates spent"


def test_without_a_budget_the_pair_is_logged_and_the_difference_protected(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    service = open_village(tmp_path, TOWNS, **two_geographies(tmp_path))
    service.on_alarm = lambda kind, detail: told.append((kind, detail))
    county = service.answer(ask("region:county"))
    group = service.answer(ask("region:group"))
    difference = int(county.values[county.dimensions[0].codes.index("C1")] - group.values[group.dimensions[0].codes.index("G1")])
    assert abs(difference - 500) >= 60
    assert [kind for kind, _ in told] == ["differences"]
    assert told[0][1].endswith("2 near-duplicates, 0 of them within the table; 0 not kept apart; gave way: nothing")
    assert [(alarm.kind, alarm.detail) for alarm in service.store.alarms()] == told
    assert service.store.spent("") == 2  # C1 and G1, and what is left of both: C2 and G2


TREE = Hierarchy.from_dict({"N": ["N1", "N2"], "S": {"S1": {"S1a": {}, "S1b": {}}, "S2": {}}, "W": None})
COUNTY_TREE = Hierarchy.from_dict({"C1": ["N1", "N2", "S1a"], "C2": ["S1b", "S2", "W"]})
TRADES = Dimension(name="trade", trees=(Hierarchy.flat(["food", "metal"]),))
Place = tuple[str, str]


def sets_at(region: Dimension, records: list[Place]) -> dict[tuple[int, int], frozenset[int]]:
    """The records at every position that holds one."""
    above = [
        {leaf: {leaf, *(code for tree in dimension.trees for code in chain(tree, leaf))} for leaf in dimension.trees[0].leaves}
        for dimension in (region, TRADES)
    ]
    found: dict[tuple[int, int], set[int]] = {}
    for number, (place, trade) in enumerate(records):
        for codes in product(above[0][place], above[1][trade]):
            found.setdefault((region.position[codes[0]], TRADES.position[codes[1]]), set()).add(number)
    return {position: frozenset(members) for position, members in sorted(found.items())}


def chain(tree: Hierarchy, code: str) -> list[str]:
    return [tree.parent[code], *chain(tree, tree.parent[code])] if code in tree.parent else []


@pytest.mark.parametrize("trees", [(TREE,), (TREE, COUNTY_TREE)])
@settings(max_examples=60, deadline=None)
@given(
    records=st.lists(st.tuples(st.sampled_from(TREE.leaves), st.sampled_from(["food", "metal"])), min_size=1, max_size=14),
    reach=st.integers(1, 3),
    unwanted=st.sets(st.integers(0, 20)),
)
def test_all_nested_pairs_are_found_each_once(trees: tuple[Hierarchy, ...], records: list[Place], reach: int, unwanted: set[int]) -> None:
    """Brute force over the sets of records; with alternative trees too, where neither code is above the other."""
    region = Dimension(name="region", trees=trees)
    at = sets_at(region, records)
    members = list(dict.fromkeys(at.values()))
    view = View(
        name="", dimensions=(region, TRADES), coordinates=frozen_array(np.array(list(at))),
        cell=frozen_array(np.array([members.index(each) for each in at.values()])), structural=np.zeros((0, 2), np.int64),
    )  # fmt: skip
    wanted = np.array([number not in unwanted for number in range(len(members))])
    pairs = list(
        zip(*(each.tolist() for each in nested_pairs(view, np.array([len(m) for m in members]), wanted, reach=reach)), strict=True)
    )
    expected = {
        (i, j)
        for i, j in product(np.flatnonzero(wanted).tolist(), repeat=2)
        if members[i] < members[j] and len(members[j]) - len(members[i]) <= reach
    }
    assert len(pairs) == len(set(pairs))
    assert expected <= set(pairs)
    assert all(0 < len(members[j]) - len(members[i]) <= reach for i, j in pairs)
