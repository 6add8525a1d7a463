"""The table server without its web: datasets, answers, store (S2 section 4).

An answer is a slice of a protected table. A table is protected once: stage one, stage two, the guard, the independent audit, one
recording in the store; only then does anything leave. What was answered is answered again, number for number.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from statveil.arrays import BoolArray, IntArray
from statveil.audit.answers import AnswerEvidence, audit_answer
from statveil.errors import AuditFailed, BackendError, DisclosureRefused, InputError, OutOfTime
from statveil.provenance import sha256
from statveil.serve.answer import AnsweredDimension, AnsweredTable, pack, unpack
from statveil.serve.claims import StoreDoubted, claim
from statveil.serve.config import ServerConfig
from statveil.serve.dataset import MeasureBlock, ServedData, load_dataset
from statveil.serve.guard import Guard, Slivers
from statveil.serve.layout import Layout, resolve, shown_codes
from statveil.serve.populations import PublishedPopulation, fact_name, read_populations, sensitive_sliver, write_populations
from statveil.serve.query import DimensionChoice, TableQuery
from statveil.serve.secret import SecretKey
from statveil.serve.settle import settled
from statveil.serve.stage_one import CellTable, tabulate_cells
from statveil.serve.stage_two import ASK_OTHERWISE, Fences, Pins, Solved, no_fences, reference_if_safe, solve_table
from statveil.serve.store.open import open_store
from statveil.serve.store.protocol import AnswerRow, CellRow, Pin, Reader, Recording, Store
from statveil.serve.store.sql import TRY_LATER

__all__ = ["AnsweredDimension", "AnsweredTable", "Dataset", "DimensionChoice", "TableQuery", "TableService"]

TABLES_KEPT = 64
"""Protected tables that a process keeps unpacked."""
MOST_ROUNDS = 6
"""How often a table is solved anew because others recorded meanwhile."""
DIFFERENCES = "Together with tables published before, this one would tell about single respondents."
OTHER_TABLE = "Ask for other dimensions or a higher level."
POPULATION_REFUSED, SECOND_REFUSED = "population refused", "second value refused"
FAULT = "The check of the answer found a fault; nothing was released."

Solver = Callable[..., Solved]
"""`solve_table`, or the same in a process of its own."""
OnAlarm = Callable[[str, str], None]
"""Told the kind of an alarm and its detail, both free of confidential values."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a dimension: `codes` are the codes that a table at this level shows, without their totals."""

    id: str
    codes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DatasetDimension:
    """`parents[tree][code]`: one mapping for each alternative hierarchy. `levels`: from the highest to the lowest (the last one)."""

    id: str
    label: str
    total: str
    levels: tuple[Level, ...]
    codes: tuple[str, ...]
    labels: Mapping[str, str]
    parents: tuple[Mapping[str, str], ...]
    filter: bool
    population: bool = False


@dataclass(frozen=True, kw_only=True)
class DatasetMeasure:
    id: str
    label: str
    unit: str
    decimals: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What readers may know of a dataset before they ask. `cells`: positions, totals included, that one table may have."""

    id: str
    label: str
    version: str
    mode: str
    dimensions: tuple[DatasetDimension, ...]
    measures: tuple[DatasetMeasure, ...]
    cells: int


class TableService:
    """Answers requests. One instance per process; the store is shared by all of them."""

    def __init__(
        self,
        config: ServerConfig,
        key: SecretKey,
        data: Mapping[str, ServedData],
        store: Store,
        *,
        on_alarm: OnAlarm = lambda kind, detail: None,
        solver: Solver = solve_table,
    ) -> None:
        self.config, self.store, self.on_alarm, self._solver = config, store, on_alarm, solver
        self._key, self._data = key, data
        try:
            versions, levels = {name: each.version for name, each in data.items()}, {name: each.level_names for name, each in data.items()}
            self._bond = claim(store, key, versions, levels)
        except BaseException:
            store.close()  # a store that is refused is not held open
            raise
        self._doubted = False
        self._guards: dict[tuple[str, str], Guard] = {}
        self._tables: OrderedDict[str, IntArray] = OrderedDict()
        self._described = {name: _described(each, config.limits.cells) for name, each in data.items()}

    @classmethod
    def open(
        cls, config: ServerConfig, key: SecretKey, *, on_alarm: OnAlarm = lambda kind, detail: None, solver: Solver = solve_table
    ) -> TableService:
        """Read the data, check the key against the store (T22, F18)."""
        data = {part.id: settled(load_dataset(config, part, key)) for part in config.datasets}
        return cls(config, key, data, open_store(config), on_alarm=on_alarm, solver=solver)

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        return self._described

    def close(self) -> None:
        self.store.close()

    def check(self, query: TableQuery) -> str:
        """The hash that the answer will have; InputError for what cannot be asked. Costs next to nothing."""
        asked, _ = self._resolve(query)
        return asked.hash(self._data[query.dataset].version)

    def answer(self, query: TableQuery, *, client: str = "") -> AnsweredTable:
        """The protected table, audited and recorded before it returns.

        Raises InputError, DisclosureRefused, OutOfTime, BackendError. `client` says whose budget of near-duplicates it counts to.
        """
        asked, layout = self._resolve(query)
        data = self._data[query.dataset]
        hash_ = asked.hash(data.version)
        known = self.stored(hash_)
        if known is not None:
            return known
        values = self._table(layout.query.hash(data.version))
        return self._protect(data, layout, asked, client) if values is None else self._record_slice(data, layout, asked, values)

    def stored(self, table_hash: str, *, sees: Callable[[str], bool] = lambda dataset: True) -> AnsweredTable | None:
        """An earlier answer by its hash: the same numbers as when it was given, or an error. None if its dataset is not seen."""
        releases = self._check(self.store)
        row = self.store.answer(table_hash)
        if row is None:
            return None
        asked = TableQuery.from_canonical(row.query)
        if not sees(asked.dataset):
            return None
        self._bond.remember(releases)  # a crash may have come between the recording and the counter
        asked, layout = self._resolve(asked)
        values = self._table(row.table)
        if values is None:
            raise BackendError("An answer in the store has lost its table.", hint="Restore the store.")
        answer = _slice(self._data[asked.dataset], layout, asked, table_hash, values)
        if row.digest != answer.digest() and row.digest != sha256(answer.to_bytes()):  # the second is what stores of older versions hold
            raise AuditFailed("An answer in the store has changed; it is not given out.", hint="Restore the store.")
        return answer

    def has_table(self, query: TableQuery) -> bool:
        """Whether the table that a request is a slice of is protected already."""
        asked, layout = self._resolve(query)
        return self._table(layout.query.hash(self._data[asked.dataset].version)) is not None

    def layout_of(self, query: TableQuery) -> Layout:
        """The table, with all its totals, that a request is a slice of."""
        return self._resolve(query)[1]

    def _resolve(self, query: TableQuery) -> tuple[TableQuery, Layout]:
        if query.dataset not in self._data:
            raise InputError(f"There is no dataset {query.dataset!r}.", hint="GET /v1/datasets lists them.")
        data = self._data[query.dataset]
        data.block(query.measure)
        return resolve(query, data.dimensions, cells=self.config.limits.cells)

    def _table(self, hash_: str) -> IntArray | None:
        """The numbers of a protected table, if it is in the store."""
        kept = self._tables.get(hash_)
        if kept is not None:
            with suppress(KeyError):  # another thread may have given it up just now
                self._tables.move_to_end(hash_)
            return kept
        body = self.store.table(hash_)
        if body is None:
            return None
        return self._keep(hash_, unpack(body)[1])

    def _keep(self, hash_: str, values: IntArray) -> IntArray:
        self._tables[hash_] = values
        while len(self._tables) > TABLES_KEPT:
            self._tables.popitem(last=False)
        return values

    def confidential(self, dataset: str) -> tuple[ServedData, SecretKey]:
        """For the office's own evaluation; nothing of it may be answered."""
        return self._data[dataset], self._key

    # --- protecting a table

    def _protect(self, data: ServedData, layout: Layout, asked: TableQuery, client: str) -> AnsweredTable:
        """Solve with what the store knows, then record. What came in between is seen under the store's lock: then it is solved anew,
        without the lock, so that others need not wait for a solver."""
        attempt = _Attempt(data=data, layout=layout, block=data.block(layout.measure), client=client, key=self._key, solver=self._solver)
        guard, table_hash = self._guard(data, attempt.block), layout.query.hash(data.version)
        deadline = time.monotonic() + float(self.config.limits.seconds)
        attempt.look(self.store, guard)
        for _ in range(MOST_ROUNDS):
            self._refuse(attempt, attempt.objection(self.store))
            attempt.solve(_left(deadline))
            self._refuse(attempt, attempt.broken_promise())
            with self._recording() as recording:
                made = recording.table(table_hash)
                current = made is None and not attempt.look(recording, guard)
                objection = attempt.too_near(recording) if current else ""
                if current and not objection:
                    values = attempt.audited()
                    attempt.record(recording)
                    recording.add_table(table_hash, pack({}, values, np.zeros(values.shape, np.bool_)))
                    answer, number = _recorded(recording, data, layout, asked, values)
            self._refuse(attempt, objection)
            if made is not None:
                return self._record_slice(data, layout, asked, self._keep(table_hash, unpack(made)[1]))
            if current:
                self._bond.remember(number)
                self._keep(table_hash, values)
                for kind, detail in attempt.alarms():
                    self.on_alarm(kind, detail)
                return answer
        raise BackendError("Others record faster than this table is solved.", hint=TRY_LATER)

    @contextmanager
    def _recording(self) -> Iterator[Recording]:
        """A recording in the store that was claimed: no other one, and none that has forgotten anything."""
        with self.store.recording() as recording:
            self._check(recording)
            yield recording

    def _check(self, store: Reader) -> int:
        """How much the store has released. The officer is told once when it is doubted, and it is good again when it passes."""
        try:
            releases = self._bond.check(store)
        except StoreDoubted as doubt:
            if not self._doubted:
                self._doubted = True
                self.on_alarm("store refused", doubt.message)
            raise
        self._doubted = False
        return releases

    def _record_slice(self, data: ServedData, layout: Layout, asked: TableQuery, values: IntArray) -> AnsweredTable:
        """Another slice of a table that is protected already."""
        with self._recording() as recording:
            answer, number = _recorded(recording, data, layout, asked, values)
        self._bond.remember(number)
        return answer

    def _guard(self, data: ServedData, block: MeasureBlock) -> Guard:
        name = (data.part.id, block.id)
        if name not in self._guards:
            self._guards[name] = Guard(block, records=data.part.guard.records, least=float(data.part.noise.least))
        return self._guards[name]

    def _refuse(self, attempt: _Attempt, objection: str) -> None:
        """Refuse, if there is an objection, once the officer's list has it."""
        if not objection:
            return
        with self._recording() as recording:
            recording.add_alarm(objection, attempt.spender, attempt.detail())
        self.on_alarm(objection, attempt.detail())
        raise DisclosureRefused(DIFFERENCES, hint=OTHER_TABLE)


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise OutOfTime("The table was not protected in the time allowed.", hint=ASK_OTHERWISE)
    return seconds


@dataclass(kw_only=True, repr=False)
class _Attempt:
    """One table on its way: its cells, what the store knows of them, the numbers found."""

    data: ServedData
    layout: Layout
    block: MeasureBlock
    client: str
    key: SecretKey
    solver: Solver
    cells: CellTable = field(init=False)
    known: dict[bytes, Pin] = field(default_factory=dict)
    populations: list[PublishedPopulation] = field(default_factory=list)
    pins: Pins = field(init=False)
    pairs: Slivers = field(init=False)
    moved: BoolArray = field(init=False)
    fences: Fences = field(init=False)
    solved: Solved = field(init=False)

    def __post_init__(self) -> None:
        ids = [dimension.id for dimension in self.data.dimensions]
        self.axes = [ids.index(dimension.id) for dimension in self.layout.dimensions]
        self.cells = tabulate_cells(self.key, self.block, self.layout, self.axes)
        self.last_seen, self.inside = -1, 0

    @property
    def spender(self) -> str:
        """The client as the store knows it."""
        return self.key.digest("client", self.client.encode(), size=8).hex()

    def look(self, store: Reader, guard: Guard) -> bool:
        """Read what was published of these cells and near them; tells whether anything is new since the last look."""
        guard.learn(store.seen(self.block.space, guard.last))
        populations = read_populations(store.fact(fact_name(self.key, self.block))) if self.layout.populations else []
        if guard.last == self.last_seen and populations == self.populations:
            return False  # cells are only ever added: where none is, nothing else has changed
        first, self.last_seen = self.last_seen < 0, guard.last
        known = store.pins(self.cells.ids)
        found = [known.get(each, Pin(0, -1)) for each in self.cells.ids]
        value = np.array([each.value for each in found], dtype=np.int64)
        pins = Pins(np.array([each.sense for each in found], dtype=np.int64), value >= 0, value)
        pairs = guard.find(self.cells, ~pins.published | (self.data.part.mode == "anchored"))  # there what was published may yet move
        if not first and known == self.known and populations == self.populations and all(map(np.array_equal, pairs, self.pairs)):
            return False  # what came does not touch this table
        self.known, self.populations, self.pins, self.pairs, self.guard = known, populations, pins, pairs, guard
        self.moved = np.zeros(self.cells.size, np.bool_)
        self.inside = guard.within(self.cells, ~self.pins.published)
        virtual = self.data.part.guard_action == "virtual"
        self.fences = guard.fences(self.cells, self.pairs) if virtual else no_fences(self.cells.size)
        return True

    @property
    def slivers(self) -> Slivers:
        """Pairs of the cells that leave with a number they have not had: new ones, and once it is solved, those that moved."""
        return self.pairs.of(~self.pins.published | self.moved)

    def objection(self, store: Reader) -> str:
        """Why the guard wants the request refused: by the officer's word, or because a budget is spent; empty if it does not.

        A population that comes too near to what was published is always refused: readers make as many of them as they like.
        """
        if self.layout.populations and (
            not self.slivers.inside.all() or sensitive_sliver(self.data, self.block, self.layout, self.populations)
        ):
            return POPULATION_REFUSED
        return self.too_near(store)

    def too_near(self, store: Reader) -> str:
        """Under the lock as well: budgets are spent by all measures and all processes."""
        pairs, limits = self.slivers.size, self.data.part.guard
        if not pairs:
            return ""
        if self.data.part.guard_action == "refuse":
            return "differences refused"
        budgets = (("", limits.budget), (self.spender, limits.budget_per_client))
        over = any(budget is not None and store.spent(client) + pairs > budget for client, budget in budgets)
        return "budget of near-duplicates spent" if over else ""

    def broken_promise(self) -> str:
        """What was published must be kept by the table of a population, or differences would be protected by nothing; and by any
        table, if the officer would rather have it refused."""
        if not self.replaced:
            return ""
        refused = SECOND_REFUSED if self.data.part.guard_action == "refuse" else ""
        return POPULATION_REFUSED if self.layout.populations else refused

    @property
    def replaced(self) -> int:
        """Cells that were published with another number."""
        return int(self.moved.sum())

    def solve(self, seconds: float) -> None:
        """The reference itself where that is safe, which needs no solver; else the closest safe table."""
        part = self.data.part
        told: dict[str, Any] = {"mode": part.mode, "cap": float(part.cap), "pins": self.pins, "fences": self.fences}
        found = reference_if_safe(self.cells, self.block, **told)
        self.solved = self.solver(self.cells, self.block, **told, seconds=seconds) if found is None else found
        if part.mode == "anchored":
            self.moved = self.pins.published & (self.solved.value != self.pins.value)

    def audited(self) -> IntArray:
        """The numbers in the shape of the table, once the independent audit has passed."""
        shape, cells = self.layout.shape, self.cells
        evidence = AnswerEvidence(
            dimensions=self.layout.cuts,
            places=np.stack([level.position[self.block.leaf[axis]] for axis, level in zip(self.axes, self.layout.levels, strict=True)]),
            amounts=self.block.value,
            true=_spread(shape, cells, cells.table.value),
            released=_spread(shape, cells, self.solved.value),
            sense=_spread(shape, cells, self.solved.sense),
            level=_spread(shape, cells, self.solved.floor),
            pinned=_spread(shape, cells, self.pins.sense),
            smallest=self.block.smallest,
        )
        if not audit_answer(evidence).passed:
            raise AuditFailed(FAULT, hint=OTHER_TABLE)
        return evidence.released

    def record(self, recording: Recording) -> None:
        """Insert or ignore, read back, and compare: what is answered is what the store holds.

        A second number of a cell is a row of its own, under a name that the number is part of: the first stays what it is pinned to.
        """
        cells, solved = self.cells, self.solved
        prints = np.stack([cells.low.astype("<u8"), cells.high.astype("<u8")], axis=1).tobytes()
        columns = zip(cells.ids, solved.sense.tolist(), solved.value.tolist(), cells.table.records.tolist(), strict=True)
        recording.add_cells(
            [
                CellRow(self._name(id_, value), self.block.space, sense, value, records, prints[16 * place : 16 * place + 16])
                for place, (id_, sense, value, records) in enumerate(columns)
                if id_ not in self.known or self.moved[place]
            ]
        )
        back = recording.pins(cells.ids)
        senses = np.array([back[each].sense for each in cells.ids], dtype=np.int64)
        values = np.array([back[each].value for each in cells.ids], dtype=np.int64)
        if (senses != solved.sense).any() or (values != solved.value)[~self.pins.published].any():
            raise AuditFailed(FAULT, hint=OTHER_TABLE)
        if self.layout.populations:
            recording.set_fact(fact_name(self.key, self.block), write_populations([*self.populations, PublishedPopulation.of(self.layout)]))
        if self.slivers.size:
            recording.spend("", self.slivers.size)
            recording.spend(self.spender, self.slivers.size)
        for kind, detail in self.alarms():
            recording.add_alarm(kind, self.spender, detail)

    def _name(self, id_: bytes, value: int) -> bytes:
        return self.key.digest("second value", id_, str(value).encode()) if id_ in self.known else id_

    def alarms(self) -> list[tuple[str, str]]:
        """What the officer is told of: differences of one respondent and how they ended, and published values that were not kept."""
        near, moved = self.guard.not_apart(self.slivers, self.solved.value), self.replaced
        ending = f"{self.detail()}; {near} not kept apart; gave way: {self.solved.given or 'nothing'}"
        found = [("differences", ending)] if self.slivers.size or self.inside else []
        return found + ([("published values replaced in one table", f"{self.layout.query.canonical()}: {moved} cells")] if moved else [])

    def detail(self) -> str:
        pairs = self.slivers.size + self.inside
        return f"{self.layout.query.canonical()}: {pairs} near-duplicates, {self.inside} of them within the table"


def exact_cells(service: TableService, query: TableQuery) -> tuple[IntArray, IntArray, BoolArray]:
    """For the office only: true values, references and sensitivity at the positions of the whole table of a request."""
    layout = service.layout_of(query)
    data, key = service.confidential(query.dataset)
    attempt = _Attempt(data=data, layout=layout, block=data.block(layout.measure), client="", key=key, solver=solve_table)
    cells = attempt.cells
    true, reference, sensitive = (
        _spread(layout.shape, cells, array) for array in (cells.table.value, cells.reference, cells.sensitivity.sensitive.astype(np.int64))
    )
    return true, reference, sensitive.astype(np.bool_)


def _recorded(recording: Recording, data: ServedData, layout: Layout, asked: TableQuery, values: IntArray) -> tuple[AnsweredTable, int]:
    """The answer, written down, and the number of its recording."""
    answer = _slice(data, layout, asked, asked.hash(data.version), values)
    recording.add_answer(AnswerRow(answer.hash, asked.canonical(), layout.query.hash(data.version), answer.digest()))
    return answer, recording.count_release()


def _spread(shape: tuple[int, ...], cells: CellTable, values: IntArray) -> IntArray:
    """Cells at their positions; zero where there are none."""
    spread = np.zeros(shape, dtype=np.int64)
    spread[tuple(cells.view.coordinates.T)] = values[cells.view.cell]
    return spread


def _slice(data: ServedData, layout: Layout, asked: TableQuery, hash_: str, values: IntArray) -> AnsweredTable:
    """The part of a protected table that was asked for: codes picked, filters taken at their code, other dimensions in their order."""
    choices = {choice.id: choice for choice in asked.dimensions}
    dimensions: list[AnsweredDimension] = []
    axis = 0
    for dimension, level in zip(layout.dimensions, layout.levels, strict=True):
        if dimension.id in asked.filters:
            values = np.asarray(values.take(level.place_of(asked.filters[dimension.id]), axis=axis))
            continue
        codes = shown_codes(choices[dimension.id], level, totals=asked.totals)
        values = values.take([level.cut.position[code] for code in codes], axis=axis)
        shown = set(codes)
        dimensions.append(
            AnsweredDimension(
                id=dimension.id,
                label=dimension.label,
                codes=codes,
                labels=tuple(dimension.full.label(code) for code in codes),
                parents=tuple(dimension.parent_of(code, shown) for code in codes),
            )
        )
        axis += 1
    block = data.block(asked.measure)
    return AnsweredTable(
        hash=hash_,
        dataset=asked.dataset,
        measure=block.id,
        measure_label=block.label,
        unit=block.unit,
        decimals=block.decimals,
        dimensions=tuple(dimensions),
        filters=tuple(asked.filters.items()),
        slices=tuple(
            (each.label, tuple(each.full.label(code) for code in asked.filters[each.id]))
            for each in layout.dimensions
            if each.id in asked.filters
        ),
        values=values,
        missing=np.zeros(values.shape, np.bool_),
    )


def _described(data: ServedData, cells: int) -> Dataset:
    dimensions = tuple(
        DatasetDimension(
            id=each.id,
            label=each.label,
            total=each.full.total,
            levels=tuple(Level(id=level.id, codes=level.codes) for level in each.levels),
            codes=each.full.codes,
            labels={code: each.full.label(code) for code in each.full.codes},
            parents=tuple(dict(tree.parent) for tree in each.full.trees),
            filter=each.filter,
            population=each.population,
        )
        for each in data.dimensions
    )
    measures = tuple(DatasetMeasure(id=each.id, label=each.label, unit=each.unit, decimals=each.decimals) for each in data.blocks.values())
    part = data.part
    return Dataset(
        id=part.id, label=part.label or part.id, version=data.version, mode=part.mode, dimensions=dimensions, measures=measures, cells=cells
    )
