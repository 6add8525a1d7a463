"""Rule `recount`: a blank matches nothing, and the released file is counted again.

A blank lowers the counts of others (docs/science.md, section 9; M01). The optimum under `original` is a lower bound: a combination that was
rare stays rare when fewer records show it. Good blanks come from `recount_annealing`.

Exactly, by an integer program that grows only where a recount asks for it. A cell of a table that was unsafe in the original must be
closed: each of its records blanks one of the table's fields. Any other cell may be open, with as many records as the threshold asks, or
closed. Nearly all of them are never in danger, so the program begins without them: every key takes its own cheapest blanks (S4, eq. 1).
A recount then names the cells that this leaves with too few records; they enter with a choice between open and closed, and tie their
keys together. Keys tied to each other form a component with a program of its own, solved anew only when a cell enters it. What the
program leaves out can only raise the cost, so its bound holds at every stage; when a recount finds nothing, its answer is the optimum.
Then the programs are solved once more for the second objective, with the first cost held, and go on growing where a recount asks for it.
What they leave out can only raise the second cost too, so that a recount which finds nothing proves that ties are settled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.records.frequencies import Words, distinct_patterns
from statveil.records.suppress.covers import minimal_sets
from statveil.records.suppress.integer_programs import (
    SAME_COST,
    ChoiceQueue,
    ProgramAnswer,
    Rows,
    bound_by_prices,
    settle_ties,
    solve_each,
    solve_linear,
)
from statveil.records.suppress.problem import SuppressionProblem, merged, row_amount
from statveil.records.suppress.recount_annealing import Blanked, RecountAnnealing
from statveil.records.suppress.recount_rounds import add_rounds, numbered_cells, take_back
from statveil.solve.model import LinearModel


class RecountTuning(NamedTuple):
    """Limits of the work that do not depend on the clock, all by judgement."""

    most_cells: int = 20_000_000
    """Keys times tables up to which cells are kept in memory."""
    most_masks: int = 400
    """Ways to blank one key, at most."""
    most_keys: int = 20_000
    """Keys with cells in doubt."""
    most_columns: int = 60_000
    """Columns of all components together."""
    nodes: int = 5_000
    """Nodes of a component's search."""
    rounds: int = 40
    """Rounds of new cells."""
    few_cells: int = 1_500
    """Cells that the cheapest blanks leave with too few records, up to which the program comes before annealing."""
    cells_a_second: int = 500
    """A program is not begun where less time is left than it takes at this rate."""
    annealing: float = 0.4
    """Share of the time that annealing may take before the program, at most,"""
    mending: float = 0.2
    """and after it, to make what it found safe."""
    settling: float = 0.3
    """Share of an annealing's time that is kept for what follows its cooling."""
    recounts_after: float = 4.0
    """Time that is kept for the rounds after an annealing, in times of the recount before it;"""
    recounts_to_begin: float = 3.0
    """and what its beginning takes. Where there is less, blanks are added in rounds alone."""
    instant: float = 0.05
    """Seconds below which a recount takes no time."""


TUNING = RecountTuning()
Cell = tuple[int, int]
"""A table and a cell of it."""


class RecountBlanks(NamedTuple):
    """Rows of (key, units, records) that a recount calls safe, the bound proved, and the cells that had to be thought about."""

    key: IntArray
    units: IntArray
    records: IntArray
    bound: float
    cells: int
    open_ties: int
    """Components in which an answer of equal cost and lower second cost may exist."""


class CellCut(NamedTuple):
    """What a cell holds if it is open: the sum of `value` over the records that show it is `least` or more."""

    value: dict[int, float]
    """Of a record of each key that has the cell."""
    least: float


class _KeyKind(NamedTuple):
    """Keys that are alike: the same sets to hit, the same cells in doubt, the same mass of a record."""

    keys: list[int]
    masks: list[int]
    cells: tuple[Cell, ...]


class _SolvedComponent(NamedTuple):
    """A component's program and its answer, with the second cost of each column."""

    kinds: list[_KeyKind]
    model: LinearModel
    second: FloatArray
    found: ProgramAnswer


class DoubtfulCells:
    """Cells that were safe in the original and may be left with too few records: their keys, and the cells of each key."""

    def __init__(self, problem: SuppressionProblem, *, most_keys: float = math.inf) -> None:
        self.problem, self.most_keys = problem, most_keys
        self.members: dict[Cell, list[int]] = {}
        self.doubts: dict[int, list[Cell]] = {}
        self.cuts: dict[Cell, list[CellCut]] = {}
        self.broken: set[Cell] = set()
        """Of the rows that were looked at last."""
        self.too_many = False
        """Whether more keys than `most_keys` are in doubt: then they are no longer noted one by one."""

    @cached_property
    def cells(self) -> list[IntArray]:
        """The cell of each key in each table, -1 for none."""
        return [numbered_cells(self.problem.cells(places)) for places, _ in self.problem.coded.tables]

    def enter(self, key: IntArray, units: IntArray, records: IntArray) -> int:
        """Add the cells that these rows leave with too few records; how many there were."""
        found, amount = 0, row_amount(self.problem, key, records)
        self.broken = set()
        for number, (_, threshold) in enumerate(self.problem.coded.tables):
            cell = self.cells[number][key]
            shown = (units & self.problem.table_masks[number] == 0) & (cell >= 0)
            total = np.bincount(cell[shown], weights=amount[shown])
            short = np.flatnonzero((np.bincount(cell[shown]) > 0) & (total < threshold))
            if short.size:
                found += self._enter(number, short)
            if self.too_many:
                break
        return found

    def _enter(self, table: int, short: IntArray) -> int:
        place = np.full(int(self.cells[table].max()) + 1, False)
        place[short] = True
        self.broken.update((table, cell) for cell in short.tolist())
        keys = np.flatnonzero((self.cells[table] >= 0) & place[np.maximum(self.cells[table], 0)])
        self.too_many |= max(keys.size, len(self.doubts)) > self.most_keys
        for key in keys.tolist() if not self.too_many else ():
            cell = (table, int(self.cells[table][key]))
            if cell in self.doubts.get(key, ()):
                continue
            self.members.setdefault(cell, []).append(key)
            self.doubts.setdefault(key, []).append(cell)
        return int(short.size)


class RecountProgram(DoubtfulCells):
    """The program, its cells in doubt, and the answers of the components that have not changed."""

    def __init__(self, problem: SuppressionProblem, patterns: Words) -> None:
        super().__init__(problem, most_keys=TUNING.most_keys)
        self.distinct, self.kind = distinct_patterns(patterns)
        self.required = [minimal_sets(each, problem.table_masks) for each in self.distinct]
        self.free = problem.covers(patterns)
        coded = problem.coded
        self.amount: FloatArray = row_amount(problem, np.arange(coded.size), coded.count) // coded.count / coded.unit
        """What a record of each key adds to a cell, where thresholds are `threshold / unit`."""
        self.solved: dict[frozenset[Cell], _SolvedComponent] = {}
        self.settled: dict[frozenset[Cell], _SolvedComponent] = {}
        self.whole = all(bool(np.all(each == np.round(each))) for each in (problem.field_cost, problem.record_mass))

    def components(self) -> list[tuple[list[int], frozenset[Cell]]]:
        """Keys that share doubtful cells, directly or through others, with those cells."""
        seen: set[int] = set()
        found = []
        for first in sorted(self.doubts):
            if first in seen:
                continue
            seen.add(first)
            keys, cells, waiting = [first], set[Cell](), [first]
            while waiting:
                for cell in self.doubts[waiting.pop()]:
                    if cell in cells:
                        continue
                    cells.add(cell)
                    new = [key for key in self.members[cell] if key not in seen]
                    seen.update(new)
                    keys += new
                    waiting += new
            found.append((sorted(keys), frozenset(cells)))
        return found

    def kinds(self, keys: Iterable[int]) -> list[_KeyKind] | None:
        """None where a key has too many ways to be blanked."""
        found: dict[tuple[int, tuple[Cell, ...], float, float], _KeyKind] = {}
        for key in keys:
            cells = tuple(sorted(self.doubts[key]))
            alike = (int(self.kind[key]), cells, float(self.problem.record_mass[key]), float(self.amount[key]))
            if alike not in found:
                optional = [int(self.problem.table_masks[table]) for table, _ in cells]
                masks = useful_covers(self.required[alike[0]], optional, most=TUNING.most_masks)
                if masks is None:
                    return None
                found[alike] = _KeyKind([], masks, cells)
            found[alike].keys.append(key)
        return list(found.values())

    def model(
        self, kinds: Sequence[_KeyKind], cells: Sequence[Cell], held: Mapping[Cell, Mapping[int, int]] | None = None
    ) -> tuple[LinearModel, FloatArray]:
        """n[kind, mask] records; open[cell] says whether a doubtful cell shows any. With it, the second cost of each column.

        `held`: records of other keys that a cell shows in any case."""
        count = self.problem.coded.count
        owner = np.repeat(np.arange(len(kinds)), [len(kind.masks) for kind in kinds])
        masks = np.array([mask for kind in kinds for mask in kind.masks], dtype=np.int64)
        sizes = np.array([int(count[kind.keys].sum()) for kind in kinds])
        begin = np.searchsorted(owner, np.arange(len(kinds) + 1))
        rows = Rows()
        for number in range(len(kinds)):
            columns = np.arange(begin[number], begin[number + 1])
            rows.add(columns, [1.0] * columns.size, sizes[number], sizes[number])
        owners: dict[Cell, list[int]] = {}
        for number, kind in enumerate(kinds):
            for cell in kind.cells:
                owners.setdefault(cell, []).append(number)
        for place, cell in enumerate(cells):
            shown = {}
            for number in owners[cell]:
                columns = np.arange(begin[number], begin[number + 1])
                shown[number] = columns[masks[columns] & self.problem.table_masks[cell[0]] == 0].tolist()
                if shown[number]:
                    rows.add([*shown[number], masks.size + place], [1.0] * len(shown[number]) + [-float(sizes[number])], -np.inf, 0)
            others = {} if held is None else held[cell]
            self._bind(rows, cell, masks.size + place, {kinds[number].keys[0]: columns for number, columns in shown.items()}, others)
        mass = np.array([self.problem.record_mass[kind.keys[0]] for kind in kinds])
        first, second = (
            np.concatenate([cost * mass[owner], np.zeros(len(cells))])
            for cost in (self.problem.units_cost(masks), self.problem.tie_cost(masks))
        )
        model = rows.model(first, np.concatenate([sizes[owner], np.ones(len(cells))]).astype(np.float64))
        shows = np.array([bool(held and held[cell]) for cell in cells], dtype=np.float64)
        return replace(model, lower=np.concatenate([np.zeros(masks.size), shows])), second

    def _bind(self, rows: Rows, cell: Cell, is_open: int, shown: dict[int, list[int]], held: Mapping[int, int]) -> None:
        """A cell that is open holds enough; `shown` are the columns that show it, by a key of their kind."""
        coded = self.problem.coded
        threshold = CellCut({key: float(self.amount[key]) for key in (*shown, *held)}, coded.tables[cell[0]][1] / coded.unit)
        every, size = [column for columns in shown.values() for column in columns], [len(columns) for columns in shown.values()]
        for cut in (threshold, *self.cuts.get(cell, ())):
            values = np.append(np.repeat([cut.value[key] for key in shown], size), -cut.least)
            rows.add([*every, is_open], values, -sum(cut.value[key] * records for key, records in held.items()), np.inf)

    def dealt(self, kinds: Sequence[_KeyKind], found: ProgramAnswer) -> list[tuple[int, int, int]]:
        """The numbers of each kind given to its keys in order: rows of key, units and records."""
        count, rows, column = self.problem.coded.count, list[tuple[int, int, int]](), 0
        for kind in kinds:
            queue = ChoiceQueue([(mask, int(found.numbers[column + place])) for place, mask in enumerate(kind.masks)])
            column += len(kind.masks)
            rows += [(member, mask, taken) for member in kind.keys for mask, taken in queue.take(int(count[member]))]
        return rows

    def raised(self, bound: float) -> float:
        """Costs that are whole numbers have a whole optimum."""
        return float(math.ceil(bound - 1e-6)) if self.whole else bound


def useful_covers(required: Sequence[int], optional: Sequence[int], *, most: int) -> list[int] | None:
    """All sets of units that hit everything required, perhaps some of the optional sets, and hold nothing needless.

    A unit is needed when it alone hits one of the sets. None where there are more than `most`.
    """
    every = sorted({*required, *optional}, key=lambda each: (each.bit_count(), each))
    must = set(required)
    covers = {0}
    for each in every:
        missed = [cover for cover in covers if not cover & each]
        if each in must:
            covers.difference_update(missed)
        covers.update(cover | 1 << unit for cover in missed for unit in range(each.bit_length()) if each >> unit & 1)
        if len(covers) > 16 * most:
            return None
    found = sorted(cover for cover in covers if _nothing_needless(cover, every))
    return found if len(found) <= most else None


def _nothing_needless(cover: int, sets: Sequence[int]) -> bool:
    alone = 0
    for each in sets:
        hit = cover & each
        if hit.bit_count() == 1:
            alone |= hit
    return alone == cover


def recount_exactly(
    problem: SuppressionProblem, patterns: Words, *, seconds: float, ties: bool, quick: bool = False
) -> RecountBlanks | None:
    """The optimum under `recount`, or the best found with the best bound; None where the file is too large to begin.

    With `quick`, good blanks without the integer program.
    """
    coded = problem.coded
    if coded.size * len(coded.tables) > TUNING.most_cells:
        return None
    began, program = time.monotonic(), RecountProgram(problem, patterns)
    deadline, free = began + seconds, (np.arange(coded.size), program.free, coded.count)
    small = not quick and program.enter(*free) <= TUNING.few_cells  # then the program is quicker than annealing
    begun = not quick and coded.keys.counting == "records" and _in_reach(program, (1 - TUNING.annealing - TUNING.mending) * seconds)
    share = TUNING.annealing if begun or quick else 1.0
    best = None if small and begun else _annealed(program, free, began + share * seconds, cool=not quick)
    bound = price(program, free)
    if begun:
        rows, bound, safe = grown(program, free, deadline - TUNING.mending * seconds, ties=False)
        if safe:
            rows, open_ties = _with_ties_settled(program, rows, deadline) if ties else (rows, len(program.components()))
            return RecountBlanks(*rows, bound=bound, cells=len(program.members), open_ties=open_ties)
        if best is None or rows is not free:  # else the program was not solved once
            mended = _annealed(program, rows, deadline, cool=small)
            best = mended if best is None else min(best, mended, key=lambda each: price(program, each))
    assert best is not None
    open_ties = int(best is not free)  # the blanks of `original` settle theirs, and if they are safe already they are the answer
    return RecountBlanks(*merged(*best), bound=min(bound, price(program, best)), cells=len(program.members), open_ties=open_ties)


def _in_reach(program: RecountProgram, seconds: float) -> bool:
    """Whether the program can be written down and solved in time."""
    return not program.too_many and len(program.doubts) <= TUNING.most_keys and len(program.members) <= TUNING.cells_a_second * seconds


def _annealed(program: RecountProgram, rows: Blanked, deadline: float, *, cool: bool) -> Blanked:
    """Safe rows near these. Of large files a recount takes its time: what is needed for the last ones is kept."""
    began = time.monotonic()
    unsafe: Words | None = program.problem.patterns(*_released(program.problem, rows))
    if unsafe is not None and not unsafe.any():
        return rows
    recount = time.monotonic() - began
    settled = deadline - TUNING.recounts_after * recount
    if time.monotonic() + TUNING.recounts_to_begin * recount < settled or recount < TUNING.instant:
        annealing = RecountAnnealing(program.problem, rows, program.required, program.kind, program.cells)
        if cool:
            annealing.cool(settled - TUNING.settling * max(0.0, settled - time.monotonic()))
        rows, unsafe = merged(*annealing.settle(lambda: time.monotonic() > settled)), None
    key, units, records = rows
    units, _ = add_rounds(program.problem, key, units, records, unsafe)
    return key, take_back(program.problem, key, units, records, stopped=lambda: time.monotonic() > deadline), records


def _released(problem: SuppressionProblem, rows: Blanked) -> tuple[IntArray, IntArray]:
    key, units, records = rows
    return problem.blanked(key, problem.fields_of(units)), row_amount(problem, key, records)


def grown(program: RecountProgram, rows: Blanked, deadline: float, *, ties: bool) -> tuple[Blanked, float, bool]:
    """Let cells enter and solve again until a recount finds nothing: the rows, the bound on their cost, and whether they are safe."""
    bound = price(program, (np.arange(program.problem.coded.size), program.free, program.problem.coded.count))
    for _ in range(TUNING.rounds):
        if time.monotonic() >= deadline:
            return rows, bound, False
        if not program.enter(*rows):
            return rows, bound, True
        step = _solve(program, deadline, ties=ties)
        if step is None:
            return rows, bound, False
        rows, bound = step[0], max(bound, step[1])
    return rows, bound, not program.enter(*rows)


def relaxed_bound(program: RecountProgram, rows: Blanked, deadline: float) -> float:
    """A bound on all safe rows by the linear programs of the components, solved in moments where the integer ones take minutes.

    The cells enter that these rows break. Zero where the programs are too large, or not solved in time.
    """
    program.enter(*rows)
    total = 0.0
    for keys, cells in program.components():
        kinds, left = program.kinds(keys), deadline - time.monotonic()
        if kinds is None or left <= 0 or sum(len(kind.masks) for kind in kinds) > TUNING.most_columns:
            return 0.0
        model, _ = program.model(kinds, sorted(cells))
        total += program.raised(bound_by_prices(model, solve_linear(model, seconds=left)))
    return _all_rows(program, [], total)[1]


def _with_ties_settled(program: RecountProgram, rows: Blanked, deadline: float) -> tuple[Blanked, int]:
    """Of the safe rows of this cost those of least second cost, and the components where that is not proved."""
    parts = program.components()
    if not parts:
        return rows, 0
    step = _solve(program, deadline, ties=True)
    if step is None:
        return rows, len(parts)
    better, _, safe = grown(program, step[0], deadline, ties=True)
    if not safe or price(program, better) > price(program, rows) * (1 + SAME_COST) or _second(program, better) > _second(program, rows):
        return rows, len(parts)
    return better, sum(not program.settled[cells].found.settled for _, cells in program.components())


def price(program: RecountProgram, rows: Blanked) -> float:
    key, units, records = rows
    return float((program.problem.units_cost(units) * program.problem.record_mass[key] * records).sum())


def _second(program: RecountProgram, rows: Blanked) -> float:
    key, units, records = rows
    return float((program.problem.tie_cost(units) * program.problem.record_mass[key] * records).sum())


def _solve(program: RecountProgram, deadline: float, *, ties: bool) -> tuple[Blanked, float] | None:
    """Solve the components that changed; all rows, and the bound on their cost. None where that is too much or the time is up."""
    parts = program.components()
    if not _solve_first(program, parts, deadline):
        return None
    if ties:
        _settle(program, [cells for _, cells in parts if cells not in program.settled], deadline)
    done = [(program.settled if ties else program.solved)[cells] for _, cells in parts]
    rows = [row for each in done for row in program.dealt(each.kinds, each.found)]
    return _all_rows(program, rows, sum(program.raised(each.found.bound) for each in done))


def _solve_first(program: RecountProgram, parts: Sequence[tuple[list[int], frozenset[Cell]]], deadline: float) -> bool:
    """Solve the components without an answer for their cost; whether all have one."""
    waiting, columns = list[tuple[frozenset[Cell], list[_KeyKind], LinearModel, FloatArray]](), 0
    if not _in_reach(program, deadline - time.monotonic()):
        return False
    for keys, cells in parts:
        if cells in program.solved:
            continue
        alike = program.kinds(keys)
        columns += 0 if alike is None else sum(len(kind.masks) for kind in alike)
        if alike is None or columns > TUNING.most_columns:
            return False
        waiting.append((cells, alike, *program.model(alike, sorted(cells))))
    left = deadline - time.monotonic()
    found = solve_each([model for _, _, model, _ in waiting], seconds=left, nodes=TUNING.nodes) if waiting and left > 0 else None
    for (cells, kinds, model, second), answer in zip(waiting, found or [], strict=False):
        program.solved[cells] = _SolvedComponent(kinds, model, second, answer)
    return not waiting or found is not None


def _settle(program: RecountProgram, waiting: Sequence[frozenset[Cell]], deadline: float) -> None:
    """Solve these components for their second cost, or keep their answers where the time is up."""
    before = [program.solved[cells] for cells in waiting]
    after = settle_ties([each.model for each in before], [each.second for each in before], [each.found for each in before],
                        seconds=deadline - time.monotonic(), nodes=TUNING.nodes)  # fmt: skip
    for cells, each, found in zip(waiting, before, after, strict=True):
        program.settled[cells] = each._replace(found=found)


def _all_rows(program: RecountProgram, done: Sequence[tuple[int, int, int]], bound: float) -> tuple[Blanked, float]:
    """The rows of the components and those of all other keys, and the bound on their cost."""
    coded = program.problem.coded
    tied = np.zeros(coded.size, dtype=np.bool_)
    tied[list(program.doubts)] = True
    rest = np.flatnonzero(~tied)
    others = np.array([rest, program.free[rest], coded.count[rest]], dtype=np.int64)
    rows = np.concatenate([others, np.array(done, dtype=np.int64).reshape(-1, 3).T], axis=1)
    return merged(*rows), bound + float((program.problem.units_cost(program.free[rest]) * coded.mass[rest]).sum())
