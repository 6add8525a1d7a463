"""Who works at the desk: a name, a role, and a token of which only the hash is kept.

author: changes the job and runs it. approver: approves what others made, and publishes it. reader: looks. The one who starts a desk
for one machine is an author by the token in the printed address; everybody else is invited by `statveil desk FOLDER --invite NAME`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import stat
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from statveil.core.atomic import written_together
from statveil.core.errors import InputError
from statveil.core.limits import known

DeskRole = Literal["author", "approver", "reader"]
ROLES: tuple[str, ...] = get_args(DeskRole)
PEOPLE = "people.json"
_APPROVING = re.compile(r"/runs/[0-9]+/approve")
_PUBLISHING = re.compile(r"/runs/[0-9]+/publish")
_SIGNING = ("/sign-in", "/sign-out")


class Person(NamedTuple):
    name: str
    role: DeskRole

    def may_post(self, path: str) -> bool:
        """Whether a form of this address is for this role: nobody both makes and approves."""
        if path in _SIGNING:
            return True
        if self.role == "reader":
            return False
        if _PUBLISHING.fullmatch(path):
            return True
        return (self.role == "approver") == bool(_APPROVING.fullmatch(path))


class People:
    """The people of a project, read anew at each request: whoever is taken off the list is out at once."""

    def __init__(self, folder: Path, *, starter: Person | None = None, token: str = "") -> None:
        self._path, self._starter, self._hash = folder / PEOPLE, starter, hash_of(token)
        if starter is not None and any(_same(starter.name, entry["name"]) for entry in read_people(self._path)):
            raise InputError(f"{starter.name!r} is one of those who were invited.", hint="Start the desk under your own name: --as NAME.")

    def person(self, token: str) -> Person | None:
        """Whose token this is; as long for a wrong one as for a right one."""
        given = hash_of(token)
        found = self._starter if self._starter is not None and hmac.compare_digest(given, self._hash) else None
        for entry in read_people(self._path):
            if hmac.compare_digest(given, entry["hash"]):
                found = Person(entry["name"], entry["role"])
        return found


def invite(folder: Path, name: str, role: str) -> str:
    """Give a person a new token, which is shown this once and kept nowhere; an earlier one of the same name ends."""
    known("role", role, ROLES)
    if not re.fullmatch(r"\S(.{0,78}\S)?", name) or not name.isprintable():
        raise InputError("A name has 1 to 80 letters.")
    folder.mkdir(parents=True, exist_ok=True)
    path, token = folder / PEOPLE, secrets.token_urlsafe(32)
    others = [entry for entry in read_people(path) if not _same(entry["name"], name)]
    with written_together([path]) as (place,):
        place.touch(mode=0o600)
        place.write_text(json.dumps([*others, {"name": name, "role": role, "hash": hash_of(token)}], indent=1), encoding="utf-8")
    return token


def read_people(path: Path) -> list[dict[str, Any]]:
    """Those who were invited; refused where others could have put themselves on the list."""
    if not path.exists():
        return []
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InputError(f"{path} can be read by others.", hint=f"Run: chmod 600 {path}")
    try:
        people = json.loads(path.read_text(encoding="utf-8"))
        return [{"name": str(each["name"]), "role": each["role"], "hash": str(each["hash"])} for each in people if each["role"] in ROLES]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path} cannot be understood.", hint="It is written by `statveil desk FOLDER --invite NAME`.") from None


def hash_of(token: str) -> str:
    """A token has 256 random bits: a fast hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()
