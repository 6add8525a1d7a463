"""The papers' comparison from the command line, with tables of four inner cells."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app

TINY = ["bench", "papers", "--figure", "1", "--sizes", "2", "--methods", "exact,random,highs", "--seconds", "5", "--seeds", "2"]


@pytest.mark.slow
def test_results_runs_and_charts_are_written_and_a_second_time_nothing_is_run(tmp_path: Path) -> None:
    first = CliRunner().invoke(app, [*TINY, "--out", str(tmp_path)])
    assert first.exit_code == 0
    assert "| exact | 0 |" in first.stdout
    assert "| *optimum proved* | yes |" in first.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"runs.jsonl", "results.md", "squares.svg", "time-2x2.svg"}
    runs = (tmp_path / "runs.jsonl").read_text()
    assert len(runs.splitlines()) == 6
    second = CliRunner().invoke(app, [*TINY, "--out", str(tmp_path)])
    assert second.stdout == first.stdout
    assert "6 runs, 6 of them known" in second.stderr
    assert (tmp_path / "runs.jsonl").read_text() == runs


def test_wrong_words_are_input_errors() -> None:
    for wrong in (["--figure", "9"], ["--methods", "magic"], ["--sizes", "four"], ["--seeds", "0"]):
        answer = CliRunner().invoke(app, ["bench", "papers", *wrong])
        assert answer.exit_code == 2
