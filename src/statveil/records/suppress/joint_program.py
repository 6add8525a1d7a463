"""Records that depend on each other: in one integer program with caps on blanks, households, and what a recount doubts.

Caps on the blanks of a field tie all records together ("one very big problem", S4 s.2.1). Records that are alike are interchangeable, so
that the program counts how many of a kind get which blanks. Given a household's shared blanks its members are independent: it counts
shared blanks by kind of household, and covers by kind of member and shared blanks; the two meet in one equation. Under rule `recount` it
begins as under `original` and grows by the cells that a recount calls too small, each with a choice between open and closed, as in
`recount`. What it leaves out can only make things harder: its bound holds at every stage, and so does its word that nothing exists.

Households alone, without caps or recount, need no program: few sets of shared blanks exist, each is priced, for every different pattern,
by the cheapest blanks in the other fields, and every household takes its best (`cover_households`). That is exact.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError, OutOfTime
from statveil.records.coding import Households
from statveil.records.frequencies import Words, distinct_patterns
from statveil.records.suppress import recount
from statveil.records.suppress.covers import cheapest_covers, minimal_covers, minimal_sets
from statveil.records.suppress.integer_programs import ChoiceQueue, ProgramAnswer, Rows, solve_whole
from statveil.records.suppress.problem import SuppressionProblem, known_only, row_amount
from statveil.records.suppress.recount import Cell, DoubtfulCells, useful_covers
from statveil.solve.model import LinearModel


class JointTuning(NamedTuple):
    """Sizes up to which the program is solved, all by judgement."""

    most_covers: int = 2_000
    """Ways to blank a record of one kind with cells in doubt, at most."""
    most_columns: int = 20_000
    """Columns up to which the program may grow."""
    most_shared: int = 10
    """Shared fields of a household: all sets of them are priced."""


TUNING = JointTuning()
Blanked = tuple[IntArray, IntArray, IntArray]
"""Rows of key, blank units and records; in households a row for each record, in their order."""


class JointBlanks(NamedTuple):
    """The rows found, the bound proved, blanks after each stage, and whether no rows of equal cost have a lower second cost."""

    rows: Blanked
    bound: float
    rounds: tuple[int, ...]
    settled: bool


class _RecordKind(NamedTuple):
    """Records that are alike: how many, what a blank of cost 1 costs in one and what one adds to a cell, what is unknown, and what can
    be blanked in them, each cover with the shared blanks of the household among its bits."""

    records: int
    mass: float
    amount: int
    missing: int
    cells: tuple[Cell, ...]
    covers: list[int]


class _HouseholdKinds(NamedTuple):
    """Kinds of households: the (kind of record, number) of their members, how many there are, and the kind of each household."""

    members: list[tuple[tuple[int, int], ...]]
    number: IntArray
    kind_of: IntArray


class JointProgram:
    """The program as far as it has grown."""

    def __init__(self, problem: SuppressionProblem, patterns: Words) -> None:
        coded = problem.coded
        self.problem, self.homes, self.doubts = problem, coded.households, DoubtfulCells(problem)
        distinct, self.pattern = distinct_patterns(patterns)
        self.required = [minimal_sets(each, problem.table_masks) for each in distinct]
        self.amount = row_amount(problem, np.arange(coded.size), coded.count) // coded.count
        units = shared_units(problem) if self.homes is not None else []
        self.shared = sum(1 << unit for unit in units)
        self.shared_sets = [sum(1 << unit for place, unit in enumerate(units) if number >> place & 1) for number in range(2 ** len(units))]

    def solve(self, *, seconds: float, small: bool) -> tuple[Blanked, ProgramAnswer] | None:
        """The cheapest rows; None where the program is to be `small` and is not."""
        found_kinds = self._kinds()
        if found_kinds is None and not small:
            raise InputError("Too many ways to blank a record.", hint="Use caps with fewer key fields or a lower order.")
        if found_kinds is None or (small and sum(len(kind.covers) for kind in found_kinds[0]) > TUNING.most_columns):
            return None
        kinds, kind_of = found_kinds
        homes = None if self.homes is None else _kinds_of_homes(self.homes, kind_of)
        columns = _Columns(kinds, [] if homes is None else self._shared_choices(kinds, homes))
        if small and columns.size > TUNING.most_columns:
            return None
        model, second = self._model(kinds, homes, columns)
        found = solve_whole(model, second, seconds=seconds)
        return (self._dealt(kind_of, columns, found) if homes is None else self._dealt_home(kind_of, homes, columns, found)), found

    def _kinds(self) -> tuple[list[_RecordKind], IntArray] | None:
        """None where a record can be blanked in too many ways."""
        count, found = self.problem.coded.count, dict[tuple[int, float, int, int, tuple[Cell, ...]], int]()
        kind_of = np.zeros(count.size, dtype=np.int64)
        for key in range(count.size):
            cells = tuple(sorted(self.doubts.doubts.get(key, ())))
            amount = int(self.amount[key]) if cells else 0
            alike = int(self.pattern[key]), float(self.problem.record_mass[key]), amount, int(self.problem.missing[key]), cells
            kind_of[key] = found.setdefault(alike, len(found))
        records = np.bincount(kind_of, weights=count, minlength=len(found)).astype(np.int64)
        covers: dict[tuple[int, tuple[int, ...]], list[int] | None] = {}
        kinds = []
        for (pattern, mass, amount, missing, cells), number in found.items():
            optional = tuple(sorted({int(self.problem.table_masks[table]) for table, _ in cells}))
            if (pattern, optional) not in covers:
                covers[pattern, optional] = self._covers(self.required[pattern], optional)
            chosen = covers[pattern, optional]
            if chosen is None:
                return None
            kinds.append(_RecordKind(int(records[number]), mass, amount, missing, cells, chosen))
        return kinds, kind_of

    def _covers(self, required: Sequence[int], optional: Sequence[int]) -> list[int] | None:
        """With each set of shared blanks, the other blanks that hit what is left and hold nothing needless."""
        covers: list[int] = []
        for shared in self.shared_sets:
            must, may = ([each & ~self.shared for each in sets if not each & shared] for sets in (required, optional))
            if all(must):
                may = [each for each in may if each]
                own = useful_covers(must, may, most=TUNING.most_covers) if may else minimal_covers(must)
                if own is None:
                    return None
                covers += [each | shared for each in own]
        return covers

    def _shared_choices(self, kinds: Sequence[_RecordKind], homes: _HouseholdKinds) -> list[list[int]]:
        """The shared blanks of each kind of household with which all its members can be made safe."""
        possible = [{cover & self.shared for cover in kind.covers} for kind in kinds]
        return [sorted(set.intersection(*(possible[kind] for kind, _ in members))) for members in homes.members]

    def _model(self, kinds: Sequence[_RecordKind], homes: _HouseholdKinds | None, columns: _Columns) -> tuple[LinearModel, FloatArray]:
        """n[kind, cover] records, and in households n[kind of household, shared blanks]; open[cell] for the cells in doubt."""
        rows, cells = Rows(), sorted(self.doubts.members)
        if homes is None:
            for kind, each in enumerate(kinds):
                rows.add(columns.of_kind[kind], [1.0] * len(columns.of_kind[kind]), each.records, each.records)
        else:
            self._join_homes(rows, homes, columns)
        masks = self.problem.fields_of(columns.cover) & ~np.array([kinds[kind].missing for kind in columns.kind], dtype=np.int64)
        for name, cap in self.problem.coded.keys.caps.items():
            capped = columns.first + np.flatnonzero((masks >> self.problem.coded.keys.names.index(name)) & 1)
            if capped.size:
                rows.add(capped, [1.0] * capped.size, 0, cap)
        self._bind_cells(rows, kinds, columns, cells)
        mass = np.array([kinds[kind].mass for kind in columns.kind])
        units = self.problem.units_of(masks)  # what is unknown in a record costs nothing there
        none = np.zeros(columns.first), np.zeros(len(cells))
        cost = np.concatenate([none[0], self.problem.units_cost(units) * mass, none[1]])
        second = np.concatenate([none[0], self.problem.tie_cost(units) * mass, none[1]])
        most = [homes.number[home] for home, _ in columns.home] if homes is not None else []
        upper = np.array([*most, *(kinds[kind].records for kind in columns.kind), *np.ones(len(cells))], dtype=np.float64)
        return rows.model(cost, upper), second

    def _join_homes(self, rows: Rows, homes: _HouseholdKinds, columns: _Columns) -> None:
        """Every household has its shared blanks, and its members have the same."""
        by_home: dict[int, list[int]] = {}
        demand: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for column, (home, shared) in enumerate(columns.home):
            by_home.setdefault(home, []).append(column)
            for kind, number in homes.members[home]:
                demand.setdefault((kind, shared), []).append((column, -float(number)))
        for home, number in enumerate(homes.number):
            chosen = by_home.get(home, [])
            rows.add(chosen, [1.0] * len(chosen), number, number)
        supply: dict[tuple[int, int], list[int]] = {}
        for place, (kind, cover) in enumerate(zip(columns.kind, columns.cover.tolist(), strict=True)):
            supply.setdefault((kind, cover & self.shared), []).append(columns.first + place)
        for pair in sorted({*demand, *supply}):
            own, asked = supply.get(pair, []), demand.get(pair, [])
            rows.add([*own, *(column for column, _ in asked)], [1.0] * len(own) + [number for _, number in asked], 0, 0)

    def _bind_cells(self, rows: Rows, kinds: Sequence[_RecordKind], columns: _Columns, cells: Sequence[Cell]) -> None:
        """A cell in doubt is open and holds enough, or nobody shows it."""
        owners: dict[Cell, list[int]] = {}
        for kind, each in enumerate(kinds):
            for cell in each.cells:
                owners.setdefault(cell, []).append(kind)
        for place, (table, own) in enumerate(cells):
            every, held, is_open = list[int](), list[float](), columns.size + place
            unit = self.problem.coded.unit
            for kind in owners[table, own]:
                shown = [each for each in columns.of_kind[kind]
                         if not columns.cover[each - columns.first] & self.problem.table_masks[table]]  # fmt: skip
                if shown:
                    rows.add([*shown, is_open], [1.0] * len(shown) + [-float(kinds[kind].records)], -np.inf, 0)
                    every += shown
                    held += [kinds[kind].amount / unit] * len(shown)
            rows.add([*every, is_open], [*held, -self.problem.coded.tables[table][1] / unit], 0, np.inf)

    def _dealt(self, kind_of: IntArray, columns: _Columns, found: ProgramAnswer) -> Blanked:
        """The numbers of each kind given to its keys in order."""
        choices = [[(int(columns.cover[each - columns.first]), int(found.numbers[each])) for each in own] for own in columns.of_kind]
        left = [ChoiceQueue(each) for each in choices]
        rows = [(key, cover, taken) for key, kind in enumerate(kind_of.tolist())
                for cover, taken in left[kind].take(int(self.problem.coded.count[key]))]  # fmt: skip
        key, units, records = (np.array(part, dtype=np.int64) for part in zip(*rows, strict=True))
        return key, units, records

    def _dealt_home(self, kind_of: IntArray, homes: _HouseholdKinds, columns: _Columns, found: ProgramAnswer) -> Blanked:
        """Each household gets its shared blanks and each of its rows a cover, in order, until the numbers are used up."""
        assert self.homes is not None
        choices: list[list[tuple[int, int]]] = [[] for _ in homes.members]
        for column, (home, shared) in enumerate(columns.home):
            choices[home].append((shared, int(found.numbers[column])))
        covers: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for place, (kind, cover) in enumerate(zip(columns.kind, columns.cover.tolist(), strict=True)):
            covers.setdefault((kind, cover & self.shared), []).append((cover, int(found.numbers[columns.first + place])))
        queues = [ChoiceQueue(each) for each in choices]
        left = {pair: ChoiceQueue(each) for pair, each in covers.items()}
        blanks = [queues[kind].one() for kind in homes.kind_of.tolist()]
        rows = zip(self.homes.key.tolist(), self.homes.home.tolist(), strict=True)
        units = np.array([left[int(kind_of[key]), blanks[home]].one() for key, home in rows], dtype=np.int64)
        return self.homes.key, units, np.ones_like(units)


class _Columns:
    """Columns of households (kind, shared blanks), then those of records (kind, cover)."""

    def __init__(self, kinds: Sequence[_RecordKind], shared: Sequence[Sequence[int]]) -> None:
        self.home = [(home, blanks) for home, choices in enumerate(shared) for blanks in choices]
        self.first = len(self.home)
        sizes = [len(kind.covers) for kind in kinds]
        self.kind = [number for number, size in enumerate(sizes) for _ in range(size)]
        self.cover = np.array([cover for kind in kinds for cover in kind.covers], dtype=np.int64)
        starts = self.first + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.of_kind = [list(range(start, end)) for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
        self.size = int(starts[-1])


def _kinds_of_homes(homes: Households, kind_of: IntArray) -> _HouseholdKinds:
    found: dict[tuple[tuple[int, int], ...], int] = {}
    own = np.zeros(len(homes.names), dtype=np.int64)
    bounds = np.searchsorted(homes.home, np.arange(len(homes.names) + 1))
    for home in range(len(homes.names)):
        kinds, number = np.unique(kind_of[homes.key[bounds[home] : bounds[home + 1]]], return_counts=True)
        own[home] = found.setdefault(tuple(zip(kinds.tolist(), number.tolist(), strict=True)), len(found))
    return _HouseholdKinds(list(found), np.bincount(own, minlength=len(found)), own)


def solve_jointly(problem: SuppressionProblem, patterns: Words, *, seconds: float) -> JointBlanks | None:
    """The optimum under the rule; None where the program grows too large, or under `recount` finds nothing in time.

    Without caps a program that is too large from the beginning is not tried either: there are other ways.
    """
    coded = problem.coded
    if coded.keys.rule == "recount" and coded.size * len(coded.tables) > recount.TUNING.most_cells:
        return None
    program, deadline = JointProgram(problem, patterns), time.monotonic() + seconds
    bound, rounds = 0.0, list[int]()
    for _ in range(recount.TUNING.rounds):
        grown = len(program.doubts.members)
        try:
            step = program.solve(seconds=max(0.1, deadline - time.monotonic()), small=bool(grown or not coded.keys.caps))
        except OutOfTime:
            if coded.keys.rule == "original":
                raise
            return None
        if step is None:
            return None
        rows, found = step
        bound = max(bound, found.bound)
        rounds.append(int((np.bitwise_count(problem.fields_of(rows[1])) * rows[2]).sum()))
        if coded.keys.rule == "original" or not program.doubts.enter(*rows):
            return JointBlanks(rows, bound, tuple(rounds), found.settled)
        if len(program.doubts.members) == grown:
            return None  # the solver's rounding leaves a cell short: it would do so again
    return None


IMPOSSIBLE = 1e30


class _SharedPrices(NamedTuple):
    """For each pattern and set of shared blanks: all units to blank, and what those that are not shared cost in one record."""

    blanks: list[int]
    units: IntArray
    cost: FloatArray


def shared_units(problem: SuppressionProblem) -> list[int]:
    places = [problem.coded.keys.names.index(name) for name in problem.coded.keys.shared]
    units = sorted({int(problem.unit_of[place]) for place in places})
    if len(units) > TUNING.most_shared:
        raise InputError(f"{len(units)} shared fields are more than {TUNING.most_shared}.", hint="Keep those that an intruder may know.")
    return units


def _priced(problem: SuppressionProblem, patterns: Words) -> _SharedPrices:
    shared = shared_units(problem)
    every = sum(1 << unit for unit in shared)
    blanks = [sum(1 << unit for place, unit in enumerate(shared) if number >> place & 1) for number in range(2 ** len(shared))]
    units, cost = np.zeros((len(patterns), len(blanks)), dtype=np.int64), np.zeros((len(patterns), len(blanks)))
    masks = problem.table_masks
    for place, blank in enumerate(blanks):
        left = np.where(masks & blank, 0, masks)
        own = left & ~every
        words = patterns & ~_bits(np.flatnonzero(masks & blank), patterns.shape[1])
        stuck = (patterns & _bits(np.flatnonzero((left != 0) & (own == 0)), patterns.shape[1])).any(axis=1)
        chosen, price = cheapest_covers(words, np.where(own == 0, masks, own), problem.unit_cost)
        units[:, place] = chosen | blank
        cost[:, place] = np.where(stuck, IMPOSSIBLE, price)
    return _SharedPrices(blanks, units, cost)


def _bits(tables: IntArray, words: int) -> Words:
    found = np.zeros(words, dtype=np.uint64)
    for table in tables:
        found[table // 64] |= np.uint64(1) << np.uint64(table % 64)
    return found


def cover_households(problem: SuppressionProblem, patterns: Words) -> tuple[IntArray, float]:
    """Units to blank for each row of `problem.coded.households`, whose patterns these are, and what they cost.

    A shared blank costs nothing in a member of whom the value is unknown anyway.
    """
    homes = problem.coded.households
    assert homes is not None
    distinct, inverse = distinct_patterns(patterns)
    priced = _priced(problem, distinct)
    mass = problem.record_mass[homes.key]
    every = problem.units_of(known_only(problem, homes.key, np.full(homes.key.size, (1 << problem.unit_of.size) - 1, dtype=np.int64)))
    shared = {unit: ((every >> unit) & 1) * int(problem.unit_cost[unit]) for unit in shared_units(problem)}
    total = np.zeros((len(homes.names), len(priced.blanks)))
    for place, blanks in enumerate(priced.blanks):
        each = priced.cost[inverse, place] + sum(cost for unit, cost in shared.items() if blanks >> unit & 1)
        total[:, place] = np.bincount(homes.home, weights=each * mass, minlength=len(homes.names))
    best = np.argmin(total, axis=1)
    units = np.asarray(priced.units[inverse, best[homes.home]], dtype=np.int64)
    return units, float((problem.units_cost(units & every) * mass).sum())
