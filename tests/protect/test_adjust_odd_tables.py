"""Input that does not add up, negative cells and levels, levels of zero, cells already published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.audit.systems import audit_system
from statveil.protect.system import system_of
from tests.protect.problems import problem_of

SHORT = sv.Limits(seconds=30)


def written(tmp_path: Path, values: tuple[str, str, str], *, levels: str = "5 5", statuses: str = "sus") -> Path:
    rows = [
        f"{cell} {value} 1 {statuses[cell]} -1000 1000 {levels if statuses[cell] == 'u' else '0 0'} 0" for cell, value in enumerate(values)
    ]
    path = tmp_path / "odd.jj"
    path.write_text("\n".join(["0", "3", *rows, "1", "0 3 : 0 (-1) 1 (1) 2 (1)", ""]))
    return path


def released(path: Path, **options: bool) -> list[float]:
    outcome = sv.adjust(sv.systems.SystemFiles(path, options=sv.systems.SystemOptions(**options)), limits=SHORT)  # type: ignore[arg-type]
    assert outcome.audit.passed
    return [float(line.split()[2]) for line in path.with_suffix(".sol").read_text().splitlines()]


def test_rounding_is_told_apart_from_errors(tmp_path: Path) -> None:
    """10.3 + 20.4 = 30.7 in whole numbers: 10 + 20 is not 31, but 1 is within three halves."""
    with pytest.raises(sv.errors.TableNotAdditive, match="small enough to come from rounding"):
        sv.read_jj(written(tmp_path, ("31", "20", "10")))
    with pytest.raises(sv.errors.TableNotAdditive, match="Rounding does not explain 1 of them"):
        sv.read_jj(written(tmp_path, ("32", "20", "10")))


@pytest.mark.slow
def test_decimals_that_doubles_cannot_hold_are_not_errors(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.3, and 0.7 + 0.2 is 0.9."""
    assert released(written(tmp_path, ("0.3", "0.1", "0.2"), levels="0.1 0.1"))
    assert released(written(tmp_path, ("0.9", "0.7", "0.2"), levels="0.1 0.1"))


@pytest.mark.slow
def test_what_is_missing_in_the_input_is_there_in_the_release(tmp_path: Path) -> None:
    total, one, two = released(written(tmp_path, ("31", "20", "10")), non_additive=True)
    assert total == one + two
    assert abs(one - 20) >= 5


def test_negative_cells_and_levels(tmp_path: Path) -> None:
    path = written(tmp_path, ("-10", "-20", "10"), levels="5 -3")
    with pytest.raises(sv.errors.FormatError, match="level"):
        sv.read_jj(path)
    total, one, two = released(path, negative_levels=True)
    assert total == one + two
    assert one >= -20 or one <= -25


def test_a_level_of_zero_on_both_sides_asks_nothing(tmp_path: Path) -> None:
    assert released(written(tmp_path, ("30", "20", "10"), levels="0 0")) == [30, 20, 10]


def test_cells_already_published_stay_and_the_new_ones_move(tmp_path: Path) -> None:
    """The total was published last month."""
    total, one, two = released(written(tmp_path, ("30", "20", "10"), statuses="zus"))
    assert total == 30
    assert (one, two) in {(15, 15), (25, 5)}


@pytest.mark.slow
def test_a_revision_keeps_what_was_published_of_a_sensitive_cell() -> None:
    """20 went out as 26; its neighbour is revised from 10 to 11, and the new table keeps the 26."""
    revised = problem_of([31, 20, 11], [[-1, 1, 1]], levels={1: 5}, lower=np.array([0, 26, 0]), upper=np.array([99, 26, 99]))
    found = sv.adjust(revised, limits=SHORT)
    assert found.deviation.tolist()[1] == 6
    assert audit_system(system_of(revised), revised.value + found.deviation).passed


@pytest.mark.slow
def test_a_revision_that_undoes_a_published_protection_is_explained() -> None:
    """20 went out as 26; now it is 25: one unit away is not safe, and what was published cannot be kept."""
    undone = problem_of([35, 25, 10], [[-1, 1, 1]], levels={1: 5}, lower=np.array([0, 26, 0]), upper=np.array([99, 26, 99]))
    with pytest.raises(sv.InfeasibleProblem, match="No safe table exists") as failure:
        sv.adjust(undone, limits=SHORT)
    assert "cell 1 must move by its protection level or more, and must stay within its bounds" in failure.value.hint
