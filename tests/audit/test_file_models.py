"""Risk models worked out anew by the audit, limits that are just reached among them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from statveil.audit.file_audit import FileStatement, audit_file
from statveil.audit.file_models import PromisedModel
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata

WARD: dict[str, list[Any]] = {
    "town": ["p"] * 4 + ["q"] * 4,
    "ill": ["a", "b", "a", "b", "a", "a", "a", "b"],
    "wage": ["1", "2", "3", "4", "1.0", "2", "3", "4"],
    "w": ["2", "2", "2", "2", "1", "1", "1", "1"],
    "home": ["1", "1", "2", None, "3", "3", "4", "4"],
}


def data(columns: dict[str, list[Any]]) -> Microdata:
    return read_microdata(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}))


def faults(model: PromisedModel, released: dict[str, list[Any]] | None = None, rule: str = "original", blanks: int = 0) -> int:
    statement = FileStatement(fields=("town",), tables=((("town",), 1),), rule=rule, blanks={"town": blanks}, models=[model])
    checks = audit_file(data(WARD), data(released or WARD), statement).report.checks
    assert [check.name for check in checks if not check.passed and check.name != model.kind] == []
    return next(check.faults for check in checks if check.name == model.kind)


def promised(kind: str, limit: float, column: str | None = "ill", **settings: Any) -> PromisedModel:
    return PromisedModel(kind=kind, limit=limit, words="a test", column=column, **settings)


@pytest.mark.parametrize(
    ("kind", "limit", "c", "bad"),
    [
        ("distinct-diversity", 2, 0, 0),
        ("distinct-diversity", 3, 0, 8),
        ("entropy-diversity", 2, 0, 4),  # two and two reach it exactly, three and one do not
        ("entropy-diversity", 1.7, 0, 0),
        ("recursive-diversity", 2, 3, 4),  # 3 is not rarer than 3 x 1
        ("recursive-diversity", 2, 3.1, 0),
        ("closeness", 0.125, 0, 0),  # 5/8 in the file; 1/2 and 3/4 are an eighth away, exactly
        ("closeness", 0.12, 0, 8),
    ],
)
def test_diversity_by_hand(kind: str, limit: float, c: float, bad: int) -> None:
    assert faults(promised(kind, limit, c=c)) == bad


def test_numbers_are_ordered_however_they_are_written() -> None:
    assert faults(promised("closeness", 0.0, "wage")) == 0
    half = {**WARD, "town": [None, None, "p", "p", *WARD["town"][4:]]}
    assert faults(promised("closeness", 0.3, "wage"), half, rule="recount", blanks=2) == 2
    assert faults(promised("closeness", 0.34, "wage"), half, rule="recount", blanks=2) == 0


def test_missing_values_are_values() -> None:
    gone = {**WARD, "ill": [None, None, "a", "b", *WARD["ill"][4:]]}
    statement = FileStatement(
        fields=("town",), tables=((("town",), 1),), rule="original", blanks={}, models=[promised("distinct-diversity", 3)]
    )
    checks = audit_file(data(gone), data(gone), statement).report.checks
    assert next(check.faults for check in checks if check.name == "distinct-diversity") == 4


def test_what_the_original_has_not_is_never_diverse_nor_without_risk() -> None:
    moved = {**WARD, "town": ["r", *WARD["town"][1:]]}
    for model in (promised("distinct-diversity", 1), promised("individual-risk", 0.9, None)):
        statement = FileStatement(fields=("town",), tables=((("town",), 1),), rule="original", blanks={}, models=[model])
        checks = audit_file(data(WARD), data(moved), statement).report.checks
        assert next(check.faults for check in checks if check.name == model.kind) == 1


@pytest.mark.parametrize(("limit", "weight", "bad"), [(0.25, None, 0), (0.24, None, 8), (0.25, "w", 0), (0.24, "w", 4), (0.1, "w", 8)])
def test_individual_risks(limit: float, weight: str | None, bad: int) -> None:
    """Four of four are at 1/4; four of eight at one in seven."""
    assert faults(promised("individual-risk", limit, None, weight=weight)) == bad


def test_risks_of_one_and_of_two_of_a_larger_population() -> None:
    few = {**WARD, "town": ["p", "q", "q", *[None] * 5], "w": ["2"] * 8}
    one, two = 0.6931472, 1 - 0.6931472
    for limit, bad in ((one + 1e-6, 0), (one - 1e-6, 1), (two + 1e-6, 1), (two - 1e-6, 3)):
        statement = FileStatement(
            fields=("town",),
            tables=((("town",), 1),),
            rule="recount",
            blanks={},
            models=[promised("individual-risk", limit, None, weight="w")],
        )
        checks = audit_file(data(few), data(few), statement).report.checks
        assert next(check.faults for check in checks if check.name == "individual-risk") == bad


def test_households_are_as_risky_as_all_their_members() -> None:
    """Two of a quarter each are at 7/16; who has no household is alone."""
    assert faults(promised("household-risk", 7 / 16, None, household="home")) == 0
    assert faults(promised("household-risk", 0.43, None, household="home")) == 6
    assert faults(promised("household-risk", 0.24, None, household="home")) == 8


def test_a_file_blank_everywhere_obeys_all_models() -> None:
    blank = {**WARD, "town": [None] * 8}
    for model in (promised("distinct-diversity", 9), promised("individual-risk", 0.01, None)):
        assert faults(model, blank, rule="recount", blanks=8) == 0
        assert faults(model, blank, blanks=8) == 0
