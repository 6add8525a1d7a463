"""The dispatcher gives tables out: from its cache, from the store, or made afresh by the queue; each is written to the audit log."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from statveil.core.api_keys import Caller
from statveil.core.audit_log import AuditLog
from statveil.core.errors import StatveilError
from statveil.server.dataset.query import TableQuery
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.service import TableService
from statveil.server.web import problems
from statveil.server.web.formats import Format
from statveil.server.web.metrics import Metrics
from statveil.server.web.queue import TableQueue, wait_for_tick

Result = TypeVar("Result")


class DispatchTuning(NamedTuple):
    cached_bytes: int = 1 << 26
    """Of written tables, in each process. By judgement."""
    largest_share: int = 4
    """A table larger than this part of the cache is not kept. By judgement."""
    readers: int = 4
    """Threads for short work beside the event loop. By judgement."""


TUNING = DispatchTuning()


@dataclass(frozen=True, kw_only=True)
class CachedTable:
    """A table in one format; `dataset` decides who may see it."""

    dataset: str
    body: bytes


class TableCache:
    """Written tables kept in memory, at most so many bytes, the least used given up first. They never change, so they never grow old."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._kept: OrderedDict[tuple[str, str], CachedTable] = OrderedDict()

    def get(self, table_hash: str, form: str) -> CachedTable | None:
        found = self._kept.get((table_hash, form))
        if found is not None:
            self._kept.move_to_end((table_hash, form))
        return found

    def keep(self, table_hash: str, form: str, written: CachedTable) -> None:
        if (table_hash, form) in self._kept or len(written.body) > self._most // TUNING.largest_share:
            return
        self._kept[table_hash, form] = written
        self._size += len(written.body)
        while self._size > self._most:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old.body)


@dataclass(frozen=True, kw_only=True)
class DispatchedTable:
    """A table on its way out, or (`body` None) the name of the job that makes it."""

    hash: str
    body: bytes | None


@dataclass(frozen=True, kw_only=True)
class TableDispatcher:
    service: TableService
    queue: TableQueue
    audit_log: AuditLog
    metrics: Metrics
    budget: float
    cache: TableCache = field(default_factory=lambda: TableCache(TUNING.cached_bytes))
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(TUNING.readers, thread_name_prefix="reader"))

    async def dispatch(self, caller: Caller, query: TableQuery, form: Format) -> DispatchedTable:
        """The table for a query; past the time budget its name, to come back for."""
        begun = time.monotonic()
        table_hash = self.service.check(query)
        body = await self.stored(caller, table_hash, form)
        if body is not None:
            return DispatchedTable(hash=table_hash, body=body)
        try:
            return await self._fresh(caller, query, table_hash, form)
        finally:
            await wait_for_tick(begun)

    async def _fresh(self, caller: Caller, query: TableQuery, table_hash: str, form: Format) -> DispatchedTable:
        facts: dict[str, Any] = {"key": caller.id, "dataset": query.dataset, "table": table_hash}
        making = self.queue.submit(query, table_hash)
        try:
            answer = await asyncio.wait_for(asyncio.shield(making), self.budget)
        except TimeoutError:
            self.audit_log.write("table promised", query=query.canonical(), **facts)
            making.add_done_callback(lambda done: self._note_late(done, facts))
            return DispatchedTable(hash=table_hash, body=None)
        except StatveilError as error:
            problem = problems.from_error(error)
            await self.read(lambda: self.audit_log.write("table refused", sure=True, query=query.canonical(), code=problem.code, **facts))
            self.metrics.tables.labels(how="refused").inc()
            raise problem from None
        await self.read(lambda: self.audit_log.write("table given", sure=True, query=query.canonical(), form=form.name, **facts))
        self.metrics.tables.labels(how="fresh").inc()
        return DispatchedTable(hash=table_hash, body=await self._write(answer, form))

    def _note_late(self, done: asyncio.Future[AnsweredTable], facts: Mapping[str, Any]) -> None:
        """What became of a table that was promised; whoever fetches it is noted then."""
        error = None if done.cancelled() else done.exception()
        code = problems.from_error(error).code if isinstance(error, StatveilError) else "internal" if error else None
        self.audit_log.write("table made" if error is None else "table refused", code=code, **facts)

    async def stored(self, caller: Caller, table_hash: str, form: Format) -> bytes | None:
        """A table that was given out before, if this caller may see it."""
        found = self.cache.get(table_hash, form.name)
        if found is None:
            answer = await self.read(lambda: self.service.stored(table_hash, sees=caller.sees))
            if answer is None:
                return None
            found = CachedTable(dataset=answer.dataset, body=await self._write(answer, form))
        if not caller.sees(found.dataset):
            return None
        self.audit_log.write("table given again", key=caller.id, dataset=found.dataset, table=table_hash, form=form.name)
        self.metrics.tables.labels(how="stored").inc()
        return found.body

    async def _write(self, answer: AnsweredTable, form: Format) -> bytes:
        body = await self.read(lambda: form.write(answer))
        self.cache.keep(answer.hash, form.name, CachedTable(dataset=answer.dataset, body=body))
        return body

    async def read(self, work: Callable[[], Result]) -> Result:
        """Do short work beside the event loop, so that nobody else waits for it."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, work)

    def close(self) -> None:
        self.queue.close()
        self.readers.shutdown(wait=False, cancel_futures=True)
