from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from statveil.core.errors import BackendError, InputError
from statveil.core.secret import SecretKey, new_key_file
from statveil.server.engine.service import TableService
from statveil.server.store.claims import ReleaseCounter, claim
from statveil.server.store.sql import SqliteStore
from tests.server.village import VILLAGE, ask, open_village, village_config


def refused(folder: Path, **changes: object) -> str:
    with pytest.raises(InputError) as error:
        open_village(folder, **changes)
    return str(error.value)


def test_another_key_on_a_store_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    """T22: two keys on the same data give the truth away with probability one half."""
    open_village(tmp_path).answer(ask("region"))
    (tmp_path / "key").unlink()
    new_key_file(tmp_path / "key")
    assert "begun with another key" in refused(tmp_path)
    (tmp_path / "key.counter").unlink()
    assert "begun with another key" in refused(tmp_path)


def test_a_store_from_an_old_backup_is_refused(tmp_path: Path) -> None:
    """F18."""
    service = open_village(tmp_path)
    service.answer(ask("region"))
    service.close()
    shutil.copy(tmp_path / "store.sqlite", tmp_path / "backup")
    service = open_village(tmp_path)
    service.answer(ask("trade"))
    service.close()
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    latest = shutil.copy(tmp_path / "backup", tmp_path / "store.sqlite")
    assert "older than the counter" in refused(tmp_path)
    Path(latest).unlink()
    assert "store is empty, but the counter" in refused(tmp_path)


def test_a_counter_of_another_store_none_at_all_or_no_counter_is_refused(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    service.answer(ask("region"))
    counter = tmp_path / "key.counter"
    kept = counter.read_text()
    assert counter.stat().st_mode & 0o777 == 0o600
    counter.write_text(json.dumps({**json.loads(kept), "store": "other"}))
    assert "belongs to another store" in refused(tmp_path)
    counter.write_text("nothing")
    assert "cannot be read" in refused(tmp_path)
    counter.unlink()
    assert "is missing" in refused(tmp_path)
    counter.write_text(kept)
    assert open_village(tmp_path).stored(service.check(ask("region"))) is not None


def test_changed_records_under_the_same_name_are_refused(tmp_path: Path) -> None:
    open_village(tmp_path)
    assert "is not the one that tables were published from" in refused(tmp_path, records=VILLAGE[:-1])
    assert "new id" in refused(tmp_path, mode="section4")
    open_village(tmp_path, VILLAGE[::-1])
    open_village(tmp_path, VILLAGE[:-1], id="village 2")


def test_a_store_of_an_earlier_version_is_refused_with_a_way_forward(tmp_path: Path) -> None:
    """Its numbers were noise: both for the same records would tell."""
    service = open_village(tmp_path)
    service.answer(ask("region"))
    service.close()
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as store, store:
        store.execute("DELETE FROM facts WHERE name = 'format'")
    words = refused(tmp_path)
    assert "begun by an earlier version" in words
    assert "a new key, an empty store" in words


def test_what_was_prepared_and_lost_is_refused(tmp_path: Path) -> None:
    """F18: what later editions must keep to is in the store, also before anybody has asked."""
    open_village(tmp_path).close()
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert "store is empty, but the counter" in refused(tmp_path)


def test_the_counter_only_grows_and_is_begun_once(tmp_path: Path) -> None:
    counter = ReleaseCounter(tmp_path / "folder" / "counter")
    with pytest.raises(BackendError):
        counter.begin("s")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BackendError):
        counter.raise_to("s", 3)
    counter.begin("s")
    counter.raise_to("s", 3)
    counter.begin("t")
    ReleaseCounter(counter.path).raise_to("s", 2)
    assert counter.read() == ("s", 3)
    with pytest.raises(BackendError, match="another store"):
        counter.raise_to("t", 4)
    ReleaseCounter(counter.path).raise_to("s", 4)
    assert counter.read() == ("s", 4)
    assert [path.name for path in counter.path.parent.iterdir()] == ["counter"]


def test_a_counter_is_whole_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that looks just then must not find an empty file."""
    link, seen = os.link, []

    def watched(made: Path, name: Path) -> None:
        seen.append((name.exists(), ReleaseCounter(made).read()))
        link(made, name)

    monkeypatch.setattr(os, "link", watched)
    ReleaseCounter(tmp_path / "counter").begin("s")
    assert seen == [(False, ("s", 0))]


def counted(folder: Path) -> int:
    found = ReleaseCounter(folder / "key.counter").read()
    assert found is not None
    return found[1]


def test_a_counter_that_a_crash_left_behind_is_raised_at_the_start(tmp_path: Path) -> None:
    """kill -9 between the recording and the counter; then a backup from before is still refused."""
    service = open_village(tmp_path)
    service.answer(ask("region"))
    before = (tmp_path / "key.counter").read_bytes()
    back_up(tmp_path, "backup")
    service.answer(ask("trade"))
    service.close()
    (tmp_path / "key.counter").write_bytes(before)
    open_village(tmp_path).close()
    assert counted(tmp_path) == 4
    swap(tmp_path, "backup")
    assert "older than the counter" in refused(tmp_path)


def test_a_counter_that_another_process_left_behind_is_raised_before_its_answer_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = open_village(tmp_path), open_village(tmp_path)

    def killed(releases: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(other._claimed, "remember", killed)
    with pytest.raises(KeyboardInterrupt):
        other.answer(ask("trade"))
    assert counted(tmp_path) == 2
    assert one.stored(one.check(ask("trade"))) is not None
    assert counted(tmp_path) == 3


# A store that is swapped under a server that runs


def back_up(folder: Path, name: str) -> None:
    with closing(sqlite3.connect(folder / "store.sqlite")) as store, closing(sqlite3.connect(folder / name)) as backup:
        store.backup(backup)


def swap(folder: Path, name: str) -> None:
    """Put that file in the store's place, as who restores a backup does."""
    for ending in ("-wal", "-shm"):
        (folder / f"store.sqlite{ending}").unlink(missing_ok=True)
    shutil.copy(folder / name, folder / "copy")
    os.replace(folder / "copy", folder / "store.sqlite")


def releases_in(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "store.sqlite")) as store:
        return int(store.execute("SELECT value FROM facts WHERE name = 'releases'").fetchone()[0])


@pytest.mark.parametrize("connected", [True, False])
def test_an_older_store_under_a_running_server_is_a_503_until_the_latest_is_back(tmp_path: Path, connected: bool) -> None:
    """F18 without a restart, whether the server still holds the old file or connects anew."""
    service, told = open_village(tmp_path), []
    service.on_alarm = lambda kind, detail: told.append(kind)
    service.answer(ask("region"))
    back_up(tmp_path, "old")
    service.answer(ask("trade"))
    back_up(tmp_path, "latest")
    if not connected:
        service.close()
    swap(tmp_path, "old")
    for query in (ask("region:part"), ask("region"), ask("region", "trade", measure="units")):
        with pytest.raises(BackendError, match="older one"):
            service.answer(query)
    assert releases_in(tmp_path) == 3
    assert told == ["store refused"]
    swap(tmp_path, "latest")
    service.answer(ask("region", "trade"))
    assert releases_in(tmp_path) == 5


def test_an_older_store_is_noticed_by_a_process_that_recorded_none_of_what_is_missing(tmp_path: Path) -> None:
    """What one process released, all know by the counter."""
    idle, busy = open_village(tmp_path), open_village(tmp_path)
    back_up(tmp_path, "old")
    busy.answer(ask("region"))
    swap(tmp_path, "old")
    with pytest.raises(BackendError, match="older one"):
        idle.answer(ask("trade"))


def test_another_store_under_a_running_server_is_a_503(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = open_village(tmp_path / "other")
    other.answer(ask("region"))
    other.answer(ask("trade"))
    back_up(tmp_path / "other", "store")
    service = open_village(tmp_path)
    service.answer(ask("region"))
    swap(tmp_path, "other/store")
    with pytest.raises(BackendError, match="another"):
        service.answer(ask("trade"))


def test_a_store_that_is_gone_is_a_503_and_no_empty_one_takes_its_place(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    service.answer(ask("region"))
    back_up(tmp_path, "latest")
    (tmp_path / "store.sqlite").unlink()
    for _ in range(2):
        with pytest.raises(BackendError):
            service.answer(ask("trade"))
    assert not (tmp_path / "store.sqlite").exists()
    (tmp_path / "store.sqlite").touch()
    with pytest.raises(BackendError):
        service.answer(ask("trade"))
    swap(tmp_path, "latest")
    service.answer(ask("trade"))


def test_a_counter_that_is_gone_or_another_stores_is_a_503(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    answer = service.answer(ask("region"))
    counter = tmp_path / "key.counter"
    kept = counter.read_text()
    for content in (None, "nothing", json.dumps({**json.loads(kept), "store": "other"})):
        counter.unlink() if content is None else counter.write_text(content)
        with pytest.raises(BackendError, match="counter"):
            service.answer(ask("trade"))
    counter.write_text(kept)
    assert service.answer(ask("region")).to_bytes() == answer.to_bytes()


def test_a_counter_that_cannot_be_written_is_a_503_until_it_can(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    service.answer(ask("trade"))
    (tmp_path / "key.counter").rename(tmp_path / "away")
    (tmp_path / "key.counter").mkdir()
    with pytest.raises(BackendError):
        service.answer(ask("region"))
    with pytest.raises(BackendError):
        service.answer(ask("region"))
    (tmp_path / "key.counter").rmdir()
    (tmp_path / "away").rename(tmp_path / "key.counter")
    assert service.answer(ask("region")).hash == service.check(ask("region"))


def test_a_key_without_a_counter_still_binds_the_store(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    one, two = SecretKey(b"1" * 32), SecretKey(b"2" * 32)
    assert claim(store, one, {}).store == claim(store, one, {"d": "v"}).store
    with pytest.raises(InputError):
        claim(store, two, {})
    config = village_config(tmp_path, store={"file": "other.sqlite"})
    assert TableService.open(config, one).answer(ask("trade")).dataset == "village"
