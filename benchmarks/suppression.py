"""Cell suppression measured: `csplib FOLDER` on linear systems, `random` on small tables of four kinds with a judge of
their own, `small` beside trying every set of cells, `office` on an invented office's table.

python benchmarks/suppression.py csplib FOLDER --seconds 60 --only table7
python benchmarks/suppression.py random --seed 7 --tables 500 --method modular
python benchmarks/suppression.py small --seed 7 --tables 100
python benchmarks/suppression.py office --seed 1 --cost unit --seconds 120 --codes 45,80 --inner 12,30
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.formats.system import read_system
from statveil.suppress.cells.build import problem_of_system
from statveil.suppress.cells.methods.shape import shape_of_parents
from statveil.suppress.cells.options import COSTS, Cost, SuppressionOptions
from statveil.suppress.cells.problem import COST_UNITS
from statveil.suppress.cells.suppress import suppress_cells

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.reference.suppression import cheapest_pattern, disclosures
from tests.suppress.cells.stories import random_grid

from statveil_lab.generators.office import OfficeShape, draw_tree, office_system

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


def random_tables(numbers: range, seed: int, seconds: float, method: str) -> None:
    """Judged by the reference's linear programs, kind by kind; what is refused is counted.

    The problem of a method that hides exact values only has no levels, and is judged as such.
    """
    tally: dict[str, list[int]] = {}
    for number in numbers:
        kind = ("2-D", "3-D", "hierarchical", "linked")[number % 4]
        told = tally.setdefault(kind, [0, 0, 0, 0])
        table = _table(kind, np.random.default_rng([seed, number]))
        sensitivity = sv.rules.assess(table, [sv.MinimumFrequency(3), sv.PPercent(15)])
        try:
            found = suppress_cells(table, sensitivity, method, limits=sv.Limits(seconds=seconds))
        except (sv.InputError, sv.InfeasibleProblem, sv.NoTableFound, sv.AuditFailed):
            told[1] += 1
            continue
        exact, narrow = disclosures(found.problem, found.suppressed)
        tally[kind] = [told[0] + 1, told[1], told[2] + exact, told[3] + narrow]
    for kind, (made, refused, exact, narrow) in tally.items():
        told = f"{made} patterns, {refused} refused, {exact} cells known exactly, {narrow} too closely"
        print(f"{method}, {numbers}, {kind}: {told}", flush=True)


def small_tables(numbers: range, seed: int, seconds: float) -> None:
    """`optimal` and `auto` beside trying every set of cells, on tables small enough for that."""
    same = refused = above = worse = 0
    for number in numbers:
        problem = random_grid(np.random.default_rng([seed, number]))
        least = cheapest_pattern(problem)
        if least is None:
            refused += 1
            continue
        best, quick = (suppress_cells(problem, None, method, limits=sv.Limits(seconds=seconds)) for method in ("optimal", "auto"))
        same += best.cost * COST_UNITS == least == best.certified_bound * COST_UNITS
        above += max(best.certified_bound, quick.certified_bound) * COST_UNITS > least
        worse += quick.cost * COST_UNITS > least
    tables = f"{len(numbers) - refused} tables with a pattern ({refused} have none)"
    print(f"{numbers}: {tables}, optimal and proved: {same}; bounds above: {above}; auto worse: {worse}")


def office(shape: OfficeShape, seed: int, cost: str, seconds: float, methods: list[str]) -> None:
    """An invented office's table by several methods: secondary cells by a method's own rules and in the end, and their cost."""
    options = SuppressionOptions(cost=cast("Cost", cost))
    problem = problem_of_system(office_system(shape, seed=seed), options)
    rng = np.random.Generator(np.random.PCG64(seed))
    trees = [draw_tree(codes, inner, shape.depth, rng) for codes, inner in zip(shape.codes, shape.inner, strict=True)]
    problem = replace(problem, shapes=(shape_of_parents(trees),))
    print(f"{problem.size} cells, {np.count_nonzero(problem.value)} filled, {np.count_nonzero(problem.primary)} primary")
    for method in methods:
        began = time.monotonic()
        try:
            found = suppress_cells(problem, None, method, options=options, limits=sv.Limits(seconds=seconds))
        except sv.StatveilError as error:
            print(f"| {method} | {type(error).__name__} | | | | | {time.monotonic() - began:.1f} |", flush=True)
            continue
        own = "" if found.by_rules is None else found.by_rules
        figures = (method, own, int(found.secondary.sum()), f"{found.cost:.0f}", f"{found.certified_bound:.0f}", f"{100 * found.gap:.1f}%")
        print(f"| {' | '.join(str(each) for each in figures)} | {time.monotonic() - began:.1f} |", flush=True)


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
    parser.add_argument("what", choices=["csplib", "random", "small", "office"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--codes", default="117,225")
    parser.add_argument("--inner", default="30,95")
    parser.add_argument("--cost", default="unit")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.what == "csplib":
        csplib(given.folder, given.only, given.seconds, given.method)
    elif given.what == "office":
        codes, inner = (tuple(int(each) for each in words.split(",")) for words in (given.codes, given.inner))
        office(OfficeShape(codes=codes, inner=inner), given.seed, given.cost, given.seconds, given.method.split(","))
    elif given.what == "small":
        small_tables(range(given.first, given.first + given.tables), given.seed, given.seconds)
    else:
        random_tables(range(given.first, given.first + given.tables), given.seed, given.seconds, given.method)
