"""The table server without its web: datasets, answers, store (S2 section 4).

An answer is a slice of a protected table. A table is protected once: stage one, stage two, the guard, the independent audit, one
recording in the store; only then does anything leave. What was answered is answered again, number for number.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import AuditFailed, BackendError, DisclosureRefused, InputError
from statveil.core.provenance import sha256
from statveil.core.secret import SecretKey
from statveil.jobs.server_config import ServerConfig
from statveil.server.engine.answer import AnsweredTable, pack, slice_of, unpack
from statveil.server.engine.attempt import OTHER_TABLE, Attempt, Solver, spread
from statveil.server.engine.dataset import Dataset, MeasureBlock, ServedData, described, load_dataset
from statveil.server.engine.layout import Layout, resolve
from statveil.server.engine.protection.differencing_guard import DifferencingGuard
from statveil.server.engine.protection.settle import settled
from statveil.server.engine.protection.stage_two import seconds_left, solve_table
from statveil.server.engine.query import TableQuery
from statveil.server.store.claims import StoreDoubted, claim
from statveil.server.store.protocol import AnswerRow, Recording, Store, StoreReader
from statveil.server.store.sql import TRY_LATER, open_store

DIFFERENCES = "Together with tables published before, this one would tell about single respondents."

OnAlarm = Callable[[str, str], None]
"""Told the kind of an alarm and its detail, both free of confidential values."""


class ServiceTuning(NamedTuple):
    """Both by judgement."""

    tables_kept: int = 64
    """Protected tables that a process keeps unpacked."""
    most_rounds: int = 6
    """How often a table is solved anew because others recorded meanwhile."""


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
        solver: Solver = solve_table,
    ) -> None:
        self.config, self.store, self.on_alarm, self._solver = config, store, on_alarm, solver
        self._key, self._data = key, data
        try:
            versions, levels = {name: each.version for name, each in data.items()}, {name: each.level_names for name, each in data.items()}
            self._claimed = claim(store, key, versions, levels)
        except BaseException:
            store.close()  # a store that is refused is not held open
            raise
        self._doubted = False
        self._guards: dict[tuple[str, str], DifferencingGuard] = {}
        self._tables: OrderedDict[str, IntArray] = OrderedDict()
        self._described = {name: described(each, config.limits.cells) for name, each in data.items()}

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
        self._claimed.remember(releases)  # a crash may have come between the recording and the counter
        asked, layout = self._resolve(asked)
        values = self._table(row.table)
        if values is None:
            raise BackendError("An answer in the store has lost its table.", hint="Restore the store.")
        answer = slice_of(self._data[asked.dataset], layout, asked, table_hash, values)
        if row.digest != answer.digest() and row.digest != sha256(answer.to_bytes()):  # the second is what stores of older versions hold
            raise AuditFailed("An answer in the store has changed; it is not given out.", hint="Restore the store.")
        return answer

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
        while len(self._tables) > TUNING.tables_kept:
            self._tables.popitem(last=False)
        return values

    def confidential(self, dataset: str) -> tuple[ServedData, SecretKey]:
        """For the office's own evaluation; nothing of it may be answered."""
        return self._data[dataset], self._key

    # --- protecting a table

    def _protect(self, data: ServedData, layout: Layout, asked: TableQuery, client: str) -> AnsweredTable:
        """Solve with what the store knows, then record. What came in between is seen under the store's lock: then it is solved anew,
        without the lock, so that others need not wait for a solver."""
        attempt = Attempt(data=data, layout=layout, block=data.block(layout.measure), client=client, key=self._key, solver=self._solver)
        guard, table_hash = self._guard(data, attempt.block), layout.query.hash(data.version)
        deadline = time.monotonic() + float(self.config.limits.seconds)
        attempt.look(self.store, guard)
        for _ in range(TUNING.most_rounds):
            self._refuse(attempt, attempt.objection(self.store))
            attempt.solve(seconds_left(deadline))
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
                self._claimed.remember(number)
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

    def _record_slice(self, data: ServedData, layout: Layout, asked: TableQuery, values: IntArray) -> AnsweredTable:
        """Another slice of a table that is protected already."""
        with self._recording() as recording:
            answer, number = _recorded(recording, data, layout, asked, values)
        self._claimed.remember(number)
        return answer

    def _guard(self, data: ServedData, block: MeasureBlock) -> DifferencingGuard:
        name = (data.part.id, block.id)
        if name not in self._guards:
            self._guards[name] = DifferencingGuard(block, records=data.part.guard.records, least=float(data.part.noise.least))
        return self._guards[name]

    def _refuse(self, attempt: Attempt, objection: str) -> None:
        """Refuse, if there is an objection, once the officer's list has it."""
        if not objection:
            return
        with self._recording() as recording:
            recording.add_alarm(objection, attempt.spender, attempt.detail())
        self.on_alarm(objection, attempt.detail())
        raise DisclosureRefused(DIFFERENCES, hint=OTHER_TABLE)


def exact_cells(service: TableService, query: TableQuery) -> tuple[IntArray, IntArray, BoolArray]:
    """For the office only: true values, references and sensitivity at the positions of the whole table of a request."""
    layout = service.layout_of(query)
    data, key = service.confidential(query.dataset)
    attempt = Attempt(data=data, layout=layout, block=data.block(layout.measure), client="", key=key, solver=solve_table)
    cells = attempt.cells
    true, reference, sensitive = (
        spread(layout.shape, cells, array) for array in (cells.table.value, cells.reference, cells.sensitivity.sensitive.astype(np.int64))
    )
    return true, reference, sensitive.astype(np.bool_)


def _recorded(recording: Recording, data: ServedData, layout: Layout, asked: TableQuery, values: IntArray) -> tuple[AnsweredTable, int]:
    """The answer, written down, and the number of its recording."""
    answer = slice_of(data, layout, asked, asked.hash(data.version), values)
    recording.add_answer(AnswerRow(answer.hash, asked.canonical(), layout.query.hash(data.version), answer.digest()))
    return answer, recording.count_release()
