"""kill -9 at every moment of a recording: what was answered is there, what is there is whole, nothing contradicts (F02)."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from statveil.server.dataset.dataset import load_dataset
from statveil.server.engine.service import TableService
from statveil.server.store.protocol import MOMENTS, Hook, Moment
from statveil.server.store.sql import PostgresStore, SqliteStore, SqlStore
from tests.server.store.test_sql import in_schema_of_its_own
from tests.server.village import ask, village_config

pytestmark = pytest.mark.slow

QUERIES = [ask("region"), ask("region", "trade"), ask("trade", measure="units"), ask("region:part", "trade", measure="units"), ask("trade")]


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    folder = tmp_path_factory.mktemp("village")
    config = village_config(folder)
    return folder, load_dataset(config, config.datasets[0], config.key())


class KillAt:
    """Kills its own process the n-th time that a moment comes after it is armed: while cubes are prepared, or when they are ready."""

    def __init__(self, moment: Moment, times: int, *, preparing: bool = False) -> None:
        self.moment, self.left, self.armed, self.preparing = moment, times, False, preparing

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
    hook.armed = hook.preparing
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


def killed(village: tuple[Path, object], folder: Path, hook: KillAt, url: str = "") -> None:
    process = os.fork()
    if process == 0:
        child(village, folder, hook, url)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL


def sealed(store: SqlStore) -> dict[str, bytes]:
    return {name: bytes(body) for name, body in store._ask("SELECT name, body FROM sealed")}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("times", [1, 3])
def test_a_killed_server_contradicts_nothing(village: tuple[Path, object], tmp_path: Path, moment: Moment, times: int) -> None:
    killed(village, tmp_path, KillAt(moment, times))
    store = SqliteStore(tmp_path / "store.sqlite")
    assert store._ask("PRAGMA integrity_check") == [("ok",)]
    before = sealed(store)
    gives_again(open_service(village, tmp_path), tmp_path)
    assert sealed(store) == before


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("times", [2, 3])
def test_a_server_killed_while_it_prepares_goes_on(village: tuple[Path, object], tmp_path: Path, moment: Moment, times: int) -> None:
    """The cube of each measure is stored with what later editions must keep to, or not at all; what is stored is prepared once."""
    hook = KillAt(moment, times, preparing=True)
    killed(village, tmp_path, hook)
    store = SqliteStore(tmp_path / "store.sqlite")
    before = sealed(store)
    cubes = [name for name in before if name.startswith("cube ")]
    assert bool(cubes) == ("memory" in before)
    assert int(store.fact("releases") or 0) == len(cubes) < 3
    open_service(village, tmp_path).answer(QUERIES[0])
    after = sealed(store)
    assert {name: after[name] for name in cubes} == {name: before[name] for name in cubes}
    assert len(after) == 3


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_killed_over_postgresql_contradicts_nothing(
    village: tuple[Path, object], postgres: str, tmp_path: Path, moment: Moment
) -> None:
    in_schema_of_its_own(postgres, f"killed {moment}")
    killed(village, tmp_path, KillAt(moment, 3), postgres)
    store = PostgresStore(postgres)
    before = sealed(store)
    assert len(before) == 3
    gives_again(open_service(village, tmp_path, url=postgres), tmp_path)
    assert sealed(store) == before
