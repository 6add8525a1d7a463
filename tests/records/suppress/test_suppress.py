"""The cheapest blanks, under each meaning of a blank, against trying everything."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.core.limits import Ending
from statveil.records.coding import code_file
from statveil.records.suppress import suppress as suppress_module
from tests.records.stories import microdata, random_records, released
from tests.records.suppress.blanked import keys
from tests.reference.files import least_costs, tables_up_to, unsafe

VILLAGE = [("Urk", "vet"), ("Urk", "farmer"), ("Urk", "farmer"), ("Ede", "farmer"), ("Ede", "farmer"), ("Ede", "farmer")]


def test_the_only_vet_in_urk_loses_her_profession() -> None:
    found = sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2))
    assert found.blanks == {"a": 0, "b": 1}


def test_the_time_of_reading_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a limit of 20 s a file took 25: what was read before was not counted."""
    heard: list[sv.Limits] = []
    read, blanks = suppress_module.code_file, suppress_module.fewest_blanks
    monkeypatch.setattr(suppress_module, "code_file", lambda *given: (time.sleep(0.05), read(*given))[1])
    monkeypatch.setattr(suppress_module, "fewest_blanks", lambda *given, limits: (heard.append(limits), blanks(*given, limits=limits))[1])
    sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2), limits=sv.Limits(seconds=60))
    assert heard[0].seconds <= 60 - 0.05


def test_a_dear_profession_cannot_be_saved_when_it_is_rare_itself() -> None:
    found = sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2, costs={"a": 1.0, "b": 100.0}))
    assert (found.blanks, found.cost) == ({"a": 0, "b": 1}, 100.0)


def test_ties_go_to_the_field_of_lower_second_cost() -> None:
    records = [("x", "y"), ("x", "z"), ("w", "y"), ("x", "z"), ("w", "y"), ("x", "z"), ("w", "y")]
    for preferred in ("a", "b"):
        ties = {name: 1.0 if name == preferred else 2.0 for name in ("a", "b")}
        found = sv.recode.suppress(microdata(records), keys(2, threshold=2, order=2, ties=ties))
        assert found.blanks[preferred] == found.total == 1


@pytest.mark.slow
def test_a_cap_moves_blanks_to_another_field_and_is_kept() -> None:
    records = [(f"v{n // 2}", f"w{(n + 1) // 2 % 4}") for n in range(8)]
    free = sv.recode.suppress(microdata(records), keys(2, threshold=2, order=2, ties={"a": 1.0, "b": 2.0}))
    assert free.blanks["a"] == free.total > 2
    capped = sv.recode.suppress(microdata(records), keys(2, threshold=2, order=2, caps={"a": 2}))
    assert capped.blanks["a"] <= 2
    assert (capped.total, str(capped.ending)) == (free.total, "optimal")


@pytest.mark.slow
def test_caps_that_do_not_bind_leave_ties_to_the_second_cost() -> None:
    records = [(f"v{n // 2}", f"w{(n + 1) // 2 % 4}") for n in range(8)]
    for preferred in ("a", "b"):
        ties = {name: 1.0 if name == preferred else 2.0 for name in ("a", "b")}
        found = sv.recode.suppress(microdata(records), keys(2, threshold=2, order=2, ties=ties, caps={"a": 100}))
        assert found.blanks[preferred] == found.total
        assert found.ties_settled


@pytest.mark.slow
def test_what_was_found_shows_itself_in_a_line() -> None:
    found = sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2))
    assert repr(found) == f"Suppression({found.total} blanks, cost {found.total}, bound {found.total})"


def test_caps_that_nothing_keeps_are_refused() -> None:
    with pytest.raises(sv.InfeasibleProblem):
        sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2, caps={"b": 0}))


def test_linked_fields_are_blanked_together() -> None:
    found = sv.recode.suppress(microdata(VILLAGE), keys(2, threshold=2, order=2, linked=[["b", "a"]]))
    assert found.blanks == {"a": 1, "b": 1}


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount", "wildcard"])
def test_a_linked_group_costs_the_same_where_some_of_it_is_missing(rule: Any) -> None:
    """The rare "x" goes, and "b" with it, which is missing in that record: one value is blanked, and the group is paid for."""
    village = [("x", None), ("y", "p"), ("y", "p"), ("y", "p")]
    found = sv.recode.suppress(microdata(village), keys(2, threshold=2, order=1, linked=[["a", "b"]], rule=rule))
    assert (found.total, found.cost, found.bound, found.ending) == (1, 2.0, 2.0, Ending.OPTIMAL)


def household(members: list[tuple[str, str, str]]) -> sv.Microdata:
    return microdata(members, names=("home", "a", "b"))


FAMILIES = [("1", "x", "p"), ("1", "x", "q"), ("2", "y", "p"), ("2", "y", "q"), ("3", "y", "p"), ("4", "y", "q"), ("5", "x", "q")]


def test_a_shared_blank_is_made_for_the_whole_household() -> None:
    """Only one record shows (x, p). Alone either field would do; region a is shared by household 1, so blanking it costs two."""
    settings_: dict[str, Any] = {"threshold": 2, "order": 2, "household": "home"}
    found = sv.recode.suppress(household(FAMILIES), keys(2, shared=["a"], costs={"a": 1.0, "b": 3.0}, **settings_))
    assert (found.blanks, found.cost) == ({"a": 2, "b": 0}, 2.0)
    found = sv.recode.suppress(household(FAMILIES), keys(2, shared=["a"], costs={"a": 1.0, "b": 1.5}, **settings_))
    assert (found.blanks, found.cost) == ({"a": 0, "b": 1}, 1.5)


@pytest.mark.slow
def test_households_keep_caps_too() -> None:
    settings_: dict[str, Any] = {"threshold": 2, "order": 2, "household": "home", "shared": ["a"], "costs": {"a": 1.0, "b": 1.5}}
    found = sv.recode.suppress(household(FAMILIES), keys(2, caps={"b": 0}, **settings_))
    assert found.blanks == {"a": 2, "b": 0}


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount", "wildcard"])
@given(seed=st.integers(0, 10_000), records=st.integers(2, 4), threshold=st.integers(2, 3), missing=st.sampled_from([0.0, 0.2]))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_no_cheaper_blanks_exist(rule: Any, seed: int, records: int, threshold: int, missing: float) -> None:
    """Brute force over every way to blank a small file agrees with the exact answer, in the second cost too."""
    rows = random_records(seed, records=records, sizes=(3, 2, 2), missing=missing)
    tables = tables_up_to(3, 2, threshold)
    least, second = least_costs(rows, tables, rule, [1.0, 1.0, 2.0], [1.0, 0.0, 2.0])
    second_costs = {"a": 5.0, "b": 1.0, "c": 9.0}  # b goes first, then a, then c: ranks 0, 1, 2
    wanted = keys(3, threshold=threshold, order=2, rule=rule, costs={"a": 1.0, "b": 1.0, "c": 2.0}, ties=second_costs)
    if least == float("inf"):
        with pytest.raises(sv.InfeasibleProblem):
            sv.recode.suppress(microdata(rows), wanted)
        return
    found = sv.recode.suppress(microdata(rows), wanted)
    assert (found.cost, found.second_cost) == (least, second)
    assert found.ties_settled
    assert unsafe(*released(found), tables, rule) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings_", [{"candidates": 2}, {"caps": {"a": 500}}, {"counting": "records"}, {"costs": "entropy"}, {"order": "full"}]
)
@pytest.mark.parametrize("rule", ["original", "recount"])
def test_larger_files_are_safe_by_a_plain_recount(settings_: dict[str, Any], rule: Any) -> None:
    rows = random_records(7, records=120, sizes=(6, 4, 3, 2), missing=0.05)
    found = sv.recode.suppress(microdata(rows), keys(4, **{"threshold": 3, "order": 3, "rule": rule, **settings_}))
    order = 4 if settings_.get("order") == "full" else 3
    assert unsafe(*released(found), tables_up_to(4, order, 3), rule) == 0
    assert int(found.records.sum()) == 120


@pytest.mark.slow
def test_a_wildcard_file_is_safe_by_a_plain_recount() -> None:
    rows = random_records(8, records=150, sizes=(6, 4, 3, 2))
    found = sv.recode.suppress(microdata(rows), keys(4, threshold=3, order=3, rule="wildcard"))
    assert unsafe(*released(found), tables_up_to(4, 3, 3), "wildcard") == 0


@pytest.mark.slow
def test_a_listed_single_table_is_made_safe_under_wildcards_too() -> None:
    rows = random_records(9, records=60, sizes=(6, 4, 3))
    wanted = keys(3, threshold=3, combinations=[["a", "b", "c"]], rule="wildcard")
    assert unsafe(*released(sv.recode.suppress(microdata(rows), wanted)), [((0, 1, 2), 3)], "wildcard") == 0


@pytest.mark.slow
def test_the_order_of_the_records_does_not_matter() -> None:
    rows = random_records(10, records=80, sizes=(5, 4, 3))
    there, back = (sv.recode.suppress(microdata(each), keys(3, rule="recount")) for each in (rows, rows[::-1]))
    assert (there.key == back.key).all()
    assert (there.mask == back.mask).all()


def test_a_record_cost_multiplies_the_blanks() -> None:
    data = microdata([("x", "5"), ("y", "1"), ("y", "1")], names=("a", "importance"))
    assert sv.recode.suppress(data, sv.KeyVariables(fields={"a": None}, threshold=2, order=1, record_cost="importance")).cost == 5


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "order", "original", "peer"), [(3, 3, 126, 184), (3, "full", 283, 333), (5, "full", 461, 609)])
@pytest.mark.shared
def test_testdata_needs_these_blanks(shared_data: Any, threshold: int, order: Any, original: int, peer: int) -> None:
    """Known counts of the household survey; sdcMicro's recount is the bar."""
    names = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
    data = sv.read_microdata(shared_data / "microdata" / "testdata.csv")
    wanted = sv.KeyVariables(fields=dict.fromkeys(names), threshold=threshold, order=order)
    exact = sv.recode.suppress(data, wanted)
    assert (exact.total, str(exact.ending)) == (original, "optimal")
    recounted = sv.recode.suppress(data, sv.KeyVariables(fields=wanted.fields, threshold=threshold, order=order, rule="recount"))
    assert original <= recounted.total <= peer
    blanked = released(recounted)[1]
    for places, least in code_file(data, wanted).tables:
        counts: dict[tuple[str | None, ...], int] = {}
        for record in blanked:
            cell = tuple(record[place] for place in places)
            counts[cell] = counts.get(cell, 0) + 1
        assert all(number >= least for cell, number in counts.items() if None not in cell)
