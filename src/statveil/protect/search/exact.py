"""The problem as one mixed-integer program (S3, eq. 4): solved whole, to the proof, when it is small enough; or with only some senses
open, while the others keep theirs and every amount stays free (S3 section 3, step 1.1)."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.bounds.branch_and_bound import prove_by_tree
from statveil.protect.presolve.redundancy import independent_relations
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.local import anneal
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel


def nearest_choices(search: Search, wanted: int) -> IntArray:
    """A random cell that may go either way, and as many of the nearest such cells along the relations as are wanted."""
    problem, choice = search.problem, search.rng.permutation(search.problem.choices)
    near = _distances(problem, int(choice[0]), choice, wanted)
    return np.asarray(choice[np.argsort(near[choice], kind="stable")][:wanted], dtype=np.int64)


def some_choices(search: Search, wanted: int, *, around: bool) -> IntArray:
    """So many cells that may go either way: the nearest to one of them along the relations, or anywhere."""
    if around:
        return nearest_choices(search, wanted)
    return np.asarray(search.rng.permutation(search.problem.choices)[:wanted], dtype=np.int64)


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
        slim(search, program.model),
        seconds=min(seconds, search.seconds_left),
        gap=gap,
        start=program.columns(search.best),
        on_incumbent=lambda columns, _: _offer(search, program, columns),
        nodes=nodes,
    )
    if solution.x is not None:
        _offer(search, program, solution.x)
    complete = bool(np.isin(search.problem.choices, open_cells).all()) and not program.truncated
    if complete and search.problem.norm == "l1" and np.isfinite(solution.bound):
        search.offer_bound(program.in_costs(solution.bound))
    return search.objective < before


def _program(search: Search, open_cells: IntArray) -> Disjunctions:
    """The block's program. It is linear also for L2, where its tables are proposals only."""
    assert search.best is not None
    part = search.problem.restricted(search.problem.senses_of(search.best), open_cells)
    inner = Search(dataclasses.replace(part, norm="l1"), search.limits, 0, lambda _: None)
    inner.offer(search.best)
    return Disjunctions(inner)


_independent: WeakKeyDictionary[Search, IntArray] = WeakKeyDictionary()
"""Found once for each search: the relations are the same in all its blocks."""


def slim(search: Search, model: LinearModel) -> LinearModel:
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


class ExactTuning(NamedTuple):
    """When all choices are tried one by one, and how far a switch may reach; by judgement."""

    longest_switch: float = 1e6  # in scaled amounts, where the median level is 50: solvers' tolerances are a millionth of a switch
    most_to_price: int = 10  # cells with a choice up to which every choice of senses is priced by a program of its own


TUNING = ExactTuning()


def solve_exactly(search: Search, *, combinations: bool = False) -> None:
    """Branch and bound from the best table known: our own for a while, whose tree is certified, then the solver's.

    Its senses are priced again and verified; its bound is offered. For L2 the solver's program is a proposal only, with absolute
    changes instead of squares (whose optimum is a bound: of whole numbers no square is smaller); a few senses are all priced, and small
    tables solved over whole amounts. `combinations` adds what single relations forbid among senses as rows of the solver's program (S2
    section 3).
    """
    from statveil.protect.search import whole_squares
    from statveil.solve import highs

    if search.best is None:
        anneal.run(search)
    if search.problem.norm == "l2":
        price_all_senses(search)
        whole_squares.improve(search)
    else:
        prove_by_tree(search)
    if search.done:
        return
    search.enter("branch and bound")
    program = Disjunctions(search)
    model = program.without_forbidden_senses() if combinations else program.model

    def improved(columns: FloatArray, bound: float) -> None:
        if not program.truncated:
            search.offer_bound(program.in_costs(bound))
        search.try_senses(program.senses(columns))

    start = program.columns(search.best) if search.best is not None else None
    solution = highs.solve(
        model, seconds=search.seconds_left, gap=search.limits.gap / (1 + search.limits.gap), start=start, on_incumbent=improved
    )
    if solution.x is not None:
        search.try_senses(program.senses(solution.x))
    if solution.ending is Ending.INFEASIBLE and search.best is None and not program.truncated:
        search.prove_infeasible()
    elif np.isfinite(solution.bound) and not program.truncated:
        search.offer_bound(program.in_costs(solution.bound))


def price_all_senses(search: Search) -> None:
    """Every choice of senses in turn, where there are few cells that have one."""
    problem = search.problem
    choice = problem.choices
    if choice.size > TUNING.most_to_price:
        return
    search.enter("pricing all senses")
    senses = problem.all_up()
    for signs in product((1, -1), repeat=choice.size):
        if search.done:
            return
        senses[choice] = signs
        search.try_senses(senses)


def all_that_is_forced(problem: ProtectionProblem) -> float:
    """What all levels and all that is not additive come to: as far as a cell is let go where nothing bounds it."""
    levels = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
    return float(levels.sum() + np.abs(problem.residual).sum() + 1)


class Disjunctions:
    """The program in columns rise, fall, and one y per cell with a choice (1 up, 0 down).

    The switch between the senses is as tight as the bounds and the incumbent allow, for a loose one lets a solver
    leave a cell under-protected within its tolerances. Where neither says anything, a cell's reach is taken to be all that is
    forced on the table together; `truncated` tells so, for then "infeasible" would prove nothing.
    """

    def __init__(self, search: Search) -> None:
        self.problem, self.fixed = search.problem, search.program
        problem, moving, unit = search.problem, search.program.moving, search.program.unit
        self.choice = problem.choices
        forced = np.where(problem.can_go_up, 1, -1) * (problem.sensitive & ~(problem.can_go_up & problem.can_go_down))
        lower, upper = self.fixed.column_bounds(problem.allowed(forced))
        upper = np.minimum(upper, self._reach(search))
        upper, self.truncated = self._ends(upper)
        lower[self.at], lower[moving.size + self.at] = 0.0, 0.0
        up_level, down_level = problem.up.low[self.choice] / unit, -problem.down.high[self.choice] / unit
        up_most, down_most = np.maximum(upper[self.at], up_level), np.maximum(upper[moving.size + self.at], down_level)
        if problem.variant == "exact":
            up_most, down_most = up_level, down_level
        switches = self._switches(up_level, up_most, down_level, down_most)
        relations = hstack([self.fixed.matrix, csr_matrix((self.fixed.matrix.shape[0], self.choice.size))], format="csr")
        rest = self.fixed.residual
        count = self.choice.size
        cuts, cut_rhs = self._cuts(search)
        none = np.full(count, np.inf)
        self.model = LinearModel(
            cost=np.concatenate([self.fixed.cost, np.zeros(count)]),
            matrix=vstack([relations, switches, cuts], format="csr"),
            row_lower=np.concatenate([rest, np.zeros(count), -none, down_level, -none, cut_rhs]),
            row_upper=np.concatenate([rest, none, np.zeros(count), none, down_most, np.full(cut_rhs.size, np.inf)]),
            lower=np.concatenate([lower, np.zeros(count)]),
            upper=np.concatenate([upper, np.ones(count)]),
            whole=np.concatenate([np.zeros(lower.size, dtype=np.bool_), np.ones(count, dtype=np.bool_)]),
        )

    def _ends(self, upper: FloatArray) -> tuple[FloatArray, bool]:
        """Where reaches end, and whether that is a guess: cells of next to no cost could go so far that a switch would say nothing."""
        unit, switched = self.fixed.unit, np.zeros(upper.size, dtype=np.bool_)
        place = np.full(self.problem.size, -1)
        place[self.fixed.moving] = np.arange(self.fixed.moving.size)
        self.at = place[self.choice]
        switched[self.at] = switched[self.fixed.moving.size + self.at] = True
        guess = all_that_is_forced(self.problem) / unit
        endless = np.isinf(upper) | (switched & (upper > max(guess, TUNING.longest_switch)))
        return np.where(endless, guess, upper), bool(endless.any())

    def _cuts(self, search: Search) -> tuple[csr_matrix, FloatArray]:
        """The inequalities of the lower bound in |z| = rise + fall: without them the relaxation knows nothing (docs/science.md, section
        5).
        """
        width = 2 * self.fixed.moving.size + self.choice.size
        if search.cuts is None:
            return csr_matrix((0, width)), np.zeros(0)
        sizes = search.cuts.matrix[:, self.fixed.moving]
        return hstack([sizes, sizes, csr_matrix((sizes.shape[0], self.choice.size))], format="csr"), search.cuts.rhs / self.fixed.unit

    def without_forbidden_senses(self) -> LinearModel:
        """With a row for each combination of senses that a relation forbids: not all of them at once (S2 section 3, S3 eqs 5-7)."""
        from statveil.protect.search.papers.sat import ForbiddenCombinations

        found = list(ForbiddenCombinations(self.problem).by_relation())
        literals = np.array([literal for combination in found for literal in combination], dtype=np.int64)
        rows = np.repeat(np.arange(len(found)), [len(combination) for combination in found])
        place = np.zeros(self.problem.size, dtype=np.int64)
        place[self.choice] = 2 * self.fixed.moving.size + np.arange(self.choice.size)
        factors, columns = np.sign(literals).astype(np.float64), place[np.abs(literals) - 1]
        cuts = csr_matrix((factors, (rows, columns)), shape=(len(found), self.model.cost.size))
        most = np.array([sum(literal > 0 for literal in combination) - 1.0 for combination in found])
        model = self.model
        return dataclasses.replace(
            model,
            matrix=vstack([model.matrix, cuts], format="csr"),
            row_lower=np.concatenate([model.row_lower, np.full(most.size, -np.inf)]),
            row_upper=np.concatenate([model.row_upper, most]),
        )

    def _reach(self, search: Search) -> FloatArray:
        """No cell need move further than would cost as much as the incumbent, by the floors and by the lower bound's reduced costs."""
        from statveil.protect.bounds.cuts import least_sizes

        problem = search.problem
        if not np.isfinite(search.objective):
            return np.full(2 * self.fixed.moving.size, np.inf)
        least = least_sizes(problem)
        spare = least + (search.objective - problem.weight @ least) / problem.weight
        if search.cuts is not None:
            dear = search.cuts.reduced > 1e-9 * problem.weight
            by_proof = (search.objective - search.cuts.bound) / np.where(dear, search.cuts.reduced, 1.0)
            spare = np.where(dear, np.minimum(spare, least + by_proof), spare)
        return np.tile((spare[self.fixed.moving] * (1 + 1e-6) + 1) / self.fixed.unit, 2)

    def _switches(self, up_level: FloatArray, up_most: FloatArray, down_level: FloatArray, down_most: FloatArray) -> csr_matrix:
        """rise >= level y;  rise <= most y;  fall + level y >= level;  fall + most y <= most."""
        count, half = self.choice.size, self.fixed.moving.size
        each = np.arange(count)

        def block(column: IntArray, factor: FloatArray) -> csr_matrix:
            one = csr_matrix((np.ones(count), (each, column)), shape=(count, 2 * half + count))
            return csr_matrix(one + csr_matrix((factor, (each, 2 * half + each)), shape=one.shape))

        rise, fall = self.at, half + self.at
        return csr_matrix(vstack([block(rise, -up_level), block(rise, -up_most), block(fall, down_level), block(fall, down_most)]))

    def in_costs(self, objective: float) -> float:
        """A solver's objective in the problem's own costs."""
        return objective * self.fixed.unit / self.fixed.price

    def senses(self, columns: FloatArray) -> IntArray:
        senses = self.problem.all_up()
        senses[self.choice] = np.where(columns[2 * self.fixed.moving.size :] > 0.5, 1, -1)
        return senses

    def columns(self, deviation: IntArray) -> FloatArray:
        """A table as a start for the solver."""
        z = deviation[self.fixed.moving] / self.fixed.unit
        up = (deviation[self.choice] > 0).astype(np.float64)
        return np.concatenate([np.maximum(z, 0.0), np.maximum(-z, 0.0), up])
