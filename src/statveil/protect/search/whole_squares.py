"""The best whole table in squares, of a small table: senses and whole amounts at once (docs/science.md, section 3).

On whole numbers  w z^2  is the largest of its chords: that from a to a + 1 is  w ((2a + 1) z - a (a + 1)), and lies above the square
nowhere else. So the problem is a mixed-integer linear program with a few chords of each cell, to which those that the last answer
breaks are added, until the answer's chords are its squares: then it is the best whole table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel, LinearSolution


class WholeSquaresTuning(NamedTuple):
    """Which tables are small enough, and how long to go on; by judgement."""

    most_cells: int = 200
    most_choices: int = 12
    farthest: int = 20_000  # that a cell may go without costing more than the incumbent: beyond, rounding costs next to nothing
    rounds: int = 60
    settled: float = 1e-7  # relative distance between squares and chords of an answer that is called none


TUNING = WholeSquaresTuning()


def improve(search: Search) -> None:
    """The best whole table, or as far as the time allows; the solver's bound is offered as its claim."""
    problem = search.problem
    if problem.norm != "l2" or search.best is None or search.done or problem.choices.size > TUNING.most_choices:
        return
    reach = np.floor(np.sqrt(search.objective / problem.weight) * (1 + 1e-9))
    if problem.size > TUNING.most_cells or reach.max(initial=0) > TUNING.farthest:
        return
    search.enter("whole squares")
    program = _ChordProgram(problem, search.best, reach.astype(np.int64), whole=_parts(search))
    for _ in range(TUNING.rounds):
        if search.done or not _one_round(search, program):
            return


def _parts(search: Search) -> BoolArray:
    """The cells that must be said to be whole: where a table falls into parts, whole parts make whole sums."""
    parts = search.program.parts_to_round
    whole = np.full(search.problem.size, parts is None)
    if parts is not None:
        whole[parts.part] = True
    return whole


def _one_round(search: Search, program: _ChordProgram) -> bool:
    """Solve once, offer table and bound; tell whether there are chords to add."""
    solution = program.solve(search.seconds_left)
    if np.isfinite(solution.bound):
        search.offer_bound(solution.bound / program.price)
    if solution.x is None:
        return False
    z = np.rint(solution.x[: search.problem.size]).astype(np.int64)
    search.offer(z)
    close = search.problem.cost(z) <= solution.objective / program.price * (1 + TUNING.settled)
    return not (close and solution.ending is Ending.OPTIMAL) and program.add_chords_at(z)


class _ChordProgram:
    """Columns: deviations z, their squares' chords t, and y of each cell with a choice (1 up, 0 down)."""

    def __init__(self, problem: ProtectionProblem, best: IntArray, reach: IntArray, *, whole: BoolArray) -> None:
        self.problem, self.whole = problem, whole
        self.price = 100.0 / max(problem.cost(best), 1e-9)
        self.weight = problem.weight * self.price
        forced = np.where(problem.can_go_up, 1, -1) * (problem.sensitive & ~(problem.can_go_up & problem.can_go_down))
        allowed = problem.allowed(forced)
        self.low, self.high = np.maximum(allowed.low, -reach), np.minimum(allowed.high, reach)
        levels = np.where(problem.sensitive, np.minimum(np.abs(problem.down.high), np.abs(problem.up.low)), 0)
        self.least = np.where(problem.can_go_up & problem.can_go_down, levels, 0).astype(np.float64)
        self.chords: set[tuple[int, int]] = set()
        for cell in range(problem.size):
            grid = {0, 1, 2, *(2**power for power in range(2, int(reach[cell]).bit_length()))}
            self.chords |= {(cell, turn) for at in grid for turn in (at, -at - 1)}
        self.add_chords_at(best)

    def add_chords_at(self, z: IntArray) -> bool:
        """Add the chords on both sides of each deviation; tell whether any is new."""
        before = len(self.chords)
        self.chords |= {(cell, at) for cell, amount in enumerate(z.tolist()) for at in (amount - 1, amount)}
        return len(self.chords) > before

    def solve(self, seconds: float) -> LinearSolution:
        from statveil.solve import highs

        return highs.solve(self._model(), seconds=seconds)

    def _model(self) -> LinearModel:
        problem, size, choices = self.problem, self.problem.size, self.problem.choices.size
        relations = hstack([problem.relations.astype(np.float64), csr_matrix((problem.rhs.size, size + choices))])
        switches, floor, ceiling, can = self._switches()
        chords, least = self._chord_rows()
        endless = np.full(least.size, np.inf)
        nothing = np.full(choices, np.inf)
        return LinearModel(
            cost=np.concatenate([np.zeros(size), np.ones(size), np.zeros(choices)]),
            matrix=csr_matrix(vstack([relations, switches, chords])),
            row_lower=np.concatenate([problem.residual, floor, -nothing, least]).astype(np.float64),
            row_upper=np.concatenate([problem.residual, nothing, ceiling, endless]).astype(np.float64),
            lower=np.concatenate([self.low, self.weight * self.least**2, ~can.down]).astype(np.float64),
            upper=np.concatenate([self.high, np.full(size, np.inf), can.up]).astype(np.float64),
            whole=np.concatenate([self.whole, np.zeros(size, dtype=np.bool_), np.ones(choices, dtype=np.bool_)]),
        )

    def _switches(self) -> tuple[csr_matrix, FloatArray, FloatArray, _Ways]:
        """z >= up.low y + low (1 - y)  and  z <= high y + down.high (1 - y), and which ways the incumbent leaves open."""
        problem, cells = self.problem, self.problem.choices
        low, high = self.low[cells].astype(np.float64), self.high[cells].astype(np.float64)
        up, down = problem.up.low[cells].astype(np.float64), problem.down.high[cells].astype(np.float64)
        each, size = np.arange(cells.size), problem.size
        pick = csr_matrix((np.ones(cells.size), (each, cells)), shape=(cells.size, 2 * size))
        rows = [hstack([pick, csr_matrix((factor, (each, each)), shape=(each.size,) * 2)]) for factor in (low - up, down - high)]
        return csr_matrix(vstack(rows)), low, down, _Ways(up <= high, down >= low)

    def _chord_rows(self) -> tuple[csr_matrix, FloatArray]:
        """t - w (2a + 1) z >= -w a (a + 1)."""
        cell, at = np.array(sorted(self.chords), dtype=np.int64).reshape(-1, 2).T
        size, each = self.problem.size, np.arange(cell.size)
        factors = np.concatenate([-self.weight[cell] * (2 * at + 1), np.ones(cell.size)])
        columns = np.concatenate([cell, size + cell])
        shape = (cell.size, 2 * size + self.problem.choices.size)
        return csr_matrix((factors, (np.tile(each, 2), columns)), shape=shape), -self.weight[cell] * at * (at + 1)


class _Ways(NamedTuple):
    """Whether each cell with a choice may still go up, and down."""

    up: BoolArray
    down: BoolArray
