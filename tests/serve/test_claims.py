from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from statveil.errors import BackendError, InputError
from statveil.serve.claims import Counter, claim
from statveil.serve.secret import SecretKey, new_key_file
from statveil.serve.service import TableService
from statveil.serve.store.sqlite import SqliteStore
from tests.serve.village import VILLAGE, ask, open_village, village_config


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


def test_the_counter_only_grows_and_owes_what_it_could_not_write(tmp_path: Path) -> None:
    counter = Counter(tmp_path / "folder" / "counter")
    with pytest.raises(BackendError):
        counter.raise_to("s", 3)
    (tmp_path / "folder").mkdir()
    counter.settle("s")
    assert counter.read() == ("s", 3)
    Counter(counter.path).raise_to("s", 2)
    assert counter.read() == ("s", 3)
    Counter(counter.path).raise_to("s", 4)
    counter.settle("s")
    assert counter.read() == ("s", 4)


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
    assert claim(store, one, {}) == claim(store, one, {"d": "v"})
    with pytest.raises(InputError):
        claim(store, two, {})
    config = village_config(tmp_path, store={"file": "other.sqlite"})
    assert TableService.open(config, one).answer(ask("trade")).dataset == "village"
