"""`statveil suppress`: what it counts, what it writes, what it says of methods that promise less."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.jobs.tables.pattern_check import PatternQuestion, check_pattern
from tests.jobs.tables.suppressed_files import JJ

pytestmark = pytest.mark.slow


def test_the_command_tells_counts_and_writes(tmp_path):
    source, out = tmp_path / "in.jj", tmp_path / "out.jj"
    source.write_text(JJ, encoding="utf-8")
    told = CliRunner().invoke(app, ["suppress", str(source), "-o", str(out), "--json", "--method", "optimal"])
    assert told.exit_code == 0, told.output
    figures = json.loads(told.stdout)
    assert (figures["primary"], figures["secondary"], figures["certified_bound"]) == (1, 3, 3.0)
    words = CliRunner().invoke(app, ["suppress", str(source), "-o", str(out)])
    assert "3 cells are suppressed beside 1 sensitive ones, of 9" in words.output


def test_what_hides_exact_values_only_says_so_and_a_check_for_intervals_finds_it(tmp_path):
    """Two small cells beside a large one hide it from being known exactly, and from nothing more."""
    source, out = tmp_path / "in.jj", tmp_path / "out.jj"
    wide = JJ.replace("0 20 1 u 0 200 4 4 0", "0 20 1 u 0 200 19 19 0")
    source.write_text(wide, encoding="utf-8")
    told = CliRunner().invoke(app, ["suppress", str(source), "-o", str(out), "--method", "elimination"])
    assert told.exit_code == 0, told.output
    assert "Nothing is promised of how closely it can be bounded" in told.output
    assert check_pattern(out, PatternQuestion(exact_only=True))[0].passed
    assert not check_pattern(out)[0].passed
