"""Rule `recount` as an integer program that grows only where a recount asks for it.

A cell of a table that was unsafe in the original must be closed: each of its records blanks one of the table's fields. Any other cell
may be open, with as many records as the threshold asks, or closed. Nearly all of them are never in danger, so the program begins without
them: every key takes its own cheapest blanks (S4, eq. 1). A recount then names the cells that this leaves with too few records; they
enter with a choice between open and closed, and tie their keys together. Keys tied to each other form a component with a program of its
own, solved anew only when a cell enters it. What the program leaves out can only raise the cost, so its bound holds at every stage; when
a recount finds nothing, its answer is the optimum.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from statveil.anonymise import recount
from statveil.anonymise.covers import minimal_sets
from statveil.anonymise.frequencies import Words, cell_index, distinct_patterns
from statveil.anonymise.problem import SuppressionProblem
from statveil.anonymise.programs import Counted, Rows, solve_each
from statveil.anonymise.suppression import merged
from statveil.arrays import FloatArray, IntArray
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


class Recounted(NamedTuple):
    """Rows of (key, units, records) that a recount calls safe, the bound proved, and the cells that had to be thought about."""

    key: IntArray
    units: IntArray
    records: IntArray
    bound: float
    cells: int
    rounds: int


class _Kind(NamedTuple):
    """Keys that are alike: the same sets to hit, the same cells in doubt, the same mass of a record."""

    keys: list[int]
    masks: list[int]
    cells: tuple[Cell, ...]


class _Solved(NamedTuple):
    key: list[int]
    units: list[int]
    records: list[int]
    bound: float


class LazyRecount:
    """The program, its cells in doubt, and the answers of the components that have not changed."""

    def __init__(self, problem: SuppressionProblem, patterns: Words) -> None:
        coded = problem.coded
        self.problem = problem
        self.distinct, self.kind = distinct_patterns(patterns)
        self.required = [minimal_sets(each, problem.table_masks) for each in self.distinct]
        self.free = problem.covers(patterns)
        self.mass = coded.mass / coded.count
        self.cost_of = _UnitCost(problem)
        self.cells = [self._cells(places) for places, _ in coded.tables]
        self.members: dict[Cell, list[int]] = {}
        self.doubts: dict[int, list[Cell]] = {}
        self.solved: dict[frozenset[Cell], _Solved] = {}
        self.whole = bool(np.all(problem.field_cost == np.round(problem.field_cost)) and np.all(self.mass == np.round(self.mass)))

    def _cells(self, places: Sequence[int]) -> IntArray:
        index, _ = cell_index(self.problem.coded.codes, self.problem.maps, places, [self.problem.levels[place] for place in places])
        _, dense = np.unique(index, return_inverse=True)
        return np.where(index < 0, -1, dense.ravel()).astype(np.int64)

    def enter(self, key: IntArray, units: IntArray, records: IntArray) -> int:
        """Add the cells that these rows leave with too few records; how many there were."""
        found = 0
        for number, (_, threshold) in enumerate(self.problem.coded.tables):
            cell = self.cells[number][key]
            shown = (units & self.problem.table_masks[number] == 0) & (cell >= 0)
            total = np.bincount(cell[shown], weights=records[shown])
            short = np.flatnonzero((total > 0) & (total < threshold))
            if short.size:
                found += self._enter(number, short)
        return found

    def _enter(self, table: int, short: IntArray) -> int:
        place = np.full(int(self.cells[table].max()) + 1, False)
        place[short] = True
        keys = np.flatnonzero((self.cells[table] >= 0) & place[np.maximum(self.cells[table], 0)])
        for key in keys.tolist():
            cell = (table, int(self.cells[table][key]))
            self.members.setdefault(cell, []).append(key)
            self.doubts.setdefault(key, []).append(cell)
        return int(short.size)

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

    def kinds(self, keys: Iterable[int]) -> list[_Kind] | None:
        """None where a key has too many ways to be blanked."""
        found: dict[tuple[int, tuple[Cell, ...], float], _Kind] = {}
        for key in keys:
            cells = tuple(sorted(self.doubts[key]))
            alike = (int(self.kind[key]), cells, float(self.mass[key]))
            if alike not in found:
                optional = [int(self.problem.table_masks[table]) for table, _ in cells]
                masks = useful_covers(self.required[alike[0]], optional, most=MOST_MASKS)
                if masks is None:
                    return None
                found[alike] = _Kind([], masks, cells)
            found[alike].keys.append(key)
        return list(found.values())

    def program(self, kinds: Sequence[_Kind], cells: Sequence[Cell]) -> LinearModel:
        """n[kind, mask] records; open[cell] says whether a doubtful cell shows any."""
        count = self.problem.coded.count
        owner = np.repeat(np.arange(len(kinds)), [len(kind.masks) for kind in kinds])
        masks = np.array([mask for kind in kinds for mask in kind.masks], dtype=np.int64)
        sizes = np.array([int(count[kind.keys].sum()) for kind in kinds])
        first = np.searchsorted(owner, np.arange(len(kinds) + 1))
        rows = Rows()
        for number in range(len(kinds)):
            columns = np.arange(first[number], first[number + 1])
            rows.add(columns, [1.0] * columns.size, sizes[number], sizes[number])
        owners: dict[Cell, list[int]] = {}
        for number, kind in enumerate(kinds):
            for cell in kind.cells:
                owners.setdefault(cell, []).append(number)
        for place, (table, own) in enumerate(cells):
            threshold, every = self.problem.coded.tables[table][1], list[int]()
            for number in owners[table, own]:
                columns = np.arange(first[number], first[number + 1])
                shown = columns[masks[columns] & self.problem.table_masks[table] == 0]
                if shown.size:
                    rows.add([*shown, masks.size + place], [1.0] * shown.size + [-float(sizes[number])], -np.inf, 0)
                    every += shown.tolist()
            rows.add([*every, masks.size + place], [1.0] * len(every) + [-float(threshold)], 0, np.inf)
        mass = np.array([self.mass[kind.keys[0]] for kind in kinds])
        cost = np.concatenate([self.cost_of(masks) * mass[owner], np.zeros(len(cells))])
        return rows.model(cost, np.concatenate([sizes[owner], np.ones(len(cells))]).astype(np.float64))

    def dealt(self, kinds: Sequence[_Kind], found: Counted) -> _Solved:
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
        return _Solved(key, units, records, self.raised(found.bound))

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


def recount_exactly(problem: SuppressionProblem, patterns: Words, *, seconds: float) -> Recounted | None:
    """The optimum under `recount`, or the best found with the best bound; None where the file is too large to begin."""
    coded = problem.coded
    if coded.size * len(coded.tables) > MOST_CELLS or coded.keys.counting == "weights":
        return None
    deadline = time.monotonic() + seconds
    lazy = LazyRecount(problem, patterns)
    every = np.arange(coded.size)
    rows: Blanked = (every, lazy.free, coded.count)
    bound = float((lazy.cost_of(lazy.free) * coded.mass).sum())
    rounds = 0
    while rounds < PATIENCE and lazy.enter(*rows):
        step = _solve(lazy, deadline)
        if step is None:
            break
        rows, proved = step
        bound, rounds = max(bound, proved), rounds + 1
    else:
        if not lazy.enter(*rows):
            return Recounted(*rows, bound=bound, cells=len(lazy.members), rounds=rounds)
    starts = [rows, (every, lazy.free, coded.count)]
    best = min((_made_safe(problem, each) for each in starts), key=lambda each: _price(lazy, each))
    return Recounted(*best, bound=min(bound, _price(lazy, best)), cells=len(lazy.members), rounds=rounds)


def _price(lazy: LazyRecount, rows: Blanked) -> float:
    key, units, records = rows
    return float((lazy.cost_of(units) * lazy.mass[key] * records).sum())


def _made_safe(problem: SuppressionProblem, rows: Blanked) -> Blanked:
    key, units, records = rows
    units, _ = recount.add_rounds(problem, key, units, records)
    return key, recount.take_back(problem, key, units, records), records


def _solve(lazy: LazyRecount, deadline: float) -> tuple[Blanked, float] | None:
    """Solve the components that changed; all rows, and the bound on their cost. None where that is too much or the time is up."""
    coded = lazy.problem.coded
    parts, waiting, columns = lazy.components(), list[tuple[frozenset[Cell], list[_Kind], LinearModel]](), 0
    for keys, cells in parts:
        if cells in lazy.solved:
            continue
        kinds = lazy.kinds(keys)
        columns += 0 if kinds is None else sum(len(kind.masks) for kind in kinds)
        if kinds is None or columns > MOST_COLUMNS:
            return None
        waiting.append((cells, kinds, lazy.program(kinds, sorted(cells))))
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    found = solve_each([model for *_, model in waiting], seconds=left, nodes=NODES)
    if found is None:
        return None
    for (cells, kinds, _), answer in zip(waiting, found, strict=True):
        lazy.solved[cells] = lazy.dealt(kinds, answer)
    tied = np.zeros(coded.size, dtype=np.bool_)
    tied[list(lazy.doubts)] = True
    rest = np.flatnonzero(~tied)
    done = [lazy.solved[cells] for _, cells in parts]
    rows = [
        np.concatenate([rest, np.array([key for each in done for key in each.key], dtype=np.int64)]),
        np.concatenate([lazy.free[rest], np.array([unit for each in done for unit in each.units], dtype=np.int64)]),
        np.concatenate([coded.count[rest], np.array([number for each in done for number in each.records], dtype=np.int64)]),
    ]
    bound = float((lazy.cost_of(lazy.free[rest]) * coded.mass[rest]).sum()) + sum(each.bound for each in done)
    return merged(*rows), bound
