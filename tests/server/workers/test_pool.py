"""The processes of the server: replaced when they die, gone when their parent is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from statveil.server.workers.pool import TUNING
from tests.server.live import PATIENCE, becomes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


def start(kind: str, folder: Path, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.server.shifts", kind, str(folder), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = start("stay", tmp_path, 2)
    yield process
    process.kill()
    process.communicate()


def alive(folder: Path) -> set[int]:
    return {int(path.name) for path in folder.iterdir() if Path(f"/proc/{path.name}/stat").exists() and not is_zombie(path.name)}


def is_zombie(process: str) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_killed_process_is_replaced_and_all_stop_together(pool: subprocess.Popen[str], tmp_path: Path):
    assert becomes(lambda: len(alive(tmp_path)) == 2)
    first = min(alive(tmp_path))
    os.kill(first, signal.SIGKILL)
    assert becomes(lambda: len(alive(tmp_path)) == 2 and first not in alive(tmp_path))
    pool.send_signal(signal.SIGTERM)
    said, complaints = pool.communicate(timeout=PATIENCE)
    assert (pool.returncode, said, complaints) == (0, "ready\n", "")
    assert not alive(tmp_path)


def test_no_process_outlives_a_parent_that_was_killed(pool: subprocess.Popen[str], tmp_path: Path):
    assert becomes(lambda: len(alive(tmp_path)) == 2)
    pool.kill()
    assert becomes(lambda: not alive(tmp_path))


def test_processes_that_find_the_store_away_are_tried_again_until_it_is_back(tmp_path: Path):
    """However often: it must not end the server."""
    folder, away = tmp_path / "alive", tmp_path / "away"
    folder.mkdir()
    process = start("come_and_go", folder, 1)
    try:
        assert becomes(lambda: len(alive(folder)) == 1)
        away.touch()
        os.kill(min(alive(folder)), signal.SIGKILL)
        assert becomes(lambda: len(away.read_text()) > TUNING.most_young_deaths)
        away.unlink()
        assert becomes(lambda: len(alive(folder)) == 1)
    finally:
        process.send_signal(signal.SIGTERM)
        said, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said, complaints) == (0, "ready\n", "")


@pytest.mark.parametrize(
    ("kind", "words"), [("refuse", "InputError: The data are not here."), ("fall", "BackendError: The server's processes end")]
)
def test_a_pool_that_cannot_begin_says_why(tmp_path: Path, kind: str, words: str):
    said, complaints = start(kind, tmp_path, 1).communicate(timeout=PATIENCE)
    assert said == ""
    assert words in complaints
    assert "Traceback" not in complaints
