"""`statveil audit`: a release folder is sound, or what is wrong with it is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.stories import VILLAGE, run, told


@pytest.mark.slow
def test_a_release_passes_its_audit_again(released: Path) -> None:
    result = run("audit", released / "out")
    assert result.exit_code == 0, result.output
    assert "The release is sound." in result.output
    assert json.loads(run("audit", released / "out", "--json").stdout)["audit"]["passed"] is True


@pytest.mark.slow
def test_one_unit_in_the_public_file_is_found(released: Path) -> None:
    file = released / "out" / "public" / "income.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    for number in range(1, len(lines)):
        codes, _, value = lines[number].rpartition(",")
        tampered = [*lines[:number], f"{codes},{int(value) + 1}", *lines[number + 1 :]]
        file.write_text("\n".join(tampered) + "\n", encoding="utf-8")
        result = run("audit", released / "out")
        assert result.exit_code == 5, lines[number]
        assert "NOT sound" in told(result)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines, lines[-1].replace("vet", "smith")],
        lambda lines: [line.replace("street", "road") for line in lines],
        lambda lines: [lines[0], *(f"{line}.0" for line in lines[1:])],
        lambda lines: lines[:-1],
        lambda lines: [*lines[:-1], lines[-1] + "x"],
        lambda lines: lines[:1],
        lambda lines: [],
    ],
    ids=["line twice", "unknown code", "other column", "other decimals", "line gone", "no number", "no lines", "empty"],
)
def test_a_file_out_of_shape_is_found(released: Path, tamper: Any) -> None:
    file = released / "out" / "public" / "income.csv"
    file.write_text("\n".join(tamper(file.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")
    result = run("audit", released / "out")
    assert result.exit_code == 5
    told(result)


def test_an_audit_without_the_records_says_which_checks_are_missing(released: Path) -> None:
    (released / "village.csv").unlink()
    result = run("audit", released / "out")
    assert result.exit_code == 5
    assert "could not be made: sums, protection" in told(result)


def test_an_audit_notices_other_records(released: Path) -> None:
    (released / "village.csv").write_text(VILLAGE + "C,vet,155\n", encoding="utf-8")
    assert run("audit", released / "out").exit_code == 5


@pytest.mark.parametrize("name", ["public/income.csv", "provenance.json"])
def test_an_audit_needs_the_numbers_and_their_hashes(released: Path, name: str) -> None:
    (released / "out" / name).unlink()
    assert run("audit", released / "out").exit_code == 5


def test_an_audit_needs_a_release_folder(released: Path, tmp_path: Path) -> None:
    assert run("audit", tmp_path / "nowhere").exit_code == 2
    assert "run.json" in told(run("audit", released))
    (released / "out" / "run.json").write_text("{}", encoding="utf-8")
    assert run("audit", released / "out").exit_code == 2


def test_a_village_moved_as_a_whole_is_audited_where_it_is(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = released.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(moved / "out")
    assert run("audit", ".").exit_code == 0
