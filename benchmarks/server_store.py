"""The server's store under fire (F01, F02): workers that propose contradicting numbers for the same tables are killed with -9,
so often at random and so often at each moment of a recording. Afterwards every answer ever given is compared with every other and
with the store.

    python benchmarks/server_store.py [releases] [kills of each kind] [sqlite|postgres]
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
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.server.stores import private_postgres

from statveil.core.errors import BackendError
from statveil.server.store.protocol import MOMENTS, AnswerRow, Moment
from statveil.server.store.sql import PostgresStore, SqliteStore, SqlStore

WORKERS, TABLES_PER_REQUEST = 4, 20
HOT_TABLES, NEW_PER_SECOND = 400, 400
"""All workers ask for the same few tables, and for new ones all the time: what is contested is always being decided."""
AT_RANDOM = "at random"


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
            tables = sorted(draw.sample(range(oldest, oldest + HOT_TABLES), TABLES_PER_REQUEST))
            name = f"{number}-{seed}-{request}"
            try:
                with store.recording() as recording:
                    for table in tables:
                        recording.add_table(str(table), str(draw.randrange(10**6)).encode())
                    back = [recording.table(str(table)) or b"" for table in tables]
                    recording.add_answer(AnswerRow(name, json.dumps(tables), "", ""))
                    recording.count_release()
            except BackendError:
                time.sleep(0.01)
                continue
            given.write(json.dumps([name, [[table, int(body)] for table, body in zip(tables, back, strict=True)]]).encode() + b"\n")


def start(make: Callable[[KillAt], SqlStore], folder: Path, number: int, seed: int, hook: KillAt, began: float) -> int:
    process = os.fork()
    if process == 0:
        try:
            work(make(hook), folder / f"log{number}-{seed}", number, seed, began)
        finally:
            os._exit(1)
    return process


def attack(make: Callable[[KillAt], SqlStore], folder: Path, releases: int, kills: int) -> Counter[str]:
    """Keep the workers going until enough was released and enough were killed in each way; the kills by their kind."""
    draw, began = random.Random(1), time.monotonic()
    planned: list[Moment | None] = [moment for _ in range(kills) for moment in (None, *MOMENTS)]
    running: dict[int, tuple[int, str, float | None]] = {}
    done: Counter[str] = Counter()
    seed = 0
    while done.total() < len(planned) or _lines(folder) * TABLES_PER_REQUEST < releases:
        for number in set(range(WORKERS)) - {number for number, _, _ in running.values()}:
            moment, condemned = (planned[seed], True) if seed < len(planned) else (None, False)
            process = start(make, folder, number, seed, KillAt(moment, draw.randrange(1, 40)), began)
            until = time.monotonic() + draw.uniform(0.02, 0.15) * 4 if condemned and moment is None else None
            running[process] = (number, moment or AT_RANDOM, until)
            seed += 1
        time.sleep(0.005)
        for process, (_, kind, until) in list(running.items()):
            if until is not None and time.monotonic() > until:
                os.kill(process, signal.SIGKILL)
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                del running[process]
                done[kind if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else "not killed"] += 1
    for process in running:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return done


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("log*"))


def judge(store: SqlStore, folder: Path) -> dict[str, int]:
    """Contradictions between answers and with the store, answers that are not in the store, requests recorded by half."""
    decided = {int(name): int(bytes(body)) for name, body in store._ask("SELECT hash, body FROM tables")}
    recorded = {row[0]: json.loads(row[1]) for row in store._ask("SELECT hash, query FROM answers")}
    given = [json.loads(line) for path in folder.glob("log*") for line in path.read_bytes().split(b"\n")[:-1]]
    return {
        "tables decided": len(decided),
        "releases": sum(len(tables) for _, tables in given),
        "contradictions": sum(decided.get(table) != value for _, tables in given for table, value in tables),
        "answers missing from the store": sum(name not in recorded for name, _ in given),
        "requests recorded by half": sum(any(table not in decided for table in tables) for tables in recorded.values())
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
    told = ", ".join(f"{done[each]} {each}" for each in (AT_RANDOM, *MOMENTS))
    print(f"{kind}: {words}; {done.total()} kills ({told}), integrity {sound}, {time.perf_counter() - started:.0f} s", flush=True)
    faults = [found[each] for each in ("contradictions", "answers missing from the store", "requests recorded by half")]
    if any(faults) or sound != "ok" or any(done[each] < kills for each in (AT_RANDOM, *MOMENTS)):
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
