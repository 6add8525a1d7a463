from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey, new_key_file


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
