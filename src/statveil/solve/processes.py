"""Run functions in processes of their own, hear what they report, and kill them when their time is up.

Solvers hang, crash and ignore their limits; a killed process costs nothing but itself. The child is a plain
`python -m statveil.solve.processes` (never a fork: the parent may hold threads and database handles), kept warm between calls.
It ends when its parent does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from statveil.core.errors import SolverFailed, StatveilError

_NUMBER = struct.Struct(">Q")
_idle: list[subprocess.Popen[bytes]] = []
_most_memory = [0]
"""The most that this process and its children were seen to hold at one moment, in bytes: their peaks, added up, say more than was ever
used."""

Send = Callable[[Any], None]
Call = tuple[Callable[..., None], tuple[Any, ...]]
Over = Callable[[], bool]


class ProcessTuning(NamedTuple):
    """How children are spoken to. By judgement."""

    large: int = 1 << 16
    """Bytes from which on an array travels beside its message."""
    interval: float = 0.1
    """Seconds between two looks at the memory in use."""


TUNING = ProcessTuning()


class Halt(StrEnum):
    """Why an isolated run stopped."""

    FINISHED = "finished"
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"


def run_isolated(calls: Sequence[Call], *, seconds: float, on_message: Callable[[Any], object], over: Over | None = None) -> Halt:
    """Make each call `function(*arguments, send)` in a child of its own, side by side; `on_message` gets each thing they send.

    It may answer True: that is enough, stop. `over` is asked now and then whether the time is up sooner than was said.

    The functions must be importable by name. Ctrl-C in the parent ends the children and is told as INTERRUPTED, not raised.
    """
    deadline = time.monotonic() + seconds
    listener = _Listener(deadline, on_message, over or (lambda: False))
    warm = bool(_idle)
    try:
        return _run(calls, listener)
    except (BrokenPipeError, EOFError):  # before anybody has spoken
        if not warm:  # a child kept from an earlier call may have died unseen: then a new one is worth a try
            raise _no_answer() from None
    dismiss_idle()
    try:
        return _run(calls, listener)
    except (BrokenPipeError, EOFError):
        raise _no_answer() from None


def _run(calls: Sequence[Call], listener: _Listener) -> Halt:
    children: list[subprocess.Popen[bytes]] = []
    finished: list[subprocess.Popen[bytes]] = []
    try:
        children.extend(_warm() or _start() for _ in calls)  # all at first: a long message to one waits until it is awake
        for child, (function, arguments) in zip(children, calls, strict=True):
            _write(child.stdin, (function.__module__, function.__qualname__, arguments))
        return _listen(children, finished, listener)
    except KeyboardInterrupt:
        return Halt.INTERRUPTED
    finally:
        for child in children:
            if child in finished:
                _idle.append(child)  # from here on another thread may take it
            else:
                _stop(child)


def _warm() -> subprocess.Popen[bytes] | None:
    """A child kept from an earlier call; one that died meanwhile is forgotten."""
    while _idle:
        child = _idle.pop()
        if child.poll() is None:
            return child
        _stop(child)
    return None


def dismiss_idle() -> None:
    """End the children that are kept warm."""
    while _idle:
        _stop(_idle.pop())


def _start() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "statveil.solve.processes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # ctrl-C reaches the parent only
        env=environment,
    )


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


class _Listener(NamedTuple):
    """Until when children are heard, and by whom."""

    deadline: float
    on_message: Callable[[Any], object]
    over: Over


def _listen(children: list[subprocess.Popen[bytes]], finished: list[subprocess.Popen[bytes]], listener: _Listener) -> Halt:
    """Hear all children until each has finished or the time is up. One that fails does not end the others; its failure is raised at last.

    A child that dies before anybody has spoken is another matter: it may have been dead all along (`run_isolated`).
    """
    failure: StatveilError | None = None
    spoken = False
    with selectors.DefaultSelector() as selector:
        for child in children:
            assert child.stdout is not None
            selector.register(child.stdout, selectors.EVENT_READ, child)
        while selector.get_map():
            note_memory(child.pid for child in children)
            left = listener.deadline - time.monotonic()
            if left <= 0 or listener.over():  # one that never stops talking has its time too
                return Halt.OUT_OF_TIME
            ready = selector.select(min(left, TUNING.interval))
            for key, _ in ready:
                kind, content = _read_or_failure(key.fileobj, alone=not spoken)
                if kind == "message":
                    spoken = True
                    if listener.on_message(content) is True:
                        return Halt.FINISHED
                    continue
                selector.unregister(key.fileobj)
                if kind == "failure":
                    failure = failure or content
                else:
                    finished.append(key.data)
    if failure is not None:
        raise failure
    return Halt.FINISHED


def _read_or_failure(pipe: Any, *, alone: bool) -> tuple[str, Any]:
    """What a child says; its death is a failure too, unless nobody has spoken yet (`alone`)."""
    try:
        kind, content = _read(pipe)
    except EOFError:
        if alone:
            raise
        return "failure", _no_answer()
    return kind, content


def _no_answer() -> SolverFailed:
    return SolverFailed("The solver's process ended without an answer.", hint="It may have run out of memory.")


def _write(pipe: Any, content: Any) -> None:
    """A message: its sizes, then what pickle makes of it, then its large arrays as they lie in memory, never copied into one."""
    large: list[memoryview] = []

    def keep_within(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= TUNING.large:
            large.append(raw)
        return raw.nbytes < TUNING.large

    payload = memoryview(pickle.dumps(content, protocol=5, buffer_callback=keep_within))
    sizes = [part.nbytes for part in (payload, *large)]
    pipe.write(_NUMBER.pack(len(sizes)) + b"".join(map(_NUMBER.pack, sizes)))
    for part in (payload, *large):
        _write_all(pipe, part)
    pipe.flush()


def _write_all(pipe: Any, part: memoryview) -> None:
    """All of it: a pipe without a buffer may take less than it is given."""
    while part:
        part = part[pipe.write(part) :]


def _read(pipe: Any) -> Any:
    (count,) = _NUMBER.unpack(_read_exactly(pipe, _NUMBER.size))
    sizes = [size for (size,) in _NUMBER.iter_unpack(_read_exactly(pipe, count * _NUMBER.size))]
    payload, *large = (_read_exactly(pipe, size) for size in sizes)
    return pickle.loads(payload, buffers=large)


def _read_exactly(pipe: Any, size: int) -> bytearray:
    content, filled = bytearray(size), 0
    while filled < size:
        part = os.read(pipe.fileno(), min(size - filled, 1 << 20))
        if not part:
            raise EOFError
        content[filled : filled + len(part)] = part
        filled += len(part)
    return content


def _serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """The child's life: read a call, make it, say how it ended; die with the parent."""
    inbox: list[Any] = []
    arrived = threading.Semaphore(0)

    def watch() -> None:
        try:
            while True:
                inbox.append(_read(jobs))
                arrived.release()
        finally:  # the parent is gone, or what it says cannot be read: then it hears that this process has ended
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    while True:
        arrived.acquire()
        module, name, arguments = inbox.pop(0)
        _write(answers, _call(module, name, arguments, lambda content: _write(answers, ("message", content))))


def _call(module: str, name: str, arguments: tuple[Any, ...], send: Send) -> tuple[str, Any]:
    import importlib

    try:
        getattr(importlib.import_module(module), name)(*arguments, send)
    except StatveilError as error:
        return "failure", error
    except MemoryError:
        return "failure", SolverFailed("The solver ran out of memory.", hint="Try a smaller table or a heuristic method.")
    except Exception as error:
        return "failure", SolverFailed(f"The solver's process failed ({type(error).__name__}).", hint="Run with --debug for details.")
    return "done", None


def note_memory(children: Iterable[int]) -> None:
    """Note what is resident now, of this process and of these children; nothing where the system does not tell."""
    used = sum(_resident(process) for process in (os.getpid(), *children))
    _most_memory[0] = max(_most_memory[0], used)


def _resident(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except OSError:  # another system, or the process has just ended
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def peak_mb() -> float | None:
    """The most at one moment, in megabytes: as seen while children ran, or this process's own peak; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 2**10)
    return round(max(own, _most_memory[0]) / 2**20, 1)


if __name__ == "__main__":
    with open(os.dup(1), "wb", buffering=0) as own_channel, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # whatever a solver prints must not mix with our messages
        _serve(sys.stdin.buffer, own_channel)
