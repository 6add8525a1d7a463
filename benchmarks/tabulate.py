"""How long `tabulate` takes on many records, and how much memory: `python benchmarks/tabulate.py [records]`.

Records x (600 x 300 x 4 leaf codes, the first two in three levels below the total), turnover with two decimals, about one holding to
five records, the three largest contributions per cell. The table is built in a child process, so that its peak memory is its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RECORDS = 10_000_000
CHUNK = 1_000_000
SEED = 7
SIZES = ("small", "medium", "large", "giant")


def write_records(path: Path, records: int) -> None:
    rng = np.random.default_rng(SEED)
    regions, industries = (pa.array(codes) for codes in (region_codes(), industry_codes()))
    writer = None
    for start in range(0, records, CHUNK):
        count = min(CHUNK, records - start)
        turnover = np.round(rng.lognormal(8, 2, count) * 100).astype(np.int64)
        batch = pa.table(
            {
                "region": regions.take(pa.array(rng.integers(0, 600, count))),
                "industry": industries.take(pa.array((300 * rng.random(count) ** 2).astype(np.int64))),
                "size": pa.array(SIZES).take(pa.array(rng.integers(0, 4, count))),
                "turnover": pa.array(turnover / 100),
                "holding": pa.array(rng.integers(0, max(1, records // 5), count)),
            }
        )
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    if writer:
        writer.close()


def region_codes() -> list[str]:
    return [f"{part:02d}{county}{town:02d}" for part in range(10) for county in range(6) for town in range(10)]


def industry_codes() -> list[str]:
    return [f"{section:02d}{division}{group}" for section in range(10) for division in range(6) for group in range(5)]


def measure(path: Path) -> None:
    """Build the table and print what it took."""
    start = time.perf_counter()
    from statveil.data.hierarchy import Hierarchy
    from statveil.data.readers import read_microdata
    from statveil.tables.relations import relations
    from statveil.tables.spec import TableSpec
    from statveil.tables.tabulate import tabulate

    spec = TableSpec(
        dimensions={
            "region": Hierarchy.from_digits(region_codes(), digits=[2, 1, 2]),
            "industry": Hierarchy.from_digits(industry_codes(), digits=[2, 1, 1]),
            "size": Hierarchy.flat(SIZES),
        },
        measure="turnover",
        holding="holding",
    )
    table = tabulate(read_microdata(path), spec, top=3)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"tabulate: {table.records[0]:,} records, {table.size:,} cells, {seconds:.1f} s, peak {peak:,.0f} MB")
    start = time.perf_counter()
    matrix = relations(table)
    print(f"relations: {matrix.shape[0]:,} rows, {matrix.nnz:,} entries, {time.perf_counter() - start:.1f} s")


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        write_records(path, int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
        subprocess.run([sys.executable, __file__, "--measure", str(path)], check=True)


if __name__ == "__main__":
    main()
