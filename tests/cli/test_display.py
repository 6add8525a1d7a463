"""Progress and checks in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from statveil.audit.report import Check
from statveil.cli.display import check_in_words, gap_of, in_words, narrator
from statveil.core.limits import Progress


def test_progress_in_words() -> None:
    assert (
        in_words(Progress("flipping", 12.4, 103.0, 100.0, 47.6)) == "flipping          12 s  objective 103  bound 100  gap 3.00%  48 s left"
    )
    assert in_words(Progress("tabulating", 0.0, float("inf"), float("-inf"), float("inf"))) == "tabulating        0 s"


def test_the_last_line_keeps_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with narrator(as_json=True) as tell:
        tell(Progress("tabulating", 0.0, float("inf"), 0.0, 60.0))
        tell(Progress("flipping", 1.0, 103.0, 100.0, 59.0))
        tell(Progress("audited", 0.0, float("inf"), 0.0, 60.0))
    lines = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert [(line["stage"], line["objective"], line["bound"]) for line in lines] == [
        ("tabulating", None, 0.0),
        ("flipping", 103.0, 100.0),
        ("audited", 103.0, 100.0),
    ]
    assert lines[-1]["seconds_left"] == 0


@pytest.mark.parametrize(("checked", "faults", "words"), [
    (0, 0, "passed  All is well: nothing to check"),
    (1, 1, "FAILED  All is well: 1 checked, 1 fault"),
    (1200, 2, "FAILED  All is well: 1,200 checked, 2 faults"),
    (3, 0, "passed  All is well: 3 checked, no faults"),
])  # fmt: skip
def test_a_check_in_words(checked: int, faults: int, words: str) -> None:
    assert check_in_words(Check(name="x", words="All is well", checked=checked, faults=faults)) == words


def test_the_gap_is_unknown_until_both_ends_are_known() -> None:
    assert gap_of(float("inf"), 3.0) == float("inf")
    assert gap_of(3.0, 0.0) == float("inf")
    assert gap_of(0.0, 0.0) == 0.0


@pytest.mark.slow
def test_a_terminal_shows_a_live_line(village: Path) -> None:
    pty = pytest.importorskip("pty")
    main, side = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from statveil.cli import main; main()",
        "protect",
        str(village / "job.toml"),
        "--out",
        str(village / "out"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=side, text=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ) as process:
        stdout, _ = process.communicate(timeout=600)
    os.close(side)
    shown = os.read(main, 100_000).decode()
    os.close(main)
    assert process.returncode == 0
    assert "Protected" in stdout
    assert "\x1b[" in shown
