"""A problem changed for what is to be kept.

Means become relations: the deviations over a set of cells add up to nothing, to the unit (S1 section 3.1). Several variables stand side
by side. Caps are wider where what is asked cannot be met within the bounds given (S1 section 5).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_matrix, hstack, vstack

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.keep.wishes import Target
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem


def with_means(problem: ProtectionProblem, targets: Sequence[Target]) -> ProtectionProblem:
    """The problem with a cell more for each mean, fixed at nothing, that all deviations over the mean's cells add up to."""
    kept = [target for target in targets if target.mean]
    if not kept:
        return problem
    place = np.repeat(np.arange(len(kept)), [each.size for each in kept])
    cells = np.concatenate([each.cells for each in kept])
    rows = csr_matrix((np.ones(cells.size, dtype=np.int64), (place, cells)), shape=(len(kept), problem.size))
    count = len(kept)
    own = csr_matrix(-np.eye(count, dtype=np.int64))
    above = hstack([problem.relations, csr_matrix(np.zeros((problem.rhs.size, count), dtype=np.int64))])
    nothing = np.zeros(count, dtype=np.int64)
    longer: dict[str, Any] = {
        name: np.concatenate([getattr(problem, name), nothing]) for name in ("value", "lower", "upper", "lower_level", "upper_level")
    }
    totals = [sum(problem.value[each.cells].tolist()) for each in kept]
    return dataclasses.replace(
        problem,
        relations=csr_matrix(vstack([above, hstack([rows, own])], format="csr"), dtype=np.int64),
        rhs=np.concatenate([problem.rhs, np.array(totals, dtype=np.int64)]),
        weight=np.concatenate([problem.weight, np.ones(count)]),
        sensitive=np.concatenate([problem.sensitive, np.zeros(count, dtype=np.bool_)]),
        **longer,
    )


def means_off(deviation: IntArray, targets: Sequence[Target]) -> list[int]:
    """By how many units each mean's sum is off, in Python integers; all zero where every mean asked for is kept."""
    return [sum(deviation[target.cells].tolist()) for target in targets if target.mean]


def side_by_side(problems: Sequence[ProtectionProblem]) -> ProtectionProblem:
    """Several problems as one, their cells one after the other, no relation joining them."""
    first = problems[0]
    joined = {
        name: np.concatenate([getattr(problem, name) for problem in problems])
        for name in ("rhs", "value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    }
    relations = csr_matrix(block_diag([problem.relations for problem in problems], format="csr"), dtype=np.int64)
    return ProtectionProblem(relations=relations, variant=first.variant, norm=first.norm, **joined)


def with_cap(problem: ProtectionProblem, cap: float) -> ProtectionProblem:
    """The problem in which a sensitive cell may move by up to `cap` times its level, or further where it could before.

    Levels stay what they are, and so do signs: no cell comes nearer to zero than one unit, or than it could before. Cells that must move
    by exactly their level may then move further.
    """
    reach_down, reach_up = _times(problem.lower_level, cap), _times(problem.upper_level, cap)
    value = problem.value
    own_low, own_high = (problem.down.low, problem.up.high) if problem.variant == "exact" else (problem.free.low, problem.free.high)
    low, high = value + np.minimum(own_low, -reach_down), value + np.maximum(own_high, reach_up)
    low = np.where(value > 0, np.maximum(low, np.minimum(problem.lower, 1)), low)
    high = np.where(value < 0, np.minimum(high, np.maximum(problem.upper, -1)), high)
    bounded = problem.variant == "exact"  # by its level, where by nothing else
    lower = np.where(problem.sensitive & (bounded | (problem.lower > -NO_LIMIT)), low, problem.lower)
    upper = np.where(problem.sensitive & (bounded | (problem.upper < NO_LIMIT)), high, problem.upper)
    return dataclasses.replace(problem, lower=lower, upper=upper, variant="at-least")


def _times(level: IntArray, cap: float) -> IntArray:
    share = Fraction(str(cap))
    wide: AnyArray = level.astype(object) * share.numerator // share.denominator
    return np.minimum(wide, NO_LIMIT // 4).astype(np.int64)
