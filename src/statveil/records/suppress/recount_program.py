"""Rule `recount` as an integer program that grows only where a recount asks for it.

A cell of a table that was unsafe in the original must be closed: each of its records blanks one of the table's fields. Any other cell
may be open, with as many records as the threshold asks, or closed. Nearly all of them are never in danger, so the program begins without
them: every key takes its own cheapest blanks (S4, eq. 1). A recount then names the cells that this leaves with too few records; they
enter with a choice between open and closed, and tie their keys together. Keys tied to each other form a component with a program of its
own, solved anew only when a cell enters it. What the program leaves out can only raise the cost, so its bound holds at every stage; when
a recount finds nothing, its answer is the optimum.

Then the programs are solved once more for the second objective, with the first cost held, and go on growing where a recount asks for it.
What they leave out can only raise the second cost too, so that a recount which finds nothing proves that ties are settled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.records.frequencies import Words, cell_index, distinct_patterns
from statveil.records.suppress import recount
from statveil.records.suppress.covers import minimal_sets
from statveil.records.suppress.integer_programs import SAME_COST, ProgramAnswer, Rows, settle_ties, solve_each
from statveil.records.suppress.problem import SuppressionProblem, merged, row_amount
from statveil.solve.model import LinearModel

MOST_CELLS = 20_000_000
"""Keys times tables up to which cells are kept in memory."""
MOST_MASKS = 400
"""Ways to blank one key, at most."""
MOST_COLUMNS = 60_000
"""Columns of all components together."""
NODES = 5_000
"""Nodes of a component's search: a limit that does not depend on the clock."""
PATIENCE = 40
"""Rounds of new cells."""

Cell = tuple[int, int]
"""A table and a cell of it."""
Blanked = tuple[IntArray, IntArray, IntArray]
"""Rows of key, blank units and records."""


class RecountBlanks(NamedTuple):
    """Rows of (key, units, records) that a recount calls safe, the bound proved, and the cells that had to be thought about."""

    key: IntArray
    units: IntArray
    records: IntArray
    bound: float
    cells: int
    open_ties: int
    """Components in which an answer of equal cost and lower second cost may exist."""


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


class _Dealt(NamedTuple):
    key: list[int]
    units: list[int]
    records: list[int]


class DoubtfulCells:
    """Cells that were safe in the original and may be left with too few records: their keys, and the cells of each key."""

    def __init__(self, problem: SuppressionProblem) -> None:
        self.problem = problem
        self.members: dict[Cell, list[int]] = {}
        self.doubts: dict[int, list[Cell]] = {}

    @cached_property
    def cells(self) -> list[IntArray]:
        """The cell of each key in each table, -1 for none."""
        return [self._cells(places) for places, _ in self.problem.coded.tables]

    def _cells(self, places: Sequence[int]) -> IntArray:
        index, _ = cell_index(self.problem.coded.codes, self.problem.maps, places, [self.problem.levels[place] for place in places])
        _, dense = np.unique(index, return_inverse=True)
        return np.where(index < 0, -1, dense.ravel()).astype(np.int64)

    def enter(self, key: IntArray, units: IntArray, records: IntArray) -> int:
        """Add the cells that these rows leave with too few records; how many there were."""
        found, amount = 0, row_amount(self.problem, key, records)
        for number, (_, threshold) in enumerate(self.problem.coded.tables):
            cell = self.cells[number][key]
            shown = (units & self.problem.table_masks[number] == 0) & (cell >= 0)
            total = np.bincount(cell[shown], weights=amount[shown])
            short = np.flatnonzero((np.bincount(cell[shown]) > 0) & (total < threshold))
            if short.size:
                found += self._enter(number, short)
        return found

    def _enter(self, table: int, short: IntArray) -> int:
        place = np.full(int(self.cells[table].max()) + 1, False)
        place[short] = True
        keys = np.flatnonzero((self.cells[table] >= 0) & place[np.maximum(self.cells[table], 0)])
        for key in keys.tolist():
            cell = (table, int(self.cells[table][key]))
            if cell in self.doubts.get(key, ()):
                continue
            self.members.setdefault(cell, []).append(key)
            self.doubts.setdefault(key, []).append(cell)
        return int(short.size)


class RecountProgram(DoubtfulCells):
    """The program, its cells in doubt, and the answers of the components that have not changed."""

    def __init__(self, problem: SuppressionProblem, patterns: Words) -> None:
        super().__init__(problem)
        coded = problem.coded
        self.distinct, self.kind = distinct_patterns(patterns)
        self.required = [minimal_sets(each, problem.table_masks) for each in self.distinct]
        self.free = problem.covers(patterns)
        self.mass = coded.mass / coded.count
        self.cost_of = _UnitCost(problem)
        self.solved: dict[frozenset[Cell], _SolvedComponent] = {}
        self.settled: dict[frozenset[Cell], _SolvedComponent] = {}
        self.whole = bool(np.all(problem.field_cost == np.round(problem.field_cost)) and np.all(self.mass == np.round(self.mass)))

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
        found: dict[tuple[int, tuple[Cell, ...], float], _KeyKind] = {}
        for key in keys:
            cells = tuple(sorted(self.doubts[key]))
            alike = (int(self.kind[key]), cells, float(self.mass[key]))
            if alike not in found:
                optional = [int(self.problem.table_masks[table]) for table, _ in cells]
                masks = useful_covers(self.required[alike[0]], optional, most=MOST_MASKS)
                if masks is None:
                    return None
                found[alike] = _KeyKind([], masks, cells)
            found[alike].keys.append(key)
        return list(found.values())

    def program(self, kinds: Sequence[_KeyKind], cells: Sequence[Cell]) -> tuple[LinearModel, FloatArray]:
        """n[kind, mask] records; open[cell] says whether a doubtful cell shows any. With it, the second cost of each column."""
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
        for place, (table, own) in enumerate(cells):
            threshold, every = self.problem.coded.tables[table][1], list[int]()
            for number in owners[table, own]:
                columns = np.arange(begin[number], begin[number + 1])
                shown = columns[masks[columns] & self.problem.table_masks[table] == 0]
                if shown.size:
                    rows.add([*shown, masks.size + place], [1.0] * shown.size + [-float(sizes[number])], -np.inf, 0)
                    every += shown.tolist()
            rows.add([*every, masks.size + place], [1.0] * len(every) + [-float(threshold)], 0, np.inf)
        mass = np.array([self.mass[kind.keys[0]] for kind in kinds])
        first, second = (
            np.concatenate([cost * mass[owner], np.zeros(len(cells))]) for cost in (self.cost_of(masks), self.problem.tie_cost(masks))
        )
        return rows.model(first, np.concatenate([sizes[owner], np.ones(len(cells))]).astype(np.float64)), second

    def dealt(self, kinds: Sequence[_KeyKind], found: ProgramAnswer) -> _Dealt:
        """The numbers of each kind given to its keys in order."""
        key, units, records, column = list[int](), list[int](), list[int](), 0
        for kind in kinds:
            left = [[mask, int(found.numbers[column + place])] for place, mask in enumerate(kind.masks)]
            column += len(kind.masks)
            left = [each for each in left if each[1]]
            for member in kind.keys:
                wanted = int(self.problem.coded.count[member])
                while wanted:
                    taken = min(wanted, left[0][1])
                    key.append(member)
                    units.append(left[0][0])
                    records.append(taken)
                    wanted -= taken
                    left[0][1] -= taken
                    if not left[0][1]:
                        left.pop(0)
        return _Dealt(key, units, records)

    def raised(self, bound: float) -> float:
        """Costs that are whole numbers have a whole optimum."""
        return float(math.ceil(bound - 1e-6)) if self.whole else bound


class _UnitCost:
    def __init__(self, problem: SuppressionProblem) -> None:
        self.problem = problem

    def __call__(self, units: IntArray) -> FloatArray:
        return self.problem.mask_cost(self.problem.fields_of(units))


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


def recount_exactly(problem: SuppressionProblem, patterns: Words, *, seconds: float, ties: bool) -> RecountBlanks | None:
    """The optimum under `recount`, or the best found with the best bound; None where the file is too large to begin."""
    coded = problem.coded
    if coded.size * len(coded.tables) > MOST_CELLS or coded.keys.counting == "weights":
        return None
    deadline = time.monotonic() + seconds
    lazy = RecountProgram(problem, patterns)
    every = np.arange(coded.size)
    free: Blanked = (every, lazy.free, coded.count)
    rows, bound, safe = _grown(lazy, free, deadline, ties=False)
    if not safe:
        best = min((_made_safe(problem, each) for each in (rows, free)), key=lambda each: _price(lazy, each))
        return RecountBlanks(*best, bound=min(bound, _price(lazy, best)), cells=len(lazy.members), open_ties=len(lazy.components()))
    rows, open_ties = _with_ties_settled(lazy, rows, deadline) if ties else (rows, len(lazy.components()))
    return RecountBlanks(*rows, bound=bound, cells=len(lazy.members), open_ties=open_ties)


def _grown(lazy: RecountProgram, rows: Blanked, deadline: float, *, ties: bool) -> tuple[Blanked, float, bool]:
    """Let cells enter and solve again until a recount finds nothing: the rows, the bound on their cost, and whether they are safe."""
    bound = _price(lazy, (np.arange(lazy.problem.coded.size), lazy.free, lazy.problem.coded.count))
    for _ in range(PATIENCE):
        if not lazy.enter(*rows):
            return rows, bound, True
        step = _solve(lazy, deadline, ties=ties)
        if step is None:
            return rows, bound, False
        rows, bound = step[0], max(bound, step[1])
    return rows, bound, not lazy.enter(*rows)


def _with_ties_settled(lazy: RecountProgram, rows: Blanked, deadline: float) -> tuple[Blanked, int]:
    """Of the safe rows of this cost those of least second cost, and the components where that is not proved."""
    parts = lazy.components()
    if not parts:
        return rows, 0
    step = _solve(lazy, deadline, ties=True)
    if step is None:
        return rows, len(parts)
    better, _, safe = _grown(lazy, step[0], deadline, ties=True)
    if not safe or _price(lazy, better) > _price(lazy, rows) * (1 + SAME_COST) or _second(lazy, better) > _second(lazy, rows):
        return rows, len(parts)
    return better, sum(not lazy.settled[cells].found.settled for _, cells in lazy.components())


def _price(lazy: RecountProgram, rows: Blanked) -> float:
    key, units, records = rows
    return float((lazy.cost_of(units) * lazy.mass[key] * records).sum())


def _second(lazy: RecountProgram, rows: Blanked) -> float:
    key, units, records = rows
    return float((lazy.problem.tie_cost(units) * lazy.mass[key] * records).sum())


def _made_safe(problem: SuppressionProblem, rows: Blanked) -> Blanked:
    key, units, records = rows
    units, _ = recount.add_rounds(problem, key, units, records)
    return key, recount.take_back(problem, key, units, records), records


def _solve(lazy: RecountProgram, deadline: float, *, ties: bool) -> tuple[Blanked, float] | None:
    """Solve the components that changed; all rows, and the bound on their cost. None where that is too much or the time is up."""
    parts = lazy.components()
    if not _solve_first(lazy, parts, deadline):
        return None
    if ties:
        _settle(lazy, [cells for _, cells in parts if cells not in lazy.settled], deadline)
    done = [(lazy.settled if ties else lazy.solved)[cells] for _, cells in parts]
    return _all_rows(lazy, [lazy.dealt(each.kinds, each.found) for each in done], sum(lazy.raised(each.found.bound) for each in done))


def _solve_first(lazy: RecountProgram, parts: Sequence[tuple[list[int], frozenset[Cell]]], deadline: float) -> bool:
    """Solve the components without an answer for their cost; whether all have one."""
    waiting, columns = list[tuple[frozenset[Cell], list[_KeyKind], LinearModel, FloatArray]](), 0
    for keys, cells in parts:
        if cells in lazy.solved:
            continue
        alike = lazy.kinds(keys)
        columns += 0 if alike is None else sum(len(kind.masks) for kind in alike)
        if alike is None or columns > MOST_COLUMNS:
            return False
        waiting.append((cells, alike, *lazy.program(alike, sorted(cells))))
    left = deadline - time.monotonic()
    found = solve_each([model for _, _, model, _ in waiting], seconds=left, nodes=NODES) if waiting and left > 0 else None
    for (cells, kinds, model, second), answer in zip(waiting, found or [], strict=False):
        lazy.solved[cells] = _SolvedComponent(kinds, model, second, answer)
    return not waiting or found is not None


def _settle(lazy: RecountProgram, waiting: Sequence[frozenset[Cell]], deadline: float) -> None:
    """Solve these components for their second cost, or keep their answers where the time is up."""
    before = [lazy.solved[cells] for cells in waiting]
    after = settle_ties([each.model for each in before], [each.second for each in before], [each.found for each in before],
                        seconds=deadline - time.monotonic(), nodes=NODES)  # fmt: skip
    for cells, each, found in zip(waiting, before, after, strict=True):
        lazy.settled[cells] = each._replace(found=found)


def _all_rows(lazy: RecountProgram, done: Sequence[_Dealt], bound: float) -> tuple[Blanked, float]:
    """The rows of the components and those of all other keys, and the bound on their cost."""
    coded = lazy.problem.coded
    tied = np.zeros(coded.size, dtype=np.bool_)
    tied[list(lazy.doubts)] = True
    rest = np.flatnonzero(~tied)
    rows = [
        np.concatenate([rest, np.array([key for each in done for key in each.key], dtype=np.int64)]),
        np.concatenate([lazy.free[rest], np.array([unit for each in done for unit in each.units], dtype=np.int64)]),
        np.concatenate([coded.count[rest], np.array([number for each in done for number in each.records], dtype=np.int64)]),
    ]
    return merged(*rows), bound + float((lazy.cost_of(lazy.free[rest]) * coded.mass[rest]).sum())
