"""Method `hybrid`: S0 section 3. Sensitive cells are grouped, a group moves as one, and a MILP finds each group's sense.

Cells are ordered from largest to smallest and dealt to M groups in turn, so that the groups are alike. The full model then
gets B_i = B_(i+M) = B_(i+2M) = ...: M binaries are left. S0's order is by value; ours is by protection level (see
`alternate`), which in its tables is the same. Its exception, that a cell equal to one of its totals shares the total's
group, is met before: the reduction has made the two one cell. A cell with one open sense takes it and is in no group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import block_diag, csr_matrix, identity

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.papers.alternate import largest_first
from statveil.protect.search.state import Search
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
    """The values of M, none above the number of cells with a choice, each with half of the seconds left by then (the last: all)."""
    if groups < 1 or runs < 1:
        raise InputError("Groups and runs must be 1 or more.")
    cells = search.problem.choices.size
    counts = sorted({min(max(groups - turn, 1), max(cells, 1)) for turn in range(runs)}, reverse=True)
    for turn, count in enumerate(counts):
        if search.done:
            return
        yield count, search.seconds_left / min(2, len(counts) - turn)


def deal(problem: ProtectionProblem, groups: int) -> IntArray:
    """The group of each cell with a choice (in the table's order): largest first, to the groups in turn."""
    choice = problem.choices
    group = np.zeros(problem.size, dtype=np.int64)
    group[largest_first(problem)] = np.arange(choice.size) % groups
    return group[choice]


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
