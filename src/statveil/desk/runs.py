"""Runs of the project's job, each in a process of its own: what `statveil protect` does, on a state of the job that does not change.

A run goes on when the window is closed, and when the desk is: it holds the lock of its folder as long as it lives, and writes where it
stands. Results appear in full or not at all.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from statveil.core.atomic import written_together
from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import Progress
from statveil.desk.project import Conflict, Project

Status = Literal["running", "done", "failed", "lost"]
PROGRESS, LOCK, ASKED = "progress.json", "lock", "asked.json"
EVERY = 0.2
"""Seconds between two notes of where a run stands. By judgement."""


class Run(NamedTuple):
    id: str
    status: Status
    asked: Mapping[str, Any]
    progress: Mapping[str, Any]
    figures: Mapping[str, Any]
    """What the run itself says of its result (`run.json`); empty until it is done."""


def start(project: Project) -> str:
    """Begin a run of the job as it is now; its id."""
    if any(run.status == "running" for run in runs(project)):
        raise Conflict("A run is under way.", hint="Stop it, or wait for its end.")
    stack = project.stack
    state = stack.states[stack.at][0]
    id_ = f"{len(list((project.folder / 'results').glob('*.run'))) + 1:04}"
    folder = project.folder / "results" / f"{id_}.run"
    folder.mkdir()
    _note(folder / ASKED, {"state": state, "author": project.person})
    with (folder / LOCK).open("w") as lock, (folder / "words.txt").open("w") as words:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the child inherits the open file and with it the lock
        command = [sys.executable, "-m", "statveil.desk.runs", str(project.folder), id_]
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, pass_fds=[lock.fileno()], start_new_session=True
        )
        _note(folder / "pid.json", {"pid": child.pid})
    project.log.write("run", person=project.person, run=id_, state=state)
    return id_


def stop(project: Project, id_: str) -> None:
    """As Ctrl-C does: a search ends with its best table; where there is none yet, nothing is released."""
    run = run_of(project, id_)
    if run.status != "running":
        raise Conflict("This run has ended.")
    os.kill(int(_read(_folder(project, id_) / "pid.json")["pid"]), signal.SIGINT)
    project.log.write("stop", person=project.person, run=id_)


def runs(project: Project) -> list[Run]:
    """All of them, the latest first."""
    return [run_of(project, path.stem) for path in sorted((project.folder / "results").glob("*.run"), reverse=True)]


def run_of(project: Project, id_: str) -> Run:
    folder = _folder(project, id_)
    if not folder.is_dir():
        raise InputError("There is no such run.")
    progress, figures = _read(folder / PROGRESS), _read(project.folder / "results" / id_ / "run.json")
    if _is_locked(folder / LOCK):
        return Run(id_, "running", _read(folder / ASKED), progress, {})
    status: Status = "done" if figures else "failed" if "error" in progress else "lost"
    return Run(id_, status, _read(folder / ASKED), progress, figures)


def result_folder(project: Project, id_: str) -> Path:
    run_of(project, id_)
    return project.folder / "results" / id_


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


class _Notes:
    """Where the run stands, noted now and then."""

    def __init__(self, folder: Path) -> None:
        self._path, self._last = folder / PROGRESS, -math.inf

    def __call__(self, news: Progress) -> None:
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            _note(self._path, {name: value if value == value and abs(value) < math.inf else None for name, value in self._numbers(news)} | {"stage": news.stage})

    @staticmethod
    def _numbers(news: Progress) -> list[tuple[str, float]]:
        return [(name, round(getattr(news, name), 3)) for name in ("seconds", "objective", "bound", "seconds_left")]


def _work(folder: Path, id_: str) -> None:
    """In the child."""
    from statveil.jobs.table_job import read_job
    from statveil.jobs.tables.folder import protect_to_folder

    place = folder / "results" / f"{id_}.run"
    state = _read(place / ASKED)["state"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        job = read_job(folder / "history" / f"{state:06}.toml", base=folder)
        protect_to_folder(job, folder / "results" / id_, internal=True, on_progress=_Notes(place))
    except StatveilError as error:
        _note(place / PROGRESS, {"error": type(error).__name__, "message": error.message, "hint": error.hint})
    except KeyboardInterrupt:
        _note(place / PROGRESS, {"error": "Stopped", "message": "Stopped before there was a safe table.", "hint": "Nothing was released."})
    except Exception as error:  # its words may hold anything
        _note(place / PROGRESS, {"error": type(error).__name__, "message": "A fault in statveil, not in your data.", "hint": "Nothing was released."})


if __name__ == "__main__":
    _work(Path(sys.argv[1]), sys.argv[2])
