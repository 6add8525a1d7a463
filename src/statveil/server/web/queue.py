"""The queue of tables in the making: a bounded number, shared by all who ask for the same one, and found again by any process.

A job is named by the hash of its table. Whoever waits longer than the time budget gets the name instead, and comes back for it;
how a job stands is in a small SQLite file that all processes of a machine read. It holds no number of any table.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import StatveilError
from statveil.server.dataset.query import TableQuery
from statveil.server.engine.answer import AnsweredTable
from statveil.server.web import problems
from statveil.server.web.shared_state import SharedDatabase


class QueueTuning(NamedTuple):
    tick: float = 0.25
    """Fresh answers leave at whole quarters of a second: how long a table took tells about its cells (T20). By judgement."""
    kept_seconds: float = 3_600.0
    """How long the end of a job can be asked for. By judgement."""


TUNING = QueueTuning()
_TABLE = """
CREATE TABLE IF NOT EXISTS job (hash TEXT PRIMARY KEY, dataset TEXT, state TEXT, process INTEGER, begun REAL, problem TEXT) WITHOUT ROWID
"""


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """How a job stands. `problem` is the public words of an error."""

    hash: str
    dataset: str
    state: JobState
    seconds: float
    problem: dict[str, Any] | None = None


class JobStatuses:
    """How each job stands, for every process of the machine."""

    def __init__(self, path: Path) -> None:
        self._database = SharedDatabase(path, _TABLE)

    def begin(self, table_hash: str, dataset: str) -> None:
        now = time.time()
        self._database.run("DELETE FROM job WHERE begun < ?", (now - TUNING.kept_seconds,))
        row = (table_hash, dataset, JobState.WAITING.value, os.getpid(), now)
        self._database.run("INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?, ?, NULL)", row)

    def mark(self, table_hash: str, state: JobState, problem: problems.Problem | None = None) -> None:
        words = None if problem is None else json.dumps(problem.content())
        self._database.run("UPDATE job SET state = ?, problem = ? WHERE hash = ?", (state.value, words, table_hash))

    def status(self, table_hash: str) -> JobStatus | None:
        rows = self._database.run("SELECT dataset, state, process, begun, problem FROM job WHERE hash = ?", (table_hash,))
        if not rows:
            return None
        dataset, word, process, begun, problem = rows[0]
        state = JobState(word)
        if state in (JobState.WAITING, JobState.RUNNING) and not _alive(process):
            state = JobState.LOST
        return JobStatus(
            hash=table_hash,
            dataset=dataset,
            state=state,
            seconds=max(0.0, time.time() - begun),
            problem=None if problem is None else json.loads(problem),
        )

    def close(self) -> None:
        self._database.close()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, PermissionError) as refused:
        return isinstance(refused, PermissionError)  # it is there, and another's
    return True


class TableQueue:
    """The fresh tables that one process has taken on: one is made at a time, so many wait, the rest are sent away."""

    def __init__(
        self,
        answer: Callable[[TableQuery], AnsweredTable],
        statuses: JobStatuses,
        *,
        waiting: int,
        on_change: Callable[[int], object] = lambda in_work: None,
    ) -> None:
        self._answer, self._on_change = answer, on_change
        self._statuses = statuses
        self._most = 1 + waiting
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="table")
        self._open: dict[str, asyncio.Future[AnsweredTable]] = {}

    def submit(self, query: TableQuery, table_hash: str) -> asyncio.Future[AnsweredTable]:
        """The table being made for this query, by this call or an earlier one. Raises `Problem` where there is no place left."""
        if table_hash in self._open:
            return self._open[table_hash]
        if len(self._open) >= self._most:
            raise problems.busy()
        self._statuses.begin(table_hash, query.dataset)
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._make, query, table_hash)
        self._open[table_hash] = future
        self._on_change(len(self._open))
        future.add_done_callback(lambda done: self._finish(table_hash, done))
        return future

    def _make(self, query: TableQuery, table_hash: str) -> AnsweredTable:
        self._statuses.mark(table_hash, JobState.RUNNING)
        try:
            made = self._answer(query)
        except Exception as error:
            told = problems.from_error(error) if isinstance(error, StatveilError) else problems.internal()
            self._statuses.mark(table_hash, JobState.FAILED, told)
            raise
        self._statuses.mark(table_hash, JobState.DONE)
        return made

    def _finish(self, table_hash: str, done: asyncio.Future[AnsweredTable]) -> None:
        self._open.pop(table_hash, None)
        self._on_change(len(self._open))
        if not done.cancelled():
            done.exception()  # taken note of: nobody may be waiting any more

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


async def wait_for_tick(begun: float) -> None:
    """Sleep to the next whole quarter of a second since `begun` (of the monotonic clock)."""
    passed = time.monotonic() - begun
    await asyncio.sleep(-passed % TUNING.tick)
