"""`statveil compare`: a line for each method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.stories import run
from tests.jobs.compare.stories import village


@pytest.mark.slow
def test_the_command_shows_a_line_for_each_method(tmp_path: Path) -> None:
    village(tmp_path)
    shown = run("compare", tmp_path / "job.toml", "--methods", "rounding,cell-key", "--base", 5)
    assert shown.exit_code == 0
    assert "controlled rounding" in shown.output
    assert (tmp_path / "job-compare" / "internal" / "compare.html").is_file()
    told = run("compare", tmp_path / "job.toml", "--methods", "rounding", "--force", "--json")
    assert json.loads(told.stdout)["methods"][0]["name"] == "rounding"
