"""Many records: `large_data.py make 10000000 FILE`, then `duckdb|spark|cube FILE [holding]`, each in a process of its own.

A table of 600 x 300 x 4 codes with two hierarchies and the three largest contributions. Prints seconds, the peak of this process and, of a
table, a hash of all its arrays: equal hashes are equal tables, bit for bit. `cube` is DuckDB's own CUBE of sums and counts.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
import time
from dataclasses import fields
from typing import Any

import numpy as np

import statveil as sv
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

SUMS = "SELECT region, product, size, sum(turnover) AS turnover, count(*) AS n"
CUBE = SUMS + " FROM '{}' GROUP BY CUBE (region, product, size)"


def make(records: int, path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, step = np.random.default_rng(7), 1_000_000
    writer = None
    for start in range(0, records, step):
        size = min(step, records - start)
        codes = [pa.DictionaryArray.from_arrays(rng.integers(0, n, size), _codes(n)).cast(pa.string()) for n in (600, 300, 4)]
        part = pa.table(
            dict(zip(("region", "product", "size"), codes, strict=True))
            | {"turnover": rng.lognormal(6, 2, size).astype(np.int64), "owner": rng.integers(0, max(1, records // 5), size)}
        )
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def _codes(size: int) -> list[str]:
    return [f"{number:03d}" for number in range(size)]


def _tree(size: int, width: int) -> sv.Hierarchy:
    codes = _codes(size)
    return sv.Hierarchy.from_dict({f"G{start // width}": codes[start : start + width] for start in range(0, size, width)})


def table_of(data: sv.Microdata, holding: bool) -> Table:
    trees = {"region": _tree(600, 20), "product": _tree(300, 20), "size": None}
    return tabulate(data, sv.TableSpec(dimensions=trees, measure="turnover", holding="owner" if holding else None))


def hash_of(table: Table) -> str:
    found = hashlib.sha256(table.input_hash.encode())
    for each in fields(Table):
        value = getattr(table, each.name)
        if isinstance(value, np.ndarray):
            found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()[:16]


def run(engine: str, path: str, holding: bool) -> None:
    if engine == "cube":
        import duckdb

        duckdb.sql(f"SET memory_limit = '2GB'; SELECT count(*) FROM ({CUBE.format(path)})").fetchall()
        return
    table = table_of(sv.read_microdata(path, engine="spark" if engine == "spark" else "duckdb"), holding)
    print(f"{table.size:,} cells, hash {hash_of(table)}")


def spark_here() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    session = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main() -> None:
    verb, *rest = sys.argv[1:]
    if verb == "make":
        make(int(rest[0]), rest[1])
        return
    if verb == "spark":
        spark_here()
    start = time.perf_counter()
    run(verb, rest[0], "holding" in rest)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{' '.join([verb, *rest[1:]])}: {time.perf_counter() - start:.1f} s, peak {peak:,.0f} MB")


if __name__ == "__main__":
    main()
