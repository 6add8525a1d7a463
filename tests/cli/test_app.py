"""The commands: their help, what is typed wrongly, the demo and the first job file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from statveil.jobs.table_job import read_job
from tests.cli.stories import run, told


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    heavy = ["duckdb", "numpy", "pyarrow", "pydantic", "rich", "scipy", "numba", "highspy"]
    code = f"import sys; import statveil.cli.app; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["", "new", "protect", "check", "risk", "convert", "serve", "lab", "demo", "explain"])
def test_every_command_has_help(command: str) -> None:
    result = run(*filter(None, [command, "--help"]))
    assert result.exit_code == 0
    assert "Usage: " in result.output


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"statveil \d+\.\d+\.\d+\n", run("--version").output)


def test_a_wrong_command_line_exits_with_2() -> None:
    assert run("protect").exit_code == 2
    assert run("protekt").exit_code == 2
    assert run("demo", "--records", "none").exit_code == 2


@pytest.mark.slow
def test_the_demo_writes_everything_and_can_be_audited_and_repeated(tmp_path: Path) -> None:
    result = run("demo", "--out", tmp_path / "demo", "--records", "60", "--seconds", "60", "--json")
    assert result.exit_code == 0, result.output
    paths = {name: Path(path) for name, path in json.loads(result.stdout)["paths"].items()}
    assert set(paths) == {
        "records",
        "csv",
        "parquet",
        "json-stat",
        "sdmx-csv",
        "report",
        "provenance",
        "internal csv",
        "internal report",
        "job",
        "run",
    }
    assert all(path.is_file() for path in paths.values())
    assert run("audit", tmp_path / "demo").exit_code == 0
    assert run("demo", "--out", tmp_path / "demo", "--records", "60", "--seconds", "60").exit_code == 2
    assert run("protect", tmp_path / "demo" / "job.toml", "--out", tmp_path / "mine", "--seconds", "60").exit_code == 0


def test_init_writes_a_job_once(tmp_path: Path) -> None:
    assert run("init", tmp_path / "mine.toml").exit_code == 0
    assert read_job(tmp_path / "mine.toml").name == "turnover"
    (tmp_path / "mine.toml").write_text("precious", encoding="utf-8")
    result = run("init", tmp_path / "mine.toml")
    assert result.exit_code == 2
    assert "not overwritten" in told(result)
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "precious"
    assert run("init", tmp_path).exit_code == 2
    assert run("init", tmp_path / "no" / "folder.toml").exit_code == 2
