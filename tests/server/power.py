"""A power cut for SQLite, without pulling a plug: every write and every sync is seen, and what a disk could hold afterwards is made.

SQLite is asked for its own way to files (its VFS) and given back one that tells of writes, truncations and syncs before it does them.
What was synced is on the disk; of what was written since, a power cut may leave all, nothing, or any part, torn at sectors.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field, replace
from pathlib import Path

SECTOR = 512


class NotReachable(Exception):
    """Python's SQLite does not let its files be watched."""


class _Methods(Structure):
    """sqlite3_io_methods, to its third version."""

    _fields_ = (
        ("version", c_int),
        *((name, c_void_p) for name in ("close", "read", "write", "truncate", "sync", "size", "lock", "unlock", "reserved", "control")),
        *((name, c_void_p) for name in ("sector", "device", "map", "shm_lock", "barrier", "unmap", "fetch", "unfetch")),
    )


class _File(Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


class _Vfs(Structure):
    """The beginning of sqlite3_vfs, and room for the rest of its third version."""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("rest", c_void_p * 15),
    )


_OPEN = CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(_File), c_int, c_void_p)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


@dataclass(frozen=True, kw_only=True)
class Write:
    file: str
    offset: int
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The file ends here from now on."""

    file: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Sync:
    file: str


@dataclass(frozen=True, kw_only=True)
class Said:
    """A word of the test between the writes: from here on `what` has been answered."""

    what: str


Event = Write | Cut | Sync | Said


@dataclass
class Disk:
    """What happened to the files, in order."""

    events: list[Event] = field(default_factory=list)

    def say(self, what: str) -> None:
        self.events.append(Said(what=what))


@contextmanager
def watched_disk() -> Iterator[Disk]:
    """While it lasts, SQLite files that are opened tell of their writes."""
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        find, register, unregister = library.sqlite3_vfs_find, library.sqlite3_vfs_register, library.sqlite3_vfs_unregister
    except (AttributeError, OSError) as reason:
        raise NotReachable(str(reason)) from None
    find.restype, find.argtypes = POINTER(_Vfs), (c_char_p,)
    usual, disk = find(None).contents, Disk()
    ours = _Vfs.from_buffer_copy(usual)
    ours.name = b"watched"
    tell = _Teller(disk)
    opened = _OPEN(tell.opener(ctypes.cast(usual.open, _OPEN)))
    ours.open = ctypes.cast(opened, c_void_p).value
    register(ctypes.byref(ours), 1)
    try:
        yield disk
    finally:
        register(ctypes.byref(usual), 1)
        unregister(ctypes.byref(ours))


class _Teller:
    """Puts itself between SQLite and each file that it opens."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._name: dict[int, str] = {}
        self._made: dict[int, _Methods] = {}
        self._held: list[object] = []

    def opener(self, usual: Callable[..., int]) -> Callable[..., int]:
        def open_(vfs: int, name: bytes | None, file: object, flags: int, out: int) -> int:
            status = usual(vfs, name, file, flags, out)
            if status == 0 and name is not None:
                place = ctypes.addressof(file.contents)  # type: ignore[attr-defined]
                self._name[place] = Path(name.decode()).name
                file.contents.methods = ctypes.pointer(self._watching(file.contents.methods))  # type: ignore[attr-defined]
            return status

        return open_

    def _watching(self, usual: object) -> _Methods:
        """The same methods, three of which tell first."""
        place = ctypes.addressof(usual.contents)  # type: ignore[attr-defined]
        if place not in self._made:
            made = _Methods.from_buffer_copy(usual.contents)  # type: ignore[attr-defined]
            write, truncate, sync = (ctypes.cast(getattr(made, name), kind) for name, kind in _WATCHED)

            def on_write(file: int, content: int, amount: int, offset: int) -> int:
                self._tell(Write(file=self._name[file], offset=offset, content=ctypes.string_at(content, amount)))
                return int(write(file, content, amount, offset))

            def on_truncate(file: int, size: int) -> int:
                self._tell(Cut(file=self._name[file], size=size))
                return int(truncate(file, size))

            def on_sync(file: int, flags: int) -> int:
                status = int(sync(file, flags))
                self._tell(Sync(file=self._name[file]))
                return status

            for (name, kind), function in zip(_WATCHED, (on_write, on_truncate, on_sync), strict=True):
                held = kind(function)
                self._held.append(held)
                setattr(made, name, ctypes.cast(held, c_void_p).value)
            self._made[place] = made
        return self._made[place]

    def _tell(self, event: Event) -> None:
        self._disk.events.append(event)


_WATCHED: tuple[tuple[str, Callable[..., object]], ...] = (("write", _WRITE), ("truncate", _TRUNCATE), ("sync", _SYNC))


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    """What the disk may hold after a power cut at one moment, and what had been said by then."""

    kind: str
    files: dict[str, bytes]
    said: tuple[str, ...]


def power_cuts(disk: Disk, names: tuple[str, ...], *, since: str, seed: int = 1) -> Iterator[Aftermath]:
    """At every write after `since` was said: all of what was not yet synced is there, nothing of it, or a random part. Each once."""
    seen: set[tuple[object, ...]] = set()
    dice = random.Random(seed)
    safe: dict[str, bytearray] = {name: bytearray() for name in names}
    pending: dict[str, list[Write | Cut]] = {name: [] for name in names}
    said: list[str] = []
    for event in disk.events:
        match event:
            case Said(what=what):
                said.append(what)
            case Sync(file=name) if name in names:
                safe[name] = _after(safe[name], pending[name])
                pending[name] = []
            case Write(file=name) | Cut(file=name) if name in names:
                pending[name].append(event)
        if since in said:
            kept = {"all": pending, "nothing": {}, "a part": {name: _part(dice, changes) for name, changes in pending.items()}}
            for kind, changes in kept.items():
                files = {name: bytes(_after(safe[name], changes.get(name, []))) for name in names}
                state = (len(said), *files.values())
                if state not in seen:
                    seen.add(state)
                    yield Aftermath(kind=kind, files=files, said=tuple(said))


def _after(content: bytearray, changes: list[Write | Cut]) -> bytearray:
    found = bytearray(content)
    for change in changes:
        if isinstance(change, Cut):
            del found[change.size :]
            found.extend(bytes(change.size - len(found)))
        else:
            found.extend(bytes(max(0, change.offset + len(change.content) - len(found))))
            found[change.offset : change.offset + len(change.content)] = change.content
    return found


def _part(dice: random.Random, changes: list[Write | Cut]) -> list[Write | Cut]:
    """Some of the changes, in order; of a write perhaps only its first sectors."""
    found: list[Write | Cut] = []
    for change in changes:
        if dice.random() < 0.5:
            continue
        found.append(_torn(dice, change) if isinstance(change, Write) else change)
    return found


def _torn(dice: random.Random, write: Write) -> Write:
    sectors = -(-len(write.content) // SECTOR)
    return replace(write, content=write.content[: dice.randrange(1, sectors + 1) * SECTOR])
