"""Decimal numbers as text and as integer units of 10**-decimals, exactly in both directions."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray

NO_BOUND = 2**62
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_LARGEST_POWER_IN_DOUBLE = 22
_FLOAT_POWERS = np.array([float(10**power) for power in range(_LARGEST_POWER_IN_DOUBLE + 1)])


class Rounding(Enum):
    NEAREST = "nearest"
    DOWN = "down"
    UP = "up"


class Units(NamedTuple):
    """Amounts in units; where `too_large` is set (2^53 or more) the unit is plus or minus `NO_BOUND`."""

    units: IntArray
    exact: BoolArray
    too_large: BoolArray


class Numbers(NamedTuple):
    """Decimal numbers: digits (at most 18) times ten to the power."""

    digits: IntArray
    powers: AnyArray

    @property
    def decimals(self) -> int:
        """The fewest decimals that write all these numbers."""
        return max(0, -int(self.powers.min(initial=0)))

    def in_units(self, decimals: int, rounding: Rounding = Rounding.NEAREST) -> Units:
        """As whole numbers of 10**-decimals."""
        shift = self.powers.astype(np.int64) + decimals
        factor = _POWERS[np.clip(shift, 0, 18)]
        # Moved by more places than there are digits, less than half a unit is left: only the sign counts.
        digits = np.where(shift < -18, np.sign(self.digits), self.digits)
        rounded, exact = _divided(digits, _POWERS[np.clip(-shift, 0, 18)], rounding)
        too_large = (np.abs(rounded) > (LARGEST_EXACT - 1) // factor) | ((shift > 18) & (rounded != 0))
        units = np.where(too_large, 0, rounded) * factor
        return Units(np.where(too_large, np.sign(rounded) * NO_BOUND, units), exact, too_large)

    def in_doubles(self) -> tuple[FloatArray, BoolArray]:
        """The nearest doubles, and where they are sure to be the nearest: digits and power of ten are doubles themselves."""
        power = self.powers.astype(np.int64)
        size = _FLOAT_POWERS[np.minimum(np.abs(power), _LARGEST_POWER_IN_DOUBLE)]
        digits = self.digits.astype(np.float64)
        sure = (np.abs(self.digits) < LARGEST_EXACT) & (np.abs(power) <= _LARGEST_POWER_IN_DOUBLE)
        return np.where(power < 0, digits / size, digits * size), sure


def _divided(digits: IntArray, divisor: IntArray, rounding: Rounding) -> tuple[IntArray, BoolArray]:
    below = digits // divisor
    rest = digits - below * divisor
    match rounding:
        case Rounding.DOWN:
            up = np.zeros(rest.shape, dtype=np.bool_)
        case Rounding.UP:
            up = rest > 0
        case Rounding.NEAREST:
            up = (2 * rest > divisor) | ((2 * rest == divisor) & (below % 2 == 1))
    return below + up, rest == 0


def decimal_text(amount: int, decimals: int) -> str:
    """An integer number of units as a decimal number: 12345 with two decimals is 123.45."""
    if abs(int(amount)) >= NO_BOUND:
        return "-1e+20" if amount < 0 else "1e+20"
    digits = str(abs(int(amount))).rjust(decimals + 1, "0")
    body = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{body}" if amount < 0 else body
