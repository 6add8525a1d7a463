"""A linear model as plain arrays: min cost'x, row_lower <= A x <= row_upper, lower <= x <= upper, some x whole."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.sparse import csr_matrix

from statveil.core.arrays import BoolArray, FloatArray
from statveil.core.limits import Ending


@dataclass(frozen=True, kw_only=True)
class LinearModel:
    cost: FloatArray
    matrix: csr_matrix
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: BoolArray | None = None


@dataclass(frozen=True, kw_only=True)
class LinearSolution:
    """What a solver claims; `native` keeps its own words. `x` is None when it found no point."""

    ending: Ending
    x: FloatArray | None
    objective: float
    bound: float
    row_duals: FloatArray | None
    native: str
