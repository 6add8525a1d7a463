"""The audit log: one JSON object a line, each with the hash of the one before, so that no line can be changed or taken out unseen.

Several processes append to the same file: each takes the file's lock, reads what others wrote meanwhile, and goes on from there.
A line names the key, what was asked and how it ended; it never holds a value, a record, a token or a query to the data.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import AuditFailed, BackendError, InputError

START = "0" * 64


class AuditLogTuning(NamedTuple):
    most_shown: int = 1_000
    """Lines that one request may ask for. By judgement."""
    chunk: int = 1 << 23
    """Bytes read at once; no line is longer. By judgement."""


TUNING = AuditLogTuning()


@dataclass(frozen=True, kw_only=True)
class LogHead:
    """The last line of an audit log: how many lines there are, its hash, and the bytes up to its end."""

    lines: int = 0
    hash: str = START
    size: int = 0


def line_hash(content: Mapping[str, Any]) -> str:
    """Hash of a line without its own hash: the text is the same wherever it is made."""
    told = {name: value for name, value in content.items() if name != "hash"}
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


class AuditLog:
    """Append-only. `write` returns when the line is in the file; `sure=True` waits until the disk has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head = LogHead()
        self._thread = threading.Lock()

    def write(self, event: str, *, sure: bool = False, **facts: Any) -> LogHead:
        with self._thread, self._locked() as file:
            self._catch_up(file)
            content = {
                "line": self._head.lines + 1,
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "event": event,
                **{name: fact for name, fact in facts.items() if fact is not None},
                "previous": self._head.hash,
            }
            content["hash"] = line_hash(content)
            text = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
            self._append(file, text)
            self._head = head = LogHead(lines=content["line"], hash=content["hash"], size=self._head.size + len(text))
            if sure:
                fcntl.flock(file, fcntl.LOCK_UN)  # others need not wait for the disk
                os.fsync(file)
            return head

    def head(self) -> LogHead:
        with self._thread, self._locked() as file:
            self._catch_up(file)
            return self._head

    def last(self, count: int) -> list[dict[str, Any]]:
        """The last lines, oldest first: at most so many, and at most what a chunk holds."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TUNING.chunk))
            lines = file.read().split(b"\n")[1 if size > TUNING.chunk else 0 : -1]  # what comes after the last line is being written
        return [json.loads(line) for line in lines[-min(count, TUNING.most_shown) :]]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)  # this gives the lock back

    def _append(self, file: int, text: bytes) -> None:
        """All of the line or nothing of it, also on a disk that is full."""
        if os.write(file, text) < len(text):
            os.ftruncate(file, self._head.size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _catch_up(self, file: int) -> None:
        """Follow the chain over what others wrote since; a line that a crash cut short was never answered for, and goes."""
        size = os.fstat(file).st_size
        if size < self._head.size:
            raise BackendError("The audit log is shorter than it was.", hint="Restore it from a backup, or start a new one.")
        while self._head.size < size:
            fresh = os.pread(file, TUNING.chunk, self._head.size)
            whole = fresh[: fresh.rfind(b"\n") + 1]
            if not whole:
                os.ftruncate(file, self._head.size)
                return
            try:
                self._head = follow(whole, self._head)
            except AuditFailed as error:
                raise BackendError(error.message, hint=error.hint) from None


def follow(text: bytes, head: LogHead) -> LogHead:
    """The head after these lines; AuditFailed at the first that does not continue the chain."""
    for line in text.splitlines(keepends=True):
        content = _parsed(line, head.lines + 1)
        if content.get("line") != head.lines + 1 or content.get("previous") != head.hash or content.get("hash") != line_hash(content):
            raise AuditFailed(
                f"The audit log was changed: line {head.lines + 1} does not continue the chain.",
                hint="The lines before it are sound. Compare with a backup.",
            )
        head = LogHead(lines=head.lines + 1, hash=content["hash"], size=head.size + len(line))
    return head


def _parsed(line: bytes, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise AuditFailed(f"The audit log was changed: line {number} is not JSON.", hint="Compare with a backup.")
    return content


def verify(path: Path, *, expected_head: str | None = None) -> LogHead:
    """Follow the whole chain. A chain cut at its end is still a chain: give the hash of a line noted elsewhere to find that out."""
    if not path.is_file():
        raise InputError(f"There is no audit log {path}.", hint="Its name is in the server's configuration.")
    head, seen = LogHead(), expected_head is None
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                raise AuditFailed(f"The audit log ends in the middle of line {head.lines + 1}.", hint="Is the server writing? Try again.")
            head = follow(line, head)
            seen = seen or head.hash == expected_head
    if not seen:
        raise AuditFailed("The line with the hash you gave is not in the audit log.", hint="Lines were cut off, or it is another log.")
    return head
