"""Method `hybrid`: S0 section 3. Sensitive cells are grouped, a group moves as one, and a MILP finds each group's sense.

Cells are ordered from largest to smallest and dealt to M groups in turn, so that the groups are alike. The full model then
gets B_i = B_(i+M) = B_(i+2M) = ...: M binaries are left. S0's order is by value; ours is by protection level (see
`alternate`), which in its tables is the same. Its exception: a cell equal to one of its totals shares the total's group. Where
the other parts cannot move, the reduction has made the two one cell before; where they can, as a zero may, they are dealt together
here. So is a sum with a single sensitive part and that part, whatever the others hold: what one must move, the other can take.
A cell with one open sense takes it and is in no group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import block_diag, csr_matrix, identity
from scipy.sparse.csgraph import connected_components

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.papers.alternate import largest_first
from statveil.protect.search.papers.tree_bcd import parts_by_total
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel


def run(search: Search, *, groups: int = 16, runs: int = 8) -> None:
    """The best table over M = groups, groups - 1, ...: `runs` values of M. Each may use half of the time then left.

    The groups for M are unions of those for 2M, so 16 to 9, the default, cover 1 to 8 as well (S0 section 4). A start given
    is priced first, and so are all groups up, to have a table and to tighten the MILP. Senses that the groups cannot express
    are not tried: if none has a table, the method ends with none.
    """
    begin(search)
    for count, seconds in group_counts(search, groups, runs):
        search.enter(f"hybrid with {count} groups")
        solve_grouped(search, deal(search.problem, count), seconds=seconds)


def begin(search: Search) -> None:
    """Price the start, and the one assignment that any groups can express and that often has a table."""
    search.enter("all up")
    for senses in (search.start, search.problem.all_up()):
        if senses is not None and not search.done:
            search.try_senses(senses)


def group_counts(search: Search, groups: int, runs: int) -> Iterator[tuple[int, float]]:
    """The values of M, none above the number of what can be dealt, each with half of the seconds left by then (the last: all)."""
    if groups < 1 or runs < 1:
        raise InputError("Groups and runs must be 1 or more.")
    cells = int(moved_as_one(search.problem).max(initial=-1)) + 1
    counts = sorted({min(max(groups - turn, 1), max(cells, 1)) for turn in range(runs)}, reverse=True)
    for turn, count in enumerate(counts):
        if search.done:
            return
        yield count, search.seconds_left / min(2, len(counts) - turn)


def deal(problem: ProtectionProblem, groups: int) -> IntArray:
    """The group of each cell with a choice (in the table's order): largest first, to the groups in turn; what moves as one is one."""
    choice, bundle = problem.choices, moved_as_one(problem)
    place = np.zeros(problem.size, dtype=np.int64)
    place[choice] = bundle
    in_order = place[largest_first(problem)]
    first = np.unique(in_order, return_index=True)[1]
    turn = np.zeros(first.size, dtype=np.int64)
    turn[in_order[np.sort(first)]] = np.arange(first.size) % groups
    return np.asarray(turn[bundle])


def moved_as_one(problem: ProtectionProblem) -> IntArray:
    """The bundle of each cell with a choice, numbered from zero: S0's exception, by each relation that has a total.

    A sum and its part are one if their values are the same, or if no other part of it is sensitive.
    """
    choice = problem.choices
    place = np.full(problem.size, -1, dtype=np.int64)
    place[choice] = np.arange(choice.size)
    ties = [np.zeros((2, 0), dtype=np.int64)]
    for total, parts in parts_by_total(problem.relations):
        asking = parts[problem.sensitive[parts]]
        tied = asking if asking.size == 1 else asking[problem.value[asking] == problem.value[total]]
        tied = place[tied][place[tied] >= 0] if place[total] >= 0 else tied[:0]
        ties.append(np.stack([np.full(tied.size, place[total]), tied]))
    one, other = np.concatenate(ties, axis=1)
    graph = csr_matrix((np.ones(one.size), (one, other)), shape=(choice.size, choice.size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def solve_grouped(search: Search, group: IntArray, *, seconds: float) -> None:
    """The MILP with one binary per group. Its optimum over groups bounds nothing, so no bound is offered.

    The best table only tightens the model; handed over as a start it made HiGHS find less in trials.
    """
    from statveil.solve import highs

    program = Disjunctions(search)
    model, tie = tied_model(program.model, group)

    def improved(columns: FloatArray, _: float) -> None:
        search.try_senses(program.senses(tie @ columns))

    gap = search.limits.gap / (1 + search.limits.gap)
    solution = highs.solve(model, seconds=seconds, gap=gap, on_incumbent=improved)
    if solution.x is not None:
        search.try_senses(program.senses(tie @ solution.x))


def tied_model(model: LinearModel, group: IntArray) -> tuple[LinearModel, csr_matrix]:
    """The model with the last columns, one per cell, replaced by one per group; and the matrix that gives the old columns back."""
    before, count = model.cost.size - group.size, int(group.max(initial=-1)) + 1
    members = csr_matrix((np.ones(group.size), (np.arange(group.size), group)), shape=(group.size, count))
    tie = csr_matrix(block_diag([identity(before), members], format="csr"))
    tied = replace(
        model,
        cost=np.asarray(tie.T @ model.cost),
        matrix=csr_matrix(model.matrix @ tie),
        lower=np.concatenate([model.lower[:before], np.zeros(count)]),
        upper=np.concatenate([model.upper[:before], np.ones(count)]),
        whole=np.arange(before + count) >= before,
    )
    return tied, tie
