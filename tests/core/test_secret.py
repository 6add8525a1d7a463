from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from statveil.core import secret
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey, new_key_file, office_key, office_key_file


def test_a_key_never_shows_itself(tmp_path: Path) -> None:
    new_key_file(tmp_path / "key")
    text = (tmp_path / "key").read_text().strip()
    key = SecretKey.from_file(tmp_path / "key")
    assert text not in f"{key} {key!r} {[key]}"
    assert repr(key) == "SecretKey(***)"
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    new_key_file(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(InputError, match="may be read by others"):
        SecretKey.from_file(tmp_path / "key")


def test_a_key_file_is_never_overwritten_nor_followed_through_a_link(tmp_path: Path) -> None:
    new_key_file(tmp_path / "key")
    with pytest.raises(InputError, match="exists"):
        new_key_file(tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    with pytest.raises(InputError, match="cannot be opened"):
        SecretKey.from_file(tmp_path / "link")
    with pytest.raises(InputError, match="cannot be written"):
        new_key_file(tmp_path / "nowhere" / "key")


def test_a_key_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_key_file(tmp_path / "key")
    monkeypatch.setenv("STATVEIL_TEST_KEY", (tmp_path / "key").read_text())
    same = SecretKey.from_environment("STATVEIL_TEST_KEY", counter=tmp_path / "counter")
    assert same.digest("x", b"y") == SecretKey.from_file(tmp_path / "key").digest("x", b"y")
    monkeypatch.delenv("STATVEIL_TEST_KEY")
    with pytest.raises(InputError, match="holds no key"):
        SecretKey.from_environment("STATVEIL_TEST_KEY", counter=tmp_path / "counter")


def test_a_short_key_and_words_are_refused_without_being_quoted(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InputError) as refused:
        SecretKey.from_file(tmp_path / "key")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(InputError, match="fewer than 32 bytes"):
        SecretKey(b"short")


def test_digests_differ_by_purpose_by_parts_and_by_key() -> None:
    key = SecretKey(b"1" * 32)
    digests = {
        key.digest("a", b"x", b"y"),
        key.digest("b", b"x", b"y"),
        key.digest("a", b"xy"),
        SecretKey(b"2" * 32).digest("a", b"x", b"y"),
    }
    assert len(digests) == 4
    assert key.matches("a", key.digest("a", b"x"), b"x")
    assert not key.matches("a", key.digest("a", b"x"), b"z")


def test_a_fingerprint_names_the_key_without_telling_it() -> None:
    key = SecretKey(b"1" * 32)
    assert key.fingerprint == SecretKey(b"1" * 32).fingerprint != SecretKey(b"2" * 32).fingerprint
    assert len(key.fingerprint) == 16
    assert key.fingerprint not in (b"1" * 32).hex()
    assert key.fingerprint not in repr(key)


def test_a_key_is_not_copied_by_way_of_pickle() -> None:
    with pytest.raises(TypeError, match="not written anywhere"):
        copy.copy(SecretKey(b"1" * 32))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a key."""
    monkeypatch.delenv("STATVEIL_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_the_offices_key_lies_in_the_users_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office_key_file() == home / "config" / "statveil" / "office.key"
    for unset in ("", None):
        monkeypatch.setenv("XDG_CONFIG_HOME", "") if unset == "" else monkeypatch.delenv("XDG_CONFIG_HOME")
        assert office_key_file() == home / "home" / ".config" / "statveil" / "office.key"


def test_the_offices_key_is_made_once_for_its_owner_alone_and_said_so(home: Path) -> None:
    with pytest.warns(UserWarning, match="A new secret key was made: .*office.key") as told:
        first = office_key(make=True)
    file = office_key_file()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["office.key"]
    assert not any(file.read_text().strip() in str(each.message) for each in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert office_key(make=True).fingerprint == office_key(make=False).fingerprint == first.fingerprint


def test_no_key_is_made_to_check_a_release(home: Path) -> None:
    with pytest.raises(InputError, match="There is no key") as refused:
        office_key(make=False)
    assert "[protection] key" in refused.value.hint
    assert not (home / "config").exists()


def test_the_environment_comes_before_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning, match="new secret key"):
        of_file = office_key(make=True)
    monkeypatch.setenv("STATVEIL_KEY", "31" * 32)
    assert office_key(make=False).fingerprint == SecretKey(b"1" * 32).fingerprint != of_file.fingerprint
    monkeypatch.setenv("STATVEIL_KEY", "hunter2")
    with pytest.raises(InputError, match="STATVEIL_KEY does not hold a key") as refused:
        office_key(make=True)
    assert "hunter2" not in str(refused.value)


def test_a_key_in_the_environment_makes_no_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", "31" * 32)
    office_key(make=True)
    assert not (home / "config").exists()


def test_an_office_key_that_others_may_read_is_refused(home: Path) -> None:
    with pytest.warns(UserWarning, match="new secret key"):
        office_key(make=True)
    office_key_file().chmod(0o644)
    with pytest.raises(InputError, match="may be read by others"):
        office_key(make=True)


def test_of_two_who_make_the_key_at_once_both_use_the_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, other = secret.new_key_file, office_key_file()

    def interrupted(path: Path) -> None:
        """Another run links its key into place while this one writes its own."""
        write(path)
        write(other)

    monkeypatch.setattr(secret, "new_key_file", interrupted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # this run made none: it says nothing
        mine = office_key(make=True)
    assert mine.fingerprint == SecretKey.from_file(other).fingerprint
    assert [path.name for path in other.parent.iterdir()] == ["office.key"]


@pytest.mark.filterwarnings("ignore:A new secret key")
def test_many_threads_at_once_make_one_key(home: Path) -> None:
    start, found = threading.Barrier(8), []

    def first_run() -> None:
        start.wait()
        found.append(office_key(make=True).fingerprint)

    threads = [threading.Thread(target=first_run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.slow
def test_two_processes_at_once_make_one_key(home: Path) -> None:
    command = "from statveil.core.secret import office_key; print(office_key(make=True).fingerprint)"
    runs = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", command], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (run.communicate()[0] for run in runs)
    assert first == second != ""


def test_where_no_key_can_be_made_that_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(secret.os, "link", full)
    with pytest.raises(InputError, match=r"office\.key cannot be made: No space left on device") as refused:
        office_key(make=True)
    assert "STATVEIL_KEY" in refused.value.hint
    assert not office_key_file().exists()


@pytest.mark.parametrize("blocked", ["config", "config/statveil"])
def test_a_file_where_the_folder_should_be_is_said_and_no_key_is_claimed(home: Path, blocked: str) -> None:
    (home / blocked).parent.mkdir(exist_ok=True)
    (home / blocked).write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="cannot be made"):
            office_key(make=True)


def test_a_folder_that_may_not_be_entered_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", forbidden)
    monkeypatch.setattr(Path, "mkdir", forbidden)
    with pytest.raises(InputError, match="cannot be made: Permission denied"):
        office_key(make=True)
    with pytest.raises(InputError, match="There is no key"):
        office_key(make=False)


def test_what_is_sealed_is_opened_by_the_key_alone_and_only_unchanged() -> None:
    key, content = SecretKey(b"1" * 32), b"numbers that nobody may see" * 100
    sealed = key.seal("cube", content)
    assert key.unseal("cube", sealed) == content
    assert key.seal("cube", content) == sealed, "the same content, the same bytes"
    assert content[:8] not in sealed
    assert SecretKey(b"2" * 32).unseal("cube", sealed) is None
    assert key.unseal("memory", sealed) is None
    for place in (0, 40, len(sealed) - 1):
        changed = bytearray(sealed)
        changed[place] ^= 1
        assert key.unseal("cube", bytes(changed)) is None
    assert key.unseal("cube", sealed[:20]) is None
    assert key.unseal("cube", key.seal("cube", b"")) == b""
