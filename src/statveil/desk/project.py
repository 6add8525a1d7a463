"""A project: a folder with a job, every earlier state of it, and a log that cannot be changed unseen.

job.toml          what is asked, as `statveil protect` reads it
history/000042.toml   every state the job was in; history/stack.json: which of them undo and redo go through
data/             files that were dropped on the desk
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
from statveil.core.errors import InputError, StatveilError
from statveil.core.toml import read_toml, to_toml
from statveil.jobs.tables.folder import JOB_FILE

Change = Callable[[dict[str, Any]], Mapping[str, Any]]
START_FROM = "Open a file of records on the first screen: the desk writes a job to start from."
_PLAIN_NAME = re.compile(r"[\w][\w .()+-]{0,120}")


class Conflict(StatveilError):
    """The job moved on since the page was made."""

    http_status = 409


class Stack(NamedTuple):
    """The states that undo and redo go through, by number, with the words of the step that led to each; `at` is the present one."""

    states: tuple[tuple[int, str], ...] = ()
    at: int = -1

    @property
    def undo_words(self) -> str | None:
        return self.states[self.at][1] if self.at > 0 else None

    @property
    def redo_words(self) -> str | None:
        return self.states[self.at + 1][1] if self.at + 1 < len(self.states) else None


class Project:
    """The folder; every method reads it anew, so that two windows and two processes see the same."""

    def __init__(self, folder: Path, person: str) -> None:
        self.folder, self.person = folder.resolve(), person
        for name in ("history", "data", "results", "approvals"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.log = AuditLog(self.folder / "log.jsonl")
        self._thread = threading.RLock()
        self._take_from_outside()

    @property
    def job_path(self) -> Path:
        return self.folder / JOB_FILE

    @property
    def text(self) -> str:
        return self.job_path.read_text(encoding="utf-8") if self.job_path.is_file() else ""

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
        return Stack(tuple((int(number), str(words)) for number, words in content["states"]), int(content["at"]))

    def change(self, change: Change, words: str, *, state: str) -> None:
        """Write what `change` makes of the job: one step of the history."""
        with self._alone():
            self.expect(state)
            self._step(to_toml(change(self.content)), words)

    def replace(self, text: str, words: str, *, state: str) -> None:
        with self._alone():
            self.expect(state)
            self._step(text, words)

    def move(self, by: int, *, state: str) -> None:
        """Undo (-1) or redo (+1): the job is byte for byte what it was."""
        with self._alone():
            self.expect(state)
            stack = self.stack
            at = stack.at + by
            if not 0 <= at < len(stack.states):
                raise Conflict("There is nothing to undo." if by < 0 else "There is nothing to redo.")
            self._write(self._state_file(stack.states[at][0]).read_text(encoding="utf-8"), stack._replace(at=at))
            self.log.write("undo" if by < 0 else "redo", person=self.person, state=stack.states[at][0])

    def plain_file(self, folder: str, name: str) -> Path:
        """A file of a folder of the project; a name is never a path."""
        if not _PLAIN_NAME.fullmatch(name):
            raise InputError("This is not the name of a file.", hint="Letters, digits, blanks, points, brackets and dashes; no folders.")
        return self.folder / folder / name

    def data_files(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "data").iterdir() if path.is_file() and _PLAIN_NAME.fullmatch(path.name))

    def expect(self, state: str) -> None:
        """Refuse what was meant for another state of the job."""
        if state != self.state:
            raise Conflict("The job was changed meanwhile, in another window or by hand.", hint="Look at it as it is now, and repeat the step.")

    def _step(self, text: str, words: str) -> None:
        if text == self.text:
            return
        tomllib.loads(text)
        stack = self.stack
        number = max((int(path.stem) for path in (self.folder / "history").glob("[0-9]*.toml")), default=0) + 1
        self._state_file(number).write_text(text, encoding="utf-8", newline="\n")
        states = (*stack.states[: stack.at + 1], (number, words))
        self._write(text, Stack(states, len(states) - 1))
        self.log.write("change", person=self.person, step=words, state=number)

    def _write(self, text: str, stack: Stack) -> None:
        targets = [self.folder / "history" / "stack.json", self.job_path]
        with written_together(targets) as (stack_place, job_place):
            stack_place.write_text(json.dumps({"states": stack.states, "at": stack.at}), encoding="utf-8")
            job_place.write_text(text, encoding="utf-8", newline="\n")

    def _state_file(self, number: int) -> Path:
        return self.folder / "history" / f"{number:06}.toml"

    def _take_from_outside(self) -> None:
        """A job that was there before the desk, or that was changed by hand while it was closed, is a step of its own."""
        with self._alone():
            stack = self.stack
            known = self._state_file(stack.states[stack.at][0]).read_text(encoding="utf-8") if stack.states else ""
            text = self.text
            if not stack.states:
                self._state_file(0).write_text("", encoding="utf-8")
                self._write("", Stack(((0, "an empty job"),), 0))
            if text != known:
                self._step_from_outside(text)

    def _step_from_outside(self, text: str) -> None:
        stack = self.stack
        self._write(self._state_file(stack.states[stack.at][0]).read_text(encoding="utf-8"), stack)
        self._step(text, "the job as it was found")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, also among processes."""
        with self._thread:
            file = os.open(self.folder / "history" / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            finally:
                os.close(file)
