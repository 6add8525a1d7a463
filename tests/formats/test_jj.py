"""JJ files: read exactly, written so that they read back, refused with the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import statveil as sv
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LinearSystem, read_system, write_system
from tests.formats.jj_files import system_from
from tests.formats.systems import VILLAGE, same, systems


@pytest.mark.slow
def test_the_village_is_read_in_the_tenths_of_its_values(tmp_path: Path) -> None:
    system = system_from(tmp_path, VILLAGE)
    assert system.decimals == 1
    assert system.value.tolist() == [1000, 605, 300, 95]
    assert system.status.tolist() == ["s", "u", "s", "z"]
    assert system.cost.tolist() == [1, 2, 1, 1]
    assert system.upper.tolist() == [10000, 10000, NO_BOUND, 10000]
    assert system.lower_level.tolist() == [0, 50, 0, 0]
    assert system.upper_level.tolist() == [0, 73, 0, 0]  # 7.25, rounded up
    assert system.relations.toarray().tolist() == [[-1, 1, 1, 1]]
    assert system.relations.indices.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        VILLAGE.replace("\n", "\r\n"),
        VILLAGE.replace("\n", " \n\n"),
        VILLAGE.replace(" ", "  \t"),
        VILLAGE.rstrip("\n"),
        VILLAGE.replace(" 0\n", "\n"),  # no spl
        VILLAGE.replace("0 4 :", "0.0 4:").replace(" (", "("),
        VILLAGE.replace("(1)", "( +1 )"),
        "\xef\xbb\xbf" + VILLAGE,
    ],
    ids=["crlf", "blank lines", "tabs", "no last newline", "eight fields", "sdcTable", "blanks inside", "byte order mark"],
)
def test_other_ways_to_write_it_are_understood(tmp_path: Path, other: str) -> None:
    assert same(system_from(tmp_path, other), system_from(tmp_path, VILLAGE))


WRONG = [
    ("", 1, "the file ends where the constant 0 should be"),
    ("1" + VILLAGE[1:], 1, "the constant 0 should stand here"),
    (VILLAGE[2:], 1, "the constant 0 should stand here"),
    ("0\n", 1, "the file ends where the number of cells should be"),
    ("0\nmany\n", 2, "the number of cells should stand here"),
    ("0\n5 6\n", 2, "the number of cells should stand here"),
    ("0\n1000000000000\n0 1 1 s 0 9 0 0 0\n", 3, "the file ends where a cell should be"),
    ("\n".join(VILLAGE.splitlines()[:4]), 4, "the file ends where a cell should be"),
    ("\n".join(VILLAGE.splitlines()[:7]), 7, "the file ends where a relation should be"),
    (VILLAGE + "\n0 2 : 0 (1) 1 (1)\n", 10, "the file goes on after the last relation"),
    (VILLAGE.replace("1 60.5 2 u 0 1000 5 7.25 0", "1 60.5 2 u 0 1000 5"), 4, "a cell has nine fields"),
    (VILLAGE.replace("7.25 0", "7.25 0 0"), 4, "a cell has nine fields"),
    (VILLAGE.replace("\n3 9.5", "\n2 9.5"), 6, "cells must be numbered 0, 1, 2, ..."),
    (VILLAGE.replace("\n3 9.5", "\n3.5 9.5"), 6, "cells must be numbered"),
    (VILLAGE.replace("60.5", "nan"), 4, "the value is not a number"),
    (VILLAGE.replace("60.5", "u"), 4, "the value is not a number"),
    (VILLAGE.replace("60.5", "60s5"), 4, "the value is not a number"),
    (VILLAGE.replace("60.5", "inf"), 4, "too large to be computed exactly"),
    (VILLAGE.replace("60.5", "90071992547409.93"), 4, "too large to be computed exactly"),
    (VILLAGE.replace("7.25", "1e30"), 4, "too large to be computed exactly"),
    (VILLAGE.replace("7.25", "NaN"), 4, "the upper protection level is not a number"),
    (VILLAGE.replace("7.25", "-7.25"), 4, "a protection level is below zero"),
    (VILLAGE.replace(" 2 u", " -2 u"), 4, "the cost must be a number, zero or more"),
    (VILLAGE.replace(" 2 u", " 1e999 u"), 4, "the cost must be a number, zero or more"),
    (VILLAGE.replace(" u ", " x "), 4, "the status must be one of s, u, z, m"),
    (VILLAGE.replace(" u ", " 117 "), 4, "the status must be one of s, u, z, m"),
    (VILLAGE.replace("0 1e20", "5 4"), 5, "the lower bound is above the upper bound"),
    (VILLAGE.replace("3 (1)", "4 (1)"), 8, "a relation names a cell outside 0 to 3"),
    (VILLAGE.replace("3 (1)", "-1 (1)"), 8, "a relation names a cell outside 0 to 3"),
    (VILLAGE.replace("3 (1)", "2 (1)"), 8, "the relation names a cell twice"),
    (VILLAGE.replace("3 (1)", ""), 8, "another number of terms"),
    (VILLAGE.replace("0 4 :", "0 3 :"), 8, "another number of terms"),
    (VILLAGE.replace("3 (1)", "3 (1.5)"), 8, "a relation reads"),
    (VILLAGE.replace("3 (1)", "3 1"), 8, "a relation reads"),
    (VILLAGE.replace("3 (1)", "3 (1"), 8, "a relation reads"),
    (VILLAGE.replace("3 (1)", "3 (1e18)"), 8, "too large to add up exactly"),
    (VILLAGE.replace("3 (1)", "3 (12345678901234567e2)"), 8, "a relation reads"),
    (VILLAGE.replace("0 4 :", "0 4"), 8, "a relation reads"),
    (VILLAGE.replace("0 4 :", "nan 4 :"), 8, "the right-hand side is not a number"),
    (VILLAGE.replace("0 4 :", "1e18 4 :"), 8, "too large to be computed exactly"),
    (VILLAGE.replace("60.5", "61.5"), 8, r"the relation does not add up \(1 of 1 do not\)"),
    (VILLAGE.replace("0 4 :", "0.01 4 :"), 8, "the relation does not add up"),
]


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(sv.InputError, match=rf"village\.jj, line {line}: .*{words}") as caught:
        system_from(tmp_path, text)
    assert "60" not in str(caught.value)  # never a confidential value


@pytest.mark.parametrize("size", range(0, len(VILLAGE) - 2, 3))
def test_a_file_cut_anywhere_is_refused_politely(tmp_path: Path, size: int) -> None:
    with pytest.raises(sv.InputError, match=r"village\.jj, line \d: "):
        system_from(tmp_path, VILLAGE[:size])


def test_a_byte_of_no_text_is_refused_and_the_end_mark_of_dos_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jj"
    path.write_bytes(b"0\n1\n0 \x005 1 s 0 9 0 0 0\n0\n")
    with pytest.raises(sv.errors.FormatError, match="line 3: a byte that belongs in no text file"):
        read_system(path)
    path.write_bytes(b"0\r\n1\r\n0 5 1 s 0 9 0 0 0\r\n0\r\n\x1a")
    assert read_system(path).value.tolist() == [5]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.FormatError, match=r"nowhere\.jj: No such file"):
        read_system(tmp_path / "nowhere.jj")


def test_what_does_not_add_up_is_read_when_allowed(tmp_path: Path) -> None:
    system = system_from(tmp_path, VILLAGE.replace("60.5", "61.5"), non_additive=True)
    assert (system.relations @ system.value).tolist() == [10]


def test_a_negative_level_asks_nothing_when_allowed(tmp_path: Path) -> None:
    system = system_from(tmp_path, VILLAGE.replace("7.25", "-7.25"), negative_levels=True)
    assert system.upper_level.tolist() == [0, 0, 0, 0]
    assert system.lower_level[1] == 50


def test_any_factors_and_any_right_hand_side(tmp_path: Path) -> None:
    system = system_from(
        tmp_path, VILLAGE.replace("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)", "252 4 : 0 (3) 1 (-2) 2 (0) 3 (+20)".replace("252", "369"))
    )
    assert system.relations.toarray().tolist() == [[3, -2, 0, 20]]
    assert system.relations.nnz == 3  # a factor of zero says nothing
    assert system.rhs.tolist() == [3690]


@pytest.mark.slow
@settings(deadline=None)  # the first call loads compiled code
@given(system=systems())
def test_a_system_reads_back_as_it_was_written(system: LinearSystem, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random.jj"
    write_system(system, path)
    assert same(read_system(path, decimals=system.decimals), system)


@pytest.mark.shared
def test_every_public_instance_survives_a_round_trip(shared_data: Path, tmp_path: Path) -> None:
    files = sorted((shared_data / "csplib").glob("*.jj"))
    assert files
    for file in files:
        system = read_system(file, decimals="all", non_additive=True)
        write_system(system, tmp_path / file.name)
        again = read_system(tmp_path / file.name, decimals="all", non_additive=True)
        assert same(again, system), file.name
        assert np.array_equal(system.relations @ system.value, system.rhs), file.name


def test_the_empty_system_is_a_system(tmp_path: Path) -> None:
    system = system_from(tmp_path, "0\n0\n0\n")
    assert system.value.size == 0
    write_system(system, tmp_path / "empty.jj")
    assert same(read_system(tmp_path / "empty.jj"), system)
