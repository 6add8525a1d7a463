"""Parquet: columns, types and rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from statveil.publish.formats import export
from statveil.publish.read_back.parquet_file import read_parquet
from tests.publish.read_back.stories import found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.rename_columns(["to", "from", "value"]), "the columns are not the table's dimensions"),
        (lambda table: table.set_column(2, "value", table["value"].cast(pa.float64())), "text and decimals as they are published"),
        (lambda table: table.set_column(2, "value", table["value"].cast(pa.decimal128(20, 1))), "text and decimals as they are published"),
        (lambda table: pa.concat_tables([table, table]), "it has more rows than the table has positions"),
        (lambda table: table.set_column(0, "from", pa.nulls(9, pa.string())), "codes that the table lacks"),
    ],
)
def test_other_columns_are_found_in_parquet(trade: Any, tmp_path: Path, change: Callable[[Any], Any], words: str) -> None:
    [path] = export.write_parquet(trade, tmp_path / "x.parquet")
    pq.write_table(change(pq.read_table(path)), path)
    assert words in found(trade, read_parquet, path)[0]
