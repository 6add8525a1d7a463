"""How random tables that ask too much end: `python benchmarks/overconstrained.py [first] [last]`, method auto.

Each must end in a table audited against the listed repairs, or in a minimal explanation; anything else stops the run.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.protect.infeasible.test_repair import ends_well

TABLES = 200
LARGEST = 6


def main(first: int, last: int) -> None:
    """Tables `first` to `last` - 1."""
    endings, began, longest = Counter[str](), time.perf_counter(), 0.0
    for seed in range(first, last):
        start = time.perf_counter()
        endings[ends_well(seed, LARGEST, method="auto")] += 1
        longest = max(longest, time.perf_counter() - start)
    told = ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items()))
    print(f"{last - first} tables: {told}; {time.perf_counter() - began:.0f} s, the longest {longest:.1f} s")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:] or ("0", str(TABLES))))
