"""Where tables are given out: from memory, from the store, or made afresh; each handing out is written down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from statveil.core.errors import StatveilError
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.query import TableQuery
from statveil.server.engine.service import TableService
from statveil.server.store.audit_log import Journal
from statveil.server.web import problems
from statveil.server.web.auth import Caller
from statveil.server.web.formats import Format
from statveil.server.web.metrics import Metrics
from statveil.server.workers.cache import Written, WrittenTables
from statveil.server.workers.queue import Desk, wait_for_tick

_MOST_CACHED = 1 << 26
_READERS = 4
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Given:
    """A table on its way out, or (`body` None) the name of the job that makes it."""

    hash: str
    body: bytes | None


@dataclass(frozen=True, kw_only=True)
class Counter:
    service: TableService
    desk: Desk
    journal: Journal
    metrics: Metrics
    budget: float
    written: WrittenTables = field(default_factory=lambda: WrittenTables(_MOST_CACHED))
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_READERS, thread_name_prefix="reader"))

    async def give(self, caller: Caller, query: TableQuery, form: Format) -> Given:
        """The table for a query; past the time budget its name, to come back for."""
        begun = time.monotonic()
        table_hash = self.service.check(query)
        body = await self.stored(caller, table_hash, form)
        if body is not None:
            return Given(hash=table_hash, body=body)
        try:
            return await self._fresh(caller, query, table_hash, form)
        finally:
            await wait_for_tick(begun)

    async def _fresh(self, caller: Caller, query: TableQuery, table_hash: str, form: Format) -> Given:
        facts: dict[str, Any] = {"key": caller.id, "dataset": query.dataset, "table": table_hash}
        making = self.desk.ask(query, table_hash, caller.id)
        try:
            answer = await asyncio.wait_for(asyncio.shield(making), self.budget)
        except TimeoutError:
            self.journal.write("table promised", query=query.canonical(), **facts)
            making.add_done_callback(lambda done: self._note_late(done, facts))
            return Given(hash=table_hash, body=None)
        except StatveilError as error:
            problem = problems.from_error(error)
            await self.read(lambda: self.journal.write("table refused", sure=True, query=query.canonical(), code=problem.code, **facts))
            self.metrics.tables.labels(how="refused").inc()
            raise problem from None
        await self.read(lambda: self.journal.write("table given", sure=True, query=query.canonical(), form=form.name, **facts))
        self.metrics.tables.labels(how="fresh").inc()
        return Given(hash=table_hash, body=await self._write(answer, form))

    def _note_late(self, done: asyncio.Future[AnsweredTable], facts: Mapping[str, Any]) -> None:
        """What became of a table that was promised; whoever fetches it is noted then."""
        error = None if done.cancelled() else done.exception()
        code = problems.from_error(error).code if isinstance(error, StatveilError) else "internal" if error else None
        self.journal.write("table made" if error is None else "table refused", code=code, **facts)

    async def stored(self, caller: Caller, table_hash: str, form: Format) -> bytes | None:
        """A table that was given out before, if this caller may see it."""
        found = self.written.get(table_hash, form.name)
        if found is None:
            answer = await self.read(lambda: self.service.stored(table_hash, sees=caller.sees))
            if answer is None:
                return None
            found = Written(dataset=answer.dataset, body=await self._write(answer, form))
        if not caller.sees(found.dataset):
            return None
        self.journal.write("table given again", key=caller.id, dataset=found.dataset, table=table_hash, form=form.name)
        self.metrics.tables.labels(how="stored").inc()
        return found.body

    async def _write(self, answer: AnsweredTable, form: Format) -> bytes:
        body = await self.read(lambda: form.write(answer))
        self.written.keep(answer.hash, form.name, Written(dataset=answer.dataset, body=body))
        return body

    async def read(self, work: Callable[[], Result]) -> Result:
        """Do short work beside the event loop, so that nobody else waits for it."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, work)

    def close(self) -> None:
        self.desk.close()
        self.readers.shutdown(wait=False, cancel_futures=True)
