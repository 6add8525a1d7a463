"""The audit of linear systems finds every fault, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import statveil as sv
from statveil.formats.amounts import NO_BOUND
from tests.formats.systems import NINE, VILLAGE

SAFE = [9500, 5550, 3000, 950]
"""The vets go down by their level, in hundredths, and so does the total."""


@pytest.fixture
def village(tmp_path: Path) -> Path:
    (tmp_path / "village.jj").write_text(VILLAGE)
    return tmp_path / "village.jj"


def audited(path: Path, released: list[Any], *, variant: Any = "at-least", **changes: Any) -> sv.AuditReport:
    system = sv.systems.read_system(path, decimals=2)
    return sv.systems.audit_system(replace(system, **changes), np.array(released), variant=variant)


def failed(report: sv.AuditReport) -> dict[str, tuple[str, ...]]:
    return {check.name: check.findings for check in report.checks if not check.passed}


def test_a_safe_release_passes_every_check(village: Path) -> None:
    report = audited(village, SAFE)
    assert report.passed
    assert {check.name: check.checked for check in report.checks} == {
        "shape": 3,
        "additivity": 1,
        "protection": 1,
        "overshoot": 0,
        "bounds": 3,
        "fixed": 1,
    }


@pytest.mark.parametrize(
    ("released", "faults"),
    [
        ([9501, 5550, 3000, 950], {"additivity": ("relation 0",)}),
        ([9501, 5551, 3000, 950], {"protection": ("cell 1",)}),
        ([10724, 6774, 3000, 950], {"protection": ("cell 1",)}),
        ([10000, 6050, 3000, 950], {"protection": ("cell 1",)}),
        ([10725, 6775, 3000, 950], {}),
        ([9501, 5550, 3000, 951], {"fixed": ("cell 3",)}),
        ([6450, 5550, -50, 950], {"bounds": ("cell 2",)}),
        ([100001, 6775, 92276, 950], {"bounds": ("cell 0",)}),
        ([9500, 5550, 3000], {"shape": ("the number of cells differs",)}),
        ([9500.0, 5550.0, 3000.0, 950.0], {"shape": ("released values are not whole numbers of units",)}),
        ([2**62, 5550, 3000, 950], {"shape": ("a released value is too large",)}),
        ([-(2**63), 5550, 3000, 950], {"shape": ("a released value is too large",)}),
    ],
)
def test_each_fault_is_found_by_its_own_check(village: Path, released: list[Any], faults: dict[str, tuple[str, ...]]) -> None:
    assert failed(audited(village, released)) == faults


def test_the_exact_variant_allows_no_overshoot(village: Path) -> None:
    assert audited(village, SAFE, variant="exact").passed
    further = [9499, 5549, 3000, 950]
    assert audited(village, further).passed
    assert failed(audited(village, further, variant="exact")) == {"overshoot": ("cell 1",)}


def test_a_cell_without_levels_is_not_sensitive(village: Path) -> None:
    none = np.zeros(4, dtype=np.int64)
    assert audited(village, [10000, 6050, 3000, 950], lower_level=none, upper_level=none).passed
    assert audited(village, [10000, 6050, 3000, 950], lower_level=none).passed  # going down by zero is enough


def test_an_unknown_variant_is_refused(village: Path) -> None:
    with pytest.raises(sv.InputError, match=r"Unknown variant 'loose'\. Known: at-least, exact\."):
        audited(village, SAFE, variant="loose")


def test_sums_that_overflow_64_bits_are_added_up_all_the_same(village: Path) -> None:
    factor, amount = 2**40, 2**30  # the products are 2^70, which 64 bits take for 0
    free = {"lower": np.full(4, -NO_BOUND), "upper": np.full(4, NO_BOUND), "status": np.array(list("ssss")), "rhs": np.array([0])}
    wide = csr_matrix(np.array([[factor, 0, 0, 0]], dtype=np.int64))
    assert failed(audited(village, [amount, 0, 0, 0], relations=wide, **free)) == {"additivity": ("relation 0",)}
    balanced = csr_matrix(np.array([[factor, -factor, 0, 0]], dtype=np.int64))
    assert audited(village, [amount, amount, 0, 0], relations=balanced, **free).passed


def test_findings_are_counted_in_full_but_shown_in_part(village: Path) -> None:
    many = 25
    system = replace(
        sv.systems.read_system(village, decimals=2),
        relations=csr_matrix(np.tile(np.array([[-1, 1, 1, 1]], dtype=np.int64), (many, 1))),
        rhs=np.zeros(many, dtype=np.int64),
    )
    check = sv.systems.audit_system(system, np.array([9501, 5550, 3000, 950])).checks[1]
    assert check.faults == many
    assert len(check.findings) == 10


def written(path: Path, text: str, **options: Any) -> sv.AuditReport:
    solution = path.with_suffix(".sol")
    solution.write_text(text)
    return sv.systems.audit_solution(path, solution, **options)


SOLUTION = "0 100 95 0\n1 60.5 55.5 1\n2 30.00 30 0\n3 9.5 9.5 0\n"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (SOLUTION, {}),
        (SOLUTION.replace("60.5", "60"), {"file": ("cell 1",)}),
        (SOLUTION.replace("55.5 1", "55.5 0"), {"file": ("cell 1",)}),
        (SOLUTION.replace("30 0", "30 1"), {"file": ("cell 2",)}),
        (SOLUTION.replace("9.5 9.5", "9.5 9.6"), {"additivity": ("relation 0",), "fixed": ("cell 3",)}),
        (SOLUTION[: SOLUTION.index("3 9.5")], {"shape": ("the number of cells differs",)}),
    ],
)
def test_a_solution_file_is_audited_as_it_is_written(village: Path, text: str, faults: dict[str, tuple[str, ...]]) -> None:
    assert failed(written(village, text)) == faults


NINE_DOWN = "0 50 44 1\n1 30 36 0\n2 80 80 0\n3 20 26 0\n4 40 34 0\n5 60 60 0\n6 70 70 0\n7 70 70 0\n8 140 140 0\n"


@pytest.fixture
def nine(tmp_path: Path) -> Path:
    (tmp_path / "nine.jj").write_text(NINE)
    return tmp_path / "nine.jj"


def test_levels_and_bounds_are_checked_as_rounded_and_as_written(nine: Path) -> None:
    report = written(nine, NINE_DOWN)
    assert report.passed
    assert {check.name: check.checked for check in report.checks}["written"] == 1 + 9
    assert "written" not in {check.name for check in written(nine, NINE_DOWN, decimals=1).checks}  # nothing was rounded
    one_short = NINE_DOWN.replace("44 1", "45 1").replace("36 0", "35 0").replace("26 0", "25 0").replace("34 0", "35 0")
    assert failed(written(nine, one_short)) == {"protection": ("cell 0",), "written": ("cell 0",)}
    beyond = "0 50 30 1\n1 30 50 0\n2 80 80 0\n3 20 0 0\n4 40 60 0\n5 60 60 0\n6 70 30 0\n7 70 110 0\n8 140 140 0\n"
    assert failed(written(nine, beyond)) == {"bounds": ("cell 4",), "written": ("cell 4",)}


def test_more_decimals_than_the_values_have_are_a_choice(nine: Path) -> None:
    half = NINE_DOWN.replace("44 1", "44.5 1").replace("36 0", "35.5 0").replace("26 0", "25.5 0").replace("34 0", "34.5 0")
    with pytest.raises(sv.errors.FormatError, match=r"nine\.sol, line 1: the released value has more than 0 decimals"):
        written(nine, half)
    for decimals in (1, 2, "all"):
        assert written(nine, half, decimals=decimals).passed


def test_a_repair_is_taken_into_account_where_levels_are_checked_as_written(nine: Path) -> None:
    """Bounds of 0.5 and 59.5 were rounded to 1 and 59; the upper one gave 2."""
    repairs = nine.with_name("repairs.json")
    repairs.write_text('{"repairs": [{"what": "upper", "place": 4, "by": "2"}]}')
    eased = "0 50 44 1\n1 30 36 0\n2 80 80 0\n3 20 0 0\n4 40 61 0\n5 60 61 0\n6 70 44 0\n7 70 97 0\n8 140 141 0\n"
    assert failed(written(nine, eased)) == {"bounds": ("cell 4",), "written": ("cell 4",)}
    assert written(nine, eased, repairs=repairs).passed


def test_a_file_that_needs_leave_is_audited_with_it(village: Path) -> None:
    village.write_text(VILLAGE.replace("60.5", "61.5").replace("7.25", "-7.25"))
    with pytest.raises(sv.errors.FormatError, match="below zero"):
        written(village, SOLUTION)
    assert written(village, SOLUTION.replace("1 60.5", "1 61.5"), non_additive=True, negative_levels=True).passed


@settings(max_examples=60)
@given(data=st.data())
def test_a_tampered_unit_is_always_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In a two-way table every cell stands in a relation, so that a change of one cell by one unit breaks a sum."""
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    system, released = two_way(data, rows, columns)
    assume(sv.systems.audit_system(system, released).passed)
    released = released.copy()
    released[data.draw(st.integers(0, released.size - 1))] += data.draw(st.sampled_from([-1, 1]))
    assert "additivity" in failed(sv.systems.audit_system(system, released))


def two_way(data: st.DataObject, rows: int, columns: int) -> tuple[sv.systems.LinearSystem, Any]:
    inner = np.array(data.draw(st.lists(st.integers(5, 60), min_size=rows * columns, max_size=rows * columns))).reshape(rows, columns)
    moved = inner + np.array(data.draw(st.lists(st.integers(-4, 4), min_size=inner.size, max_size=inner.size))).reshape(inner.shape)
    relations = []
    for axis in (0, 1):
        for line in range((columns, rows)[axis] + 1):
            mark = np.zeros((rows + 1, columns + 1), dtype=np.int64)
            part = mark[:, line] if axis == 0 else mark[line]
            part[:-1], part[-1] = 1, -1
            relations.append(mark.ravel())
    value, released = (np.pad(each, (0, 1)) for each in (inner, moved))
    for table in (value, released):
        table[:-1, -1] = table[:-1, :-1].sum(axis=1)
        table[-1] = table[:-1].sum(axis=0)
    size = value.size
    sensitive = data.draw(st.integers(0, size - 1))
    level = np.where(np.arange(size) == sensitive, 2, 0)
    system = sv.systems.LinearSystem(
        relations=csr_matrix(np.array(relations)),
        rhs=np.zeros(len(relations), dtype=np.int64),
        value=value.ravel(),
        cost=np.ones(size),
        status=np.where(level > 0, "u", "s"),
        lower=np.zeros(size, dtype=np.int64),
        upper=np.full(size, NO_BOUND),
        lower_level=level,
        upper_level=level,
        decimals=0,
    )
    return system, released.ravel()
