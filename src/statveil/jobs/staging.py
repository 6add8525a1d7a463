"""A folder that is filled in full or not at all.

Files are written into a hidden folder inside the target; only when everything has succeeded are they moved into place,
each top-level entry in one step. An earlier release is replaced only on request, and only if nothing else lies there.
What a killed run left in the hidden folder is removed by the next run, once its process is gone.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError

RUN_FILE = "run.json"
MADE_BY = "statveil"
_PREFIX = ".statveil-"
_OWNER = "owner"


@contextmanager
def staged(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """An empty place to write to; its content moves to `folder` when the block ends well, and vanishes otherwise."""
    _check_target(folder, force=force)
    created = _create(folder)
    _remove_stale(folder)
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    try:
        (place / _OWNER).write_text(f"{os.getpid()} {platform.node()}", encoding="utf-8")
        new = place / "new"
        new.mkdir()
        yield new
        with _undisturbed():
            _move_in(new, folder, place / "old")
    finally:
        with _undisturbed():
            shutil.rmtree(place, ignore_errors=True)
            _remove_if_empty(folder, created=created)


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def write_run(place: Path, *, started: datetime, seconds: float, **told: Any) -> Path:
    """The run in figures, last of all files: by its list of entries a later run knows what it may replace."""
    written = sorted({entry.name for entry in place.iterdir()} | {RUN_FILE})
    run = {"made_by": MADE_BY, "entries": written, "started": started.isoformat(timespec="seconds"), "seconds": round(seconds, 3), **told}
    return write_text(place / RUN_FILE, json.dumps(run, indent=2, ensure_ascii=False) + "\n")


def moved(files: Mapping[str, Path], source: Path, target: Path) -> dict[str, Path]:
    """Where the files are once `source` has become `target`."""
    return {words: target / path.relative_to(source) for words, path in files.items()}


def entries(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(_PREFIX))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A few moves that Ctrl-C and its like cannot cut short; only the main thread hears them anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _remove_stale(folder: Path) -> None:
    """Remove what killed runs left, unless its process may live on or an earlier release lies in it."""
    for place in folder.glob(f"{_PREFIX}*"):
        set_aside = _filled(place / "old") and _filled(place / "new")
        if _abandoned(place) and not set_aside:
            shutil.rmtree(place, ignore_errors=True)


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _abandoned(place: Path) -> bool:
    """Whether a process of this machine made the place and has ended; in doubt, no."""
    try:
        pid, host = (place / _OWNER).read_text(encoding="utf-8").split(" ", 1)
        if sys.platform == "win32" or host != platform.node():
            return False
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        pass
    return False


def _check_target(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder.")
    if not folder.exists() or not entries(folder):
        return
    strangers = [entry.name for entry in entries(folder) if entry.name not in _written_before(folder)]
    if strangers:
        raise InputError(
            f"{folder} holds files that are no release of statveil, {strangers[0]!r} among them.", hint="Choose another folder with --out."
        )
    if not force:
        raise InputError(f"{folder} holds an earlier release.", hint="Choose another folder with --out, or replace it with --force.")


def _written_before(folder: Path) -> set[str]:
    """Names that an earlier run says it wrote here."""
    try:
        run = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        return {str(name) for name in run["entries"]} if run["made_by"] == MADE_BY else set()
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _create(folder: Path) -> bool:
    """Make the folder if it is not there yet."""
    if folder.exists():
        return False
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    return True


def _move_in(new: Path, folder: Path, old: Path) -> None:
    """Set what lies in the folder aside, move the new entries in; undo everything if one of them cannot be moved."""
    old.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in [(entry, old / entry.name) for entry in entries(folder)] + [
            (entry, folder / entry.name) for entry in entries(new)
        ]:
            source.rename(target)
            moved.append((source, target))
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        raise


def _remove_if_empty(folder: Path, *, created: bool) -> None:
    if created and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
