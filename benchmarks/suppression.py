"""Cell suppression measured: `csplib FOLDER` on linear systems, `random` on small tables of four kinds with a judge of their own.

python benchmarks/suppression.py csplib FOLDER --seconds 60 --only table7
python benchmarks/suppression.py random --tables 500
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.formats.system import read_system
from statveil.suppress.cells.options import COSTS, SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.reference.suppression import is_safe

TREE = sv.Hierarchy(parent={"A": "T", "B": "T", "a1": "A", "a2": "A", "b1": "B", "b2": "B", "b3": "B"}, total="T")


def csplib(folder: Path, names: list[str], seconds: float, method: str) -> None:
    print("| table | cells | primary | cost | secondary | cost of them | certified bound | gap | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.jj")):
        if names and path.stem not in names:
            continue
        for cost in ("unit", "value"):
            system = read_system(path, decimals="all", negative_levels=True)
            began, options = time.monotonic(), SuppressionOptions(cost=cost)
            assert cost in COSTS
            try:
                found = suppress_cells(system, None, method, options=options, limits=sv.Limits(seconds=seconds))
            except sv.StatveilError as error:
                print(
                    f"| {path.stem} | {system.value.size} | | {cost} | {type(error).__name__} | | | | {time.monotonic() - began:.1f} |",
                    flush=True,
                )
                continue
            figures = (int(found.primary.sum()), cost, int(found.secondary.sum()), f"{found.cost:.0f}", f"{found.certified_bound:.0f}")
            told = " | ".join(str(each) for each in (path.stem, found.problem.size, *figures, f"{100 * found.gap:.1f}%"))
            print(f"| {told} | {time.monotonic() - began:.1f} |", flush=True)


def random_tables(count: int, seconds: float) -> None:
    """Safe by the reference's linear programs, kind by kind; what is refused is counted."""
    tally: dict[str, list[int]] = {}
    for seed in range(count):
        kind = ("2-D", "3-D", "hierarchical", "linked")[seed % 4]
        made, refused, breached = tally.setdefault(kind, [0, 0, 0])
        table = _table(kind, np.random.default_rng(seed))
        sensitivity = sv.rules.assess(table, [sv.MinimumFrequency(3), sv.PPercent(15)])
        try:
            found = suppress_cells(table, sensitivity, "auto", limits=sv.Limits(seconds=seconds))
        except (sv.InfeasibleProblem, sv.NoTableFound, sv.AuditFailed):
            tally[kind] = [made, refused + 1, breached]
            continue
        tally[kind] = [made + 1, refused, breached + (not is_safe(found.problem, found.suppressed))]
    for kind, (made, refused, breached) in tally.items():
        print(f"{kind}: {made} patterns, {refused} refused, {breached} not safe by the reference")


def _table(kind: str, rng: np.random.Generator) -> sv.Table:
    size = int(rng.integers(20, 90))
    columns = {
        "a": rng.choice(["a1", "a2", "b1", "b2", "b3"], size),
        "b": rng.choice(list("uvw"), size),
        "c": rng.choice(list("xyz"), size),
    }
    records = sv.read_microdata(pa.table({**columns, "sales": rng.integers(1, 200, size)}))
    tree = TREE if kind in ("hierarchical", "linked") else None
    dimensions = {"2-D": ["ab"], "3-D": ["abc"], "hierarchical": ["ab"], "linked": ["ab", "ac"]}[kind]
    specs = [
        sv.TableSpec(dimensions={name: tree if name == "a" else None for name in each}, measure="sales", name=f"by {each}")
        for each in dimensions
    ]
    return sv.tabulate(records, specs, top=3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["csplib", "random"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tables", type=int, default=500)
    given = parser.parse_args()
    if given.what == "csplib":
        csplib(given.folder, given.only, given.seconds, given.method)
    else:
        random_tables(given.tables, given.seconds)
