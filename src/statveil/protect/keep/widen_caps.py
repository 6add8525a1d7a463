"""Caps widened step by step where what is asked cannot be met within the bounds given (S1 section 5)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem


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
