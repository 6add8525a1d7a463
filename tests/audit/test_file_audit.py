"""The audit of a written safe file: it accepts what was promised and finds every kind of tampering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from statveil.audit import file_audit
from statveil.audit.file_audit import FileStatement, audit_file, compare_releases
from statveil.audit.report import Check
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata

Columns = dict[str, list[Any]]

VILLAGE: Columns = {
    "home": ["1", "1", "2", "2", "3", "3"],
    "town": ["Urk", "Urk", "Ede", "Ede", "Ede", "Urk"],
    "job": ["vet", "farmer", "farmer", "farmer", "farmer", "farmer"],
    "title": ["dr", "", "", "", "", ""],
    "weight": ["1", "2", "1", "1", "1", "1"],
    "income": ["10", "20", "30", "40", "50", "60"],
}
SAFE: Columns = {**VILLAGE, "job": [None, "farmer", "farmer", "farmer", "farmer", "farmer"]}
STATEMENT = FileStatement(
    fields=("town", "job"),
    tables=((("town",), 2), (("job",), 2), (("town", "job"), 2)),
    rule="original",
    blanks={"town": 0, "job": 1},
)


def data(columns: Columns) -> Microdata:
    return read_microdata(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}))


def faults(released: Columns, statement: FileStatement = STATEMENT, original: Columns = VILLAGE) -> dict[str, int]:
    report = audit_file(data(original), data(released), statement).report
    return {check.name: check.faults for check in report.checks if check.faults}


def changed(name: str, row: int, value: str | None) -> Columns:
    return {**SAFE, name: [*SAFE[name][:row], value, *SAFE[name][row + 1 :]]}


def test_what_was_promised_is_accepted_in_any_order_and_counted_under_all_rules() -> None:
    assert faults(SAFE) == {}
    assert faults({name: values[::-1] for name, values in SAFE.items()}) == {}
    assert audit_file(data(VILLAGE), data(SAFE), STATEMENT).unsafe == {"original": 0, "recount": 0, "wildcard": 0}


def test_the_vet_left_open_is_found() -> None:
    found = faults(VILLAGE, replace(STATEMENT, blanks={}))
    assert found == {"recount": 1}


@pytest.mark.parametrize("name", ["income", "title", "home"])
def test_a_changed_other_column_is_found(name: str) -> None:
    assert "rest" in faults(changed(name, 2, "99"))


def test_a_changed_key_value_is_found() -> None:
    assert "changes" in faults(changed("town", 2, "Urk"))


def test_values_swapped_between_records_are_found() -> None:
    """Counts, columns and blanks stay as they were: only the records do not exist."""
    swapped = {**SAFE, "town": ["Urk", "Urk", "Ede", "Ede", "Urk", "Ede"]}
    assert set(faults(swapped)) == {"changes"}


def test_a_lost_record_is_found() -> None:
    assert "rest" in faults({name: values[:-1] for name, values in SAFE.items()})


def test_a_lost_column_is_found() -> None:
    assert faults({name: values for name, values in SAFE.items() if name != "income"}) == {"columns": 1}
    dropped = replace(STATEMENT, dropped=("income",))
    assert faults({name: values for name, values in SAFE.items() if name != "income"}, dropped) == {}


def test_an_unplanned_blank_is_found_and_a_cap_is_checked() -> None:
    assert "blanks" in faults(changed("town", 3, None))
    assert faults(SAFE, replace(STATEMENT, caps={"job": 0})) == {"caps": 1}


def test_a_recoding_must_be_the_one_stated() -> None:
    recoded = {**SAFE, "town": ["town"] * 6}
    mapping = {"town": {"Urk": "town", "Ede": "town"}}
    assert faults(recoded, replace(STATEMENT, recoded=mapping)) == {}
    assert "changes" in faults(recoded, replace(STATEMENT, recoded={"town": {"Urk": "village", "Ede": "town"}}))


LINKED = replace(STATEMENT, linked=[("job", "title")])


def test_a_linked_column_is_blank_with_its_field() -> None:
    linked = {**SAFE, "title": [None, *SAFE["title"][1:]]}
    assert "rest" in faults(linked)
    assert faults(linked, LINKED) == {}


def test_a_linked_column_left_open_or_blanked_for_others_is_found() -> None:
    titles = {**VILLAGE, "title": ["dr", "ir", "", "drs", "", ""]}
    safe = {**SAFE, "title": [None, "ir", "", "drs", "", ""]}
    assert faults(safe, LINKED, titles) == {}
    assert faults({**safe, "title": titles["title"]}, LINKED, titles) == {"changes": 1}
    assert faults({**safe, "title": [None] * 6}, LINKED, titles) == {"changes": 2}


def test_a_title_whose_field_was_missing_stays() -> None:
    original = {**VILLAGE, "job": [None, *VILLAGE["job"][1:]]}
    assert faults(original, replace(LINKED, blanks={}), original) == {}
    assert faults({**original, "title": [None, *VILLAGE["title"][1:]]}, replace(LINKED, blanks={}), original) == {"changes": 1}


def test_two_linked_fields_are_blank_together() -> None:
    statement = replace(STATEMENT, linked=[("job", "town")], blanks={"town": 1, "job": 1})
    assert faults({**SAFE, "town": [None, *SAFE["town"][1:]]}, statement) == {}
    assert faults(SAFE, replace(statement, blanks=STATEMENT.blanks)) == {"changes": 1}


def test_recounting_finds_what_blanks_made_rare() -> None:
    both = {**SAFE, "town": ["Urk", None, "Ede", "Ede", "Ede", "Urk"]}
    statement = replace(STATEMENT, rule="recount", blanks={"town": 1, "job": 1})
    assert faults(both, statement) == {"recount": 1}


def test_weights_are_compared_with_the_threshold() -> None:
    statement = replace(STATEMENT, weight="weight", tables=((("town",), 4), (("job",), 3)))
    assert faults({**SAFE}, statement) == {"recount": 3}
    assert audit_file(data(VILLAGE), data(SAFE), statement).unsafe["wildcard"] is None


def test_missing_codes_and_categories() -> None:
    unknown = {**VILLAGE, "job": ["?", *VILLAGE["job"][1:]]}
    statement = replace(STATEMENT, blanks={}, missing_codes={"job": ["?"]})
    assert faults(unknown, statement, unknown) == {}
    labelled = {**unknown, "job": ["missing", *VILLAGE["job"][1:]]}
    word = {"job": "missing"}
    assert faults(labelled, replace(statement, missing_as=word, tables=STATEMENT.tables[:1]), unknown) == {}
    assert faults(labelled, replace(statement, missing_as=word), unknown) == {"recount": 1}
    assert faults(labelled, replace(statement, missing_as={"job": "gap"}, tables=STATEMENT.tables[:1]), unknown)["changes"] == 1


def test_a_household_blanked_in_part_is_found() -> None:
    statement = replace(STATEMENT, household="home", shared=("job",))
    assert faults(SAFE, statement) == {"households": 1}
    whole = {**SAFE, "job": [None, None, *SAFE["job"][2:]]}
    assert faults(whole, replace(statement, blanks={"job": 2})) == {}


def test_one_household_healed_does_not_hide_another_that_was_broken() -> None:
    original = {**VILLAGE, "job": [None, "farmer", *VILLAGE["job"][2:]]}
    released = {**original, "job": [None, None, None, *VILLAGE["job"][3:]]}
    statement = replace(STATEMENT, household="home", shared=("job",), blanks={"job": 2})
    assert faults(released, statement, original) == {"households": 1}


def households(released: Columns, original: Columns, **stated: Any) -> Check:
    statement = replace(STATEMENT, household="home", shared=("job",), dropped=("home",), **stated)
    report = audit_file(data(original), data({n: v for n, v in released.items() if n != "home"}), statement).report
    return next(check for check in report.checks if check.name == "households")


def test_a_dropped_household_is_followed_by_the_other_columns() -> None:
    found = households(SAFE, VILLAGE)
    assert (found.checked, found.faults) == (3, 1)
    whole = {**SAFE, "job": [None, None, *SAFE["job"][2:]]}
    assert households(whole, VILLAGE, blanks={"job": 2}).passed


def test_a_household_that_nothing_tells_is_not_checked_and_says_so() -> None:
    """Two records with the same other columns could be either."""
    original, released = ({**each, "income": ["1"] * 6, "weight": ["1"] * 6, "title": [""] * 6} for each in (VILLAGE, SAFE))
    found = households(released, original)
    assert (found.checked, found.faults) == (0, 0)
    assert "not checked" in found.words


def test_wildcards_match_everything() -> None:
    assert faults(SAFE, replace(STATEMENT, rule="wildcard")) == {}
    assert faults(VILLAGE, replace(STATEMENT, rule="wildcard", blanks={})) == {"recount": 1}


def test_a_count_that_was_not_made_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_audit, "TUNING", file_audit.TUNING._replace(work=0))
    assert faults(SAFE, replace(STATEMENT, rule="wildcard")) == {"recount": 1}
    assert faults(SAFE) == {}


def test_numbers_of_statistical_packages_are_compared_as_numbers() -> None:
    released = replace(data({**SAFE, "income": [f"{value}.0" for value in SAFE["income"]]}), origin="safe.sav")
    assert audit_file(data(VILLAGE), released, STATEMENT).report.passed


def test_long_identifiers_are_compared_digit_by_digit() -> None:
    """As doubles the two would be the same."""
    original = {**VILLAGE, "income": [str(2**60 + row) for row in range(6)]}
    released = {**SAFE, "income": [str(2**60 + row) for row in (0, 1, 2, 3, 4, 6)]}
    report = audit_file(data(original), replace(data(released), origin="safe.sav"), STATEMENT).report
    assert {check.name for check in report.checks if check.faults} == {"rest", "changes"}


@pytest.mark.parametrize(("ending", "passed"), [("csv", True), ("sav", True), ("dta", True), ("parquet", False)])
def test_an_empty_text_is_a_missing_one_where_the_format_cannot_tell(ending: str, passed: bool) -> None:
    released = {**SAFE, "title": [value or None for value in SAFE["title"]]}
    assert audit_file(data(VILLAGE), replace(data(released), origin=f"safe.{ending}"), STATEMENT).report.passed == passed


def test_short_floats_are_compared_as_the_doubles_they_are() -> None:
    share = pa.array([0.1 * row for row in range(6)], pa.float32())
    original, released = (
        read_microdata(pa.table({**{name: pa.array(values, pa.string()) for name, values in columns.items()}, "share": share.cast(kind)}))
        for columns, kind in ((VILLAGE, pa.float32()), (SAFE, pa.float64()))
    )
    assert audit_file(original, replace(released, origin="safe.dta"), STATEMENT).report.passed
    assert not audit_file(original, replace(released, origin="safe.parquet"), STATEMENT).report.passed


def test_two_releases_that_fill_each_others_blanks_are_found() -> None:
    assert compare_releases(data(SAFE), data(SAFE), ("town", "job")) == (6, {"town": 0, "job": 0})
    assert compare_releases(data(SAFE), data(VILLAGE), ("town", "job")) == (6, {"town": 0, "job": 1})


def test_releases_without_other_columns_cannot_be_compared() -> None:
    assert compare_releases(data({"job": ["vet"]}), data({"job": [None]}), ("job",)) == (0, {"job": 0})


def test_releases_are_compared_however_their_numbers_are_written() -> None:
    written = {**VILLAGE, "weight": [f"{each}.0" for each in VILLAGE["weight"]], "title": [each or None for each in VILLAGE["title"]]}
    assert compare_releases(data(SAFE), data(written), ("town", "job")) == (6, {"town": 0, "job": 1})
    numbers = pa.table({name: pa.array(values, pa.string()) for name, values in VILLAGE.items()})
    numbers = numbers.set_column(5, "income", pa.array([float(each) for each in VILLAGE["income"]]))
    assert compare_releases(data(SAFE), read_microdata(numbers), ("town", "job")) == (6, {"town": 0, "job": 1})


def test_weights_that_are_dropped_leave_nothing_to_recount() -> None:
    """Under rule `original` the weights of the original decide; under `recount` a count that cannot be made is a fault."""
    statement = replace(STATEMENT, weight="weight", tables=((("job",), 2),), dropped=("weight",))
    released = data({name: values for name, values in SAFE.items() if name != "weight"})
    assert audit_file(data(VILLAGE), released, statement).unsafe == {"original": 0, "recount": None, "wildcard": None}
    assert audit_file(data(VILLAGE), released, statement).report.passed
    assert not audit_file(data(VILLAGE), released, replace(statement, rule="recount")).report.passed
