"""The server against a model of it: a dictionary of what was published. Requests, restarts, workers, wrong keys, old backups."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.jobs.server_config import ServerConfig
from statveil.server.dataset.dataset import ServedData, load_dataset
from statveil.server.dataset.query import TableQuery
from statveil.server.engine.service import TableService, exact_cells
from statveil.server.store.sql import SqliteStore
from tests.reference.served_cells import cells as cells_by_hand
from tests.server.engine.test_stage_one import PARENTS
from tests.server.village import VILLAGE, ask, village_config

pytestmark = pytest.mark.slow

QUERIES = [
    ask(*dimensions, measure=measure, totals=totals, filters=filters)
    for measure in ("turnover", "units")
    for totals in (True, False)
    for dimensions, filters in (
        (("region",), {}),
        (("region:part",), {}),
        (("trade",), {}),
        (("region", "trade"), {}),
        (("region:part", "trade"), {}),
        (("region=N1+S", "trade=metal"), {}),
        (("region",), {"trade": ("food",)}),
        (("trade",), {"region": ("S2",)}),
    )
]
BY_HAND = {
    measure: cells_by_hand(
        [(unit, holding, (region, trade), value if measure == "turnover" else 1) for unit, holding, region, trade, value in VILLAGE],
        PARENTS,
        p=10,
        n=3,
        percent=10,
    )
    for measure in ("turnover", "units")
}
_LOADED: dict[str, tuple[ServerConfig, ServedData]] = {}


def loaded(mode: str) -> tuple[ServerConfig, ServedData]:
    """The village is read once for all runs."""
    if mode not in _LOADED:
        folder = Path(tempfile.mkdtemp(prefix="statveil-model-"))
        config = village_config(folder, mode=mode)
        _LOADED[mode] = config, load_dataset(config, config.datasets[0], config.key())
    return _LOADED[mode]


@pytest.fixture(autouse=True, scope="module")
def _clean() -> object:
    yield
    for config, _ in _LOADED.values():
        shutil.rmtree(config.base, ignore_errors=True)
    _LOADED.clear()


class Model(RuleBasedStateMachine):
    """`published`: hash of an answer to its bytes. `numbers`: the number of each cell of a cube, by measure and labels."""

    @initialize(mode=st.sampled_from(["cube", "cube", "section4"]))
    def begin(self, mode: str) -> None:
        self.config, self.data = loaded(mode)
        self.mode = mode
        self.folder = Path(tempfile.mkdtemp(prefix="statveil-model-run-"))
        self.published: dict[str, bytes] = {}
        self.numbers: dict[tuple[str, tuple[str, str]], int] = {}
        self.backup_releases = -1
        self.workers = [self.open()]

    def key(self) -> SecretKey:
        return self.config.key().with_counter(self.folder / "counter")

    def open(self, key: SecretKey | None = None) -> TableService:
        return TableService(self.config, key or self.key(), {"village": self.data}, SqliteStore(self.folder / "store.sqlite"))

    @rule(number=st.integers(0, len(QUERIES) - 1), worker=st.integers(0, 1))
    def request(self, number: int, worker: int) -> None:
        service, query = self.workers[worker % len(self.workers)], QUERIES[number]
        answer = service.answer(query)
        body = answer.to_bytes()
        assert self.published.setdefault(answer.hash, body) == body
        self.check_by_hand(query, service)

    def check_by_hand(self, query: TableQuery, service: TableService) -> None:
        """T01: every cell of the table behind the answer, against sets of records and brute force."""
        whole = service.answer(service.layout_of(query).query)
        self.published.setdefault(whole.hash, whole.to_bytes())
        true, sensitive = exact_cells(service, query)
        names = [dimension.id for dimension in whole.dimensions]
        for position, cell in BY_HAND[query.measure].items():
            place = {"region": position[0], "trade": position[1]}
            codes = [place[name] for name in names]
            hidden = [place[name] for name in ("region", "trade") if name not in names]
            if any(code != "Total" for code in hidden) or any(code not in d.codes for code, d in zip(codes, whole.dimensions, strict=True)):
                continue
            at = tuple(dimension.codes.index(code) for dimension, code in zip(whole.dimensions, codes, strict=True))
            moved = abs(int(whole.values[at]) - int(true[at]))
            assert int(true[at]) == cell.value
            if whole.measure == "turnover":
                assert bool(sensitive[at]) == (cell.level > 0)
                assert moved >= cell.level
            else:
                assert int(whole.values[at]) >= 3 or int(whole.values[at]) == 0
            if self.mode == "cube":
                known = self.numbers.setdefault((query.measure, position), int(whole.values[at]))
                assert known == int(whole.values[at]), "one number for each cell, in whatever table"

    @rule()
    def restart(self) -> None:
        for worker in self.workers:
            worker.close()
        self.workers = [self.open()]

    @precondition(lambda self: len(self.workers) == 1)
    @rule()
    def second_worker(self) -> None:
        self.workers.append(self.open())

    @rule()
    def another_key_is_refused(self) -> None:
        with pytest.raises(InputError):
            self.open(SecretKey(b"another key, and long enough too."))

    @rule()
    def back_up(self) -> None:
        for worker in self.workers:
            worker.close()
        self.workers = [self.open()]
        self.workers[0].close()
        shutil.copy(self.folder / "store.sqlite", self.folder / "backup")
        self.backup_releases = int(self.workers[0].store.fact("releases") or 0)

    @precondition(lambda self: self.backup_releases >= 0)
    @rule()
    def restore_an_old_backup(self) -> None:
        releases = int(self.workers[0].store.fact("releases") or 0)
        for worker in self.workers:
            worker.close()
        if releases == self.backup_releases:
            return
        (self.folder / "store.sqlite").rename(self.folder / "latest")
        shutil.copy(self.folder / "backup", self.folder / "store.sqlite")
        with pytest.raises(InputError):
            self.open()
        for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "latest").rename(self.folder / "store.sqlite")
        self.workers = [self.open()]

    @invariant()
    def nothing_published_changes_and_all_of_it_is_in_the_store(self) -> None:
        if not hasattr(self, "workers"):
            return
        for hash_, body in self.published.items():
            stored = self.workers[-1].stored(hash_)
            assert stored is not None
            assert stored.to_bytes() == body

    def teardown(self) -> None:
        if hasattr(self, "workers"):
            for worker in self.workers:
                worker.close()
            shutil.rmtree(self.folder, ignore_errors=True)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))


def test_a_store_that_is_refused_is_not_held_open(tmp_path: Path) -> None:
    config, data = loaded("cube")
    first = TableService(config, config.key().with_counter(tmp_path / "counter"), {"village": data}, SqliteStore(tmp_path / "store"))
    first.answer(ask("region"))
    first.close()
    store = SqliteStore(tmp_path / "store")
    with pytest.raises(InputError):
        TableService(config, SecretKey(b"another key, and long enough too."), {"village": data}, store)
    assert store._connection is None
