"""How long a large JJ file takes to read, and how much memory: `python benchmarks/read_jj.py [cells]`.

Each relation has a total and 2 to 11 parts. The file is read in a child process, so that its peak memory is its own; once to
compile the scanner, then three times for the figures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CELLS = 1_200_000
SEED = 1
READ = """
import resource, sys, time
from statveil.formats.system import read_system
began = time.perf_counter()
system = read_system(sys.argv[1])
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(f"{system.value.size} cells, {system.rhs.size} relations, {system.relations.nnz} terms: {seconds:.1f} s, {peak:.0f} MB")
"""


def write_file(path: Path, cells: int) -> None:
    rng = np.random.default_rng(SEED)
    relations = cells * 475 // 1200
    sizes = rng.integers(2, 12, relations)
    starts = np.r_[0, np.cumsum(sizes)]
    first = rng.integers(relations, cells - 12, relations)
    parts = np.repeat(first, sizes) + np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    tenths = rng.integers(0, 10_000_000, cells)
    tenths[:relations] = np.add.reduceat(tenths[parts], starts[:-1])
    sensitive = rng.random(cells) < 0.1
    with path.open("w", encoding="ascii") as file:
        file.write(f"0\n{cells}\n")
        for cell, (value, unsafe) in enumerate(zip(tenths.tolist(), sensitive.tolist(), strict=True)):
            level = f"{value // 100}.150" if unsafe else "0"
            file.write(
                f"{cell} {value // 10}.{value % 10} {1 + cell % 7} {'u' if unsafe else 's'} 0 {value // 5 + 1}.0 {level} {level} 0\n"
            )
        file.write(f"{relations}\n")
        for total in range(relations):
            terms = " ".join(f"{part} (1)" for part in parts[starts[total] : starts[total + 1]].tolist())
            file.write(f"0 {sizes[total] + 1} : {total} (-1) {terms}\n")


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else CELLS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jj"
        write_file(path, cells)
        print(f"{path.stat().st_size / 2**20:.0f} MB")
        for _ in range(4):
            subprocess.run([sys.executable, "-c", READ, str(path)], check=True)


if __name__ == "__main__":
    main()
