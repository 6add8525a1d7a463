"""The processes of the server: started together, replaced when one dies, stopped together, and gone when their parent is."""

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
from typing import Any

from statveil.core.errors import BackendError, StatveilError
from statveil.server.web.metrics import forget_process

YOUNG_SECONDS = 5.0
MOST_YOUNG_DEATHS = 5
"""So many deaths without a word in a row right after the start mean that there is no use in going on."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Between attempts of a process that says why it cannot begin: the store may be away, and it comes back."""
PATIENCE_SECONDS = 15.0
READY = "ready"


@dataclass(kw_only=True, eq=False)
class _Member:
    process: BaseProcess
    heard: Connection
    began: float
    fault: StatveilError | None = None


class Crew:
    """`size` processes that each call `work(*arguments, ready)`, and call `ready` when they are."""

    def __init__(self, work: Callable[..., None], arguments: tuple[Any, ...], *, size: int, on_ready: Callable[[], None]) -> None:
        self._work, self._arguments, self._size, self._on_ready = work, arguments, size, on_ready
        self._context = multiprocessing.get_context("spawn")  # never a fork: a parent may hold threads and handles
        self._members: list[_Member] = []
        self._ever_ready = False
        self._young_deaths = 0
        self._pause, self._next_start = FIRST_PAUSE, 0.0

    def run(self) -> None:
        """Until a signal (KeyboardInterrupt). A fault that keeps the first process from getting ready is raised here."""
        try:
            while True:
                self._fill()
                wait([each.process.sentinel for each in self._members] + [each.heard for each in self._members], timeout=1.0)
                for member in tuple(self._members):
                    self._listen(member)
        except KeyboardInterrupt:
            return
        finally:
            self._stop()

    def _fill(self) -> None:
        while len(self._members) < self._size and time.monotonic() >= self._next_start:
            self._start()

    def _start(self) -> None:
        heard, tell = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_live, args=(self._work, self._arguments, tell), name="statveil-server")
        process.start()
        tell.close()
        self._members.append(_Member(process=process, heard=heard, began=time.monotonic()))

    def _listen(self, member: _Member) -> None:
        ended = not member.process.is_alive()  # looked at first: its last words are then all there
        with contextlib.suppress(EOFError):
            while member.heard.poll():
                self._hear(member, member.heard.recv())
        if ended:
            self._replace(member)

    def _hear(self, member: _Member, message: str | StatveilError) -> None:
        if isinstance(message, StatveilError):
            member.fault = message
            if not self._ever_ready:
                raise message
            return
        self._pause, self._next_start = FIRST_PAUSE, 0.0
        if not self._ever_ready:
            self._ever_ready = True
            self._on_ready()

    def _replace(self, member: _Member) -> None:
        self._members.remove(member)
        member.process.join()
        member.heard.close()
        forget_process(member.process.pid)
        if member.fault is not None:  # it has begun before and can say what is wrong: that may pass, and nothing is released meanwhile
            self._next_start = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return
        young = time.monotonic() - member.began < YOUNG_SECONDS
        self._young_deaths = self._young_deaths + 1 if young or not self._ever_ready else 0
        if self._young_deaths >= MOST_YOUNG_DEATHS:
            raise BackendError("The server's processes end as soon as they begin.", hint="Is there memory enough?")

    def _stop(self) -> None:
        for member in self._members:
            member.process.terminate()
        until = time.monotonic() + PATIENCE_SECONDS
        for member in self._members:
            member.process.join(max(0.0, until - time.monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()


def _live(work: Callable[..., None], arguments: tuple[Any, ...], tell: Connection) -> None:
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
