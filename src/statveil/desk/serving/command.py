"""Measuring, preparing and running a server: `statveil serve` itself, in a process of its own, on a state of the job that stays."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from statveil.core.errors import InputError
from statveil.core.limits import OnProgress, Progress
from statveil.jobs.staging import staged, write_run, write_text

STATVEIL = (sys.executable, "-c", "from statveil.cli import main; main()")
PATIENCE = 20.0
"""Seconds in which a command that was told to stop ends by itself."""
EVALUATION, PREPARED = "internal/evaluation.json", "internal/prepared.json"


def evaluate_to_folder(job: Path, base: Path, target: Path, tell: OnProgress) -> None:
    """Accuracy by level and attack scores for each depth, as `statveil serve --evaluate` writes them."""
    began, clock = datetime.now(UTC), time.monotonic()
    with staged(target) as place, _beside(base, job) as config:
        page = (place / EVALUATION).with_suffix(".html")
        page.parent.mkdir()
        _run(["serve", str(config), "--evaluate", "--out", str(page)], tell)
        write_run(place, started=began, seconds=time.monotonic() - clock, job=job.name)


def prepare_to_folder(job: Path, base: Path, target: Path, tell: OnProgress) -> None:
    """The protected cubes into the server's store, as `statveil serve --prepare` does; what it says of their accuracy is kept."""
    began, clock = datetime.now(UTC), time.monotonic()
    with staged(target) as place, _beside(base, job) as config:
        lines = _run(["serve", str(config), "--prepare"], tell)
        (place / PREPARED).parent.mkdir()
        told = [line for line in lines if not line.startswith("Preparing ")]
        write_text(place / PREPARED, json.dumps({"lines": told}, indent=1, ensure_ascii=False) + "\n")
        write_run(place, started=began, seconds=time.monotonic() - clock, job=job.name)


def serve_until_stopped(job: Path, base: Path, target: Path, tell: OnProgress) -> None:
    """The server answers, as `statveil serve` does, until somebody stops it here; its last line is where the run stands."""
    began, clock = datetime.now(UTC), time.monotonic()
    with staged(target) as place, _beside(base, job) as config:
        with suppress(KeyboardInterrupt):
            _run(["serve", str(config)], tell)
        write_run(place, started=began, seconds=time.monotonic() - clock, job=job.name)


@contextmanager
def _beside(base: Path, job: Path) -> Iterator[Path]:
    """The state of the job, where its paths start from."""
    path = base / f".serve-{job.stem}.toml"
    path.write_bytes(job.read_bytes())
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _run(words: Sequence[str], tell: OnProgress) -> list[str]:
    """The lines that the command wrote; each is news. Where it fails, in its own words."""
    clock, lines = time.monotonic(), list[str]()
    command = [*STATVEIL, *words]
    with (
        tempfile.TemporaryFile("w+") as faults,  # a pipe that nobody empties would be full one day
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=faults, text=True) as child,  # its input is the lock of the run
    ):
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if line.startswith("Wrote "):
                    continue  # into a folder that is moved when all is done
                lines.append(line.rstrip())
                tell(Progress(stage=lines[-1], seconds=time.monotonic() - clock, objective=inf, bound=inf, seconds_left=inf))
            child.wait()
        except KeyboardInterrupt:  # who stops a run tells all its processes: told twice, a server would not say that it was stopped
            with suppress(subprocess.TimeoutExpired):
                child.wait(PATIENCE)
            child.terminate()
            raise
        except BaseException:
            child.terminate()
            raise
        faults.seek(0)
        fault = faults.read()
    if child.returncode:
        message, _, hint = fault.strip().partition("\n")
        raise InputError(message.partition(": ")[2] or "The server could not be measured.", hint=hint)
    return lines
