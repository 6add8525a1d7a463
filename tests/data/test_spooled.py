"""Streams are written down in pieces and read as often as needed."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from statveil.core.errors import FormatError
from statveil.data import spooled
from statveil.data.readers import read_microdata
from tests.data.read_files import rows


def test_a_stream_is_written_down_in_pieces_and_read_as_often_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "TUNING", spooled.SpoolTuning(rows=3))
    data = read_microdata(pa.table({"number": list(range(10))}).to_reader(), where="number > 1")
    assert [rows(data), rows(data)] == [[(number,) for number in range(2, 10)]] * 2


def test_a_relation_keeps_whole_numbers_of_128_bits() -> None:
    data = read_microdata(duckdb.connect().sql("SELECT sum(n) AS total FROM (VALUES (9007199254740993), (0)) AS t(n)"))
    assert str(rows(data)[0][0]) == "9007199254740993"


def test_a_stream_that_breaks_tells_no_value() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": ["x"]})
        raise ValueError("secret")

    with pytest.raises(FormatError, match="ValueError") as told:
        read_microdata(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), broken()))
    assert "secret" not in str(told.value)
