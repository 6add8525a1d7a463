"""Work for the processes of a worker pool: `python -m tests.server.shifts KIND FOLDER SIZE` runs one until it is told to stop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from statveil.cli.signals import listen
from statveil.core.errors import BackendError, InputError, StatveilError
from statveil.server.workers import pool
from statveil.server.workers.pool import WorkerPool


def stay(folder: Path, ready: Callable[[], None]) -> None:
    (folder / str(os.getpid())).touch()
    ready()
    time.sleep(3600)


def refuse(folder: Path, ready: Callable[[], None]) -> None:
    raise InputError("The data are not here.", hint="Look elsewhere.")


def come_and_go(folder: Path, ready: Callable[[], None]) -> None:
    """Stays, unless the store is away: then it says so, and leaves a line."""
    if (folder.parent / "away").exists():
        with (folder.parent / "away").open("a") as file:
            file.write("?")
        raise BackendError("The store is away.")
    stay(folder, ready)


def fall(folder: Path, ready: Callable[[], None]) -> None:
    os.abort()


if __name__ == "__main__":
    listen()
    pool.TUNING = pool.TUNING._replace(first_pause=0.05, longest_pause=0.1)
    work = {"stay": stay, "refuse": refuse, "fall": fall, "come_and_go": come_and_go}[sys.argv[1]]
    try:
        WorkerPool(work, (Path(sys.argv[2]),), size=int(sys.argv[3]), on_ready=lambda: print("ready", flush=True)).run()
    except StatveilError as error:
        sys.exit(f"{type(error).__name__}: {error.message}")
