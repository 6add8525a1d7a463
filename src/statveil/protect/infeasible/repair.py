"""When no safe table exists: loosen what was asked, as little as possible and in a stated order (docs/science.md, section 6, RCTA's
repair).

The order says what gives first. Classes are opened one after the other until there is a table; then what the last one gives is
made as small as possible, then what the one before gives, and so on down to the first (a lexicographic minimum of sums). Signs are kept:
no bound gives beyond zero; cells that may not move at all do not give unless they are named. All that was given is listed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InfeasibleProblem, NoTableFound, OutOfTime, SolverFailed
from statveil.core.limits import Ending, Limits
from statveil.formats.rcta import MayGive, Relaxation
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.infeasible.feasibility import TUNING, terms_of
from statveil.protect.options import NO_LIMIT, AdjustArguments, Giving, Repair, TableRepair
from statveil.protect.problem import ProtectionProblem
from statveil.risk.sensitivity import Sensitivity
from statveil.solve.model import LinearModel, LinearSolution
from statveil.solve.processes import run_isolated
from statveil.tables.table import Table, find_cell


def repair_of(asked: TableRepair, table: Table) -> Repair:
    """The same with the table's own cell numbers."""
    if not asked.only:
        return Repair(order=asked.order, weaken_protection=asked.weaken_protection)
    bounds, protection = (
        frozenset(find_cell(table, labels, each.view) for each in asked.only if each.protection == chosen for labels in each.cells)
        for chosen in (False, True)
    )
    named = MayGive(lower=bounds, upper=bounds, protection=protection)
    return Repair(order=asked.order, weaken_protection=asked.weaken_protection, may_give=named)


def kept_of(sensitivity: Sensitivity) -> Kept:
    """Frozen cells stay unless they are named; no cell vanishes or changes its sign."""
    return Kept(cells=np.asarray(sensitivity.frozen), from_zero=1)


class Kept(NamedTuple):
    """What no repair touches: cells that do not give unless they are named (None: those with both bounds at their value), and how near
    to zero a bound may give (0 units keeps signs, 1 also keeps a cell from vanishing)."""

    cells: BoolArray | None = None
    from_zero: int = 0


KEPT_OF_SYSTEMS = Kept()


def adjust_or_repair(
    problem: ProtectionProblem,
    repair: Repair,
    *,
    kept: Kept = KEPT_OF_SYSTEMS,
    **run: Unpack[AdjustArguments],
) -> Adjustment:
    """Adjust as asked; where that is proved impossible, repair: what gave is among the `relaxations`, the cost is the original problem's.

    Method `fixed` keeps the senses of the start in the repair too.
    """
    fixed, limits = run.get("method") == "fixed", run.get("limits") or Limits()
    try:
        return adjust_problem(problem, **run)
    except (InfeasibleProblem, NoTableFound) as failure:
        if getattr(failure, "explanation", None) is None and not fixed:
            raise
        refused = failure
    for whole in (problem.size <= TUNING.whole_up_to, True):
        classes = _GivingClasses(problem, repair, kept)
        eased = _eased(problem, classes, run.get("start") if fixed else None, limits, whole=whole)
        if eased is None:
            break
        try:
            found = _adjust_eased(eased, run)
            return _checked(problem, classes, eased, found)
        except (InfeasibleProblem, NoTableFound):
            continue
    words = f"{refused.message} No repair in the order {', '.join(repair.order)} was found either."
    if isinstance(refused, InfeasibleProblem):
        raise InfeasibleProblem(words, hint=refused.hint, explanation=refused.explanation)
    raise NoTableFound(words, hint=refused.hint)


class _Eased(NamedTuple):
    """The problem with wider bounds, lower levels, and a cell more for each relation that gives; and senses that fit it."""

    problem: ProtectionProblem
    senses: IntArray


def _adjust_eased(eased: _Eased, run: AdjustArguments) -> Adjustment:
    """The best table of the eased problem by the method asked; or else the one that its senses allow."""
    try:
        return adjust_problem(eased.problem, **(run | {"start": eased.senses}))
    except (InfeasibleProblem, NoTableFound, OutOfTime):
        if run.get("method") == "fixed":
            raise
        return adjust_problem(eased.problem, **(run | {"method": "fixed", "start": eased.senses, "settings": None}))


def _checked(problem: ProtectionProblem, classes: _GivingClasses, eased: _Eased, found: Adjustment) -> Adjustment:
    """The table in the original's terms, with all that it breaks there."""
    deviation = found.deviation[: problem.size]
    relaxations = tuple(relaxations_of(problem, deviation))
    if not all(classes.allows(each) for each in relaxations):
        raise SolverFailed("The repair gave what may not give.", hint="Nothing was released. This is a fault: report it.")
    objective = problem.cost(deviation)
    given = eased.problem.cost(np.concatenate([np.zeros(problem.size, dtype=np.int64), np.abs(eased.problem.upper[problem.size :])]))
    bound = min(max(0.0, found.bound - given), objective)
    exact = eased.problem.size == problem.size
    return dataclasses.replace(
        found,
        deviation=deviation,
        senses=found.senses[: problem.size],
        objective=objective,
        bound=bound,
        certified_bound=min(max(0.0, found.certified_bound - given), objective),
        certificate=None,
        ending=found.ending if exact else Ending.FEASIBLE,
        relaxations=relaxations,
    )


def relaxations_of(problem: ProtectionProblem, deviation: IntArray) -> list[Relaxation]:
    """Everything that a table does not keep, worked out from the table alone."""
    found: list[Relaxation] = []
    move = [int(each) for each in deviation]
    for cell in range(problem.size):
        low, high = int(problem.free.low[cell]), int(problem.free.high[cell])
        if move[cell] < low:
            found.append(Relaxation("lower", cell, low - move[cell]))
        if move[cell] > high:
            found.append(Relaxation("upper", cell, move[cell] - high))
    for cell in np.flatnonzero(problem.sensitive).tolist():
        down, up = -int(problem.lower_level[cell]), int(problem.upper_level[cell])
        if problem.variant == "exact" and not down <= move[cell] <= up:
            found.append(Relaxation("overshoot", cell, max(down - move[cell], move[cell] - up)))
        if down < move[cell] < up:
            upward = up - move[cell] <= move[cell] - down
            found.append(Relaxation("protection-up" if upward else "protection-down", cell, min(up - move[cell], move[cell] - down)))
    off = problem.relations @ deviation - problem.residual
    found.extend(Relaxation("relation", int(row), int(off[row])) for row in np.flatnonzero(off))
    return found


class _GivingClasses:
    """Which class each cell belongs to, and which bounds may give at all, and how far."""

    def __init__(self, problem: ProtectionProblem, repair: Repair, kept: Kept) -> None:
        self.problem, self.repair, self.may_give = problem, repair, repair.may_give
        self.margin = _totals(problem)
        still = (problem.lower == problem.value) & (problem.upper == problem.value) if kept.cells is None else kept.cells
        still = still & ~problem.sensitive
        bounded_below, bounded_above = problem.lower > -NO_LIMIT, problem.upper < NO_LIMIT
        if repair.may_give is None:
            self.lower, self.upper = bounded_below & ~still, bounded_above & ~still
        else:
            self.lower = _marked(repair.may_give.lower, problem.size) & bounded_below
            self.upper = _marked(repair.may_give.upper, problem.size) & bounded_above
        self.lower_room = np.where(problem.lower >= 0, np.maximum(problem.lower - kept.from_zero, 0), NO_LIMIT)
        self.upper_room = np.where(problem.upper <= 0, np.maximum(-problem.upper - kept.from_zero, 0), NO_LIMIT)

    def of_cell(self, cell: int) -> Giving:
        if self.problem.sensitive[cell]:
            return "cap"
        return "margins" if self.margin[cell] else "inner"

    def relation_gives(self, relation: int) -> bool:
        return self.may_give is None or relation in self.may_give.relations

    def protection_gives(self, cell: int) -> bool:
        return bool(self.problem.sensitive[cell]) and (self.may_give is None or cell in self.may_give.protection)

    def further_gives(self, cell: int) -> bool:
        return bool(self.problem.sensitive[cell]) and (self.may_give is None or cell in self.may_give.upper | self.may_give.lower)

    def allows(self, given: Relaxation) -> bool:
        """Whether the user let this give."""
        order = self.repair.order
        if given.what == "relation":
            return "relations" in order and self.relation_gives(given.place)
        if given.what in ("protection-up", "protection-down"):
            return "protection" in order and self.protection_gives(given.place)
        if given.what == "overshoot":
            return "cap" in order and self.further_gives(given.place)
        gives, room = (self.lower, self.lower_room) if given.what == "lower" else (self.upper, self.upper_room)
        return self.of_cell(given.place) in order and bool(gives[given.place]) and given.by <= room[given.place]


def _marked(cells: frozenset[int], size: int) -> BoolArray:
    marked = np.zeros(size, dtype=np.bool_)
    marked[sorted(cells)] = True
    return marked


def _totals(problem: ProtectionProblem) -> BoolArray:
    """Cells that are the one of its sign in some relation: its total. Of two cells of opposite sign it is the negative one."""
    total = np.zeros(problem.size, dtype=np.bool_)
    matrix = problem.relations
    for row in range(problem.rhs.size):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, negative = matrix.indices[part], matrix.data[part] < 0
        for side in (negative, ~negative):
            if np.count_nonzero(side) == 1 and side.size > 1:
                total[cells[side]] = True
                break
    return total


class _Slack(NamedTuple):
    """A column that says how much something gives."""

    giving: Giving
    what: str
    place: int
    most: float


class _ElasticProgram:
    """The problem as a mixed-integer program in which what may give has a column for how much it gives.

    Columns: deviations, a switch per sensitive cell (1 up), slacks. Rows: relations; elastic bounds; for each sensitive cell
    z >= up and z <= -down by its switch; with variant exact no further; for each class the sum of its slacks.
    """

    def __init__(self, problem: ProtectionProblem, classes: _GivingClasses, senses: IntArray | None, *, whole: bool) -> None:
        self.problem, self.order, self.whole = problem, classes.repair.order, whole
        self.sensitive = np.flatnonzero(problem.sensitive)
        self.slacks = self._slacks(classes)
        self.first_slack = problem.size + self.sensitive.size
        self.width = self.first_slack + len(self.slacks)
        self._rows: list[tuple[list[int], list[float], float, float]] = []
        self._column_of = {(slack.what, slack.place): self.first_slack + place for place, slack in enumerate(self.slacks)}
        self._build()
        self._bound_columns(senses)

    def _slacks(self, classes: _GivingClasses) -> list[_Slack]:
        problem, found = self.problem, list[_Slack]()
        for cell in range(problem.size):
            giving = classes.of_cell(cell)
            if classes.lower[cell]:
                found.append(_Slack(giving, "lower", cell, _finite(classes.lower_room[cell])))
            if classes.upper[cell]:
                found.append(_Slack(giving, "upper", cell, _finite(classes.upper_room[cell])))
            if problem.variant == "exact" and classes.further_gives(cell):
                found.append(_Slack("cap", "overshoot", cell, np.inf))
            level = min(int(problem.lower_level[cell]), int(problem.upper_level[cell]))
            if classes.protection_gives(cell) and level > 1:  # weakened, never given up
                found.append(_Slack("protection", "protection", cell, float(level - 1)))
        for row in range(problem.rhs.size):
            if classes.relation_gives(row):
                found.extend(_Slack("relations", side, row, np.inf) for side in ("above", "below"))
        return [each for each in found if each.giving in self.order and each.most > 0]

    def _build(self) -> None:
        problem, low, high = self.problem, self.problem.free.low, self.problem.free.high
        for row in range(problem.rhs.size):
            rest = float(problem.residual[row])
            self._add(dict(terms_of(problem.relations, row)), rest, rest, above=("above", row, -1.0), below=("below", row, 1.0))
        for what, place in self._column_of:
            if what == "lower":
                self._add({place: 1.0}, float(low[place]), np.inf, slack=("lower", place, 1.0))
            elif what == "upper":
                self._add({place: 1.0}, -np.inf, float(high[place]), slack=("upper", place, -1.0))
        self.reach = float(np.maximum(problem.lower_level, problem.upper_level)[self.sensitive].sum() + np.abs(problem.residual).sum() + 1)
        for place, cell in enumerate(self.sensitive.tolist()):
            switch = problem.size + place
            down, up = float(problem.lower_level[cell]), float(problem.upper_level[cell])
            self._add({cell: 1.0, switch: -(up + self.reach)}, -self.reach, np.inf, slack=("protection", cell, 1.0))
            self._add({cell: 1.0, switch: -(down + self.reach)}, -np.inf, -down, slack=("protection", cell, -1.0))
            if problem.variant == "exact":
                self._add({cell: 1.0}, -down, np.inf, slack=("overshoot", cell, 1.0))
                self._add({cell: 1.0}, -np.inf, up, slack=("overshoot", cell, -1.0))
        for giving in self.order:
            columns = [self.first_slack + place for place, slack in enumerate(self.slacks) if slack.giving == giving]
            self._rows.append((columns, [1.0] * len(columns), -np.inf, np.inf))

    def _add(self, terms: Mapping[int, float], low: float, high: float, **slacks: tuple[str, int, float]) -> None:
        columns, factors = list(terms), list(terms.values())
        for what, place, factor in slacks.values():
            if (what, place) in self._column_of:
                columns.append(self._column_of[what, place])
                factors.append(factor)
        self._rows.append((columns, factors, low, high))

    def _bound_columns(self, senses: IntArray | None) -> None:
        problem = self.problem
        self.lower, self.upper = np.zeros(self.width), np.ones(self.width)
        low = np.where(problem.free.low <= -NO_LIMIT, -np.inf, problem.free.low.astype(np.float64))
        high = np.where(problem.free.high >= NO_LIMIT, np.inf, problem.free.high.astype(np.float64))
        for what, place in self._column_of:
            low[place] = -np.inf if what == "lower" else low[place]
            high[place] = np.inf if what == "upper" else high[place]
        low[self.sensitive] = np.maximum(low[self.sensitive], -self.reach)
        high[self.sensitive] = np.minimum(high[self.sensitive], self.reach)
        self.lower[: problem.size], self.upper[: problem.size] = low, high
        self.upper[self.first_slack :] = [slack.most for slack in self.slacks]
        if senses is not None:
            self.fix(senses)

    def fix(self, senses: IntArray) -> None:
        up = (senses[self.sensitive] > 0).astype(np.float64)
        self.lower[self.problem.size : self.first_slack] = up
        self.upper[self.problem.size : self.first_slack] = up

    def solve(self, giving: Giving, opened: Sequence[Giving], most: Mapping[Giving, float], seconds: float) -> LinearSolution:
        """Make the sum of one class as small as possible, with these classes open and these sums kept."""
        from statveil.solve import highs

        upper = self.upper.copy()
        cost = np.zeros(self.width)
        for place, slack in enumerate(self.slacks, start=self.first_slack):
            upper[place] = upper[place] if slack.giving in opened else 0.0
            cost[place] = 1.0 if slack.giving == giving else 0.0
        ends = np.cumsum([0, *(len(columns) for columns, *_ in self._rows)])
        columns = np.concatenate([np.array(row[0], dtype=np.int64) for row in self._rows])
        factors = np.concatenate([np.array(row[1], dtype=np.float64) for row in self._rows])
        row_upper = np.array([row[3] for row in self._rows])
        for place, each in enumerate(self.order, start=len(self._rows) - len(self.order)):
            row_upper[place] = most.get(each, np.inf)
        decided = bool((self.lower[self.problem.size : self.first_slack] == self.upper[self.problem.size : self.first_slack]).all())
        kinds = np.full(self.width, self.whole)
        kinds[self.problem.size : self.first_slack] = True
        model = LinearModel(
            cost=cost,
            matrix=csr_matrix((factors, columns, ends), shape=(len(self._rows), self.width)),
            row_lower=np.array([row[2] for row in self._rows]),
            row_upper=row_upper,
            lower=self.lower,
            upper=upper,
            whole=None if decided and not self.whole else kinds,
        )
        return highs.solve(model, seconds=seconds)


def _finite(room: int) -> float:
    return np.inf if room >= NO_LIMIT else float(room)


def _eased(problem: ProtectionProblem, classes: _GivingClasses, senses: IntArray | None, limits: Limits, *, whole: bool) -> _Eased | None:
    """The least easing found, worked out in a process of its own; None if opening all classes does not help."""
    found: list[tuple[IntArray, FloatArray, list[_Slack]]] = []
    run_isolated([(_ease, (problem, classes, senses, limits.seconds, whole))], seconds=2 * limits.seconds + 5, on_message=found.append)
    if not found:
        return None
    chosen, amounts, slacks = found[-1]
    by = {(slack.what, slack.place): int(np.ceil(amount - 1e-6)) for slack, amount in zip(slacks, amounts, strict=True) if amount > 1e-6}
    return _Eased(_with_more_room(problem, by, chosen), _with_extra(chosen, by))


def _ease(
    problem: ProtectionProblem, classes: _GivingClasses, senses: IntArray | None, seconds: float, whole: bool, send: Callable[[Any], None]
) -> None:
    """Open classes until there is a table, then lexicographic minima; last of all once more with the senses found, exactly."""
    program = _ElasticProgram(problem, classes, senses, whole=whole)
    order = classes.repair.order
    share = max(seconds / (2 * len(order)), 0.5)
    for last in range(1, len(order) + 1):
        opened = order[:last]
        first = program.solve(opened[-1], opened, {}, share)
        if first.x is None:
            continue
        best = _descend(program, opened, first, share)
        chosen = np.zeros(problem.size, dtype=np.int64)
        chosen[program.sensitive] = np.where(best[problem.size : program.first_slack] > 0.5, 1, -1)
        program.fix(chosen)
        again = program.solve(opened[-1], opened, {}, share)
        best = best if again.x is None else _descend(program, opened, again, share)
        send((chosen, best[program.first_slack :], program.slacks))
        return


def _descend(program: _ElasticProgram, opened: Sequence[Giving], first: LinearSolution, seconds: float) -> FloatArray:
    """From the class that gives last down to the one that gives first, each as small as those before allow."""
    assert first.x is not None
    best, most = first.x, dict[Giving, float]()
    for place, giving in reversed(list(enumerate(opened))):
        amount = sum(best[program.first_slack + at] for at, slack in enumerate(program.slacks) if slack.giving == giving)
        most[giving] = amount * (1 + 1e-9) + 1e-6
        if place:
            better = program.solve(opened[place - 1], opened, most, seconds)
            best = best if better.x is None else better.x
    return best


def _with_more_room(problem: ProtectionProblem, by: Mapping[tuple[str, int], int], senses: IntArray) -> ProtectionProblem:
    """The problem eased. Variant exact becomes at-least within bounds that end at the levels, so that single cells can go further."""
    lower, upper = problem.lower.copy(), problem.upper.copy()
    down, up = problem.lower_level.copy(), problem.upper_level.copy()
    for (what, cell), amount in by.items():
        lower[cell] -= amount if what == "lower" else 0
        upper[cell] += amount if what == "upper" else 0
        if what == "protection":
            up[cell], down[cell] = (up[cell] - amount, down[cell]) if senses[cell] > 0 else (up[cell], down[cell] - amount)
    if problem.variant == "exact":
        further = np.array([by.get(("overshoot", cell), 0) for cell in range(problem.size)])
        ends = problem.value - problem.lower_level - further, problem.value + problem.upper_level + further
        lower, upper = (
            np.where(problem.sensitive, np.maximum(lower, ends[0]), lower),
            np.where(problem.sensitive, np.minimum(upper, ends[1]), upper),
        )
    eased = dataclasses.replace(problem, lower=lower, upper=upper, lower_level=down, upper_level=up, variant="at-least")
    return _with_loose_relations(eased, by)


def _loose(by: Mapping[tuple[str, int], int]) -> dict[int, int]:
    """Relations that give, and by how much."""
    rows = sorted({place for what, place in by if what in ("above", "below")})
    return {row: by.get(("above", row), 0) + by.get(("below", row), 0) for row in rows}


def _with_extra(senses: IntArray, by: Mapping[tuple[str, int], int]) -> IntArray:
    return np.concatenate([senses, np.zeros(len(_loose(by)), dtype=np.int64)])


def _with_loose_relations(problem: ProtectionProblem, by: Mapping[tuple[str, int], int]) -> ProtectionProblem:
    """One cell more for each relation that gives: what it is off by."""
    loose = _loose(by)
    if not loose:
        return problem
    rows, most = list(loose), np.array(list(loose.values()), dtype=np.int64)
    extra, nothing = len(rows), np.zeros(len(rows), dtype=np.int64)
    columns = identity(problem.rhs.size, dtype=np.int64, format="csc")[:, rows]
    return dataclasses.replace(
        problem,
        relations=csr_matrix(hstack([problem.relations, columns], format="csr", dtype=np.int64)),
        value=np.concatenate([problem.value, nothing]),
        weight=np.concatenate([problem.weight, np.full(extra, problem.weight.max(initial=1.0))]),
        lower=np.concatenate([problem.lower, -most]),
        upper=np.concatenate([problem.upper, most]),
        sensitive=np.concatenate([problem.sensitive, np.zeros(extra, dtype=np.bool_)]),
        lower_level=np.concatenate([problem.lower_level, nothing]),
        upper_level=np.concatenate([problem.upper_level, nothing]),
    )
