"""A small table for the tests of quality: two rows and three columns with margins, checked by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import statveil as sv
from tests.protect.problems import problem_of, two_way_relations, with_margins

AMPLE = sv.Limits(seconds=300)
"""Time that no search of these tables needs: they end by themselves, on a busy machine too."""
INNER = np.array([[100, 200, 300], [400, 150, 250]])
"""With margins: cells 0, 1, 2 and 3 (total) in the first row, 4, 5, 6 and 7 in the second, 8 to 11 the totals of columns."""


def small_table(**changes: Any) -> sv.ProtectionProblem:
    """Cells 0, 4 and 5 are sensitive by 10, 40 and 15; every cell may move by half of its value."""
    value = with_margins(INNER).ravel()
    bounds = {"lower": value - value // 2, "upper": value + value // 2}
    return problem_of(value, two_way_relations(2, 3), levels={0: 10, 4: 40, 5: 15}, **{**bounds, **changes})


def cox_kelly(folder: Path, *, zeros_free: bool) -> sv.ProtectionProblem:
    """S1's 4 x 9 table with the cap of 1.5 levels (docs/science.md, section 7)."""
    problem = sv.read_jj(folder / "csplib" / "cox_kelly_4x9.jj")
    lower, upper = problem.lower.copy(), problem.upper.copy()
    sensitive = problem.sensitive
    lower[sensitive] = (problem.value - problem.lower_level * 3 // 2)[sensitive]
    upper[sensitive] = (problem.value + problem.upper_level * 3 // 2)[sensitive]
    if zeros_free:
        upper = np.where(problem.value == 0, 10**7, upper)
    return dataclasses.replace(problem, lower=lower, upper=upper)
