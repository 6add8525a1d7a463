"""A village whose only vet in street A is sensitive, and what its user types and sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import statveil.jobs.folders.tables
from statveil.cli.app import app

VILLAGE = """street,trade,income
A,vet,900
A,baker,100
A,baker,120
A,baker,140
A,baker,90
B,vet,200
B,vet,180
B,vet,210
B,vet,190
B,baker,300
B,baker,310
B,baker,280
B,baker,250
C,vet,150
C,vet,160
C,vet,170
C,vet,140
C,baker,700
C,baker,20
C,baker,10
"""

JOB = """
[data]
file = "village.csv"
[table]
name = "income"
measure = "income"
[table.dimensions]
street = "flat"
trade = "flat"
[[rule]]
type = "p-percent"
p = 10
[[rule]]
type = "minimum-frequency"
n = 3
[limits]
seconds = 20
"""


def village_in(folder: Path) -> Path:
    """The folder, with the records and the job."""
    (folder / "village.csv").write_text(VILLAGE, encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    return folder


def run(*arguments: str | int | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def told(result: Result) -> str:
    """Everything a user sees; whatever it is, it is no traceback."""
    assert "Traceback" not in result.output
    return result.output


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the work itself end with this error."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(statveil.jobs.folders.tables, "protect_records", fail)
