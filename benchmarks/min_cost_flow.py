"""The network simplex of our own beside OR-Tools' min-cost flow: one table for given senses, and the next one for other senses.

`python benchmarks/min_cost_flow.py [table16 table26 table36]`, with `pip install ortools` beforehand: it is no dependency. Unit weights,
uniform values, sensitive leaf cells; the senses are annealed shortly, the second ones from the first with one in a hundred turned.
Both must come to the same least cost, or the run ends here. Prints lines of Markdown.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from ortools.graph.python import min_cost_flow

from statveil.core.arrays import IntArray
from statveil.core.limits import Limits
from statveil.protect.network import engine
from statveil.protect.network.detect import Network, detect
from statveil.protect.network.flow import FARTHEST, FlowProgram
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search
from statveil.protect.system import problem_of
from statveil_lab.generators.one_hierarchy import SHAPES, Filling, one_hierarchy_system

MOST = 10**12
"""Stands for "no bound" on an arc of OR-Tools."""


def by_or_tools(program: FlowProgram, senses: IntArray) -> tuple[float, float]:
    """The least cost with these senses, and the seconds it took. A cell is two arcs, its rise and its fall, above their least flows."""
    began, network = time.perf_counter(), program.network
    low, high = (np.clip(bound, -MOST, MOST) for bound in program.bounds(senses))
    least = np.concatenate([np.maximum(low, 0), np.maximum(-high, 0)])
    most = np.concatenate([np.maximum(high, 0), np.maximum(-low, 0)])
    forced = least[: low.size] - least[low.size :]
    supply = network.supply.astype(np.int64).copy()
    np.subtract.at(supply, network.tail, forced)
    np.add.at(supply, network.head, forced)
    flow = min_cost_flow.SimpleMinCostFlow()
    tail, head = np.concatenate([network.tail, network.head]), np.concatenate([network.head, network.tail])
    flow.add_arcs_with_capacity_and_unit_cost(tail, head, most - least, np.ones(tail.size, dtype=np.int64))
    flow.set_nodes_supplies(np.arange(network.nodes), supply)
    if flow.solve() != flow.OPTIMAL:
        raise SystemExit("OR-Tools found no flow.")
    return float(flow.optimal_cost() + least.sum()), time.perf_counter() - began


def by_ourselves(program: FlowProgram, senses: IntArray) -> tuple[float, float]:
    began = time.perf_counter()
    if program.solve(senses) is None:
        raise SystemExit("There is no table with these senses.")
    return program.value, time.perf_counter() - began


def turned(problem: ProtectionProblem, senses: IntArray, rng: np.random.Generator) -> IntArray:
    choices = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    some = rng.choice(choices, size=max(choices.size // 100, 1), replace=False)
    other = senses.copy()
    other[some] *= -1
    return other


def compare(shape: str) -> str:
    system = one_hierarchy_system(SHAPES[shape], seed=1, filling=Filling())
    problem = reduce_problem(problem_of(system, weights="unit")).problem
    network = detect(problem)
    assert isinstance(network, Network)
    search = engine.Engine(Search(problem, Limits(seconds=600), 1, lambda _: None), network)
    first = search.annealed(search.kinds[0], engine.QUICK)
    second, cells = turned(problem, first, np.random.default_rng(1)), []
    program = FlowProgram(problem, network)
    assert FARTHEST > MOST
    for senses in (first, second):
        (ours, seconds), (theirs, their_seconds) = by_ourselves(program, senses), by_or_tools(program, senses)
        if abs(ours - theirs) > 1e-6 * theirs:
            raise SystemExit(f"{shape}: the least costs differ.")
        cells += [f"{seconds:.2f}", f"{their_seconds:.2f}"]
    return f"| {shape} | {problem.size:,} | " + " | ".join(cells) + " |"


def main() -> None:
    print("| table | cells | first: ours, s | OR-Tools, s | next: ours, s | OR-Tools, s |")
    print("|---|---|---|---|---|---|")
    compare("table14")  # compiles
    for shape in sys.argv[1:] or ("table14", "table16", "table26", "table36"):
        print(compare(shape), flush=True)


if __name__ == "__main__":
    main()
