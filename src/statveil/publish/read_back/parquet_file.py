"""Public Parquet files read back: text, and decimals as exact as they are stored."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.arrays import IntArray
from statveil.publish.read_back.shown import TUNING, ShownTable, check_size, expected_header, is_labelled, not_ours, nothing_shown, pairs_of
from statveil.tables.table import View

_RELEASE = b"statveil.release"


def read_parquet(path: Path, view: View, decimals: int) -> ShownTable:
    """Codes, labels and numbers of a view; numbers must be decimals with as many places as are published."""
    check_size(path)
    try:
        with pq.ParquetFile(path) as file:
            fault = _frame_fault(file, view, decimals)
            if fault:
                return nothing_shown(view, fault)
            return _shown(file.read(), view)
    except (pa.ArrowException, OSError, ValueError):
        raise not_ours(path, "a Parquet file") from None


def _frame_fault(file: Any, view: View, decimals: int) -> str:
    """What is wrong with the columns or the size, before anything is unpacked; nothing where all is as it must be."""
    schema, facts = file.schema_arrow, file.metadata
    if schema.names != expected_header(view, "value"):
        return "the columns are not the table's dimensions"
    *texts, number = schema.types
    if not all(pa.types.is_string(each) for each in texts) or not pa.types.is_decimal(number) or number.scale != max(decimals, 0):
        return "the columns are not text and decimals as they are published"
    unpacked = sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
    if facts.num_rows > math.prod(len(dimension.codes) for dimension in view.dimensions) or unpacked > TUNING.largest_file:
        return "it has more rows than the table has positions"
    return ""


def _shown(table: Any, view: View) -> ShownTable:
    columns = iter(table.columns[:-1])
    codes, labels = [], []
    for dimension in view.dimensions:
        codes.append(_encoded(next(columns)))
        labels.append(pairs_of(codes[-1], _encoded(next(columns))) if is_labelled(dimension) else frozenset())
    number = [None if each is None else format(each, "f") for each in table.columns[-1].to_pylist()]
    return ShownTable(
        codes=tuple(words for words, _ in codes),
        index=np.stack([index for _, index in codes], axis=1),
        number=pa.array(number, pa.large_string()),
        labels=tuple(labels),
        release=(table.schema.metadata or {}).get(_RELEASE, b"").decode("utf-8", "replace"),
    )


def _encoded(column: Any) -> tuple[tuple[str, ...], IntArray]:
    coded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return tuple(coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64)
