"""The table server without its web: datasets, answers, store.

An answer is a slice of sums of one protected cube (docs/server-protection.md): prepared once, the same for ever, with no solver at request
time and no refusal but by arithmetic on the request. In mode section4 the second stage of S2 (section 4) solves each table for itself.
Every answer is recorded before it leaves, and given again number for number.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import AuditFailed, BackendError, InputError
from statveil.core.secret import SecretKey
from statveil.jobs.server_config import ServerConfig
from statveil.server.cube.cube import Cube
from statveil.server.dataset.dataset import AccuracyClass, Dataset, ServedData, described, load_dataset
from statveil.server.dataset.layout import Layout, resolve
from statveil.server.dataset.query import TableQuery
from statveil.server.engine import section4
from statveil.server.engine.answer import AnsweredTable, WholeTable, pack, slice_of, unpack
from statveil.server.engine.cubes import Progress, depth_of, ready_cubes
from statveil.server.engine.restart import describe, described_before
from statveil.server.store.claims import StoreDoubted, claim
from statveil.server.store.protocol import AnswerRow, Recording, Store, StoreReader
from statveil.server.store.sql import open_store

OnAlarm = Callable[[str, str], None]
"""Told the kind of an alarm and its detail, both free of confidential values."""


class ServiceTuning(NamedTuple):
    tables_kept: int = 64
    """Tables that a process keeps added up. By judgement."""


TUNING = ServiceTuning()


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
        solver: section4.Solver = section4.second_stage,
        progress: Progress = lambda words: None,
    ) -> None:
        self.config, self.store, self.on_alarm, self._solver = config, store, on_alarm, solver
        self._key, self._data = key, data
        try:
            versions, levels = {name: each.version for name, each in data.items()}, {name: each.level_names for name, each in data.items()}
            self._claimed = claim(store, key, versions, levels)
            self._cubes = {name: ready_cubes(store, self._claimed, key, each, progress) for name, each in data.items()}
        except BaseException:
            store.close()  # a store that is refused is not held open
            raise
        self._doubted = False
        self._tables: OrderedDict[str, WholeTable] = OrderedDict()
        self._described = {name: described(each, config.limits.cells, self._accuracy(name)) for name, each in data.items()}

    @classmethod
    def open(
        cls,
        config: ServerConfig,
        key: SecretKey,
        *,
        on_alarm: OnAlarm = lambda kind, detail: None,
        solver: section4.Solver = section4.second_stage,
        progress: Progress = lambda words: None,
    ) -> TableService:
        """Read the data that are not stored yet, check the key against the store (T22, F18), and prepare."""
        store = open_store(config)
        before = {part.id: described_before(config, part, key, store) for part in config.datasets}
        data = {part.id: before[part.id] or load_dataset(config, part, key) for part in config.datasets}
        service = cls(config, key, data, store, on_alarm=on_alarm, solver=solver, progress=progress)
        for name in (name for name, found in before.items() if found is None):
            describe(config, data[name], key, store)
        return service

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        return self._described

    def _accuracy(self, dataset: str) -> dict[str, tuple[AccuracyClass, ...]]:
        """By measure, where answers are sums of a cube."""
        if self._data[dataset].part.mode != "cube":
            return {}
        return {measure: cube.accuracy.classes for measure, cube in self._cubes[dataset].items()}

    def cube(self, dataset: str, measure: str) -> Cube:
        return self._cubes[dataset][measure]

    def close(self) -> None:
        self.store.close()

    def check(self, query: TableQuery) -> str:
        """The hash that the answer will have; InputError for what cannot be asked. Costs next to nothing."""
        asked, _ = self._resolve(query)
        return asked.hash(self._data[query.dataset].version)

    def answer(self, query: TableQuery) -> AnsweredTable:
        """The protected table, recorded before it returns. Raises InputError by arithmetic alone, BackendError where the store fails."""
        asked, layout = self._resolve(query)
        data = self._data[query.dataset]
        hash_ = asked.hash(data.version)
        known = self.stored(hash_)
        if known is not None:
            return known
        answer = self._slice(layout, asked, hash_, self._table(layout) or self._protect(data, layout))
        base = self._base(layout)
        with self._recording() as recording:
            recording.add_answer(AnswerRow(hash_, asked.canonical(), base, answer.digest()))
            number = recording.count_release()
        self._claimed.remember(number)
        return answer

    def stored(self, table_hash: str, *, sees: Callable[[str], bool] = lambda dataset: True) -> AnsweredTable | None:
        """An earlier answer by its hash: the same numbers as when it was given, or an error. None if its dataset is not seen."""
        releases = self._check(self.store)
        row = self.store.answer(table_hash)
        if row is None:
            return None
        asked = TableQuery.from_canonical(row.query)
        if not sees(asked.dataset):
            return None
        self._claimed.remember(releases)  # a crash may have come between the recording and the counter
        asked, layout = self._resolve(asked)
        table = self._table(layout)
        if table is None:
            raise BackendError("An answer in the store has lost its table.", hint="Restore the store.")
        answer = self._slice(layout, asked, table_hash, table)
        if row.digest != answer.digest():
            raise AuditFailed("An answer in the store has changed; it is not given out.", hint="Restore the store.")
        return answer

    def _slice(self, layout: Layout, asked: TableQuery, hash_: str, table: WholeTable) -> AnsweredTable:
        accuracy = self._described[asked.dataset].accuracy.get(asked.measure, ())
        return slice_of(self._data[asked.dataset], layout, asked, hash_, table, accuracy)

    def layout_of(self, query: TableQuery) -> Layout:
        """The table, with all its totals, that a request is a slice of."""
        return self._resolve(query)[1]

    def _resolve(self, query: TableQuery) -> tuple[TableQuery, Layout]:
        if query.dataset not in self._data:
            raise InputError(f"There is no dataset {query.dataset!r}.", hint="GET /v1/datasets lists them.")
        data = self._data[query.dataset]
        data.measure(query.measure)
        asked, layout = resolve(query, data.dimensions, cells=self.config.limits.cells)
        depth_of(data.part).check(layout)
        return asked, layout

    def _solves(self, layout: Layout) -> bool:
        """Whether tables like this are solved one by one: in the paper's mode, but for counts."""
        data = self._data[layout.dataset]
        return data.part.mode == "section4" and not data.measure(layout.measure).counts

    def _base(self, layout: Layout) -> str:
        return layout.query.hash(self._data[layout.dataset].version) if self._solves(layout) else ""

    def _table(self, layout: Layout) -> WholeTable | None:
        """All numbers of a layout: of the cube, or as the paper's mode has recorded them (None: not yet)."""
        name = layout.query.hash(self._data[layout.dataset].version)
        kept = self._tables.get(name)
        if kept is not None:
            with suppress(KeyError):  # another thread may have given it up just now
                self._tables.move_to_end(name)
            return kept
        if self._solves(layout):
            body = self.store.table(name)
            if body is None:
                return None
            table = WholeTable(*unpack(body)[1:])
        else:
            table = cube_table(self._cubes[layout.dataset][layout.measure], layout)
        self._tables[name] = table
        while len(self._tables) > TUNING.tables_kept:
            self._tables.popitem(last=False)
        return table

    def confidential(self, dataset: str) -> tuple[ServedData, SecretKey]:
        """For the office's own evaluation, with the records; nothing of it may be answered."""
        data = self._data[dataset]
        return data if data.blocks else load_dataset(self.config, data.part, self._key), self._key

    def _protect(self, data: ServedData, layout: Layout) -> WholeTable:
        """The paper's mode: solve, audit, record; of two that solve at once the first to record decides."""
        deadline = time.monotonic() + float(self.config.limits.seconds)
        cube = cube_table(self._cubes[layout.dataset][layout.measure], layout)
        values = section4.protected_table(self._key, data, layout, cube.values, solver=self._solver, seconds=deadline - time.monotonic())
        with self._recording() as recording:
            recording.add_table(self._base(layout), pack({}, values, np.zeros(values.shape, np.bool_)))
            number = recording.count_release()
        self._claimed.remember(number)
        made = self._table(layout)
        if made is None:
            raise BackendError("A table that was recorded is not in the store.", hint="Restore the store.")
        return made

    @contextmanager
    def _recording(self) -> Iterator[Recording]:
        """A recording in the store that was claimed: no other one, and none that has forgotten anything."""
        with self.store.recording() as recording:
            self._check(recording)
            yield recording

    def _check(self, store: StoreReader) -> int:
        """How much the store has released. The officer is told once when it is doubted, and it is good again when it passes."""
        try:
            releases = self._claimed.check(store)
        except StoreDoubted as doubt:
            if not self._doubted:
                self._doubted = True
                self.on_alarm("store refused", doubt.message)
            raise
        self._doubted = False
        return releases


def cube_table(cube: Cube, layout: Layout) -> WholeTable:
    """The sums of a cube over a layout; where a count of zero would tell that there is somebody, it is not told."""
    values = cube.values(layout)
    return WholeTable(values, cube.suppressed(layout))


def exact_cells(service: TableService, query: TableQuery) -> tuple[IntArray, BoolArray]:
    """For the office only: true values and sensitivity at the positions of the whole table of a request."""
    data, key = service.confidential(query.dataset)
    return section4.true_cells(key, data, service.layout_of(query))
