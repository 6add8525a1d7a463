"""Many records: `large_data.py make 10000000 FILE`, then `duckdb|spark|cube FILE [holding|file]`, each in a process of its own.

A table of 600 x 300 x 4 codes with two hierarchies and the three largest contributions; or, with `file`, a safe file of the records,
written by the engine. Prints seconds, those of the processor, the peak of this process and, of a table, a hash of all its arrays: equal
hashes are equal tables, bit for bit; of a file, a hash of its records in whatever order. `cube` is DuckDB's own CUBE of the same sums
and counts: of all codes of both hierarchies, hence the same cells.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import statveil as sv
from statveil.data.queries.recount import content_sums
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

SUMS = "SELECT r.above, region, p.above, product, size, sum(turnover) AS turnover, count(*) AS n"
GROUPS = "ROLLUP (r.above, region), ROLLUP (p.above, product), CUBE (size)"
CUBE = SUMS + " FROM '{}' JOIN regions r USING (region) JOIN products p USING (product) GROUP BY " + GROUPS
ABOVE = "CREATE TABLE {0}s AS SELECT printf('%03d', n) AS {0}, n // 20 AS above FROM range({1}) t(n)"


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


def run(engine: str, path: str, what: str) -> None:
    if engine == "cube":
        import duckdb

        duckdb.sql(f"SET memory_limit = '2GB'; {ABOVE.format('region', 600)}; {ABOVE.format('product', 300)}")
        print(f"{duckdb.sql(f'SELECT count(*) AS n FROM ({CUBE.format(path)})').fetchall()[0][0]:,} cells")
        return
    data = sv.read_microdata(path, engine="spark" if engine == "spark" else "duckdb")
    if what == "file":
        safe_file(data)
        return
    table = table_of(data, what == "holding")
    print(f"{table.size:,} cells, hash {hash_of(table)}")


def safe_file(data: sv.Microdata) -> None:
    """Protect the records by region, product and size, and say what was written: the sums of the digests of its records."""
    plan = sv.plan_recoding(data, sv.KeyVariables(fields=dict.fromkeys(("region", "product", "size")), threshold=3, order=3))
    with tempfile.TemporaryDirectory() as place:
        release = sv.apply_plan(data, plan, Path(place) / "safe")
        records, *sums = content_sums(sv.read_microdata(release.path))
        files = len(list(release.path.iterdir()))
    found = hashlib.sha256(repr(sums).encode()).hexdigest()[:16]
    print(f"{records:,} records in {files} files, blanks {dict(plan.suppression.blanks)}, {release.audit.passed=}, hash {found}")


def spark_here() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    builder = (
        builder.config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
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
    run(verb, rest[0], rest[1] if rest[1:] else "")
    used = resource.getrusage(resource.RUSAGE_SELF)
    busy, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{' '.join([verb, *rest[1:]])}: {time.perf_counter() - start:.1f} s, of this process's CPU {busy:.1f} s, peak {peak:,.0f} MB")


if __name__ == "__main__":
    main()
