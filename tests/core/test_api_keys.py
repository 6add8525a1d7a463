"""API keys: kept as hashes, stopped at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from statveil.core import api_keys
from statveil.core.api_keys import KeyRing, Role, add_key, read_keys, revoke_key
from statveil.core.errors import InputError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_key_says_who_asks_and_in_which_role(file: Path):
    token = add_key(file, name="Statistics desk", role=Role.OFFICER, datasets=("firms",))
    caller = KeyRing(file).caller(token)
    assert caller is not None
    assert caller.role is Role.OFFICER
    assert caller.sees("firms")
    assert not caller.sees("farms")


def test_the_file_holds_no_key_and_nobody_else_reads_it(file: Path):
    token = add_key(file, name="a", role=Role.USER)
    assert token.rpartition("_")[2] not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    with pytest.raises(InputError, match="read by others"):
        read_keys(file)


@pytest.mark.parametrize("token", ["", "sv", "sv_000000000000_" + "A" * 43, "Bearer x", "\ud800", "é" * 500, "sv_" + "0" * 56])
def test_what_is_no_key_is_nobody(file: Path, token: str):
    add_key(file, name="a", role=Role.USER)
    assert KeyRing(file).caller(token) is None


def test_one_letter_wrong_is_nobody(file: Path):
    token = add_key(file, name="a", role=Role.USER)
    other = "A" if token[-1] != "A" else "B"
    assert KeyRing(file).caller(token[:-1] + other) is None


def test_without_a_file_nobody_gets_in(file: Path):
    ring = KeyRing(file)
    token = add_key(file, name="a", role=Role.USER)
    assert ring.caller(token) is not None
    file.unlink()
    assert ring.caller(token) is None


def test_a_revoked_key_stops_at_once(file: Path):
    first, second = (add_key(file, name=name, role=Role.USER) for name in "ab")
    ring = KeyRing(file)
    assert ring.caller(first) is not None
    revoke_key(file, first.split("_")[1])
    assert ring.caller(first) is None
    assert ring.caller(second) is not None
    with pytest.raises(InputError, match="no key"):
        revoke_key(file, "000000000000")


def test_a_key_is_valid_through_its_last_day(file: Path):
    today = datetime.now(UTC).date()
    last = add_key(file, name="a", role=Role.USER, expires=today)
    over = add_key(file, name="b", role=Role.USER, expires=today - timedelta(days=1))
    assert KeyRing(file).caller(last) is not None
    assert KeyRing(file).caller(over) is None


@pytest.mark.parametrize("content", ["{", "[1]", '[{"id": "x"}]', '[{"id":"a","name":"b","role":"king","secret_hash":"c"}]'])
def test_a_damaged_file_lets_nobody_in(file: Path, content: str):
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(InputError, match="cannot be understood"):
        KeyRing(file).caller("sv_x")


def test_secrets_are_compared_in_constant_time_also_for_an_unknown_id(file: Path, monkeypatch: pytest.MonkeyPatch):
    compared: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(api_keys.hmac, "compare_digest", compare)
    token = add_key(file, name="a", role=Role.USER)
    ring = KeyRing(file)
    for word in (token, "sv_000000000000_" + "A" * 43, "rubbish"):
        ring.caller(word)
    assert [len(one) == len(other) == 64 for one, other in compared] == [True, True, True]
