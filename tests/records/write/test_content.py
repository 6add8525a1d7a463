"""Formats of fixed width: texts laid out byte by byte, numbers exactly what they were, or a refusal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from statveil.core.errors import InputError
from statveil.data.microdata import FileLabels
from statveil.records.write.content import FileContent, as_doubles, cut, fixed_width, small_pieces


def column(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def test_texts_are_filled_up_on_the_right_and_missing_ones_are_blank() -> None:
    laid = fixed_width(column("ab", None, "é"), 3, fill=b" ")
    assert [bytes(row) for row in laid] == [b"ab ", b"   ", "é ".encode()]


def test_a_text_longer_than_was_announced_means_that_the_file_changed() -> None:
    with pytest.raises(InputError, match="changed while they were read"):
        fixed_width(column("abcd"), 3, fill=b" ")


def test_a_text_is_cut_between_characters() -> None:
    assert cut("aé", 2) == b"a"
    assert cut("aé", 3) == "aé".encode()


def test_numbers_are_exact_and_missing_ones_are_marked() -> None:
    assert as_doubles(column(2**53, None), "id", missing=-1.0, largest=1e300).tolist() == [2.0**53, -1.0]


@pytest.mark.parametrize("number", [2**53 + 1, 1e301])
def test_a_number_that_would_change_is_refused_without_being_told(number: float) -> None:
    with pytest.raises(InputError, match="Column 'id' holds numbers that this format cannot hold") as failure:
        as_doubles(column(number), "id", missing=np.nan, largest=1e300)
    assert str(number) not in str(failure.value)


def test_records_come_in_pieces_and_as_many_as_announced() -> None:
    table = pa.table({"a": pa.array(range(5))})
    content = FileContent(schema=table.schema, records=5)
    assert [piece.num_rows for piece in small_pieces([table], content, row_bytes=10**12)] == [1] * 5
    with pytest.raises(InputError, match="changed while they were read"):
        list(small_pieces([table, table], content, row_bytes=1))


def test_labels_are_those_of_the_column_s_own_kind() -> None:
    labels = FileLabels(columns={}, values={"a": {1: "one", "x": "ex"}, "b": {1: "one", "x": "ex"}})
    content = FileContent(schema=pa.schema({"a": pa.string(), "b": pa.int64()}), labels=labels)
    assert content.value_labels("a") == {"x": "ex"}
    assert content.value_labels("b") == {1.0: "one"}
