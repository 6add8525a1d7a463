"""The server's store under fire (THREATS F01, F02): workers that propose contradicting senses for the same cells are killed with -9,
at random and at every moment of a recording. Afterwards every answer ever given is compared with every other and with the store.

    python benchmarks/server_store.py [releases] [kills] [sqlite|postgres]
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.serve.stores import private_postgres

from statveil.errors import BackendError
from statveil.serve.store.postgres import PostgresStore
from statveil.serve.store.protocol import MOMENTS, AnswerRow, CellRow, Moment
from statveil.serve.store.sql import SqlStore
from statveil.serve.store.sqlite import SqliteStore

WORKERS, CELLS_PER_REQUEST = 4, 20
HOT_CELLS, NEW_PER_SECOND = 400, 400
"""All workers ask for the same few cells, and for new ones all the time: what is contested is always being decided."""
SPACE = b"measured"


class KillAt:
    """Kills its own process at the n-th coming of a moment; never, where the moment is None."""

    def __init__(self, moment: Moment | None, times: int) -> None:
        self.moment, self.left = moment, times

    def __call__(self, moment: Moment) -> None:
        self.left -= moment == self.moment
        if moment == self.moment and self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def work(store: SqlStore, log: Path, number: int, seed: int, began: float) -> None:
    """Ask for ever. The log of a worker is what its readers have seen: a line is written after the answer, as one write."""
    draw = random.Random(seed)
    with log.open("ab", buffering=0) as given:
        for request in range(10**9):
            oldest = int((time.monotonic() - began) * NEW_PER_SECOND)
            cells = sorted(draw.sample(range(oldest, oldest + HOT_CELLS), CELLS_PER_REQUEST))
            rows = [CellRow(_id(cell), SPACE, draw.choice((-1, 1)), draw.randrange(10**6), 3, bytes(16)) for cell in cells]
            name = f"{number}-{seed}-{request}"
            try:
                with store.recording() as recording:
                    recording.add_cells(rows)
                    back = recording.pins([row.id for row in rows])
                    recording.add_answer(AnswerRow(name, json.dumps(cells), "", ""))
                    recording.count_release()
            except BackendError:
                time.sleep(0.01)
                continue
            given.write(json.dumps([name, [[cell, *back[_id(cell)]] for cell in cells]]).encode() + b"\n")


def _id(cell: int) -> bytes:
    return cell.to_bytes(16, "big")


def start(make: Callable[[KillAt], SqlStore], folder: Path, number: int, seed: int, hook: KillAt, began: float) -> int:
    process = os.fork()
    if process == 0:
        try:
            work(make(hook), folder / f"log{number}-{seed}", number, seed, began)
        finally:
            os._exit(1)
    return process


def attack(make: Callable[[KillAt], SqlStore], folder: Path, releases: int, kills: int) -> int:
    """Keep the workers going until enough was released and enough were killed; the number of kills."""
    draw, began = random.Random(1), time.monotonic()
    planned: list[Moment | None] = [MOMENTS[number % 8] if number % 8 < 4 else None for number in range(kills)]
    running: dict[int, tuple[int, float | None]] = {}
    done = seed = 0
    while done < kills or _lines(folder) * CELLS_PER_REQUEST < releases:
        free = [number for number in range(WORKERS) if number not in {number for number, _ in running.values()}]
        for number in free:
            moment = planned[seed] if seed < len(planned) else None
            process = start(make, folder, number, seed, KillAt(moment, draw.randrange(1, 40)), began)
            random_kill = seed < len(planned) and moment is None
            running[process] = (number, time.monotonic() + draw.uniform(0.02, 0.15) * 4 if random_kill else None)
            seed += 1
        time.sleep(0.005)
        for process, (_, until) in list(running.items()):
            if until is not None and time.monotonic() > until:
                os.kill(process, signal.SIGKILL)
            if os.waitpid(process, os.WNOHANG)[0]:
                del running[process]
                done += 1
    for process in running:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return done


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("log*"))


def judge(store: SqlStore, folder: Path) -> dict[str, int]:
    """Contradictions between answers and with the store, answers that are not in the store, requests recorded by half."""
    pins = {int.from_bytes(bytes(id_), "big"): (sense, value) for id_, sense, value in store._ask("SELECT id, sense, value FROM cells")}
    recorded = {row[0]: json.loads(row[1]) for row in store._ask("SELECT hash, query FROM answers")}
    given = [json.loads(line) for path in folder.glob("log*") for line in path.read_bytes().split(b"\n")[:-1]]
    return {
        "cells decided": len(pins),
        "releases": sum(len(cells) for _, cells in given),
        "contradictions": sum(pins.get(cell) != (sense, value) for _, cells in given for cell, sense, value in cells),
        "answers missing from the store": sum(name not in recorded for name, _ in given),
        "requests recorded by half": sum(any(cell not in pins for cell in cells) for cells in recorded.values())
        + (int(store.fact("releases") or 0) != len(recorded)),
    }


def run(kind: str, releases: int, kills: int) -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind == "sqlite":
            path = folder / "store.sqlite"
            SqliteStore(path).fact("open")
            done = attack(lambda hook: SqliteStore(path, hook=hook), folder, releases, kills)
            with sqlite3.connect(path) as connection:
                sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
            found = judge(SqliteStore(path), folder)
        else:
            with private_postgres() as address:
                PostgresStore(address).fact("open")
                done = attack(lambda hook: PostgresStore(address, hook=hook), folder, releases, kills)
                sound = "ok"
                found = judge(PostgresStore(address), folder)
    words = ", ".join(f"{number:,} {what}" for what, number in found.items())
    print(f"{kind}: {words}; {done} kills, integrity {sound}, {time.perf_counter() - started:.0f} s", flush=True)
    if found["contradictions"] or found["answers missing from the store"] or found["requests recorded by half"] or sound != "ok":
        sys.exit(1)


def main() -> None:
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    for kind in [sys.argv[3]] if len(sys.argv) > 3 else ["sqlite", "postgres"]:
        try:
            run(kind, releases, kills)
        except FileNotFoundError as reason:
            print(f"{kind}: skipped, {reason}.")


if __name__ == "__main__":
    main()
