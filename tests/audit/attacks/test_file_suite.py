"""Attacks on a safe file as it lies there: records traced to originals, and M01 to M08 on small files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from statveil.audit.attacks.file_attacks import Edit
from statveil.audit.attacks.file_suite import FILE_THREATS, FileCase, attack_released_file, exposed_by
from statveil.audit.attacks.file_trace import TracedFile, trace
from statveil.audit.attacks.verdict import Verdict, VerdictStatus
from statveil.audit.file_audit import Compared, both_records
from tests.audit.test_file_audit import SAFE, STATEMENT, VILLAGE, Columns, changed, data

SHUFFLED: Columns = {name: [values[place] for place in (3, 0, 5, 1, 4, 2)] for name, values in SAFE.items()}


def case(released: Columns = SHUFFLED, original: Columns = VILLAGE, **more: Any) -> FileCase:
    return FileCase(original=data(original), released=data(released), statement=more.pop("statement", STATEMENT), **more)


def attacked(made: FileCase) -> dict[str, Verdict]:
    return {each.threat.id: each for each in attack_released_file(made)}


def traced(made: FileCase) -> TracedFile:
    return trace(*both_records(made.original, made.released, made.statement), len(made.statement.fields))


def test_a_shuffled_file_is_traced_record_by_record() -> None:
    found = traced(case())
    assert found.values == (("Ede", "Urk"), ("farmer", "vet"))
    assert found.place.tolist() == [3, 0, 5, 1, 4, 2]
    assert found.released[1].tolist() == [0, -1, 0, 0, 0, 0]
    assert found.truth[1].tolist() == [0, 1, 0, 0, 0, 0]


def test_records_that_nothing_tells_apart_are_matched_and_not_certain() -> None:
    """Without other columns: three farmers of Ede are three farmers of Ede, and the blank can only be the vet."""
    keys: Columns = {name: VILLAGE[name] for name in ("town", "job")}
    safe: Columns = {name: SAFE[name] for name in ("town", "job")}
    found = traced(case(safe, keys))
    assert found.truth[1].tolist() == [1, 0, 0, 0, 0, 0]
    assert found.place.tolist() == [0, -1, -1, -1, -1, -1]


def test_a_record_without_an_original_is_not_known() -> None:
    found = traced(case(changed("town", 0, "Ede")))
    assert found.place[0] == -1
    assert found.truth[:, 0].tolist() == [-1, -1]


def test_the_only_vet_is_pinned_and_everything_else_holds() -> None:
    """Only rare values are blanked, and vet is the only one: whoever knows the method knows."""
    found = attacked(case())
    assert list(found) == list(FILE_THREATS)
    assert found["M01"].passed
    assert found["M02"].number == "0 if a blank means 'original', 0 if a blank means 'recount', 0 if a blank means 'wildcard'"
    assert found["M03"].status is VerdictStatus.FAILED
    assert found["M04"].passed
    assert found["M05"].passed
    assert "population" in found["M06"].reason
    assert found["M07"].reason == "No earlier release is named."
    assert "fewer than 30" in found["M08"].reason


def test_what_is_left_open_is_counted_again() -> None:
    found = attacked(case(VILLAGE, statement=replace(STATEMENT, blanks={})))
    assert found["M01"].status is VerdictStatus.FAILED
    assert found["M02"].status is VerdictStatus.FAILED
    assert found["M03"].passed  # nothing is blank


def test_weights_that_are_not_released_cannot_be_counted() -> None:
    statement = replace(STATEMENT, weight="weight", dropped=("weight",), rule="recount", tables=((("town",), 2),))
    found = attacked(case({name: values for name, values in SHUFFLED.items() if name != "weight"}, statement=statement))
    assert found["M01"].status is VerdictStatus.NOT_APPLICABLE
    assert found["M02"].figures["recount"] == "not counted"


def test_amounts_are_weights_where_the_rule_counts_weights() -> None:
    made = case(statement=replace(STATEMENT, weight="weight"))
    exposed = exposed_by(made, traced(made))
    assert exposed.amount.sum() == 7_000_000
    assert exposed.records.sum() == 6
    assert exposed.tables[0] == ((0,), 2_000_000)


def test_a_file_with_other_columns_is_not_attacked() -> None:
    found = attacked(case({name: values for name, values in SAFE.items() if name != "income"}))
    assert {each.status for each in found.values()} == {VerdictStatus.NOT_APPLICABLE}


RECODED = {"town": {"Urk": "north", "Ede": "south"}, "job": {"vet": "care", "farmer": "land", "cook": "land"}}
LAND: Columns = {**VILLAGE, "town": ["north" if town == "Urk" else "south" for town in VILLAGE["town"]], "job": ["care", *["land"] * 5]}


def test_a_new_word_for_a_single_old_one_hides_nothing() -> None:
    statement = replace(STATEMENT, recoded=RECODED, blanks={}, tables=((("town",), 2),))
    made = case(LAND, statement=statement)
    refined = exposed_by(made, traced(made)).refined
    assert {place: flags.tolist() for place, flags in refined.items()} == {0: [True, True], 1: [True, False]}
    assert attacked(made)["M05"].status is VerdictStatus.FAILED


def test_edit_rules_speak_of_old_values_and_fit_where_all_of_them_do() -> None:
    edits = [({"town": ["Urk"], "job": ["farmer", "vet"]}, {"job": "vet"}), ({"town": ["Urk"]}, {"job": "pilot"})]
    made = case(LAND, statement=replace(STATEMENT, recoded=RECODED, blanks={}), edits=edits)
    expected = Edit(when={0: frozenset({0}), 1: frozenset({0})}, place=1, code=0)  # behind "land" there are cooks too
    assert exposed_by(made, traced(made)).edits == [expected]
    plain = case(edits=[({"town": ["Urk"]}, {"job": "vet"})], decoys=True)
    assert exposed_by(plain, traced(plain)).edits == [Edit(when={0: frozenset({1})}, place=1, code=1)]
    assert attacked(plain)["M04"].status is VerdictStatus.FAILED


@pytest.mark.parametrize(
    ("earlier", "waiver", "status"),
    [
        (Compared(0, {"town": 0}), None, VerdictStatus.NOT_APPLICABLE),
        (Compared(6, {"town": 0}), None, VerdictStatus.PASSED),
        (Compared(6, {"town": 2}), None, VerdictStatus.FAILED),
        (Compared(6, {"town": 2}), " ", VerdictStatus.FAILED),
        (Compared(6, {"town": 2}), "agreed", VerdictStatus.PASSED),
    ],
)
def test_released_twice(earlier: Compared, waiver: str | None, status: VerdictStatus) -> None:
    assert attacked(case(earlier=[earlier], waiver=waiver))["M07"].status is status


def long(order: np.ndarray) -> FileCase:
    """Forty farmers with incomes of their own."""
    columns: Columns = {"town": ["Urk"] * 40, "job": ["farmer"] * 40, "income": [str(number) for number in range(40)]}
    released = {name: [values[place] for place in order] for name, values in columns.items()}
    return case(released, columns, statement=replace(STATEMENT, blanks={}))


def test_a_file_in_its_old_order_tells_row_numbers() -> None:
    assert attacked(long(np.arange(40)))["M08"].status is VerdictStatus.FAILED
    assert attacked(long(np.arange(40)))["M08"].mark.endswith("or by chance: here at most 0.641"), "four deviations of 40 records"
    assert attacked(long(np.random.Generator(np.random.PCG64(2)).permutation(40)))["M08"].passed


def test_traces_are_confidential() -> None:
    assert repr(traced(case())) == "TracedFile()"
    assert pa.types.is_string(both_records(data(VILLAGE), data(SAFE), STATEMENT)[0]["w0"].type)
