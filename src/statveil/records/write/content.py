"""What a writer is told of a file before the first record comes, and what formats of fixed width do with text and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import AnyArray, FloatArray
from statveil.core.errors import InputError
from statveil.data.microdata import FileLabels


class WriteTuning(NamedTuple):
    piece_bytes: int = 1 << 24
    """Records of fixed width are laid out in pieces of about this size; laying out takes several times as much: by judgement."""
    rows: int = 1 << 17
    """Rows of a piece: fixed, so that the same records give the same bytes."""


TUNING = WriteTuning()
LARGEST_WHOLE = 2**53
"""Up to here a double holds every whole number."""


@dataclass(frozen=True, kw_only=True)
class FileContent:
    schema: pa.Schema
    records: int = 0
    widths: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the longest text of each text column."""
    labels: FileLabels = field(default_factory=FileLabels)

    def is_text(self, name: str) -> bool:
        return bool(pa.types.is_string(self.schema.field(name).type))

    def value_labels(self, name: str) -> dict[float, str] | dict[str, str]:
        """Labels of the values; those that are of another kind than the column would not fit any more."""
        found = self.labels.values.get(name, {})
        if self.is_text(name):
            return {key: label for key, label in found.items() if isinstance(key, str)}
        return {float(key): label for key, label in found.items() if isinstance(key, int | float)}


def small_pieces(tables: Iterable[pa.Table], content: FileContent, row_bytes: int) -> Iterator[pa.Table]:
    """Pieces that stay small when laid out; there must be as many records as were announced."""
    rows, written = max(1, TUNING.piece_bytes // max(row_bytes, 1)), 0
    for table in tables:
        for start in range(0, table.num_rows, rows):
            yield table.slice(start, rows).cast(content.schema).combine_chunks()
        written += table.num_rows
    if written != content.records:
        raise changed()


def changed() -> InputError:
    return InputError("The records changed while they were read.", hint="Leave the file alone until the safe file is written.")


def bytes_of(column: pa.ChunkedArray) -> tuple[AnyArray, AnyArray]:
    """All bytes of the texts, one after the other, and where each text begins; missing is empty."""
    texts = pc.fill_null(column, "").cast(pa.large_binary()).combine_chunks()
    whole = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    if not len(whole):
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    starts = np.frombuffer(whole.buffers()[1], dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    held = np.frombuffer(whole.buffers()[2] or b"", dtype=np.uint8)[starts[0] : starts[-1]]
    if (held == 0).any():
        raise InputError("A text holds a zero byte, which ends a text in this format.", hint="Write .csv or .parquet.")
    return held, starts - starts[0]


def fixed_width(column: pa.ChunkedArray, width: int, *, fill: bytes) -> AnyArray:
    """Texts as rows of bytes of one width, filled up on the right."""
    held, starts = bytes_of(column)
    lengths = np.diff(starts)
    if lengths.size and int(lengths.max()) > width:
        raise changed()
    laid = np.full((lengths.size, width), fill[0], dtype=np.uint8)
    place = np.arange(held.size) - np.repeat(starts[:-1], lengths)
    laid[np.repeat(np.arange(lengths.size), lengths), place] = held
    return laid


def as_doubles(column: pa.ChunkedArray, name: str, *, missing: float, largest: float) -> FloatArray:
    """Numbers as doubles, each exactly what it was; what cannot be held is refused, never changed."""
    if pa.types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        if bounds["min"] is not None and (bounds["min"] < -LARGEST_WHOLE or bounds["max"] > LARGEST_WHOLE):
            raise _not_held(name)
    doubles = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(), dtype=np.float64)
    here = ~np.isnan(doubles)
    if (np.abs(doubles[here]) > largest).any():
        raise _not_held(name)
    return np.where(here, doubles, missing)


def _not_held(name: str) -> InputError:
    return InputError(f"Column {name!r} holds numbers that this format cannot hold.", hint="Make it text, or write .csv or .parquet.")


def cut(text: str, size: int) -> bytes:
    """A text of at most so many bytes, no character broken."""
    return text.encode()[:size].decode(errors="ignore").encode()
