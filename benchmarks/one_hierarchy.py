"""How close the network engine comes, and when: tables with one hierarchy against the marks set for them.

`python benchmarks/one_hierarchy.py [--seeds 3] [--only table16] [--out DIR]` generates each table, runs
`statveil protect` on it as a user would
and prints, as lines of Markdown, the median gap over the seeds beside the gap wanted. Every solution passes the audit of `adjust`, or
the run ends here. With a folder, the summaries are kept in it, and a stopped run goes on from them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple


class Case(NamedTuple):
    shape: str
    values: str
    where: str
    weights: str
    seconds: int
    wanted: float | None

    @property
    def name(self) -> str:
        return f"{self.shape}-{self.values}-{self.where}-{self.weights}"


MARKS = {
    "table14": (("uniform", "leaf", "unit", 5, 0.7), ("lognormal", "leaf", "unit", 10, 0.8), ("uniform", "any", "unit", 30, 7.0)),
    "table16": (("uniform", "leaf", "unit", 5, 0.1), ("lognormal", "leaf", "unit", 30, 0.3), ("uniform", "any", "unit", 120, 6.0)),
    "table26": (("uniform", "leaf", "unit", 10, 0.1), ("lognormal", "leaf", "unit", 30, 0.15), ("uniform", "any", "unit", 180, 10.0)),
    "table36": (("uniform", "leaf", "unit", 60, 0.3), ("lognormal", "leaf", "unit", 120, 0.5), ("uniform", "leaf", "inverse", 90, 0.15)),
}
"""Values, where cells are sensitive, weights, seconds, and the gap wanted in percent."""
INVERSE_ANY = {"table14": (30, 4.0), "table16": (60, 3.5), "table26": (90, 3.5)}
TOLD_ONLY = {"table36": (("uniform", "any", "unit", 180), ("uniform", "any", "inverse", 180))}


def cases() -> list[Case]:
    found = []
    for shape, marks in MARKS.items():
        found += [Case(shape, *mark) for mark in marks]
        if shape in INVERSE_ANY:
            found.append(Case(shape, "uniform", "any", "inverse", *INVERSE_ANY[shape]))
        found += [Case(shape, *told, None) for told in TOLD_ONLY.get(shape, ())]
    return found


def statveil(*words: str) -> None:
    command = [sys.executable, "-c", "from statveil.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"statveil {' '.join(words)}: ended with code {done.returncode}.\n{done.stderr[-500:]}")


def summary_of(case: Case, seed: int, folder: Path) -> dict[str, Any]:
    """Generate, adjust, and read the summary; what an earlier run left is taken as it is."""
    file, summary = folder / f"{case.name}-{seed}.npz", folder / f"{case.name}-{seed}.json"
    if not summary.exists():
        filling = ("--values", case.values, "--where", case.where, "--seed", str(seed))
        statveil("generate", "1h2d", "--shape", case.shape, *filling, "--out", str(file))
        limits = ("--weights", case.weights, "--seconds", str(case.seconds), "--seed", str(seed))
        statveil("adjust", str(file), *limits, "--summary", str(summary))
        file.unlink()
    read: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
    if not read["audit"]["passed"]:
        raise SystemExit(f"{case.name}, seed {seed}: the audit did not pass.")
    return read


def line_of(case: Case, runs: list[dict[str, Any]]) -> str:
    gaps = [100 * run["gap"] for run in runs]
    wanted = "" if case.wanted is None else f"{case.wanted:g}%"
    met = "" if case.wanted is None else "yes" if median(gaps) <= case.wanted else "no"
    first = median(next(second for second, objective, _ in run["trace"] if objective is not None) for run in runs)
    parts = [
        case.shape,
        f"{runs[0]['cells']:,}",
        case.values,
        case.where,
        case.weights,
        f"{case.seconds}",
        wanted,
        f"{median(gaps):.3g}%",
        met,
    ]
    spread = f"{min(gaps):.3g} to {max(gaps):.3g}"
    figures = [spread, f"{first:.1f}", f"{median(run['seconds'] for run in runs):.1f}", f"{max(run['peak_mb'] for run in runs):.0f}"]
    return "| " + " | ".join([*parts, *figures]) + " |"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--only", action="append", help="Tables whose name begins so.")
    words.add_argument("--out", type=Path)
    options = words.parse_args()
    print("| table | cells | values | where | weights | limit | wanted | gap | met | seeds | first table, s | s | peak MB |")
    print("|" + "---|" * 13)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases():
            if not options.only or any(case.name.startswith(start) for start in options.only):
                print(line_of(case, [summary_of(case, seed, folder) for seed in range(1, options.seeds + 1)]), flush=True)


if __name__ == "__main__":
    main()
