"""Files with suppressed cells, checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.jobs.convert import convert
from statveil.jobs.tables.pattern_check import PatternQuestion, check_pattern, read_pattern
from tests.jobs.tables.patterns import HEAD, OPEN, SAFE, file


def test_a_square_is_safe(tmp_path: Path) -> None:
    report, audit = check_pattern(file(tmp_path, SAFE))
    assert report.passed
    assert audit.cells.size == 4


def test_findings_name_labels_and_no_value(tmp_path: Path) -> None:
    report, _ = check_pattern(file(tmp_path, OPEN))
    assert [check.findings for check in report.checks if not check.passed] == [("A, u: exact",)]


def test_a_level_that_is_too_high(tmp_path: Path) -> None:
    report, _ = check_pattern(file(tmp_path, SAFE), PatternQuestion(known_within=10))
    assert [check.name for check in report.checks if not check.passed] == ["inferential"]


def test_a_sum_that_does_not_hold(tmp_path: Path) -> None:
    report, _ = check_pattern(file(tmp_path, SAFE.replace('"B","T",70', '"B","T",71')))
    assert report.checks[0].faults == 2


def test_the_same_pattern_as_a_ready_table_and_as_a_system(tmp_path: Path) -> None:
    path = file(tmp_path, OPEN)
    convert(path, tmp_path / "t.tab")
    report, _ = check_pattern(tmp_path / "t.tab")
    assert [check.name for check in report.checks if not check.passed] == ["exact"]
    system = "0\n3\n0 3 1 s 0 9 0 0 0\n1 1 1 u 0 9 1 1 0\n2 2 1 m 0 9 0 0 0\n1\n0 3 : 0 (-1) 1 (1) 2 (1)\n"
    assert check_pattern(file(tmp_path, system, "t.jj"))[0].passed
    found = check_pattern(file(tmp_path, system.replace(" m ", " s "), "t.jj"))[0]
    assert [check.findings for check in found.checks if not check.passed] == [("cell 1: exact",)]


def test_nothing_is_suppressed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no suppressed cell"):
        read_pattern(file(tmp_path, HEAD))


def test_totals_of_a_file_without_levels_are_doubted(tmp_path: Path) -> None:
    """A is A1 and A2: read as three parts of the total they make twice the total, and the file does not say so."""
    flat = [("Total", 60, "V"), ("A", 30, "V"), ("A1", 10, "A"), ("A2", 20, "D"), ("B", 30, "V")]
    path = tmp_path / "flat.sbs"
    path.write_text("".join(f"{code},{value},5,{flag}\n" for code, value, flag in flat))
    report, _ = check_pattern(path)
    assert any("lacks its levels" in each for each in report.checks[0].findings)
    path.write_text(
        "".join(f"{code},{value},5,{flag}\n" for code, value, flag in flat if code not in ("A1", "A2")).replace("30,5,V", "30,5,A", 1)
    )
    report, _ = check_pattern(path)
    assert report.checks[0].passed
    assert not report.checks[0].findings
