"""The problem with only some senses open: the others keep theirs, and every amount stays free (S3 section 3, step 1.1)."""

from __future__ import annotations

import dataclasses
from weakref import WeakKeyDictionary

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.redundant_relations import independent_relations
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.state import Search
from statveil.solve.model import LinearModel


def open_choices(problem: ProtectionProblem) -> IntArray:
    """The cells that may go either way."""
    return np.flatnonzero(problem.can_go_up & problem.can_go_down)


def restrict(problem: ProtectionProblem, senses: IntArray, open_cells: IntArray) -> ProtectionProblem:
    """The problem in which all sensitive cells but the open ones are plain cells, bounded so that they keep their sense."""
    closed = problem.sensitive.copy()
    closed[open_cells] = False
    allowed = problem.allowed(np.where(closed, senses, 0))
    return dataclasses.replace(
        problem,
        lower=_plus(allowed.low, problem.value),
        upper=_plus(allowed.high, problem.value),
        sensitive=problem.sensitive & ~closed,
    )


def _plus(deviation: IntArray, value: IntArray) -> IntArray:
    """deviation + value, where a bound that stands for "none" stays so."""
    return np.where(np.abs(deviation) >= NO_LIMIT, deviation, deviation + value).astype(np.int64)


def nearest_choices(search: Search, wanted: int) -> IntArray:
    """A random cell that may go either way, and as many of the nearest such cells along the relations as are wanted."""
    problem, choice = search.problem, search.rng.permutation(open_choices(search.problem))
    near = _distances(problem, int(choice[0]), choice, wanted)
    return np.asarray(choice[np.argsort(near[choice], kind="stable")][:wanted], dtype=np.int64)


def some_choices(search: Search, wanted: int, *, around: bool) -> IntArray:
    """So many cells that may go either way: the nearest to one of them along the relations, or anywhere."""
    if around:
        return nearest_choices(search, wanted)
    return np.asarray(search.rng.permutation(open_choices(search.problem))[:wanted], dtype=np.int64)


def _distances(problem: ProtectionProblem, cell: int, choice: IntArray, wanted: int) -> IntArray:
    """Relations to cross from the cell to each other one, as far as needed to reach enough choices."""
    link = abs(problem.relations)
    distance = np.full(problem.size, problem.size)
    reached = np.zeros(problem.size, dtype=np.bool_)
    reached[cell] = True
    for step in range(problem.size):
        distance[reached & (distance == problem.size)] = step
        if (distance[choice] < problem.size).sum() >= wanted:
            break
        grown = reached | (link.T @ (link @ reached.astype(np.int64)) > 0)
        if (grown == reached).all():
            break
        reached = grown
    return distance


def improve_block(search: Search, open_cells: IntArray, *, seconds: float, gap: float = 0.0, nodes: int | None = None) -> bool:
    """Choose the senses of the open cells anew by branch and bound from the best table; tell whether it became better.

    Where all choices are open, what the solver proves holds for the problem itself, and its bound is offered.
    """
    from statveil.solve import highs

    assert search.best is not None, "a block step needs a table to start from"
    before = search.objective
    program = _program(search, open_cells)
    solution = highs.solve(
        _slim(search, program.model),
        seconds=min(seconds, search.seconds_left),
        gap=gap,
        start=program.columns(search.best),
        on_incumbent=lambda columns, _: _offer(search, program, columns),
        nodes=nodes,
    )
    if solution.x is not None:
        _offer(search, program, solution.x)
    complete = bool(np.isin(open_choices(search.problem), open_cells).all()) and not program.truncated
    if complete and search.problem.norm == "l1" and np.isfinite(solution.bound):
        search.offer_bound(program.in_costs(solution.bound))
    return search.objective < before


def _program(search: Search, open_cells: IntArray) -> Disjunctions:
    """The block's program. It is linear also for L2, where its tables are proposals only."""
    assert search.best is not None
    part = restrict(search.problem, search.problem.senses_of(search.best), open_cells)
    inner = Search(dataclasses.replace(part, norm="l1"), search.limits, 0, lambda _: None)
    inner.offer(search.best)
    return Disjunctions(inner)


_independent: WeakKeyDictionary[Search, IntArray] = WeakKeyDictionary()
"""Found once for each search: the relations are the same in all its blocks."""


def _slim(search: Search, model: LinearModel) -> LinearModel:
    """The model without the relations that follow from others (they come first among its rows): branch and bound is far quicker."""
    if search not in _independent:
        _independent[search] = independent_relations(search.problem)
    others = np.arange(search.problem.rhs.size, model.row_lower.size)
    rows = np.concatenate([_independent[search], others])
    return dataclasses.replace(model, matrix=model.matrix[rows], row_lower=model.row_lower[rows], row_upper=model.row_upper[rows])


def _offer(search: Search, program: Disjunctions, columns: FloatArray) -> None:
    """Offer the solver's table as it is; where it is not whole, the senses it shows."""
    problem = search.problem
    deviation = np.rint(program.fixed.deviation(columns[: 2 * program.fixed.moving.size])).astype(np.int64)
    if problem.norm == "l1" and problem.accepts(deviation):
        search.offer(deviation)
    else:
        allowed = program.problem.allowed(program.senses(columns))
        search.try_senses(problem.senses_of(np.clip(np.zeros_like(deviation), allowed.low, allowed.high)))
