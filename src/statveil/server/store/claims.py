"""What key, store and data owe each other: one key for one store for ever (T22), no store older than its key remembers (F18)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from statveil.core.errors import BackendError, InputError
from statveil.core.secret import MODE, SecretKey
from statveil.server.store.protocol import Recording, Store, StoreReader
from statveil.server.store.sql import RELEASES, TRY_LATER

_STORE, _CHECK, _FORMAT = "store", "key check", "format"
FORMAT = "cube 1"
"""What a store of this version is for; numbers of an earlier one were made otherwise."""
_WIDTH = 128
NO_COUNTER = "The counter beside the key cannot be used."
OTHER_COUNTER = "The counter beside the key belongs to another store."
_OTHER_DATA = (
    "Dataset {!r} is not the one that tables were published from: codes, records, rules, mode or method changed.",
    "Give the new edition a new id; the store keeps it consistent with the old one.",
)
_OTHER_LEVELS = (
    "Dataset {!r}: its levels have other names than when tables were published, which are asked for by them.",
    "Give the levels their old names back; labels may be changed.",
)


class StoreDoubted(BackendError):
    """Store or counter are not those that were claimed; a store that is merely away is not doubted."""


class ReleaseCounter:
    """The number of the last recording, in a file beside the key. It only ever grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[str, int] | None:
        """The store it belongs to and the number; None where there is no file yet."""
        try:
            with self.path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return _parsed(file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"The counter file {self.path} cannot be read.", hint="Restore it from where the key is kept.") from None

    def begin(self, store: str) -> None:
        """Make the file, unless it is there: whole, so that nobody ever finds it empty."""
        made = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODE), "wb") as file:
                file.write(_written(store, 0))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(made, self.path)
        except OSError:
            raise BackendError(NO_COUNTER, hint=TRY_LATER) from None
        finally:
            made.unlink(missing_ok=True)

    def raise_to(self, store: str, releases: int) -> None:
        """Write the number down, on the disk, before what it stands for is answered. A higher one stays: others write it too."""
        try:
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_NOFOLLOW), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                known = _parsed(file.read())
                if known[0] != store:
                    raise BackendError(OTHER_COUNTER, hint=TRY_LATER)
                if known[1] < releases:
                    file.seek(0)
                    file.write(_written(store, releases))
                    file.flush()
                    os.fdatasync(file.fileno())
        except (OSError, ValueError, KeyError, TypeError):
            raise BackendError(NO_COUNTER, hint=TRY_LATER) from None


def _parsed(text: bytes) -> tuple[str, int]:
    content = json.loads(text)
    return str(content["store"]), int(content["releases"])


def _written(store: str, releases: int) -> bytes:
    return json.dumps({"store": store, "releases": releases}).ljust(_WIDTH).encode() + b"\n"


class ClaimedStore:
    """The store that was claimed, for as long as the server runs: the same one, and never behind what was released (F18)."""

    def __init__(self, store: str, releases: int, counter: ReleaseCounter | None) -> None:
        self.store, self._releases, self._counter = store, releases, counter

    def check(self, store: StoreReader) -> int:
        """How much the store has released; BackendError where it is another one or has forgotten some of it."""
        known = max(self._releases, self._counted())  # looked at first: others go on recording
        releases = int(store.fact(RELEASES) or 0)
        if store.fact(_STORE) != self.store or releases < known:
            raise StoreDoubted("The store is another or an older one than this server knows.", hint=TRY_LATER)
        return releases

    def _counted(self) -> int:
        if self._counter is None:
            return 0
        try:
            found = self._counter.read()
        except InputError:
            found = None
        if found is None:
            raise StoreDoubted(NO_COUNTER, hint=TRY_LATER)
        if found[0] != self.store:
            raise StoreDoubted(OTHER_COUNTER, hint=TRY_LATER)
        return found[1]

    def remember(self, releases: int) -> None:
        """Before anything of these recordings is answered. What fails is tried again before the next answer."""
        if releases <= self._releases:
            return
        if self._counter is not None:
            self._counter.raise_to(self.store, releases)
        self._releases = max(self._releases, releases)


def claim(store: Store, key: SecretKey, versions: Mapping[str, str], levels: Mapping[str, str] | None = None) -> ClaimedStore:
    """Bind an empty store to this key and these data, or check that it is bound to them.

    `versions` say what the numbers of each dataset depend on, `levels` by which names its tables are asked for.
    """
    counter = None if key.counter is None else ReleaseCounter(key.counter)
    with store.recording() as recording:
        remembered = None if counter is None else counter.read()
        store_id = recording.fact(_STORE)
        if store_id is None:
            _refuse_lost(remembered)
            store_id = secrets.token_hex(16)
            recording.set_fact(_STORE, store_id)
            recording.set_fact(_FORMAT, FORMAT)
            recording.set_fact(_CHECK, key.digest(_CHECK, store_id.encode(), size=32).hex())
        if recording.fact(_FORMAT) != FORMAT:
            raise InputError(
                "The store was begun by an earlier version, whose numbers were made otherwise. Both together would tell.",
                hint="Go on with that version for what it has published. For records that were not served yet: a new key, an empty store.",
            )
        if not key.matches(_CHECK, bytes.fromhex(recording.fact(_CHECK) or "00"), store_id.encode()):
            raise InputError(
                "The store was begun with another key. With a second key the same cells would move differently, and the two together tell.",
                hint="Start with the key that the store was begun with. A new key needs new data and an empty store.",
            )
        releases = int(recording.fact(RELEASES) or 0)
        _refuse_older(remembered, store_id, releases)
        for kind, facts, (words, hint) in (("version", versions, _OTHER_DATA), ("levels", levels or {}, _OTHER_LEVELS)):
            for dataset, fact in facts.items():
                if _changed(recording, f"{kind} {key.digest('dataset', dataset.encode(), size=16).hex()}", fact):
                    raise InputError(words.format(dataset), hint=hint)
    if counter is not None:
        if remembered is None:
            counter.begin(store_id)  # before the first answer: a store with answers and no counter is a doubtful one
        counter.raise_to(store_id, releases)  # a crash may have left it behind
    return ClaimedStore(store_id, releases, counter)


def _changed(recording: Recording, name: str, value: str) -> bool:
    """Whether a fact was another one before; a new one is written down."""
    known = recording.fact(name)
    if known is None:
        recording.set_fact(name, value)
    return known not in (None, value)


def _refuse_lost(remembered: tuple[str, int] | None) -> None:
    if remembered is not None:
        raise InputError(
            "The store is empty, but the counter beside the key remembers one.", hint="Restore the store; nothing is answered."
        )


def _refuse_older(remembered: tuple[str, int] | None, store_id: str, releases: int) -> None:
    if remembered is None:
        if releases:
            raise InputError("The counter beside the key is missing, and the store is not empty.", hint="Restore the counter file.")
        return
    if remembered[0] != store_id:
        raise InputError(OTHER_COUNTER, hint="Start with the store it belongs to.")
    if releases < remembered[1]:
        raise InputError(
            "The store is older than the counter beside the key: answers that were given are missing from it.",
            hint="Restore the latest store. An old backup must not go on answering.",
        )
