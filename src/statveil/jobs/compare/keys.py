"""Cell keys of a job's table: every record has a key of its own, drawn by the office's secret from what the record says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import units_or_one
from statveil.data.queries.tabulation import read_coded
from statveil.data.readers import read_microdata
from statveil.suppress.cell_key.cell_key import record_keys
from statveil.tables.columns import check_columns
from statveil.tables.spec import TableSpec, Trees
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

KEY_COLUMN = "record key"


def key_sums(data: Microdata, spec: TableSpec, table: Table, key: SecretKey) -> IntArray:
    """The sum of the record keys of each cell of the table, which `spec` makes of the data."""
    if spec.weight is not None or len(table.views) != 1 or table.size != table.shown:
        raise InputError("The cell key method is for one table without weights and sets of cells.")
    records = _records(data, spec)
    names = list(spec.dimensions)
    keys = record_keys(_identifiers(records), key)
    columns = {name: records[f"code{place}"] for place, name in enumerate(names)} | {KEY_COLUMN: pa.array(keys)}
    plain = TableSpec(dimensions=_trees(table), measure=KEY_COLUMN, structural_zeros=spec.structural_zeros)
    summed = tabulate(read_microdata(pa.table(columns)), plain)
    mine, its = table.views[0], summed.views[0]
    if not (np.array_equal(mine.coordinates, its.coordinates) and summed.scale == 0):
        raise InputError("The records do not add up to the cells of the table once more.", hint="Were they changed meanwhile?")
    sums = np.zeros(table.size, dtype=np.int64)
    sums[mine.cell] = summed.value[its.cell]
    return sums


def _trees(table: Table) -> dict[str, Trees]:
    return {dimension.name: list(dimension.trees) for dimension in table.views[0].dimensions}


def _records(data: Microdata, spec: TableSpec) -> pa.Table:
    """Codes, amount and owner of every record."""
    with data.engine.session() as session:
        number = check_columns(session, data, [spec]).number(spec.measure)
        amount = units_or_one(number, number.decimals if number else 0)
        return read_coded(session, data.engine, list(spec.dimensions), [amount], owner=spec.holding or next(iter(spec.dimensions)))


def _identifiers(records: pa.Table) -> Iterator[str]:
    """A record by what it says; of records that say the same the first, the second, ...: in whatever order they come."""
    seen: Counter[tuple[object, ...]] = Counter()
    for row in zip(*(records[name].to_pylist() for name in records.column_names), strict=True):
        seen[row] += 1
        yield "\x1f".join([*map(str, row), str(seen[row])])
