"""Solution and direction files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import statveil as sv

SENSITIVE = np.array([False, True, False, True])


def test_a_solution_reads_back(tmp_path: Path) -> None:
    solution = sv.systems.Solution(value=np.array([100, -5, 0]), released=np.array([107, 2, 0]), sensitive=SENSITIVE[:3], decimals=1)
    sv.systems.write_solution(solution, tmp_path / "a.sol")
    assert (tmp_path / "a.sol").read_text() == "0 10.0 10.7 0\n1 -0.5 0.2 1\n2 0.0 0.0 0\n"
    again = sv.systems.read_solution(tmp_path / "a.sol", decimals=1)
    assert again.value.tolist() == [100, -5, 0]
    assert again.released.tolist() == [107, 2, 0]
    assert again.sensitive.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("0 1 1\n", 1, "a line has four fields"),
        ("0 1 1 0\n2 1 1 0\n", 2, "numbered 0, 1, 2"),
        ("0 1 1.25 0\n", 1, "the released value has more than 1 decimals"),
        ("0 1 nan 0\n", 1, "the released value is not a number"),
        ("0 1 1e20 0\n", 1, "the released value is too large"),
        ("0 1 1 2\n", 1, "the mark must be 0 or 1"),
    ],
)
def test_a_wrong_solution_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    (tmp_path / "a.sol").write_text(text)
    with pytest.raises(sv.errors.FormatError, match=rf"a\.sol, line {line}: .*{words}"):
        sv.systems.read_solution(tmp_path / "a.sol", decimals=1)


def test_directions_read_back(tmp_path: Path) -> None:
    sv.systems.write_directions(np.array([0, -1, 0, 1]), tmp_path / "a.dir")
    assert (tmp_path / "a.dir").read_text() == "1 0\n3 1\n"
    assert sv.systems.read_directions(tmp_path / "a.dir", SENSITIVE).tolist() == [0, -1, 0, 1]


def test_directions_come_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.dir").write_text("3 0\n\n1 1")
    assert sv.systems.read_directions(tmp_path / "a.dir", SENSITIVE).tolist() == [0, 1, 0, -1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 0 0\n", "line 1: a line has two fields"),
        ("1 0\n4 1\n", "line 2: the cell lies outside 0 to 3"),
        ("1 0\n2 1\n", "line 2: the cell is not sensitive"),
        ("1 0\n1 0\n", "line 2: the cell has a direction already"),
        ("1 0\n3 -1\n", "line 2: the direction must be 0 or 1"),
        ("1 0\n", "1 sensitive cells have no direction"),
        ("", "2 sensitive cells have no direction"),
    ],
)
def test_wrong_directions_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.dir").write_text(text)
    with pytest.raises(sv.InputError, match=words):
        sv.systems.read_directions(tmp_path / "a.dir", SENSITIVE)
