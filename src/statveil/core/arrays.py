"""The array types used everywhere, and the largest number a double holds exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

LARGEST_EXACT = 2**53
"""Integers beyond this cannot pass through a solver that computes in doubles."""


def frozen_array(array: AnyArray) -> AnyArray:
    """The same array, closed for writing, so that a frozen dataclass is frozen all through."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
