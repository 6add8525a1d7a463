"""Parquet files, a row group for each piece."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from statveil.anonymise.writers.content import FileContent


def write_parquet(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    with pq.ParquetWriter(path, content.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(content.schema), row_group_size=max(1, table.num_rows))
