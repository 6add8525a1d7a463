"""`statveil generate`: a table by name or by numbers, to a file that `adjust` takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import statveil as sv
from tests.cli.stories import run

NUMBERS = ("--rows", 12, "--columns", 4, "--inner", 3, "--depth", 2, "--sensitive", 6)


@pytest.mark.parametrize("name", ["table14", "14", "Table 14"])
def test_a_shape_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    result = run("generate", "1h2d", "--shape", name, "--out", tmp_path / "t.npz")
    assert result.exit_code == 0, result.output
    assert "5,388 cells, 224 of them sensitive, 1,474 relations" in result.output
    assert sv.systems.read_system(tmp_path / "t.npz").value.size == 5388


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jj", "npz"])
def test_adjust_takes_what_generate_wrote(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"t.{ending}"
    wanted = ("--values", "lognormal", "--where", "any", "--levels", "5%,10%", "--upper", "150%", "--seed", 3)
    assert run("generate", "1h2d", *NUMBERS, *wanted, "--out", file).exit_code == 0
    result = run("adjust", file, "--seconds", 20)
    assert result.exit_code == 0, result.output
    assert sv.systems.audit_solution(file, tmp_path / "t.sol").passed


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.npz", "two.npz")]
    for file in files:
        run("generate", "1h2d", *NUMBERS, "--seed", 5, "--out", file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--shape", "table19"), "Unknown shape 'table19'"),
        (("--shape", "table14", "--rows", 5), "--shape says what --rows is"),
        (("--rows", 5), "Without --shape, --columns, --inner, --depth, --sensitive must be given"),
        ((*NUMBERS, "--values", "normal"), "Unknown values 'normal'"),
        ((*NUMBERS, "--where", "top"), "Unknown place 'top'"),
        ((*NUMBERS, "--levels", "much"), "--levels 'much' is no percentage"),
        ((*NUMBERS, "--levels", "1%,2%,3%"), "--levels takes one percentage"),
        ((*NUMBERS, "--upper", "90%"), "100% or more"),
        ((*NUMBERS[:-1], 100), "sensitive"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(tmp_path: Path, arguments: tuple[str | int, ...], words: str) -> None:
    result = run("generate", "1h2d", *arguments, "--out", tmp_path / "t.jj")
    assert result.exit_code == 2
    assert words in result.output
    assert list(tmp_path.iterdir()) == []


def test_the_ending_must_be_known(tmp_path: Path) -> None:
    result = run("generate", "1h2d", *NUMBERS, "--out", tmp_path / "t.csv")
    assert result.exit_code == 2
    assert "neither .jj nor .npz" in result.output


def test_an_offices_table_is_written_and_wrong_sizes_are_refused(tmp_path: Path) -> None:
    sizes = ("--codes", "9,7,5", "--inner", "3,2,1", "--sensitive", "5%")
    result = run("generate", "office", *sizes, "--seed", 2, "--out", tmp_path / "t.jj")
    assert result.exit_code == 0, result.output
    assert "315 cells" in result.output
    assert sv.systems.read_system(tmp_path / "t.jj").value.size == 315
    for wrong, words in ((("--codes", "nine"), "no list of whole numbers"), (("--codes", "9,7"), "more than two codes")):
        refused = run("generate", "office", *wrong, "--out", tmp_path / "u.jj")
        assert refused.exit_code == 2
        assert words in refused.output
