"""Damaged files of tau-ARGUS's samples: `python benchmarks/malformed.py [mutants] [seed]`.

Each of the mutants (5,000 by default) is read in this process. It must be read as a plain reference reader reads it, or refused by a
FormatError that names file and line; the slowest read and the peak memory are told. The samples lie beside the project, or where
STATVEIL_SHARED says.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTANTS, SEED = 5000, 1


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from tests.jobs.batch.mutations import READERS, collect, mutants
    from tests.reference.argus import read, said

    from statveil.core.errors import FormatError

    shared = Path(os.environ.get("STATVEIL_SHARED", ROOT.parent / "shared")) / "data"
    if not shared.is_dir():
        print("The samples are not here; set STATVEIL_SHARED to the folder that holds data/.")
        return 0
    wanted, seed = (int(word) for word in (sys.argv[1:] + [str(MUTANTS), str(SEED)][len(sys.argv) - 1 :])[:2])
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for sample, content in mutants(collect(shared, Path(folder)), wanted, seed):
            original = sample.read_bytes()
            sample.write_bytes(content)
            began = time.perf_counter()
            try:
                reading = READERS[sample.suffix](sample)
                slowest = max(slowest, time.perf_counter() - began)
                outcomes["read correctly" if read(sample, reading) == said(sample) else f"MISREAD {sample.name}"] += 1
                began = time.perf_counter()
            except FormatError as error:
                outcomes["refused with file and line" if re.search(r"\w+\.\w+, line \d+: ", str(error)) else "REFUSED WITHOUT A LINE"] += 1
            except Exception as error:
                outcomes[f"CRASH {type(error).__name__} ({sample.name})"] += 1
            slowest = max(slowest, time.perf_counter() - began)
            sample.write_bytes(original)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{wanted} mutants, seed {seed}: {dict(outcomes)}; slowest {slowest:.2f} s, peak {peak:.0f} MB")
    return int(any(word.isupper() for outcome in outcomes for word in outcome.split()[:1]))


if __name__ == "__main__":
    sys.exit(main())
