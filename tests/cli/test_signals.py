"""A run stopped from outside: it ends in words, with its exit code, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SLOW = """
import signal, statveil.jobs.folders.tables, time, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite under nohup or in the background hands on that they are ignored
signal.signal(signal.SIGHUP, signal.SIG_DFL)
def slow(*_, **__):
    print("ready", flush=True)
    {inside}
real, statveil.jobs.folders.tables.protect_records = statveil.jobs.folders.tables.protect_records, slow
from statveil.cli import main
main()
"""
WAIT = "time.sleep(3600)"
CAUGHT = """
    try:
        time.sleep(3600)
    except KeyboardInterrupt:
        print("again", flush=True)
        time.sleep(3600)
"""

FOUND = """
    try:
        print("waiting", flush=True)
        time.sleep(3600)
    except KeyboardInterrupt:
        return real(*_, **__)
"""


def stopped(village: Path, inside: str, signals: list[signal.Signals]) -> tuple[int, str]:
    command = [sys.executable, "-c", SLOW.format(inside=inside), "protect", str(village / "job.toml"), "--out", str(village / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for number in signals:
            process.send_signal(number)
            if "again" in inside and number is signals[0]:
                process.stdout.readline()  # it has caught the first: two that are both still to come count as one
            time.sleep(0.001)
        _, said = process.communicate(timeout=600)
    return process.returncode, said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("name", "inside", "times"),
    [
        *(("SIGINT", *each) for each in [(WAIT, 1), (WAIT, 2), (WAIT, 5), (CAUGHT.strip(), 2), (CAUGHT.strip(), 5)]),
        *((name, *each) for name in ("SIGTERM", "SIGHUP") for each in [(WAIT, 1), (CAUGHT.strip(), 2)]),
    ],
)
def test_a_run_told_to_stop_ends_in_words_and_leaves_nothing(village: Path, name: str, times: int, inside: str) -> None:
    """Stopped once while a search runs it would go on with its best table; twice, or with no search running, it ends."""
    code, said = stopped(village, inside, [signal.Signals[name]] * times)
    assert code == 130
    assert "Interrupted: Stopped before the release was complete." in said
    assert "Traceback" not in said
    assert not (village / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_release_of_a_search_that_was_stopped_says_so(village: Path) -> None:
    command = [sys.executable, "-c", SLOW.format(inside=FOUND.strip()), "protect", str(village / "job.toml"), "--out", str(village / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "waiting\n", "from here on a signal is caught"
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "STOPPED by a signal before the time was over" in told
    assert (village / "out" / "run.json").exists()


def test_a_second_signal_while_the_first_is_being_told_of_is_told_too(village: Path) -> None:
    """The second interrupt falls between catching the first and saying so; whoever catches it last says the words."""
    code = SLOW.format(inside="raise KeyboardInterrupt").replace(
        "from statveil.cli import main", "import statveil.cli.polite as polite\npolite.deafen = slow\nfrom statveil.cli import main"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "protect", str(village / "job.toml"), "--out", str(village / "out")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 130
    assert done.stderr.count("Interrupted: Stopped before the release was complete.") == 1
    assert not (village / "out").exists()
