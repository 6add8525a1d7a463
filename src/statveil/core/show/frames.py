"""Results as frames of pandas, polars and Arrow. None of them is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from statveil.core.arrays import LARGEST_EXACT
from statveil.core.errors import BackendMissing

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def marked(table: pa.Table, metadata: Mapping[str, str]) -> pa.Table:
    """The same table with these words about it."""
    return table.replace_schema_metadata(dict(metadata))


def pandas_of(table: pa.Table) -> pd.DataFrame:
    _require("pandas")
    import pandas as pd

    frame = pd.DataFrame({place: _series(column) for place, column in enumerate(table.columns)})
    frame.columns = pd.Index(table.column_names)
    frame.attrs = {name.decode(): words.decode() for name, words in (table.schema.metadata or {}).items() if name.startswith(b"statveil")}
    return frame


def polars_of(table: pa.Table) -> pl.DataFrame:
    _require("polars")
    import polars as pl

    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def whole_numbers(table: pa.Table) -> pa.Table:
    """The same table with decimals that have no places behind the point as int64, where they fit."""
    import pyarrow as pa

    fields = [(each.name, pa.int64() if _is_whole(each.type) and _fits(table[each.name]) else each.type) for each in table.schema]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _is_whole(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal(kind)) and kind.scale == 0


def _fits(column: pa.ChunkedArray) -> bool:
    return _largest(column) < 2**63


def _largest(column: pa.ChunkedArray) -> int:
    """The largest size of a column of decimals, in units of its last place."""
    import pyarrow.compute as pc

    found = pc.min_max(column).as_py()
    return max((abs(int(each.scaleb(column.type.scale))) for each in found.values() if each is not None), default=0)


def _series(column: pa.ChunkedArray) -> Any:
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_decimal(column.type) and _largest(column) < LARGEST_EXACT:
        column = column.cast(pa.string()).cast(pa.float64())  # by way of text: the double next to the number, not next to a product
    nullable = pd.Int64Dtype() if column.null_count and pa.types.is_integer(column.type) else None
    return column.to_pandas(types_mapper=None if nullable is None else lambda _kind: nullable)


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise BackendMissing(f"A {package} frame needs {package}, which is not installed.", hint=f"Run: pip install {package}")
