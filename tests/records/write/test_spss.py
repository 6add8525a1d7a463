"""SPSS files: read by another package, they hold what was given, labels and all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.data.microdata import FileLabels
from statveil.records.write import content as content_module
from statveil.records.write.content import FileContent
from statveil.records.write.spss import refuse_spss_names, write_spss
from tests.records.write.stories import LABELS, PEOPLE, content, plain, read_back

pyreadstat = pytest.importorskip("pyreadstat")
NO_LABELS = FileLabels()


def test_all_kinds_of_values_come_back(tmp_path: Path) -> None:
    write_spss(tmp_path / "x.sav", [PEOPLE.slice(0, 3), PEOPLE.slice(3)], content(PEOPLE))
    assert read_back(tmp_path / "x.sav") == plain(PEOPLE)


def test_labels_names_and_formats_are_written(tmp_path: Path) -> None:
    write_spss(tmp_path / "x.sav", [PEOPLE], content(PEOPLE))
    _, facts = pyreadstat.read_sav(str(tmp_path / "x.sav"), metadataonly=True)
    assert facts.column_names == PEOPLE.column_names
    assert {name: label for name, label in facts.column_names_to_labels.items() if label} == LABELS.columns
    assert facts.variable_value_labels == {name: each for name, each in LABELS.values.items() if name != "cents"}
    kinds = facts.original_variable_types
    assert (kinds["age"], kinds["größe"], kinds["note"], kinds["novel"]) == ("F8.0", "F8.2", "A255", "A20047")
    assert (facts.file_encoding, facts.number_rows) == ("UTF-8", 4)


def test_a_file_without_records_still_has_its_columns(tmp_path: Path) -> None:
    write_spss(tmp_path / "x.sav", [], content(PEOPLE.slice(0, 0)))
    assert set(read_back(tmp_path / "x.sav")) == set(PEOPLE.column_names)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 254, 255, 256, 257, 504, 505, 510, 511, 765, 32767])
def test_texts_of_every_width_are_cut_into_segments_and_joined_again(tmp_path: Path, width: int) -> None:
    table = pa.table({"text": ["".join(chr(97 + i % 26) for i in range(width)), "a"], "after": [1, 2]})
    write_spss(tmp_path / "x.sav", [table], content(table))
    assert read_back(tmp_path / "x.sav") == plain(table)


def test_the_size_of_pieces_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_spss(tmp_path / "one.sav", [PEOPLE], content(PEOPLE))
    monkeypatch.setattr(content_module, "TUNING", content_module.TUNING._replace(piece_bytes=1))
    write_spss(tmp_path / "four.sav", [PEOPLE], content(PEOPLE))
    assert (tmp_path / "one.sav").read_bytes() == (tmp_path / "four.sav").read_bytes()


def test_the_header_holds_no_time(tmp_path: Path) -> None:
    write_spss(tmp_path / "x.sav", [PEOPLE], content(PEOPLE))
    assert (tmp_path / "x.sav").read_bytes()[92:109] == b"01 Jan 7000:00:00"


@pytest.mark.parametrize("values", [[2**53 + 1], [-(2**60), 1], [float("inf")], [1.7976931348623157e308]])
def test_numbers_that_would_change_are_refused(tmp_path: Path, values: list[float]) -> None:
    table = pa.table({"id": values})
    with pytest.raises(InputError, match="'id' holds numbers that this format cannot hold"):
        write_spss(tmp_path / "x.sav", [table], content(table, NO_LABELS))


def test_texts_that_would_change_are_refused(tmp_path: Path) -> None:
    for text, words in (("x" * 32768, "longer texts"), ("a\0b", "zero byte")):
        table = pa.table({"text": [text]})
        with pytest.raises(InputError, match=words):
            write_spss(tmp_path / "x.sav", [table], content(table))


def test_records_that_differ_from_what_was_announced_are_refused(tmp_path: Path) -> None:
    table = pa.table({"text": ["abc"]})
    for records, width in ((2, 3), (1, 2)):
        told = FileContent(schema=table.schema, records=records, widths={"text": width})
        with pytest.raises(InputError, match="changed while they were read"):
            write_spss(tmp_path / "x.sav", [table], told)


@pytest.mark.parametrize("names", [["a b"], ["1a"], ["_a"], ["all"], ["ä" * 33], [""], ["a", "A"]])
def test_names_that_spss_does_not_know_are_refused(names: list[str]) -> None:
    with pytest.raises(InputError, match=r"x\.sav"):
        refuse_spss_names(Path("x.sav"), names)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_written_is_read(tmp_path: Path, data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 6))
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=data.draw(st.sampled_from([3, 40, 300])))
    texts = data.draw(st.lists(st.none() | text.map(lambda each: each.rstrip(" ")), min_size=rows, max_size=rows))
    numbers = data.draw(st.lists(st.none() | st.integers(-(2**53), 2**53), min_size=rows, max_size=rows))
    table = pa.table({"x": pa.array(texts, pa.string()), "y": pa.array(numbers, pa.int64()), "z": pa.array(texts[::-1], pa.string())})
    write_spss(tmp_path / "x.sav", [table], content(table))
    assert read_back(tmp_path / "x.sav") == plain(table)
