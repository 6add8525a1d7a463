"""Ugly random files made safe: `python benchmarks/ugly_files.py [files] [seed]`.

Columns hold `missing`, `NA` and other words that often mean missing, nothing at all, one level, or unicode; menus, rules, missing codes and
policies are drawn as well. Each of the files (1,000 by default) must come out safe by a count of its own, or be refused with words; a
failed audit, an internal error and an unsafe record are told and end with exit code 1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES, SEED = 1000, 0


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from tests.records.random_files import judge, ugly_file

    wanted, seed = (int(word) for word in (sys.argv[1:] + [str(FILES), str(SEED)][len(sys.argv) - 1 :])[:2])
    outcomes: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(seed, seed + wanted):
            found = judge(ugly_file(number, folder), folder)
            outcomes[found] += 1
            if found[0].isupper():
                print(f"seed {number}: {found}", flush=True)
            for path in folder.iterdir():
                path.unlink()
    print(f"{wanted} files from seed {seed}: {dict(outcomes)}, {time.perf_counter() - began:.0f} s")
    return int(any(outcome[0].isupper() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
