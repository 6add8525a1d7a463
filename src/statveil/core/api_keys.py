"""API keys: who asks, and in which role.

A key is `sv_ID_SECRET`. The file of keys holds the ID and a hash of the secret, which is 256 random bits: a fast hash is enough, and
nobody who reads the file can use it. Comparison takes the same time for a wrong secret and for an ID that does not exist.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from statveil.core.errors import InputError

_TOKEN = re.compile(r"sv_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"nobody").hexdigest()
_PRIVATE = 0o600


class Role(StrEnum):
    """`user` asks for tables; `officer` also sees audit log and metrics; `auditor` sees these, and asks for no table."""

    USER = "user"
    OFFICER = "officer"
    AUDITOR = "auditor"


ASKS = frozenset({Role.USER, Role.OFFICER})
WATCHES = frozenset({Role.OFFICER, Role.AUDITOR})


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks. `datasets`: the only ones this caller may know of; None for all."""

    id: str
    role: Role
    datasets: frozenset[str] | None = None

    def sees(self, dataset: str) -> bool:
        return self.datasets is None or dataset in self.datasets


ANONYMOUS = Caller(id="anonymous", role=Role.USER)


@dataclass(frozen=True, kw_only=True)
class StoredKey:
    """A key as the file holds it. `expires` is the last day of its use."""

    id: str
    name: str
    role: Role
    secret_hash: str
    datasets: tuple[str, ...] | None = None
    expires: str | None = None
    revoked: bool = False

    def caller(self) -> Caller:
        return Caller(id=self.id, role=self.role, datasets=None if self.datasets is None else frozenset(self.datasets))

    def valid_on(self, day: date) -> bool:
        return not self.revoked and (self.expires is None or day <= date.fromisoformat(self.expires))


class KeyRing:
    """The keys of a file, read again when the file changes: a key that is revoked stops at once, in every process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, StoredKey] = {}

    def caller(self, token: str) -> Caller | None:
        """Who this token is, or None."""
        self._refresh()
        match = _TOKEN.fullmatch(token)
        key = self._keys.get(match[1]) if match else None
        given = _hash(match[2] if match else token[:64])
        same = hmac.compare_digest(given, key.secret_hash if key else _NOBODY)
        return key.caller() if key and same and key.valid_on(datetime.now(UTC).date()) else None

    def _refresh(self) -> None:
        try:
            found = self._path.stat()
        except OSError:
            self._keys, self._seen = {}, None  # no file, no keys: nobody gets in
            return
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._seen:
            self._keys = {key.id: key for key in read_keys(self._path)}
            self._seen = seen


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path) -> list[StoredKey]:
    """The keys of a file that nobody else may read."""
    if not path.exists():
        return []
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InputError(f"The file of keys {path} can be read by others.", hint=f"Run: chmod 600 {path}")
    try:
        return [_key(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"The file of keys {path} cannot be understood.", hint="It is written by `statveil serve keys`.") from None


def _key(entry: dict[str, object]) -> StoredKey:
    key = StoredKey(**entry)  # type: ignore[arg-type]
    datasets = None if key.datasets is None else tuple(key.datasets)
    return replace(key, role=Role(key.role), datasets=datasets)


def add_key(path: Path, *, name: str, role: Role, datasets: tuple[str, ...] | None = None, expires: date | None = None) -> str:
    """Make a key and return its token, which is shown this once and kept nowhere."""
    keys, key_id, secret = read_keys(path), secrets.token_hex(6), secrets.token_urlsafe(32)
    keys.append(
        StoredKey(
            id=key_id,
            name=name,
            role=role,
            secret_hash=_hash(secret),
            datasets=datasets,
            expires=expires.isoformat() if expires else None,
        )
    )
    _write(path, keys)
    return f"sv_{key_id}_{secret}"


def revoke_key(path: Path, key_id: str) -> None:
    keys = read_keys(path)
    if key_id not in [key.id for key in keys]:
        raise InputError(f"There is no key {key_id!r}.", hint="`statveil serve keys list` shows them.")
    _write(path, [replace(key, revoked=True) if key.id == key_id else key for key in keys])


def _write(path: Path, keys: list[StoredKey]) -> None:
    """In one step, and never readable by others."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _PRIVATE), "w", encoding="utf-8") as file:
        json.dump([asdict(key) for key in keys], file, indent=1, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
