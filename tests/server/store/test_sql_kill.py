"""kill -9 at every moment of a recording: what was answered is there, what is there is whole, nothing contradicts (F02)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from statveil.server.engine.answer import unpack
from statveil.server.engine.dataset import load_dataset
from statveil.server.engine.protection.settle import settled
from statveil.server.engine.service import TableService
from statveil.server.store.protocol import MOMENTS, Hook, Moment
from statveil.server.store.sql import PostgresStore, SqliteStore
from tests.server.store.test_sql import in_schema_of_its_own
from tests.server.village import ask, village_config

pytestmark = pytest.mark.slow

QUERIES = [ask("region"), ask("region", "trade"), ask("trade", measure="units"), ask("region:part", "trade", measure="units"), ask("trade")]


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    folder = tmp_path_factory.mktemp("village")
    config = village_config(folder)
    return folder, settled(load_dataset(config, config.datasets[0], config.key()))


class KillAt:
    """Kills its own process the n-th time that a moment comes after it is armed."""

    def __init__(self, moment: Moment, times: int) -> None:
        self.moment, self.left, self.armed = moment, times, False

    def __call__(self, moment: Moment) -> None:
        if self.armed and moment == self.moment:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def open_service(village: tuple[Path, object], folder: Path, hook: Hook = lambda moment: None, url: str = "") -> TableService:
    config = village_config(village[0])
    store = PostgresStore(url, hook=hook) if url else SqliteStore(folder / "store.sqlite", hook=hook)
    return TableService(config, config.key().with_counter(folder / "counter"), {"village": village[1]}, store)  # type: ignore[dict-item]


def child(village: tuple[Path, object], folder: Path, hook: KillAt, url: str = "") -> None:
    """Answer everything, and say of each answer that it was given."""
    service = open_service(village, folder, hook, url)
    hook.armed = True
    with (folder / "given").open("a", encoding="ascii") as given:
        for query in QUERIES:
            answer = service.answer(query)
            given.write(json.dumps([answer.hash, answer.to_bytes().hex()]) + "\n")
            given.flush()


def gives_again(service: TableService, folder: Path) -> None:
    """What was answered before the kill, byte for byte; and everything else."""
    given = [json.loads(line) for line in (folder / "given").read_text().splitlines()]
    for hash_, body in given:
        stored = service.stored(hash_)
        assert stored is not None
        assert stored.to_bytes().hex() == body
    for query in QUERIES:
        service.answer(query)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("times", [1, 3])
def test_a_killed_server_contradicts_nothing(village: tuple[Path, object], tmp_path: Path, moment: Moment, times: int) -> None:
    process = os.fork()
    if process == 0:
        child(village, tmp_path, KillAt(moment, times))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        cells = {row[0]: row[1:] for row in connection.execute("SELECT id, sense, value FROM cells")}
        lost = "SELECT count(*) FROM answers WHERE base NOT IN (SELECT hash FROM tables)"
        assert connection.execute(lost).fetchone() == (0,)
        bodies = [unpack(row[0])[1] for row in connection.execute("SELECT body FROM tables")]
    values = {value for _, value in cells.values()}
    assert all(set(body.ravel().tolist()) - {0} <= values for body in bodies)
    service = open_service(village, tmp_path)
    gives_again(service, tmp_path)
    after = service.store.pins(list(cells))
    assert {id_: tuple(pin) for id_, pin in after.items()} == cells


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_killed_over_postgresql_contradicts_nothing(
    village: tuple[Path, object], postgres: str, tmp_path: Path, moment: Moment
) -> None:
    in_schema_of_its_own(postgres, f"killed {moment}")
    process = os.fork()
    if process == 0:
        child(village, tmp_path, KillAt(moment, 3), postgres)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    service = open_service(village, tmp_path, url=postgres)
    spaces = [block.space for block in village[1].blocks.values()]  # type: ignore[attr-defined]
    before = {(space, cell.print_): (cell.sense, cell.value) for space in spaces for cell in service.store.seen(space, 0)}
    assert before
    gives_again(service, tmp_path)
    after = {(space, cell.print_): (cell.sense, cell.value) for space in spaces for cell in service.store.seen(space, 0)}
    assert before.items() <= after.items()
