"""Generated tables: `auto` beside a rescaled HiGHS, each by itself and with the same time.

`python benchmarks/beside_highs.py office|public [--weights inverse] [--seeds 3] [--first-seed 1] [--seconds 60]
[--shape --codes 60,90 --inner 15,36]`: tables as offices have them, or like CSPLIB's; what stands after `--shape` goes to
`statveil lab generate office` (or `public`). HiGHS has one thread, the table after our presolve, our scaling and switches as tight as
all up allows, and else its own options; its tables are priced again in whole numbers, after its time. `auto` is the command a user types;
its certificate is checked again from the files. Prints lines of Markdown.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import cast, get_args

from must_hold import Marks, Row, run_of, table_of
from statveil.formats.system import read_system
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.system import SystemWeights, problem_of
from statveil_lab.plain import rescaled

HEADS = ("seed", "cells", "HiGHS", "its bound", "auto", "certified bound", "gap, %", "auto / HiGHS", "wall, s", "CPU, s", "load")


def line_of(seed: int, row: Row, folder: Path) -> str:
    """Both on the table of a seed."""
    table = table_of(row, seed, folder, folder)
    reduction = reduce_problem(problem_of(read_system(table), weights=cast("SystemWeights", row.weights)))
    plain = rescaled(reduction.problem, row.seconds)
    plain = plain._replace(objective=plain.objective + reduction.fixed_cost, bound=plain.bound + reduction.fixed_cost)
    ours = run_of(row, seed, row.seconds, table, folder)
    cost, bound = ours["objective"], ours["certified_bound"]
    costs = (f"{each:.6g}" for each in (plain.objective, plain.bound, cost, bound))
    gap = f"{100 * (cost / bound - 1):.2f}" if bound else "-"
    clock = (f"{ours[key]:.0f}" for key in ("wall", "cpu", "load"))
    return "| " + " | ".join([str(seed), f"{ours['cells']:,}", *costs, gap, f"{cost / plain.objective:.4f}", *clock]) + " |"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("kind", choices=("office", "public"))
    words.add_argument("--weights", choices=get_args(SystemWeights), default="file")
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--first-seed", type=int, default=1)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--shape", nargs=argparse.REMAINDER, default=[])
    asked = words.parse_args()
    row = Row(asked.kind, (asked.kind, *asked.shape), asked.weights, asked.seconds, Marks())
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
            print(line_of(seed, row, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
