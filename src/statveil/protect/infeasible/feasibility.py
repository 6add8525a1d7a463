"""Is there a whole table that meets these requirements? If not, which of them does the proof use?

A search in which every step is exact: bounds are propagated through the relations in Python integers, and where a linear program is
said to be infeasible its ray is rounded and checked as a certificate of Farkas, in integers. Every narrowed bound remembers what
narrowed it, so that a contradiction is traced back to the requirements behind it (as conflicts are in satisfiability solvers). A cell
that must go up or down is tried both ways; a try that the contradiction does not rest on is not tried the other way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray
from statveil.core.limits import Ending
from statveil.protect.infeasible.requirements import Requirement, meets
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.solve.model import LinearModel

if TYPE_CHECKING:
    from statveil.solve.highs import WarmProgram

STEPS_PER_TERM = 60
"""Terms of relations looked at while propagating, per term there is: bounds may creep for ever."""
DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840, 10_000, 1_000_000)
"""What the multipliers of a ray are rounded to fractions of, until one set proves the contradiction."""
NEARLY_WHOLE = 1e-6
DEEPEST = 250
"""Tries upon tries; a proof that needs more is out of reach anyhow."""
LONGEST_PROGRAM = 20.0
"""Seconds given to one linear program."""

LOW, HIGH = 0, 1


class Clash(NamedTuple):
    """Requirements that no whole table meets; while a search is on, also the tries (by number) that they clash under."""

    requirements: frozenset[Requirement]
    tries: frozenset[int] = frozenset()


class Met(NamedTuple):
    """A whole table that meets them all: deviations by cell; cells not named stay."""

    deviation: dict[int, int]


class TooHard(Exception):
    """The search ended without an answer: too many tries, or a solver that could not be followed."""


def refute(problem: ProtectionProblem, asked: Iterable[Requirement], *, tries: int) -> Clash | Met:
    """A table that meets all that is asked, or requirements among them that none can meet. After so many tries: `TooHard`."""
    return _Refutation(problem, frozenset(asked), tries).answer()


class _Step(NamedTuple):
    """A narrowed bound: where, what it is now, the step it replaced (-1: none), and why."""

    cell: int
    side: int
    bound: int
    before: int
    requirement: Requirement | None = None
    row: int | None = None
    attempt: int | None = None
    shut_by_other_sense: bool = False


class _Refutation:
    """Cells and relations that matter here, numbered anew, with their bounds and the trail of how these were narrowed."""

    def __init__(self, problem: ProtectionProblem, asked: frozenset[Requirement], tries: int) -> None:
        self.problem, self.asked, self.tries_left = problem, asked, tries
        self.rows = sorted(each.place for each in asked if each.kind == "relation")
        matrix = problem.relations[self.rows]
        named = {each.place for each in asked if each.kind != "relation"}
        self.cells = sorted(named | set(matrix.indices.tolist()))
        self.at = {cell: place for place, cell in enumerate(self.cells)}
        columns = np.array([self.at[cell] for cell in matrix.indices.tolist()], dtype=np.int64)
        self.matrix = csr_matrix((matrix.data, columns, matrix.indptr), shape=(len(self.rows), len(self.cells)))
        self.residual = [int(problem.residual[row]) for row in self.rows]
        self.terms = [self._terms(row) for row in range(len(self.rows))]
        self.rows_of: list[list[int]] = [[] for _ in self.cells]
        for row, terms in enumerate(self.terms):
            for cell, _ in terms:
                self.rows_of[cell].append(row)
        self.guarded = {self.at[each.place] for each in asked if each.kind == "protection"}
        self.bounds = [[-NO_LIMIT] * len(self.cells), [NO_LIMIT] * len(self.cells)]
        self.last = [[-1] * len(self.cells), [-1] * len(self.cells)]
        self.trail: list[_Step] = []
        self.attempts, self.depth = 0, 0
        self.most_steps = STEPS_PER_TERM * max(int(matrix.nnz), 100)
        self._program: WarmProgram | None = None

    def _terms(self, row: int) -> list[tuple[int, int]]:
        part = slice(self.matrix.indptr[row], self.matrix.indptr[row + 1])
        return list(zip(self.matrix.indices[part].tolist(), self.matrix.data[part].tolist(), strict=True))

    def answer(self) -> Clash | Met:
        found: Clash | Met = self._impose() or self._search(deque(range(len(self.rows))))
        if isinstance(found, Met) and not meets(self.problem, self.asked, found.deviation):
            raise TooHard("The table found does not meet what was asked.")
        return found

    def _impose(self) -> Clash | None:
        """The bounds that are asked, as first steps of the trail."""
        for each in sorted(self.asked):
            if each.kind == "relation":
                continue
            cell, place = self.at[each.place], each.place
            low, high = int(self.problem.free.low[place]), int(self.problem.free.high[place])
            down, up = -int(self.problem.lower_level[place]), int(self.problem.upper_level[place])
            wanted = {"lower": [(LOW, low)], "upper": [(HIGH, high)], "exactness": [(LOW, down), (HIGH, up)], "protection": []}[each.kind]
            for side, bound in wanted:
                clash = self._narrow(_Step(cell, side, bound, -1, requirement=each))
                if clash is not None:
                    return clash
        for cell in sorted(self.guarded):
            clash = self._choose_sense(cell)
            if clash is not None:
                return clash
        return None

    # ---- bounds -----------------------------------------------------------------------------------------------------------------

    def _narrow(self, step: _Step) -> Clash | None:
        """Take a step if it narrows anything; tell the clash if nothing is left."""
        cell, side = step.cell, step.side
        if not (step.bound > self.bounds[LOW][cell] if side == LOW else step.bound < self.bounds[HIGH][cell]):
            return None
        self.trail.append(step._replace(before=self.last[side][cell]))
        self.last[side][cell], self.bounds[side][cell] = len(self.trail) - 1, step.bound
        if self.bounds[LOW][cell] > self.bounds[HIGH][cell]:
            return self._traced([self.last[LOW][cell], self.last[HIGH][cell]], frozenset())
        return None

    def _undo(self, length: int) -> None:
        while len(self.trail) > length:
            step = self.trail.pop()
            self.last[step.side][step.cell] = step.before
            none = -NO_LIMIT if step.side == LOW else NO_LIMIT
            self.bounds[step.side][step.cell] = none if step.before < 0 else self.trail[step.before].bound

    def _levels(self, cell: int) -> tuple[int, int]:
        place = self.cells[cell]
        return -int(self.problem.lower_level[place]), int(self.problem.upper_level[place])

    def _choose_sense(self, cell: int) -> Clash | None:
        """A guarded cell that cannot go down must go up, and the other way round."""
        down, up = self._levels(cell)
        if self.bounds[LOW][cell] > down:
            return self._narrow(_Step(cell, LOW, up, -1, shut_by_other_sense=True))
        if self.bounds[HIGH][cell] < up:
            return self._narrow(_Step(cell, HIGH, down, -1, shut_by_other_sense=True))
        return None

    def _propagate(self, waiting: deque[int]) -> Clash | None:
        """Narrow bounds through the relations until nothing changes, or the steps are used up."""
        queued, steps = set(waiting), 0
        while waiting and steps < self.most_steps:
            row = waiting.popleft()
            queued.discard(row)
            steps += len(self.terms[row])
            length = len(self.trail)
            clash = self._through(row)
            if clash is not None:
                return clash
            for step in self.trail[length:]:
                for other in self.rows_of[step.cell]:
                    if other not in queued:
                        queued.add(other)
                        waiting.append(other)
        return None

    def _through(self, row: int) -> Clash | None:
        """What a relation says about each of its cells, given the bounds of the others."""
        least, most, endless_down, endless_up = 0, 0, 0, 0
        for cell, factor in self.terms[row]:
            low, high = self._span(cell, factor)
            endless_down, least = (endless_down + 1, least) if low is None else (endless_down, least + low)
            endless_up, most = (endless_up + 1, most) if high is None else (endless_up, most + high)
        if endless_down > 1 and endless_up > 1:
            return None
        for cell, factor in self.terms[row]:
            low, high = self._span(cell, factor)
            others_least = None if endless_down - (low is None) else least - (low or 0)
            others_most = None if endless_up - (high is None) else most - (high or 0)
            clash = self._conclude(row, cell, factor, others_least, others_most)
            if clash is not None:
                return clash
            new_low, new_high = self._span(cell, factor)
            least += 0 if new_low is None else new_low - (low or 0)
            most += 0 if new_high is None else new_high - (high or 0)
            endless_down -= low is None and new_low is not None
            endless_up -= high is None and new_high is not None
        return None

    def _span(self, cell: int, factor: int) -> tuple[int | None, int | None]:
        """Least and most of factor times the cell's deviation (None: no end)."""
        low, high = self.bounds[LOW][cell], self.bounds[HIGH][cell]
        ends = (None if low <= -NO_LIMIT else factor * low, None if high >= NO_LIMIT else factor * high)
        return ends if factor > 0 else (ends[1], ends[0])

    def _conclude(self, row: int, cell: int, factor: int, others_least: int | None, others_most: int | None) -> Clash | None:
        """factor z = residual - others, whole: rounded inwards."""
        most = None if others_least is None else self.residual[row] - others_least
        least = None if others_most is None else self.residual[row] - others_most
        if factor < 0:
            least, most, factor = None if most is None else -most, None if least is None else -least, -factor
        for side, bound in ((LOW, None if least is None else -(-least // factor)), (HIGH, None if most is None else most // factor)):
            if bound is not None and abs(bound) < NO_LIMIT:
                clash = self._narrow(_Step(cell, side, bound, -1, row=row))
                if clash is None and cell in self.guarded:
                    clash = self._choose_sense(cell)
                if clash is not None:
                    return clash
        return None

    # ---- reasons ----------------------------------------------------------------------------------------------------------------

    def _traced(self, steps: list[int], requirements: frozenset[Requirement]) -> Clash:
        """The requirements and tries that these steps rest on."""
        found, tries, seen, waiting = set(requirements), set[int](), set[int](), [step for step in steps if step >= 0]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self.trail[number]
            if step.requirement is not None:
                found.add(step.requirement)
            elif step.attempt is not None:
                tries.add(step.attempt)
            elif step.shut_by_other_sense:
                found.add(Requirement("protection", self.cells[step.cell]))
                waiting.append(self._before(step.cell, step.side, number))
            elif step.row is not None:
                found.add(Requirement("relation", self.rows[step.row]))
                waiting.extend(self._behind(step, number))
        return Clash(frozenset(found), frozenset(tries))

    def _before(self, cell: int, side: int, number: int) -> int:
        """The last step about a bound before this one."""
        step = self.last[side][cell]
        while step >= number:
            step = self.trail[step].before
        return step

    def _behind(self, step: _Step, number: int) -> list[int]:
        """The bounds of the other cells from which a relation drew its conclusion."""
        assert step.row is not None
        own = next(factor for cell, factor in self.terms[step.row] if cell == step.cell)
        behind = []
        for cell, factor in self.terms[step.row]:
            if cell != step.cell:
                most_used = (step.side == LOW) == (own > 0)
                side = HIGH if most_used == (factor > 0) else LOW
                behind.append(self._before(cell, side, number))
        return [each for each in behind if each >= 0]

    # ---- search -----------------------------------------------------------------------------------------------------------------

    def _search(self, waiting: deque[int]) -> Clash | Met:
        clash = self._propagate(waiting)
        if clash is not None:
            return clash
        self.tries_left -= 1
        if self.tries_left < 0 or self.depth > DEEPEST:
            raise TooHard("Too many tries.")
        relaxed = self._relaxed()
        if isinstance(relaxed, Clash):
            return relaxed
        moves = [round(float(move)) for move in relaxed]
        unsafe = [cell for cell in self.guarded if self._levels(cell)[0] < moves[cell] < self._levels(cell)[1]]
        if not unsafe:
            return self._whole_or_split(relaxed, moves)
        cell = min(unsafe, key=lambda each: (self._room(each), each))
        down, up = self._levels(cell)
        return self._split(cell, down, up, frozenset([Requirement("protection", self.cells[cell])]))

    def _room(self, cell: int) -> float:
        """How far a cell can go beyond its levels, by how far it must: what has least is tried first."""
        down, up = self._levels(cell)
        return (max(self.bounds[HIGH][cell] - up, 0) + max(down - self.bounds[LOW][cell], 0)) / max(up - down, 1)

    def _whole_or_split(self, relaxed: FloatArray, moves: list[int]) -> Clash | Met:
        """All senses are decided: a whole table, or a cell that is between two whole numbers."""
        distance = np.abs(relaxed - np.rint(relaxed))
        cell = int(np.argmax(distance))
        if distance[cell] <= NEARLY_WHOLE:
            table = {self.cells[cell]: move for cell, move in enumerate(moves)}
            if meets(self.problem, self.asked, table):
                return Met(table)
            raise TooHard("The linear program is not exact enough.")
        below = int(np.floor(relaxed[cell]))
        return self._split(cell, below, below + 1, frozenset())

    def _split(self, cell: int, down: int, up: int, because: frozenset[Requirement]) -> Clash | Met:
        """The cell is at `down` or below, or at `up` or above: try both, unless the first contradiction does not rest on the try."""
        requirements, tries = set(because), set[int]()
        first_up = self.bounds[HIGH][cell] - up < down - self.bounds[LOW][cell]
        for upwards in (first_up, not first_up):
            self.attempts += 1
            attempt, length = self.attempts, len(self.trail)
            step = _Step(cell, LOW if upwards else HIGH, up if upwards else down, -1, attempt=attempt)
            found: Clash | Met | None = self._narrow(step)
            if found is None:
                self.depth += 1
                found = self._search(deque(self.rows_of[cell]))
                self.depth -= 1
            if isinstance(found, Met):
                return found
            self._undo(length)
            if attempt not in found.tries:
                return found
            requirements |= found.requirements
            tries |= found.tries - {attempt}
        return Clash(frozenset(requirements), frozenset(tries))

    # ---- linear programs --------------------------------------------------------------------------------------------------------

    def _relaxed(self) -> FloatArray | Clash:
        """Deviations within the bounds that satisfy the relations, whole or not; or why there are none."""
        from statveil.solve.highs import WarmProgram

        low = np.array([-np.inf if bound <= -NO_LIMIT else float(bound) for bound in self.bounds[LOW]])
        high = np.array([np.inf if bound >= NO_LIMIT else float(bound) for bound in self.bounds[HIGH]])
        if not self.rows:
            return np.clip(np.zeros(low.size), low, high)
        if self._program is None:
            rhs, nothing = np.array(self.residual, dtype=np.float64), np.zeros(len(self.cells))
            model = LinearModel(cost=nothing, matrix=self.matrix.astype(np.float64), row_lower=rhs, row_upper=rhs, lower=low, upper=high)
            self._program = WarmProgram(model, first="simplex")
        solution = self._program.solve(low, high, seconds=LONGEST_PROGRAM)
        if solution.ending is Ending.INFEASIBLE:
            return self._proved(self._program.dual_ray())
        if solution.x is None:
            raise TooHard("The linear program had no answer.")
        return solution.x

    def _proved(self, ray: FloatArray | None) -> Clash:
        """The ray's multipliers, rounded, as an exact proof that the relations and bounds clash."""
        if ray is None or not np.abs(ray).max(initial=0.0) > 0:
            raise TooHard("The solver gives no reason.")
        sizes = np.abs(ray[np.abs(ray) > 1e-9 * np.abs(ray).max()])
        for scale in (sizes.min(), sizes.max()):
            for denominator in DENOMINATORS:
                clash = self._farkas(np.rint(ray * (denominator / scale)))
                if clash is not None:
                    return clash
        raise TooHard("The solver's reason does not hold.")

    def _farkas(self, rounded: FloatArray) -> Clash | None:
        """y A z = y r must hold, but cannot within the bounds of z: above the most that y A z can be, or below the least."""
        multipliers = {int(row): int(rounded[row]) for row in np.flatnonzero(rounded)}
        total, factors = 0, dict[int, int]()
        for row, multiplier in multipliers.items():
            total += multiplier * self.residual[row]
            for cell, factor in self.terms[row]:
                factors[cell] = factors.get(cell, 0) + multiplier * factor
        factors = {cell: factor for cell, factor in factors.items() if factor}
        spans = {cell: self._span(cell, factor) for cell, factor in factors.items()}
        relations = frozenset(Requirement("relation", self.rows[row]) for row in multipliers)
        lows, highs = [low for low, _ in spans.values()], [high for _, high in spans.values()]
        if None not in lows and sum(low for low in lows if low is not None) > total:
            return self._traced([self.last[LOW if factor > 0 else HIGH][cell] for cell, factor in factors.items()], relations)
        if None not in highs and sum(high for high in highs if high is not None) < total:
            return self._traced([self.last[HIGH if factor > 0 else LOW][cell] for cell, factor in factors.items()], relations)
        return None
