"""Records that come once, as a stream: written to a temporary Parquet file piece by piece, and never held as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.errors import FormatError, StatveilError


class SpoolTuning(NamedTuple):
    rows: int = 1 << 17
    """Records of a piece: by judgement."""


TUNING = SpoolTuning()


class Spooled(NamedTuple):
    """A temporary Parquet file that goes when nobody holds `file` any more."""

    path: Path
    columns: list[str]
    file: Any


def is_stream(frame: Any) -> bool:
    """Whether the frame is worked out when it is asked for: a stream of Arrow, a lazy frame of polars, a relation of DuckDB."""
    if isinstance(frame, pa.RecordBatchReader):
        return True
    kind = (type(frame).__module__.split(".")[0].lstrip("_"), type(frame).__name__)
    if kind in (("polars", "LazyFrame"), ("duckdb", "DuckDBPyRelation")):
        return True
    return hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__dataframe__") and not hasattr(frame, "column_names")


def spool(frame: Any, *, folder: str | None) -> Spooled:
    """Write the stream down; what goes wrong is told by its kind only, because libraries put values into their messages."""
    file = tempfile.NamedTemporaryFile(prefix="statveil-", suffix=".parquet", dir=folder)  # noqa: SIM115 - it lives as long as the engine
    try:
        return Spooled(Path(file.name), _write(frame, file.name), file)
    except StatveilError:
        raise
    except Exception as error:
        raise FormatError(
            f"The frame could not be turned into columns ({type(error).__name__}).",
            hint="Each column needs one name and one type: look for columns that mix text and numbers.",
        ) from None


def _write(frame: Any, path: str) -> list[str]:
    if type(frame).__name__ == "LazyFrame":
        frame.sink_parquet(path)
        return list(pq.read_schema(path).names)
    reader = _reader(frame)
    _refuse_twice(reader.schema.names)
    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in _batches(reader):
            writer.write_batch(batch)
    return list(reader.schema.names)


def _reader(frame: Any) -> pa.RecordBatchReader:
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if type(frame).__name__ == "DuckDBPyRelation":
        return frame.to_arrow_reader(TUNING.rows)
    return pa.RecordBatchReader.from_stream(frame)


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        yield from (batch.slice(start, TUNING.rows) for start in range(0, batch.num_rows, TUNING.rows))


def _refuse_twice(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise FormatError("The frame has two columns of the same name.", hint="Rename one of them.")
