"""`statveil check` of a pattern, told by content; the exit code says what was found."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.jobs.kinds import kind_of
from tests.jobs.tables.patterns import OPEN, SAFE, file


def test_told_by_content_and_by_exit_code(tmp_path: Path) -> None:
    assert kind_of(file(tmp_path, SAFE, "t.txt")) == "pattern"
    assert kind_of(file(tmp_path, SAFE, "t.SBS")) == "pattern"
    runner = CliRunner()
    sound = runner.invoke(app, ["check", str(file(tmp_path, SAFE))])
    assert sound.exit_code == 0
    assert "stay hidden" in sound.stdout
    broken = runner.invoke(app, ["check", str(file(tmp_path, OPEN)), "--json"])
    assert broken.exit_code == 5
    assert '"suppressed": 3' in broken.stdout
    system = "0\n3\n0 3 1 s 0 9 0 0 0\n1 1 1 u 0 9 1 1 0\n2 2 1 s 0 9 0 0 0\n1\n0 3 : 0 (-1) 1 (1) 2 (1)\n"
    told = runner.invoke(app, ["check", str(file(tmp_path, system, "t.jj"))])
    assert told.exit_code == 5
    assert "cell 1: exact" in told.stdout
