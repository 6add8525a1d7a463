"""Is there a whole table that meets these requirements? If not, which of them does the proof use?

A problem asks one requirement at a time: the pieces that can clash, and that a repair can loosen. The proof is a search in which every
step is exact: bounds are propagated through the relations in Python integers, and where a linear program is said to be infeasible its
ray is rounded and checked as a certificate of Farkas, in integers. Every narrowed bound remembers what narrowed it, so that a
contradiction is traced back to the requirements behind it (as conflicts are in satisfiability solvers). A cell that must go up or down is
tried both ways; a try that the contradiction does not rest on is not tried the other way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray
from statveil.core.limits import Ending
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.solve.model import LinearModel

if TYPE_CHECKING:
    from statveil.solve.highs import WarmProgram

Kind = Literal["lower", "upper", "exactness", "protection", "relation"]
KINDS: tuple[Kind, ...] = ("lower", "upper", "exactness", "protection", "relation")
LOW, HIGH = 0, 1


class InfeasibleTuning(NamedTuple):
    """How much work a proof, an explanation or a repair is worth: all by judgement."""

    steps_per_term: int = 60  # terms of relations looked at while propagating, per term there is: bounds may creep for ever
    denominators: tuple[int, ...] = (1, 2, 3, 4, 6, 12, 60, 840, 10_000, 1_000_000)
    """What the multipliers of a ray are rounded to fractions of, until one set proves the contradiction."""
    nearly_whole: float = 1e-6
    deepest: int = 250  # tries upon tries; a proof that needs more is out of reach anyhow
    program_seconds: float = 20.0  # for one linear program
    explanation_seconds: float = 30.0
    most_terms: int = 500_000  # terms of relations up to which a clash is looked for: beyond, the time would not do
    first_tries: int = 3_000  # of the first proof of infeasibility
    later_tries: int = 600  # of each one that makes it smaller
    farthest: float = 1e7  # units that a guarded cell is taken to move at most: larger factors are not exact enough for a solver
    most_nodes: int = 20_000  # of a search for a whole table
    table_seconds: float = 5.0  # for it: a clock is the last resort where nodes are slow
    whole_up_to: int = 400  # cells up to which the first program of a repair already asks for whole deviations


TUNING = InfeasibleTuning()


class Requirement(NamedTuple):
    """One thing asked: of a cell its lower or upper bound, its protection, or (variant exact) that it moves no further; or a relation.

    `place` is the number of the cell, or of the relation.
    """

    kind: Kind
    place: int


def all_requirements(problem: ProtectionProblem) -> Iterator[Requirement]:
    """Everything that the problem asks."""
    yield from (Requirement("relation", int(row)) for row in range(problem.rhs.size))
    yield from (Requirement("lower", int(cell)) for cell in np.flatnonzero(problem.lower > -NO_LIMIT))
    yield from (Requirement("upper", int(cell)) for cell in np.flatnonzero(problem.upper < NO_LIMIT))
    sensitive = np.flatnonzero(problem.sensitive)
    yield from (Requirement("protection", int(cell)) for cell in sensitive)
    if problem.variant == "exact":
        yield from (Requirement("exactness", int(cell)) for cell in sensitive)


def allowed(problem: ProtectionProblem, asked: Requirement) -> tuple[int, int]:
    """Deviations that a requirement of a cell allows, from and to, but for the gap that protection leaves."""
    return {
        "lower": (int(problem.free.low[asked.place]), NO_LIMIT),
        "upper": (-NO_LIMIT, int(problem.free.high[asked.place])),
        "exactness": levels_of(problem, asked.place),
        "protection": (-NO_LIMIT, NO_LIMIT),
    }[asked.kind]


def levels_of(problem: ProtectionProblem, cell: int) -> tuple[int, int]:
    """The deviations at which a sensitive cell is protected: that or below, that or above."""
    return -int(problem.lower_level[cell]), int(problem.upper_level[cell])


def terms_of(matrix: csr_matrix, row: int) -> list[tuple[int, int]]:
    """Cells of a relation and their factors."""
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return list(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


def meets(problem: ProtectionProblem, asked: Iterable[Requirement], deviation: dict[int, int]) -> bool:
    """Whether deviations (of the cells not named: none) meet all that is asked: exact integers, no tolerance."""
    return all(_is_met(problem, each, deviation) for each in asked)


def _is_met(problem: ProtectionProblem, asked: Requirement, deviation: dict[int, int]) -> bool:
    if asked.kind == "relation":
        total = sum(factor * deviation.get(cell, 0) for cell, factor in terms_of(problem.relations, asked.place))
        return bool(total == int(problem.residual[asked.place]))
    move, (low, high), (down, up) = deviation.get(asked.place, 0), allowed(problem, asked), levels_of(problem, asked.place)
    return low <= move <= high and (asked.kind != "protection" or move <= down or move >= up)


class Clash(NamedTuple):
    """Requirements that no whole table meets; while a search is on, also the tries (by number) that they clash under."""

    requirements: frozenset[Requirement]
    tries: frozenset[int] = frozenset()


class TableFound(NamedTuple):
    """A whole table that meets them all: deviations by cell; cells not named stay."""

    deviation: dict[int, int]


class Undecided(Exception):
    """The search ended without an answer: too many tries, or a solver that could not be followed."""


def check_feasibility(problem: ProtectionProblem, asked: Iterable[Requirement], *, tries: int) -> Clash | TableFound:
    """A table that meets all that is asked, or requirements among them that none can meet. After so many tries: `Undecided`."""
    return _FeasibilitySearch(problem, frozenset(asked), tries).run()


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


class _FeasibilitySearch:
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
        self.terms = [terms_of(self.matrix, row) for row in range(len(self.rows))]
        self.rows_of: list[list[int]] = [[] for _ in self.cells]
        for row, terms in enumerate(self.terms):
            for cell, _ in terms:
                self.rows_of[cell].append(row)
        self.guarded = {self.at[each.place] for each in asked if each.kind == "protection"}
        self.bounds = [[-NO_LIMIT] * len(self.cells), [NO_LIMIT] * len(self.cells)]
        self.last = [[-1] * len(self.cells), [-1] * len(self.cells)]
        self.trail: list[_Step] = []
        self.attempts, self.depth = 0, 0
        self.most_steps = TUNING.steps_per_term * max(int(matrix.nnz), 100)
        self._program: WarmProgram | None = None

    def run(self) -> Clash | TableFound:
        found: Clash | TableFound = self._ask_bounds() or self._search(deque(range(len(self.rows))))
        if isinstance(found, TableFound) and not meets(self.problem, self.asked, found.deviation):
            raise Undecided("The table found does not meet what was asked.")
        return found

    def _ask_bounds(self) -> Clash | None:
        """The bounds that are asked, as first steps of the trail."""
        for each in sorted(self.asked):
            if each.kind == "relation":
                continue
            for side, bound in zip((LOW, HIGH), allowed(self.problem, each), strict=True):
                clash = self._narrow(_Step(self.at[each.place], side, bound, -1, requirement=each))
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
            return self._traced_clash([self.last[LOW][cell], self.last[HIGH][cell]], frozenset())
        return None

    def _undo(self, length: int) -> None:
        while len(self.trail) > length:
            step = self.trail.pop()
            self.last[step.side][step.cell] = step.before
            none = -NO_LIMIT if step.side == LOW else NO_LIMIT
            self.bounds[step.side][step.cell] = none if step.before < 0 else self.trail[step.before].bound

    def _levels(self, cell: int) -> tuple[int, int]:
        return levels_of(self.problem, self.cells[cell])

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
            clash = self._propagate_row(row)
            if clash is not None:
                return clash
            for step in self.trail[length:]:
                for other in self.rows_of[step.cell]:
                    if other not in queued:
                        queued.add(other)
                        waiting.append(other)
        return None

    def _propagate_row(self, row: int) -> Clash | None:
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
            clash = self._bound_term(row, cell, factor, others_least, others_most)
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

    def _bound_term(self, row: int, cell: int, factor: int, others_least: int | None, others_most: int | None) -> Clash | None:
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

    def _traced_clash(self, steps: list[int], requirements: frozenset[Requirement]) -> Clash:
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
                waiting.extend(self._reasons_of(step, number))
        return Clash(frozenset(found), frozenset(tries))

    def _before(self, cell: int, side: int, number: int) -> int:
        """The last step about a bound before this one."""
        step = self.last[side][cell]
        while step >= number:
            step = self.trail[step].before
        return step

    def _reasons_of(self, step: _Step, number: int) -> list[int]:
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

    def _search(self, waiting: deque[int]) -> Clash | TableFound:
        clash = self._propagate(waiting)
        if clash is not None:
            return clash
        self.tries_left -= 1
        if self.tries_left < 0 or self.depth > TUNING.deepest:
            raise Undecided("Too many tries.")
        relaxed = self._solve_relaxation()
        if isinstance(relaxed, Clash):
            return relaxed
        moves = [round(float(move)) for move in relaxed]
        unsafe = [cell for cell in self.guarded if self._levels(cell)[0] < moves[cell] < self._levels(cell)[1]]
        if not unsafe:
            return self._whole_or_branch(relaxed, moves)
        cell = min(unsafe, key=lambda each: (self._room(each), each))
        down, up = self._levels(cell)
        return self._branch(cell, down, up, frozenset([Requirement("protection", self.cells[cell])]))

    def _room(self, cell: int) -> float:
        """How far a cell can go beyond its levels, by how far it must: what has least is tried first."""
        down, up = self._levels(cell)
        return (max(self.bounds[HIGH][cell] - up, 0) + max(down - self.bounds[LOW][cell], 0)) / max(up - down, 1)

    def _whole_or_branch(self, relaxed: FloatArray, moves: list[int]) -> Clash | TableFound:
        """All senses are decided: a whole table, or a cell that is between two whole numbers."""
        distance = np.abs(relaxed - np.rint(relaxed))
        cell = int(np.argmax(distance))
        if distance[cell] <= TUNING.nearly_whole:
            table = {self.cells[cell]: move for cell, move in enumerate(moves)}
            if meets(self.problem, self.asked, table):
                return TableFound(table)
            raise Undecided("The linear program is not exact enough.")
        below = int(np.floor(relaxed[cell]))
        return self._branch(cell, below, below + 1, frozenset())

    def _branch(self, cell: int, down: int, up: int, because: frozenset[Requirement]) -> Clash | TableFound:
        """The cell is at `down` or below, or at `up` or above: try both, unless the first contradiction does not rest on the try."""
        requirements, tries = set(because), set[int]()
        first_up = self.bounds[HIGH][cell] - up < down - self.bounds[LOW][cell]
        for upwards in (first_up, not first_up):
            self.attempts += 1
            attempt, length = self.attempts, len(self.trail)
            step = _Step(cell, LOW if upwards else HIGH, up if upwards else down, -1, attempt=attempt)
            found: Clash | TableFound | None = self._narrow(step)
            if found is None:
                self.depth += 1
                found = self._search(deque(self.rows_of[cell]))
                self.depth -= 1
            if isinstance(found, TableFound):
                return found
            self._undo(length)
            if attempt not in found.tries:
                return found
            requirements |= found.requirements
            tries |= found.tries - {attempt}
        return Clash(frozenset(requirements), frozenset(tries))

    # ---- linear programs --------------------------------------------------------------------------------------------------------

    def _solve_relaxation(self) -> FloatArray | Clash:
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
        solution = self._program.solve(low, high, seconds=TUNING.program_seconds)
        if solution.ending is Ending.INFEASIBLE:
            return self._clash_by_ray(self._program.dual_ray())
        if solution.x is None:
            raise Undecided("The linear program had no answer.")
        return solution.x

    def _clash_by_ray(self, ray: FloatArray | None) -> Clash:
        """The ray's multipliers, rounded, as an exact proof that the relations and bounds clash."""
        if ray is None or not np.abs(ray).max(initial=0.0) > 0:
            raise Undecided("The solver gives no reason.")
        sizes = np.abs(ray[np.abs(ray) > 1e-9 * np.abs(ray).max()])
        for scale in (sizes.min(), sizes.max()):
            for denominator in TUNING.denominators:
                clash = self._clash_by_farkas(np.rint(ray * (denominator / scale)))
                if clash is not None:
                    return clash
        raise Undecided("The solver's reason does not hold.")

    def _clash_by_farkas(self, rounded: FloatArray) -> Clash | None:
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
            return self._traced_clash([self.last[LOW if factor > 0 else HIGH][cell] for cell, factor in factors.items()], relations)
        if None not in highs and sum(high for high in highs if high is not None) < total:
            return self._traced_clash([self.last[HIGH if factor > 0 else LOW][cell] for cell, factor in factors.items()], relations)
        return None
