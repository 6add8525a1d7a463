"""The audit of a cube finds what is wrong: leaf cells x and y under one total, x of one respondent."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from statveil.audit.cube import CubeEvidence, audit_cube
from statveil.data.hierarchy import Hierarchy
from statveil.risk.assess import assess
from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.tables.spec import Dimension


def evidence(released: list[int], **changes: Any) -> CubeEvidence:
    """x: one holding of 100. y: four of 50. The total is safe."""
    dimension = Dimension(name="d", trees=(Hierarchy.flat(["x", "y"]),))
    x, y = dimension.position["x"], dimension.position["y"]
    given = {
        "dimensions": (dimension,),
        "places": np.array([[x, y, y, y, y]]),
        "holdings": np.arange(5),
        "amounts": np.array([100, 50, 50, 50, 50]),
        "leaf_places": np.array([[x, y]]),
        "released": np.array(released),
        "most": 1,
        "judge": partial(assess, rules=[MinimumFrequency(3, level=10)]),
        "contributions": 2,
        "decimals": 0,
    }
    return CubeEvidence(**{**given, **changes})


def faults(found: CubeEvidence) -> dict[str, int]:
    return {check.name: check.faults for check in audit_cube(found).checks if check.faults}


@pytest.mark.parametrize("released", [[110, 190], [90, 210], [115, 200]])
def test_a_cell_moved_by_its_level_passes(released: list[int]) -> None:
    assert audit_cube(evidence(released)).passed


@pytest.mark.parametrize(
    ("released", "fault"), [([109, 200], "protection"), ([100, 200], "protection"), ([91, 200], "protection"), ([0, 200], "zeros")]
)
def test_a_cell_within_its_level_or_gone_is_found(released: list[int], fault: str) -> None:
    assert faults(evidence(released)) == {fault: 1}


def test_records_outside_the_released_cells_are_found() -> None:
    assert "cells" in faults(evidence([110], leaf_places=np.array([[1]])))
    assert "cells" in faults(evidence([110, 190, 5], leaf_places=np.array([[1, 2, 2]]), places=np.array([[1, 1, 1, 1, 1]])))


def test_totals_that_were_to_be_held_are_compared() -> None:
    assert faults(evidence([110, 200], held=[((0,), 9)])) == {"held": 1}
    assert audit_cube(evidence([110, 200], held=[((0,), 10), ((2,), 0)])).passed


def test_counts_are_zero_or_not_small_and_losses_have_no_least() -> None:
    assert audit_cube(evidence([0, 200], counts=True, smallest=3)).passed
    assert faults(evidence([2, 200], counts=True, smallest=3)) == {"zeros": 1}
    assert audit_cube(evidence([-20, 200], smallest=None)).passed


@pytest.mark.parametrize("codes", [3, 40])
def test_what_records_add_up_to_does_not_depend_on_their_order_or_on_how_many_codes_there_are(codes: int) -> None:
    """Two holdings of several records each in one cell, 60 and 40, under p% = 10: it must move by 10 * 60 / 100 - 0 = 6 or more."""
    flat = Dimension(name="d", trees=(Hierarchy.flat([f"c{number}" for number in range(codes)]),))
    place = flat.position["c1"]
    given = {
        "dimensions": (flat,),
        "places": np.full((1, 5), place),
        "holdings": np.array([7, 2, 7, 2, 7]),
        "amounts": np.array([10, 15, 20, 25, 30]),
        "leaf_places": np.array([[place]]),
        "judge": partial(assess, rules=[PPercent(10)]),
    }
    assert audit_cube(evidence([106], **given)).passed
    assert faults(evidence([105], **given)) == {"protection": 2}  # the cell and the total, which is the same


def test_nothing_at_all_passes() -> None:
    none, nowhere = np.zeros(0, np.int64), np.zeros((1, 0), np.int64)
    assert audit_cube(evidence([], places=nowhere, holdings=none, amounts=none, leaf_places=nowhere)).passed
