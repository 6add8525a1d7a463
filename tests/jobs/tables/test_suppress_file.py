"""Files with sensitive cells become files with suppressed cells, which pass their own check."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import InputError
from statveil.formats.argus.sbs import read_sbs
from statveil.formats.system import read_system
from statveil.jobs.tables.pattern_check import PatternQuestion, check_pattern
from statveil.jobs.tables.suppress_file import SuppressionWish, figures_of, suppress_file

pytestmark = pytest.mark.slow
SBS = """"T","T",190,40,V
"T","x",45,10,V
"T","y",101,20,V
"T","z",44,10,V
"A","T",80,14,V
"A","x",20,5,V
"A","y",50,5,V
"A","z",10,4,V
"B","T",49,12,V
"B","x",8,2,B,90.0
"B","y",19,6,V
"B","z",22,4,D
"C","T",61,14,V
"C","x",17,3,V
"C","y",32,9,V
"C","z",12,2,V
"""
JJ = """0
9
0 20 1 u 0 200 4 4 0
1 50 1 s 0 200 0 0 0
2 70 1 s 0 200 0 0 0
3 8 1 s 0 200 0 0 0
4 19 1 s 0 200 0 0 0
5 27 1 s 0 200 0 0 0
6 28 1 z 0 200 0 0 0
7 69 1 s 0 200 0 0 0
8 97 1 s 0 200 0 0 0
6
0 3 : 0 (1) 1 (1) 2 (-1)
0 3 : 3 (1) 4 (1) 5 (-1)
0 3 : 6 (1) 7 (1) 8 (-1)
0 3 : 0 (1) 3 (1) 6 (-1)
0 3 : 1 (1) 4 (1) 7 (-1)
0 3 : 2 (1) 5 (1) 8 (-1)
"""


def test_an_sbs_file_keeps_all_but_its_flags(tmp_path):
    source, out = tmp_path / "in.sbs", tmp_path / "out.sbs"
    source.write_text(SBS, encoding="utf-8")
    found, paths = suppress_file(source, out)
    assert paths == [out]
    before, after = SBS.splitlines(), out.read_text(encoding="utf-8").splitlines()
    assert [line[:-1] for line in before] == [line[:-1] for line in after]
    assert sum(line.endswith("D") for line in after) == found.secondary.sum() == 3
    assert read_sbs(out).size == 16
    assert check_pattern(out)[0].passed


def test_a_system_gets_status_m_and_its_fixed_cell_stays(tmp_path):
    source, out = tmp_path / "in.jj", tmp_path / "out.jj"
    source.write_text(JJ, encoding="utf-8")
    found, _ = suppress_file(source, out)
    status = read_system(out).status.tolist()
    assert status[0] == "u"
    assert status[6] == "z"
    assert [cell for cell, letter in enumerate(status) if letter == "m"] in ([1, 3, 4], [2, 3, 5])
    assert found.ending == "optimal"


def test_the_command_tells_counts_and_writes(tmp_path):
    source, out = tmp_path / "in.jj", tmp_path / "out.jj"
    source.write_text(JJ, encoding="utf-8")
    told = CliRunner().invoke(app, ["suppress", str(source), "-o", str(out), "--json", "--method", "optimal"])
    assert told.exit_code == 0, told.output
    figures = json.loads(told.stdout)
    assert (figures["primary"], figures["secondary"], figures["certified_bound"]) == (1, 3, 3.0)
    words = CliRunner().invoke(app, ["suppress", str(source), "-o", str(out)])
    assert "3 cells are suppressed beside 1 sensitive ones, of 9" in words.output


@pytest.mark.parametrize(("name", "out"), [("in.txt", "out.txt"), ("in.jj", "out.sbs"), ("in.sbs", "out")])
def test_endings_that_do_not_go_together_are_refused(tmp_path, name, out):
    with pytest.raises(InputError):
        suppress_file(tmp_path / name, tmp_path / out)


@pytest.mark.parametrize(("method", "promise"), [("hypercube", "intervals"), ("modular", "intervals"), ("elimination", "exact values")])
def test_a_file_by_the_methods_that_offices_know(tmp_path, method, promise):
    source, out = tmp_path / "in.sbs", tmp_path / "out.sbs"
    source.write_text(SBS, encoding="utf-8")
    found, paths = suppress_file(source, out, SuppressionWish(method=method))
    assert (found.promise, paths) == (promise, [out])
    assert check_pattern(out, PatternQuestion(exact_only=promise != "intervals"))[0].passed
    assert figures_of(found)["by_its_own_rules"] == found.by_rules == 3


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
