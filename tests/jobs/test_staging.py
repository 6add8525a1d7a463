"""A folder is filled in full or not at all."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.jobs.staging import staged


def fill(place: Path, *names: str) -> None:
    for name in names:
        (place / name).write_text(name, encoding="utf-8")
    (place / "run.json").write_text(json.dumps({"made_by": "statveil", "entries": [*names, "run.json"]}), encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_everything_arrives_when_the_block_ends_well(tmp_path: Path) -> None:
    with staged(tmp_path / "deep" / "out") as place:
        fill(place, "a", "b")
        assert names(tmp_path / "deep" / "out") != ["a", "b", "run.json"]
    assert names(tmp_path / "deep" / "out") == ["a", "b", "run.json"]


def test_nothing_arrives_when_the_block_fails(tmp_path: Path) -> None:
    def interrupted() -> None:
        with staged(tmp_path / "out") as place:
            fill(place, "a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not (tmp_path / "out").exists()


def test_force_replaces_what_an_earlier_run_wrote(tmp_path: Path) -> None:
    with staged(tmp_path) as place:
        fill(place, "old", "both")
    with staged(tmp_path, force=True) as place:
        fill(place, "new", "both")
    assert names(tmp_path) == ["both", "new", "run.json"]


def test_a_failure_while_moving_puts_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with staged(tmp_path) as place:
        fill(place, "old")
    rename = Path.rename

    def no_second(self: Path, target: Path) -> Path:
        if self.name == "second" and target.parent == tmp_path:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", no_second)
    with pytest.raises(OSError, match="Input/output error"), staged(tmp_path, force=True) as place:
        fill(place, "first", "second")
    assert names(tmp_path) == ["old", "run.json"]


@pytest.mark.parametrize("run", ["", "[]", "{}", '{"made_by": "another", "entries": ["run.json"]}'])
def test_force_does_not_touch_a_folder_of_someone_else(tmp_path: Path, run: str) -> None:
    (tmp_path / "run.json").write_text(run, encoding="utf-8")
    with pytest.raises(InputError, match="no release of statveil"), staged(tmp_path, force=True):
        pass
    assert names(tmp_path) == ["run.json"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="is a file"), staged(tmp_path / "out"):
        pass
    with pytest.raises(InputError, match="cannot be made"), staged(tmp_path / "out" / "below"):
        pass


def left_behind(folder: Path, *, pid: int, host: str | None = None) -> Path:
    """What a killed run leaves."""
    place = folder / ".statveil-left"
    (place / "new").mkdir(parents=True)
    (place / "owner").write_text(f"{pid} {host or platform.node()}", encoding="utf-8")
    return place


def gone() -> int:
    """The id of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


needs_processes = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell which processes live")


@pytest.mark.slow
@needs_processes
def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    left_behind(tmp_path, pid=gone())
    with staged(tmp_path) as place:
        fill(place, "a")
    assert names(tmp_path) == ["a", "run.json"]


@pytest.mark.slow
@needs_processes
@pytest.mark.parametrize("whose", ["living", "of another machine", "unknown"])
def test_what_may_still_be_in_use_stays(tmp_path: Path, whose: str) -> None:
    place = left_behind(tmp_path, pid=os.getpid() if whose == "living" else gone(), host="elsewhere" if "other" in whose else None)
    if whose == "unknown":
        (place / "owner").unlink()
    with staged(tmp_path) as new:
        fill(new, "a")
    assert place.is_dir()


@pytest.mark.slow
@needs_processes
@pytest.mark.parametrize("moved", [True, False])
def test_an_earlier_release_set_aside_by_a_killed_run_is_not_lost(tmp_path: Path, moved: bool) -> None:
    place = left_behind(tmp_path, pid=gone())
    (place / "old").mkdir()
    (place / "old" / "a").write_text("", encoding="utf-8")
    if not moved:
        (place / "new" / "a").write_text("", encoding="utf-8")
    with staged(tmp_path) as new:
        fill(new, "a")
    assert place.is_dir() is not moved


@needs_processes
def test_a_second_interrupt_does_not_stop_the_clearing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove = shutil.rmtree

    def disturbed(path: Path, **more: bool) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        remove(path, **more)

    def interrupted() -> None:
        with staged(tmp_path / "out"):
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", disturbed)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not (tmp_path / "out").exists()
    assert signal.getsignal(signal.SIGINT) is handler
