"""Two published tables, built by hand, whose optima are known: 249250 and 2420."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

import statveil as sv
from statveil.core.limits import Ending
from statveil.risk.rules import ManualCell

pytestmark = pytest.mark.slow

TOTAL = "Total"


class Line(NamedTuple):
    """A cell of a JJ file: its value, whether it is unsafe, and its levels."""

    value: int
    sensitive: bool
    lower: int
    upper: int


def read_lines(path: Path) -> list[Line]:
    """number value cost status lower-bound upper-bound lower-level upper-level sliding-level"""
    rows = path.read_text(encoding="utf-8").splitlines()
    fields = [row.split() for row in rows[2 : 2 + int(rows[1])]]
    return [Line(int(each[1]), each[3] == "u", int(each[6]), int(each[7])) for each in fields]


def positions(sizes: dict[str, int], *, total_first: bool) -> list[dict[str, str]]:
    """The labels of a file's cells, the last dimension running fastest."""
    inner = {name: [f"{name}{i}" for i in range(size)] for name, size in sizes.items()}
    codes = [[TOTAL, *each] if total_first else [*each, TOTAL] for each in inner.values()]
    return [dict(zip(sizes, each, strict=True)) for each in product(*codes)]


def protect(path: Path, sizes: dict[str, int], options: sv.Options, *, total_first: bool) -> sv.Release:
    lines, labels = read_lines(path), positions(sizes, total_first=total_first)
    trees = {name: sv.Hierarchy.flat([f"{name}{i}" for i in range(size)]) for name, size in sizes.items()}
    table = sv.table_from_cells(trees, {tuple(at.values()): line.value for at, line in zip(labels, lines, strict=True)})
    unsafe = [
        ManualCell(cell=at, status="sensitive", lower=line.lower, upper=line.upper)
        for at, line in zip(labels, lines, strict=True)
        if line.sensitive
    ]
    sensitivity = sv.rules.assess(table, [sv.rules.Manual(unsafe)])
    return sv.protect_table(table, sensitivity, options=options, method="exact", limits=sv.Limits(seconds=60))


@pytest.mark.shared
def test_the_table_of_cox_and_kelly_costs_249250(shared_data: Path) -> None:
    """4 x 9 cells with margins and bounds of 50% either way."""
    options = sv.Options(weights="unit", bounds=sv.Bounds(percent_down=50, percent_up=50))
    release = protect(shared_data / "csplib" / "cox_kelly_4x9.jj", {"row": 4, "column": 9}, options, total_first=False)
    assert release.adjustment.objective == 249250
    assert release.adjustment.ending is Ending.OPTIMAL
    assert release.audit.passed


@pytest.mark.shared
def test_the_table_of_cox_kelly_and_patil_costs_2420(shared_data: Path) -> None:
    """5 x 9 x 3 cells with margins; sensitive cells move by twice their level at most, the others are free."""
    release = protect(shared_data / "csplib" / "cox3.jj", {"k": 3, "i": 5, "j": 9}, sv.Options(weights="unit", cap=2), total_first=True)
    assert release.adjustment.objective == 2420
    assert release.adjustment.ending is Ending.OPTIMAL
    assert release.audit.passed
