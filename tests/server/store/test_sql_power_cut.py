"""F03: the power fails at any moment. What was answered is in the store afterwards, whole."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from statveil.server.engine.service import TableService
from statveil.server.store.sql import SqliteStore
from tests.server.power import Aftermath, NotReachable, Said, power_cuts, watched_disk
from tests.server.village import ask, open_village

pytestmark = pytest.mark.slow

QUERIES = [
    ask("region"),
    ask("region", "trade"),
    ask("trade", measure="units"),
    ask("region:part", "trade"),
    ask("region", "trade", measure="units"),
    ask("trade"),
    ask("region:part"),
    ask("region", measure="units"),
    ask("region=N1", "trade"),
    ask("trade", totals=False),
]
READY = "ready"


def aftermaths(folder: Path, *, synchronous: str = "FULL") -> list[Aftermath]:
    """Every state of the disk that a power cut could leave while a server answers; now and then the log is written into the file."""
    try:
        with watched_disk() as disk:
            service = open_village(folder)
            _set(service, f"PRAGMA synchronous = {synchronous}")
            _set(service, "PRAGMA wal_autocheckpoint = 12")
            _set(service, "PRAGMA wal_checkpoint(TRUNCATE)")
            disk.say(READY)
            for query in QUERIES:
                disk.say(service.answer(query).hash)
            service.close()
    except NotReachable as reason:
        pytest.skip(f"Python's SQLite cannot be watched here: {reason}")
    assert sum(isinstance(event, Said) for event in disk.events) == len(QUERIES) + 1
    return list(power_cuts(disk, ("store.sqlite", "store.sqlite-wal"), since=READY))


def _set(service: TableService, words: str) -> None:
    assert isinstance(service.store, SqliteStore)
    service.store._rows(words)


def lost(aftermath: Aftermath, folder: Path) -> int:
    """Open what the disk holds; the number of answers given that are not there. Whatever is there must be whole."""
    folder.mkdir()
    for name, content in aftermath.files.items():
        (folder / name).write_bytes(content)
    with sqlite3.connect(folder / "store.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), aftermath.kind
        answers = {hash_ for (hash_,) in connection.execute("SELECT hash FROM answers")}
        releases = dict(connection.execute("SELECT name, value FROM facts")).get("releases", "0")
    connection.close()
    assert int(releases) == len(answers) + 2, "and the two cubes"
    return len(set(aftermath.said) - {READY} - answers)


def test_f03_every_answer_given_is_in_every_later_state_of_the_disk(tmp_path: Path) -> None:
    found = aftermaths(tmp_path)
    assert len(found) > 100, len(found)
    assert [lost(each, tmp_path / str(number)) for number, each in enumerate(found)] == [0] * len(found)


def test_f03_with_less_than_full_synchronisation_answers_would_be_forgotten(tmp_path: Path) -> None:
    """The same power cuts find it: this is why FULL is a must, and that they would find a fault."""
    found = aftermaths(tmp_path, synchronous="NORMAL")
    counted = Counter(each.kind for number, each in enumerate(found) if lost(each, tmp_path / str(number)))
    assert counted["nothing"] > 0
    assert counted["all"] == 0
