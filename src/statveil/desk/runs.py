"""Runs of the project's job, each in a process of its own: what `statveil protect` does, on a state of the job that does not change.

A run goes on when the window is closed, and when the desk is: it holds the lock of its folder as long as it lives, and writes where it
stands. Results appear in full or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from statveil.core.atomic import written_together
from statveil.core.errors import DisclosureRefused, InputError, StatveilError
from statveil.core.limits import Progress
from statveil.desk.people import Person
from statveil.desk.project import Conflict, Project
from statveil.desk.work.kinds import PROTECT, SERVE, work
from statveil.jobs.staging import RUN_FILE

Status = Literal["running", "done", "failed", "lost"]
PROGRESS, LOCK, ASKED, PID, STOPPED, DONE = "progress.json", "lock", "asked.json", "pid.json", "stopped.json", "done.json"
EVERY = 0.2
"""Seconds between two notes of where a run stands. By judgement."""
NOTHING = "Nothing was released."


class DeskRun(NamedTuple):
    """`figures`: what the run itself says of its result (`run.json`); `done`: its warnings and the hash of each file; empty until then."""

    id: str
    status: Status
    asked: Mapping[str, Any]
    progress: Mapping[str, Any]
    figures: Mapping[str, Any]
    done: Mapping[str, Any]
    stopped_by: str

    @property
    def kind(self) -> str:
        return str(self.asked.get("kind", PROTECT))


def start(project: Project, person: Person, *, state: str, kind: str = PROTECT, wish: Mapping[str, Any] | None = None) -> str:
    """Begin a run of the job as it is now; its id. `wish`: what this kind of run is asked besides the job."""
    with project.alone():
        project.expect(state)
        stack = project.settle()
        if (under_way if kind != SERVE else serving)(project):
            raise Conflict("A run is under way.", hint="Stop it, or wait for its end.")
        id_ = f"{len(list((project.folder / 'results').glob('*.run'))) + 1:04}"
        folder = project.folder / "results" / f"{id_}.run"
        folder.mkdir()
        number = stack.states[stack.at].number
        asked = {"state": number, "author": person.name, "authors": sorted({*stack.authors, person.name})}
        _note(folder / ASKED, {**asked, "kind": kind, "wish": dict(wish or {}), "settings": _settings(project.content)})
        _launch(project, id_, folder)
        project.log.write("run", person=person.name, run=id_, state=number)
        return id_


def _settings(content: Mapping[str, Any]) -> str:
    """How the run differs from the usual, in a few words."""
    chosen = {**content.get("protection", {}), **{f"limit {key}": value for key, value in content.get("limits", {}).items()}}
    return ", ".join(f"{key} {value}" for key, value in chosen.items() if isinstance(value, str | int | float))


def _launch(project: Project, id_: str, folder: Path) -> None:
    with (folder / LOCK).open("w") as lock, (folder / "words.txt").open("w") as words:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "statveil.desk.runs", str(project.folder), id_]
        # As its input the child inherits the open file and with it the lock, and so does a command that it starts: each is the run.
        child = subprocess.Popen(command, stdin=lock, stdout=words, stderr=words, start_new_session=True)
        _note(folder / PID, {"pid": child.pid})


def stop(project: Project, id_: str, person: Person) -> None:
    """As Ctrl-C does, for all processes of the run: a search ends with its best table; where there is none yet, nothing is released."""
    folder = _folder(project, id_)
    pid = _read(folder / PID).get("pid")
    if run_of(project, id_).status != "running" or pid is None:
        raise Conflict("This run has ended.")
    _note(folder / STOPPED, {"person": person.name})
    with suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.killpg(int(pid), signal.SIGINT)
    project.log.write("stop", person=person.name, run=id_)


def runs(project: Project) -> list[DeskRun]:
    """All of them, the latest first."""
    return [run_of(project, path.stem) for path in sorted((project.folder / "results").glob("*.run"), reverse=True)]


def under_way(project: Project) -> DeskRun | None:
    """The run that ends by itself; a server answers beside it."""
    return next((run for run in runs(project) if run.status == "running" and run.kind != SERVE), None)


def serving(project: Project) -> DeskRun | None:
    return next((run for run in runs(project) if run.status == "running" and run.kind == SERVE), None)


def run_of(project: Project, id_: str) -> DeskRun:
    folder = _folder(project, id_)
    if not folder.is_dir():
        raise InputError("There is no such run.")
    running = _is_locked(folder / LOCK)
    progress, done = _read(folder / PROGRESS), {} if running else _read(folder / DONE)
    figures = _read(project.folder / "results" / id_ / RUN_FILE) if done else {}
    status: Status = "running" if running else "done" if figures else "failed" if "error" in progress else "lost"
    return DeskRun(id_, status, _read(folder / ASKED), progress, figures, done, str(_read(folder / STOPPED).get("person", "")))


def result_folder(project: Project, id_: str) -> Path:
    run_of(project, id_)
    return project.folder / "results" / id_


def sound(project: Project, id_: str) -> dict[str, str]:
    """The hash of each file of a result, if none was changed since the run wrote it."""
    found = all_hashes(result_folder(project, id_))
    if not found or found != run_of(project, id_).done.get("files"):
        raise DisclosureRefused("A file of this result was changed since it was made.", hint="Run the job again.")
    return found


def all_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file by its path within the folder; the run's own notes are not among them, as they hold times."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / RUN_FILE)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _folder(project: Project, id_: str) -> Path:
    if not (id_.isdigit() and id_.isascii()):
        raise InputError("There is no such run.")
    return project.folder / "results" / f"{id_}.run"


def _is_locked(path: Path) -> bool:
    try:
        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _note(path: Path, content: Mapping[str, Any]) -> None:
    with written_together([path]) as (place,):
        place.write_text(json.dumps(content), encoding="utf-8")


class RunNotes:
    """Where the run stands, noted now and then."""

    def __init__(self, folder: Path) -> None:
        self._path, self._last = folder / PROGRESS, -math.inf

    def __call__(self, news: Progress) -> None:
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            told = {name: getattr(news, name) for name in ("seconds", "objective", "bound", "seconds_left")}
            _note(self._path, {"stage": news.stage, **{name: round(value, 3) for name, value in told.items() if math.isfinite(value)}})


def _work(folder: Path, id_: str) -> None:
    """In the child."""
    place = folder / "results" / f"{id_}.run"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings(record=True, category=UserWarning, action="always") as told:
            work(_read(place / ASKED), folder, folder / "results" / id_, RunNotes(place))
        words = list(dict.fromkeys(str(each.message) for each in told))
        _note(place / DONE, {"warnings": words, "files": all_hashes(folder / "results" / id_)})
    except StatveilError as error:
        _note(place / PROGRESS, {"error": type(error).__name__, "message": error.message, "hint": error.hint or NOTHING})
    except KeyboardInterrupt:
        _note(place / PROGRESS, {"error": "Stopped", "message": "Stopped before there was a safe result.", "hint": NOTHING})
    except Exception as error:  # its words may hold anything
        _note(place / PROGRESS, {"error": type(error).__name__, "message": "A fault in statveil, not in your data.", "hint": NOTHING})


if __name__ == "__main__":
    _work(Path(sys.argv[1]), sys.argv[2])
