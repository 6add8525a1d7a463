"""The array types used everywhere, the largest number a double holds exactly, and the decimals of exact amounts."""

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


def fewest_decimals(amounts: IntArray, decimals: int) -> int:
    """The fewest decimals that write all these amounts, which are in units of 10**-decimals."""
    return next((d for d in range(decimals) if not (amounts % 10 ** (decimals - d)).any()), decimals)


def frozen_array(array: AnyArray) -> AnyArray:
    """The same array, closed for writing, so that a frozen dataclass is frozen all through."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
