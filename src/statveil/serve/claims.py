"""What key, store and data owe each other: one key for one store for ever (T22), no store older than its key remembers (F18)."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from statveil.errors import BackendError, InputError
from statveil.serve.secret import MODE, SecretKey
from statveil.serve.store.protocol import Store
from statveil.serve.store.sql import RELEASES, TRY_LATER

_STORE, _CHECK = "store", "key check"
_WIDTH = 128


class Counter:
    """The number of the last recording, in a file beside the key. It only ever grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owed = 0

    def read(self) -> tuple[str, int] | None:
        """The store it belongs to and the number; None where there is no file yet."""
        try:
            content = json.loads(self.path.read_bytes())
            return str(content["store"]), int(content["releases"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"The counter file {self.path} cannot be read.", hint="Restore it from where the key is kept.") from None

    def raise_to(self, store: str, releases: int) -> None:
        """Write the number down, on the disk, before what it stands for is answered. What fails is owed, and tried first next time."""
        self._owed = max(self._owed, releases)
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, MODE)
            with os.fdopen(handle, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                text = file.read()
                if not text or json.loads(text)["releases"] < self._owed:
                    file.seek(0)
                    file.write(json.dumps({"store": store, "releases": self._owed}).ljust(_WIDTH).encode() + b"\n")
                    file.flush()
                    os.fdatasync(file.fileno())
        except (OSError, ValueError):
            raise BackendError("The counter beside the key cannot be written.", hint=TRY_LATER) from None
        self._owed = 0

    def settle(self, store: str) -> None:
        """Write what is owed, if anything is."""
        if self._owed:
            self.raise_to(store, self._owed)


def claim(store: Store, key: SecretKey, versions: Mapping[str, str]) -> str:
    """Bind an empty store to this key and these data, or check that it is bound to them; the store's id."""
    counter = None if key.counter is None else Counter(key.counter)
    remembered = None if counter is None else counter.read()
    with store.recording() as recording:
        store_id = recording.fact(_STORE)
        if store_id is None:
            _refuse_lost(remembered)
            store_id = secrets.token_hex(16)
            recording.set_fact(_STORE, store_id)
            recording.set_fact(_CHECK, key.digest(_CHECK, store_id.encode(), size=32).hex())
        if not key.matches(_CHECK, bytes.fromhex(recording.fact(_CHECK) or "00"), store_id.encode()):
            raise InputError(
                "The store was begun with another key. With a second key the same cells would move differently, and the two together tell.",
                hint="Start with the key that the store was begun with. A new key needs new data and an empty store.",
            )
        _refuse_older(remembered, store_id, int(recording.fact(RELEASES) or 0))
        for dataset, version in versions.items():
            name = "version " + key.digest("dataset", dataset.encode(), size=16).hex()
            known = recording.fact(name)
            if known is None:
                recording.set_fact(name, version)
            elif known != version:
                raise InputError(
                    f"Dataset {dataset!r} is not the one that tables were published from: records, codes, rules or mode have changed.",
                    hint="Give the new edition a new id; permanent factors keep it consistent with the old one.",
                )
    if counter is not None:
        counter.raise_to(store_id, 0)  # before the first answer: a store with answers and no counter is a doubtful one
    return store_id


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
        raise InputError("The counter beside the key belongs to another store.", hint="Start with the store it belongs to.")
    if releases < remembered[1]:
        raise InputError(
            "The store is older than the counter beside the key: answers that were given are missing from it.",
            hint="Restore the latest store. An old backup must not go on answering.",
        )
