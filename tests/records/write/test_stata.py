"""Stata files: read by two other packages, they hold what was given, labels and all."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.records.write import content as content_module
from statveil.records.write import stata
from statveil.records.write.stata import refuse_stata_names, write_stata
from tests.records.write.stories import LABELS, PEOPLE, content, plain, read_back

pyreadstat = pytest.importorskip("pyreadstat")


def by_pandas(path: Path) -> dict[str, list[object]]:
    frame = pd.read_stata(path, convert_categoricals=False)
    return {name: [None if value == "" or pd.isna(value) else value for value in frame[name].tolist()] for name in frame.columns}


def test_all_kinds_of_values_come_back(tmp_path: Path) -> None:
    write_stata(tmp_path / "x.dta", [PEOPLE.slice(0, 3), PEOPLE.slice(3)], content(PEOPLE))
    assert read_back(tmp_path / "x.dta") == by_pandas(tmp_path / "x.dta") == plain(PEOPLE)


def test_labels_and_types_are_written(tmp_path: Path) -> None:
    write_stata(tmp_path / "x.dta", [PEOPLE], content(PEOPLE))
    _, facts = pyreadstat.read_dta(str(tmp_path / "x.dta"), metadataonly=True)
    assert facts.column_names == PEOPLE.column_names
    assert {name: label for name, label in facts.column_names_to_labels.items() if label} == LABELS.columns
    assert facts.variable_value_labels == {"age": {1: "einß", -128: "minus"}}
    assert facts.number_rows == 4
    whole = PEOPLE.slice(0, 2)
    write_stata(tmp_path / "y.dta", [whole], content(whole))
    kinds = pd.read_stata(tmp_path / "y.dta", convert_categoricals=False).dtypes.astype(str).to_dict()
    assert (kinds["age"], kinds["rooms"], kinds["metres"], kinds["people"], kinds["cents"]) == (
        "int16",
        "int16",
        "int32",
        "int32",
        "float64",
    )


def test_a_file_without_records_still_has_its_columns(tmp_path: Path) -> None:
    write_stata(tmp_path / "x.dta", [], content(PEOPLE.slice(0, 0)))
    assert set(read_back(tmp_path / "x.dta")) == set(PEOPLE.column_names)
    assert len(pd.read_stata(tmp_path / "x.dta")) == 0


@pytest.mark.parametrize("width", [1, 2044, 2045, 2046, 100_000])
def test_long_texts_lie_behind_the_records(tmp_path: Path, width: int) -> None:
    table = pa.table({"text": ["x" * width, "ä", None, "z"], "after": [1, 2, 3, 4], "again": [None, "y" * width, "", "ü"]})
    write_stata(tmp_path / "x.dta", [table.slice(0, 1), table.slice(1)], content(table))
    assert read_back(tmp_path / "x.dta") == by_pandas(tmp_path / "x.dta") == plain(table)


def test_the_size_of_pieces_does_not_show_and_no_time_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stata(tmp_path / "one.dta", [PEOPLE], content(PEOPLE))
    monkeypatch.setattr(content_module, "TUNING", content_module.TUNING._replace(piece_bytes=1))
    write_stata(tmp_path / "four.dta", [PEOPLE], content(PEOPLE))
    assert (tmp_path / "one.dta").read_bytes() == (tmp_path / "four.dta").read_bytes()
    assert b"<timestamp>\x1101 Jan 1970 00:00</timestamp>" in (tmp_path / "one.dta").read_bytes()


@pytest.mark.parametrize("values", [[2**53 + 1], [-(2**60), 1], [float("inf")], [1e308]])
def test_numbers_that_would_change_are_refused(tmp_path: Path, values: list[float]) -> None:
    table = pa.table({"id": values})
    with pytest.raises(InputError, match="'id' holds numbers that this format cannot hold"):
        write_stata(tmp_path / "x.dta", [table], content(table))


@pytest.mark.parametrize("length", [3, 3000])
def test_a_zero_byte_would_end_a_text_and_is_refused(tmp_path: Path, length: int) -> None:
    table = pa.table({"text": ["a\0b" + "c" * length]})
    with pytest.raises(InputError, match="zero byte"):
        write_stata(tmp_path / "x.dta", [table], content(table))


@pytest.mark.parametrize("name", ["a b", "1a", "a.b", "long", "_all", "str12", "x" * 33, ""])
def test_names_that_stata_does_not_know_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"x\.dta"):
        refuse_stata_names(Path("x.dta"), [name])
    refuse_stata_names(Path("x.dta"), ["a", "A", "_x", "größe"])


def test_too_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stata, "MOST_COLUMNS", 1)
    with pytest.raises(InputError, match="at most 1 columns"):
        write_stata(tmp_path / "x.dta", [PEOPLE], content(PEOPLE))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_written_is_read(tmp_path: Path, data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 6))
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=data.draw(st.sampled_from([3, 40, 2500])))
    texts = data.draw(st.lists(st.none() | text, min_size=rows, max_size=rows))
    numbers = data.draw(st.lists(st.none() | st.floats(allow_nan=False, min_value=-8e307, max_value=8e307), min_size=rows, max_size=rows))
    table = pa.table({"x": pa.array(texts, pa.string()), "y": pa.array(numbers, pa.float64())})
    write_stata(tmp_path / "x.dta", [table], content(table))
    assert by_pandas(tmp_path / "x.dta") == plain(table)
    assert read_back(tmp_path / "x.dta")["x"] == plain(table)["x"]
