"""Frames of all kinds are read as records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from statveil.core.errors import FormatError, InputError
from statveil.data.readers import read_microdata
from tests.data.read_files import FRAME, rows


def duckdb_frame(columns: dict[str, list[Any]]) -> Any:
    return duckdb.connect().from_arrow(pa.table(columns))


def batches(columns: dict[str, list[Any]]) -> pa.RecordBatchReader:
    return pa.table(columns).to_reader()


class Stream:
    """Something that knows Arrow's protocol of streams and nothing else."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, duckdb_frame, batches, Stream])
def test_frames_of_all_kinds_are_read(make: Callable[[Any], Any]) -> None:
    data = read_microdata(make(FRAME))
    assert (data.columns, rows(data)) == (("code", "turnover"), [("01", 1.5), ("02", 2.0)])


@pytest.mark.parametrize("thing", [3, None, {"a": [1]}, [1, 2]])
def test_what_is_no_frame_is_refused(thing: Any) -> None:
    with pytest.raises(InputError, match="cannot be read from"):
        read_microdata(thing)


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"a": ["x", 3.5]}), pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])],
    ids=["mixed", "pandas twice", "arrow twice"],
)
def test_a_frame_without_clear_columns_is_refused(frame: Any) -> None:
    with pytest.raises(FormatError):
        read_microdata(frame)
