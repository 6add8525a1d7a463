"""A project: a folder with a job, every earlier state of it, and a log that cannot be changed unseen.

job.toml          what is asked, as `statveil protect` reads it
history/000042.toml   every state the job was in; history/stack.json: which of them undo and redo go through
data/             files that were added in the browser
decisions/        what was decided on single cells, with reasons: each list a file of its own, which never changes
results/ID/       one run each; approvals/ID.json; release/
log.jsonl         who did what, each line with the hash of the one before; no value of a record
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.atomic import written_together
from statveil.core.audit_log import AuditLog
from statveil.core.errors import FormatError, InputError, StatveilError
from statveil.core.toml import read_toml, to_toml
from statveil.jobs.folders.tables import JOB_FILE

Change = Callable[[dict[str, Any]], Mapping[str, Any]]
START_FROM = "Open a file of records on the first screen: the desk writes a job to start from."
OUTSIDE = "outside the desk"
_PLAIN_NAME = re.compile(r"[\w][\w .()+-]{0,120}")
_DATA_FOLDERS, _DATA_ENDINGS = ("data", "input", "."), (".csv", ".tsv", ".txt", ".parquet", ".sav", ".dta", ".sas7bdat", ".xlsx")


class Conflict(StatveilError):
    """The job moved on since the page was made."""

    http_status = 409


class JobStep(NamedTuple):
    """A change of the job: in words, by whom, and the state of the job that it is meant for."""

    words: str
    person: str
    state: str


class HistoryEntry(NamedTuple):
    """A state of the job by number, the words of the step that led to it, and who made it."""

    number: int
    words: str
    person: str


class Stack(NamedTuple):
    """The states that undo and redo go through; `at` is the present one."""

    states: tuple[HistoryEntry, ...] = ()
    at: int = -1

    @property
    def undo_words(self) -> str | None:
        return self.states[self.at].words if self.at > 0 else None

    @property
    def redo_words(self) -> str | None:
        return self.states[self.at + 1].words if self.at + 1 < len(self.states) else None

    @property
    def authors(self) -> list[str]:
        """Whose steps led to the job as it is."""
        return sorted({entry.person for entry in self.states[1 : self.at + 1]} - {OUTSIDE})


class Project:
    """The folder; every method reads it anew, so that two windows and two processes see the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        for name in ("history", "data", "decisions", "results", "approvals"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.log = AuditLog(self.folder / "log.jsonl")
        self._thread, self._inside = threading.RLock(), 0
        self.settle()

    @property
    def job_path(self) -> Path:
        return self.folder / JOB_FILE

    @property
    def text(self) -> str:
        return _text_of(self.job_path) if self.job_path.is_file() else ""

    @property
    def content(self) -> dict[str, Any]:
        return read_toml(self.job_path, start_from=START_FROM).content if self.job_path.is_file() else {}

    @property
    def state(self) -> str:
        """A hash of the job as it is: every form carries the one it was made on."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def stack(self) -> Stack:
        path = self.folder / "history" / "stack.json"
        if not path.is_file():
            return Stack()
        content = json.loads(path.read_text(encoding="utf-8"))
        return Stack(tuple(HistoryEntry(*entry) for entry in content["states"]), int(content["at"]))

    def change(self, change: Change, step: JobStep) -> None:
        """Write what `change` makes of the job: one step of the history."""
        with self.alone():
            self._expect(step.state)
            self._take(to_toml(change(self.content)), step)

    def replace(self, text: str, step: JobStep) -> None:
        with self.alone():
            self._expect(step.state)
            self._take(text, step)

    def move(self, by: int, *, person: str, state: str) -> None:
        """Undo (-1) or redo (+1): the job is byte for byte what it was."""
        with self.alone():
            self._expect(state)
            stack = self.stack
            at = stack.at + by
            if not 0 <= at < len(stack.states):
                raise Conflict("There is nothing to undo." if by < 0 else "There is nothing to redo.")
            self._write(_text_of(self.state_file(stack.states[at].number)), stack._replace(at=at))
            self.log.write("undo" if by < 0 else "redo", person=person, state=stack.states[at].number)

    def settle(self) -> Stack:
        """The history, once a job that was there before the desk, or was changed by hand, is a step of its own in it."""
        with self.alone():
            stack, text = self.stack, self.text
            if not stack.states:
                self.state_file(0).write_text("", encoding="utf-8")
                self._write(text, Stack((HistoryEntry(0, "an empty job", OUTSIDE),), 0))
                stack = self.stack
            if text != _text_of(self.state_file(stack.states[stack.at].number)):
                self._push(text, "the job as it was found", OUTSIDE)
            return self.stack

    def plain_file(self, folder: str, name: str) -> Path:
        """A file of a folder of the project; a name is never a path."""
        if not _PLAIN_NAME.fullmatch(name):
            raise InputError("This is not the name of a file.", hint="Letters, digits, blanks, points, brackets and dashes; no folders.")
        return self.folder / folder / name

    def data_files(self) -> list[str]:
        """Files that may hold records or trees, as a job writes their paths; none that leads out of the folder."""
        found = [path for name in _DATA_FOLDERS for path in sorted((self.folder / name).glob("*")) if path.suffix.lower() in _DATA_ENDINGS]
        inside = [path for path in found if path.is_file() and path.resolve().is_relative_to(self.folder)]
        return [path.relative_to(self.folder).as_posix() for path in inside if _PLAIN_NAME.fullmatch(path.name)]

    def expect(self, state: str) -> None:
        """Refuse what was meant for another state of the job."""
        if state != self.state:
            raise Conflict(
                "The job was changed meanwhile, in another window or by hand.", hint="Look at it as it is now, and repeat the step."
            )

    def state_file(self, number: int) -> Path:
        return self.folder / "history" / f"{number:06}.toml"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One writer at a time, also among processes."""
        with self._thread:
            file = os.open(self.folder / "history" / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if not self._inside:  # who is in already would wait for itself
                    fcntl.flock(file, fcntl.LOCK_EX)
                self._inside += 1
                yield
            finally:
                self._inside -= 1
                os.close(file)

    def _expect(self, state: str) -> None:
        self.expect(state)
        self.settle()

    def _take(self, text: str, step: JobStep) -> None:
        if text != self.text:
            tomllib.loads(text)
            self._push(text, step.words, step.person)

    def _push(self, text: str, words: str, person: str) -> None:
        stack = self.stack
        number = max((int(path.stem) for path in (self.folder / "history").glob("[0-9]*.toml")), default=0) + 1
        with written_together([self.state_file(number)]) as (place,):
            place.write_bytes(text.encode())
        states = (*stack.states[: stack.at + 1], HistoryEntry(number, words, person))
        self._write(text, Stack(states, len(states) - 1))
        self.log.write("change", person=person, step=words, state=number)

    def _write(self, text: str, stack: Stack) -> None:
        """Both files; where a kill comes between them, the next start finds a job that differs from its history, and settles it."""
        targets = [self.folder / "history" / "stack.json", self.job_path]
        with written_together(targets) as (stack_place, job_place):
            stack_place.write_text(json.dumps({"states": stack.states, "at": stack.at}), encoding="utf-8")
            job_place.write_bytes(text.encode())


def _text_of(path: Path) -> str:
    """Byte for byte, line ends too."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path.name} is not UTF-8 text (byte {error.start}).", hint="Save the job file as UTF-8.") from None
