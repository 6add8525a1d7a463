"""Files with sensitive cells become files with suppressed cells, which pass their own check."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.formats.argus.sbs import read_sbs
from statveil.formats.system import read_system
from statveil.jobs.tables.pattern_check import PatternQuestion, check_pattern
from statveil.jobs.tables.suppress_file import SuppressionWish, figures_of, suppress_file
from tests.jobs.tables.suppressed_files import JJ

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
