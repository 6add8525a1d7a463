"""Traps in the input: words and columns that used to end in a fault, or in less protection than was asked."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import statveil as sv
from statveil.audit.file_audit import audit_file
from statveil.publish.file_release import statement_of
from statveil.recode import Intervals, Menu
from statveil.records.risk import find_unsafe

NAMES = ("unknown", "category")


def table(**columns: list[Any]) -> sv.Microdata:
    return sv.read_microdata(pa.table(columns))


def release(data: sv.Microdata, keys: sv.KeyVariables, to: Path, **recoding: str) -> sv.FileRelease:
    return sv.apply_plan(data, sv.plan_recoding(data, keys, recoding=recoding or None), to)


def column(found: sv.FileRelease, name: str) -> list[str]:
    return sorted("" if each is None else each for each in sv.read_microdata(found.path).codes(name))


@pytest.mark.filterwarnings("ignore:Column")
@pytest.mark.parametrize("missing", NAMES)
@pytest.mark.parametrize("chosen", ["as it is", "all"])
def test_the_word_missing_is_a_code_like_others(tmp_path: Path, missing: Any, chosen: str) -> None:
    data = table(a=["missing"] * 4 + ["x"] * 4 + [None] * 4, b=list("pqrs") * 3)
    keys = sv.KeyVariables(fields={"a": Menu.own({"all": {"missing": "M", "x": "M"}}), "b": None}, order=1, missing=missing)
    found = release(data, keys, tmp_path / "safe.csv", a=chosen, b="as it is")
    assert found.plan.suppression.total == 0
    written = {"missing", "x"} if chosen == "as it is" else {"M"}
    gap = {"missing_"} if missing == "category" else set()
    assert set(column(found, "a")) == written | gap


@pytest.mark.filterwarnings("ignore:Column")
def test_a_missing_code_may_be_the_word_missing(tmp_path: Path) -> None:
    data = table(a=["missing"] * 3 + ["x"] * 4)
    keys = sv.KeyVariables(fields={"a": None}, order=1, missing="category", missing_codes={"a": ["missing"]})
    found = release(data, keys, tmp_path / "safe.csv")
    assert column(found, "a") == ["missing", "x"]
    assert found.plan.suppression.total == 0


@pytest.mark.parametrize("rule", ["original", "recount"])
@pytest.mark.parametrize("missing", NAMES)
def test_a_recoded_field_may_be_missing_everywhere(tmp_path: Path, rule: Any, missing: Any) -> None:
    data = table(a=pa.array([None] * 6, pa.string()), b=["p"] * 5 + ["q"])
    keys = sv.KeyVariables(fields={"a": Menu.intervals(5), "b": None}, threshold=2, order=2, rule=rule, missing=missing)
    found = release(data, keys, tmp_path / "safe.csv", a="width 5", b="as it is")
    assert found.plan.suppression.blanks == {"a": 0, "b": 1}
    assert all(each.passed for each in found.attacks if each.name == "M05")


def test_words_that_often_mean_missing_are_told_with_their_number_and_the_remedy() -> None:
    data = table(a=["NA"] * 3 + ["x"] * 4 + ["?"], b=[" "] * 2 + ["p"] * 6)
    with pytest.warns(UserWarning, match="Column 'a'") as told:
        found = find_unsafe(data, sv.KeyVariables(fields={"a": None, "b": None}, order=1))
    words = [str(each.message) for each in told]
    assert len(words) == 2
    assert "'NA' (3 records), '?' (1 record)" in words[0]
    assert 'missing_codes: a = ["NA", "?"]' in words[0]
    assert 'missing_codes: b = [""]' in words[1]
    assert found.records == 3  # values like others: one "?", two blanks


def test_words_that_are_named_as_missing_codes_are_not_told_again() -> None:
    data = table(a=["NA"] * 3 + ["x"] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = find_unsafe(data, sv.KeyVariables(fields={"a": None}, order=1, missing_codes={"a": ["NA"]}))
    assert found.records == 0


def test_a_missing_code_is_compared_as_text_in_text_and_as_a_number_in_numbers(tmp_path: Path) -> None:
    text = table(a=["1"] * 4 + ["1.0"] + ["2"] * 4)
    keys = sv.KeyVariables(fields={"a": None}, order=1, missing_codes={"a": ["1"]})
    with pytest.warns(UserWarning, match=r"'1\.0' \(1 record\)"):
        found = release(text, keys, tmp_path / "text.csv")
    assert found.plan.suppression.total == 1
    numbers = table(a=[1.0] * 4 + [1.5] + [2.0] * 4)
    assert find_unsafe(numbers, keys).records == 1
    for ending in ("csv", "parquet"):
        assert release(numbers, keys, tmp_path / f"numbers.{ending}").plan.suppression.total == 1
    whole = table(a=[1] * 4 + [3] + [2] * 4)
    assert release(whole, keys, tmp_path / "whole.csv").plan.suppression.total == 1


def test_a_special_code_beside_intervals_is_a_value_and_protected(tmp_path: Path) -> None:
    data = table(age=["21", "24", "25", "refused", "refused", "999", "999", "999"], town=["x"] * 7 + ["y"])
    menu = Menu.intervals(10, special=["refused", "999"])
    keys = sv.KeyVariables(fields={"age": menu, "town": None}, order=1)
    found = release(data, keys, tmp_path / "safe.csv", age="width 10", town="as it is")
    assert found.plan.suppression.blanks == {"age": 2, "town": 1}  # who refused is rare; 20-29 and 999 are not
    assert column(found, "age") == ["20-29", "999"]


def test_words_beside_intervals_are_refused_with_the_remedy() -> None:
    data = table(age=["21", "refused"])
    with pytest.raises(sv.InputError, match="not numbers") as caught:
        sv.plan_recoding(data, sv.KeyVariables(fields={"age": Menu.intervals(10)}))
    assert "special" in str(caught.value.hint)
    with pytest.raises(sv.InputError, match="special"):
        Intervals(name="x", width=5, special="refused")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_record_in_several_unsafe_combinations_is_counted_once(tmp_path: Path) -> None:
    data = table(a=["p"] * 5 + ["q"], b=["r"] * 5 + ["s"], c=["t"] * 6)
    keys = sv.KeyVariables(fields={"a": None, "b": None, "c": None}, threshold=2, order=2, rule="wildcard")
    plan = sv.plan_recoding(data, keys)
    statement = replace(statement_of(plan), blanks={})
    assert dict(audit_file(data, data, statement).unsafe) == {"original": 1, "recount": 1, "wildcard": 1}
