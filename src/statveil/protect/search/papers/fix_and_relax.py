"""Method `fix-and-relax` (Baena, Castro and Gonzalez 2015): the senses are settled cluster by cluster.

In each step one cluster's senses are binaries; those of the clusters before are fixed as found, those of the clusters after are relaxed
to anything between down and up. Where a step has no answer, what was fixed last was wrong: the cluster before it is opened again, together
with it, and so on; with all of them open it is the whole problem. So it finds a table of its own, and needs none to begin with.

Which cells make a cluster is ours: cells by falling protection level, so that those are settled first that the others must make up for.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Ending
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.papers.alternate import largest_first
from statveil.protect.search.papers.hybrid import begin
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel


class _Answer(NamedTuple):
    """Senses of all cells with a choice: 1 up, 0 down; None: the step has no answer. `believed`: by proof, not by the clock."""

    up: FloatArray | None
    believed: bool


def run(search: Search, *, clusters: int = 8, gap: float = 0.01, seconds: float = 20.0) -> None:
    """Method `fix-and-relax`: so many clusters, one after the other; `gap` and `seconds` end a step's branch and bound.

    A start given is priced first, and so are all cells up, to tighten the program.
    """
    if clusters < 1:
        raise InputError("Method 'fix-and-relax' needs one cluster or more.")
    begin(search)
    if search.done or search.problem.choices.size == 0:
        return
    program = Disjunctions(search)
    up = _settled(search, program, clusters_of(search, clusters), gap=gap, seconds=seconds)
    if up is not None:
        search.try_senses(program.senses(np.concatenate([np.zeros(program.model.cost.size - up.size), up])))


def clusters_of(search: Search, count: int) -> list[IntArray]:
    """Cells with a choice, as places in their list: by falling level, dealt in runs whose lengths differ by one at most."""
    place = np.zeros(search.problem.size, dtype=np.int64)
    place[search.problem.choices] = np.arange(search.problem.choices.size)
    return [part for part in np.array_split(place[largest_first(search.problem)], count) if part.size]


def _settled(search: Search, program: Disjunctions, clusters: list[IntArray], *, gap: float, seconds: float) -> FloatArray | None:
    """The senses of all clusters; None where the time ends before, or the whole problem has no answer."""
    up = np.zeros(sum(cluster.size for cluster in clusters))
    reopened = 0
    at = 0
    while at < len(clusters):
        if search.done:
            return None
        search.enter(f"fix and relax, cluster {at + 1} of {len(clusters)}")
        first = at - reopened
        step = _solved(search, program, _partly_open(program, up, clusters, first, at), gap=gap, seconds=seconds)
        if step.up is not None:
            up, at, reopened = step.up, at + 1, 0
        elif step.believed and first > 0:
            reopened += 1  # the paper's backtracking
        else:
            return None
    return up


def _partly_open(program: Disjunctions, up: FloatArray, clusters: list[IntArray], first: int, last: int) -> LinearModel:
    """The model in which clusters from `first` to `last` are binary, those before fixed, those after relaxed."""
    model = program.model
    start = model.cost.size - up.size
    whole, lower, upper = np.zeros(model.cost.size, dtype=np.bool_), model.lower.copy(), model.upper.copy()
    for cluster in clusters[:first]:
        lower[start + cluster] = upper[start + cluster] = up[cluster]
    for cluster in clusters[first : last + 1]:
        whole[start + cluster] = True
    return dataclasses.replace(model, lower=lower, upper=upper, whole=whole)


def _solved(search: Search, program: Disjunctions, model: LinearModel, *, gap: float, seconds: float) -> _Answer:
    from statveil.solve import highs

    solution = highs.solve(model, seconds=min(seconds, search.seconds_left), gap=gap)
    if solution.x is None:
        return _Answer(None, solution.ending is Ending.INFEASIBLE)
    return _Answer(np.rint(solution.x[model.cost.size - search.problem.choices.size :]), True)
