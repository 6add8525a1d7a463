"""The worker pool: the server's processes, started together, replaced when one dies, stopped together, and gone when their parent is."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from statveil.core.errors import BackendError, StatveilError
from statveil.server.web.metrics import forget_process

READY = "ready"


class PoolTuning(NamedTuple):
    """All by judgement."""

    young_seconds: float = 5.0
    most_young_deaths: int = 5
    """So many deaths without a word in a row right after the start mean that there is no use in going on."""
    first_pause: float = 1.0
    """Seconds between attempts of a process that says why it cannot begin: the store may be away, and it comes back."""
    longest_pause: float = 30.0
    """The pause doubles up to this one."""
    patience_seconds: float = 15.0
    """For processes that were told to end; then they are killed."""


TUNING = PoolTuning()


@dataclass(kw_only=True, eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    began: float
    fault: StatveilError | None = None


class WorkerPool:
    """`size` processes that each call `work(*arguments, ready)`, and call `ready` when they are."""

    def __init__(self, work: Callable[..., None], arguments: tuple[Any, ...], *, size: int, on_ready: Callable[[], None]) -> None:
        self._work, self._arguments, self._size, self._on_ready = work, arguments, size, on_ready
        self._context = multiprocessing.get_context("spawn")  # never a fork: a parent may hold threads and handles
        self._workers: list[_Worker] = []
        self._ever_ready = False
        self._young_deaths = 0
        self._pause, self._next_start = TUNING.first_pause, 0.0

    def run(self) -> None:
        """Until a signal (KeyboardInterrupt). A fault that keeps the first process from getting ready is raised here."""
        try:
            while True:
                self._fill()
                wait([each.process.sentinel for each in self._workers] + [each.pipe for each in self._workers], timeout=1.0)
                for worker in tuple(self._workers):
                    self._poll(worker)
        except KeyboardInterrupt:
            return
        finally:
            self._stop()

    def _fill(self) -> None:
        while len(self._workers) < self._size and time.monotonic() >= self._next_start:
            self._start()

    def _start(self) -> None:
        pipe, tell = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_run_worker, args=(self._work, self._arguments, tell), name="statveil-server")
        process.start()
        tell.close()
        self._workers.append(_Worker(process=process, pipe=pipe, began=time.monotonic()))

    def _poll(self, worker: _Worker) -> None:
        ended = not worker.process.is_alive()  # looked at first: its last words are then all there
        with contextlib.suppress(EOFError):
            while worker.pipe.poll():
                self._receive(worker, worker.pipe.recv())
        if ended:
            self._replace(worker)

    def _receive(self, worker: _Worker, message: str | StatveilError) -> None:
        if isinstance(message, StatveilError):
            worker.fault = message
            if not self._ever_ready:
                raise message
            return
        self._pause, self._next_start = TUNING.first_pause, 0.0
        if not self._ever_ready:
            self._ever_ready = True
            self._on_ready()

    def _replace(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        forget_process(worker.process.pid)
        if worker.fault is not None:  # it has begun before and can say what is wrong: that may pass, and nothing is released meanwhile
            self._next_start = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, TUNING.longest_pause)
            return
        young = time.monotonic() - worker.began < TUNING.young_seconds
        self._young_deaths = self._young_deaths + 1 if young or not self._ever_ready else 0
        if self._young_deaths >= TUNING.most_young_deaths:
            raise BackendError("The server's processes end as soon as they begin.", hint="Is there memory enough?")

    def _stop(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        until = time.monotonic() + TUNING.patience_seconds
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _run_worker(work: Callable[..., None], arguments: tuple[Any, ...], tell: Connection) -> None:
    """In the process: do the work; a fault of ours goes to the parent in words, not to the screen as a traceback."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            work(*arguments, lambda: tell.send(READY))
        except StatveilError as error:
            tell.send(error)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
