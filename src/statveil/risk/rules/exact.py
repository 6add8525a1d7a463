"""Exact arithmetic for the rules: parameters are fractions, cells are integers, nothing is ever rounded in a rule's favour."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import RuleError

Number = int | float | str | Decimal | Fraction
Level = Number | tuple[Number, Number]
"""One number for both directions, or (lower, upper) apart."""

LIMIT = 2**62
"""Products stay below this, or are computed with Python's unbounded integers."""

LARGEST_EXPONENT = 300
"""1e999999999 is a number, but not one to compute with."""


def exact(name: str, number: Number) -> Fraction:
    """The number as it is written: 12.5 is 25/2, and 0.1 is one tenth."""
    try:
        if isinstance(number, bool):
            raise ValueError
        _, _, exponent = str(number).lower().partition("e")
        if abs(int(exponent or 0)) > LARGEST_EXPONENT:
            raise ValueError
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise RuleError(f"{name} must be a finite number, not {number!r}.") from None


def above(name: str, number: Number, floor: int, *, up_to: int | None = None) -> Fraction:
    """The number, refused unless it is more than the floor and at most `up_to`."""
    found = exact(name, number)
    if found <= floor or (up_to is not None and found > up_to):
        ceiling = "" if up_to is None else f" and at most {up_to}"
        raise RuleError(f"{name} must be more than {floor}{ceiling}, not {number}.")
    return found


def between(name: str, number: Number, least: int, most: int) -> Fraction:
    """The number, refused unless it lies between the two, ends included."""
    found = exact(name, number)
    if not least <= found <= most:
        raise RuleError(f"{name} must be between {least} and {most}, not {number}.")
    return found


def whole(name: str, number: int, least: int) -> None:
    """Refuse anything but a whole number from `least` up."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise RuleError(f"{name} must be a whole number, {least} or more, not {number!r}.")


def both_ways(name: str, level: Level) -> tuple[Fraction, Fraction]:
    """The lower and the upper level, both more than zero."""
    if not isinstance(level, tuple | list):
        return above(name, level, 0), above(name, level, 0)
    if len(level) != 2:
        raise RuleError(f"{name} must be one number or a pair (lower, upper).")
    return above(f"{name} (lower)", level[0], 0), above(f"{name} (upper)", level[1], 0)


def wide(array: IntArray, factor: int) -> AnyArray:
    """The array, ready to be multiplied by the factor: as it is where that fits, in Python integers where it might not."""
    largest = max(int(array.max(initial=0)), -int(array.min(initial=0)))
    return array if largest * factor < LIMIT else array.astype(object)


def product(left: AnyArray, right: AnyArray) -> AnyArray:
    """Elementwise product of two whole-number arrays, exact however large it is."""
    largest = int(np.abs(right).max(initial=0))
    return wide(left, max(largest, 1)) * right


def ceiling(numerator: AnyArray, denominator: AnyArray | int) -> IntArray:
    """The quotient rounded up: a level is never smaller than the formula asks."""
    quotient = -(-numerator // denominator)
    if int(quotient.max(initial=0)) >= LIMIT:
        raise RuleError("A protection level is too large to compute with.", hint="Publish in larger units, or check the rule's parameters.")
    return quotient.astype(np.int64)


def share(array: IntArray, part: Fraction) -> IntArray:
    """That part of every number, rounded up."""
    return ceiling(wide(array, part.numerator) * part.numerator, part.denominator)


def ceil_amount(amount: Number, scale: int) -> int:
    """An amount in the measure's own unit as units of 10**-scale, rounded up."""
    return _small_enough(math.ceil(exact("An amount", amount) * Fraction(10) ** scale))


def floor_amount(amount: Number, scale: int) -> int:
    """The same, rounded down."""
    return _small_enough(math.floor(exact("An amount", amount) * Fraction(10) ** scale))


def _small_enough(units: int) -> int:
    if abs(units) >= LIMIT:
        raise RuleError("Manual: an amount is too large to compute with.", hint="Leave it out if no bound is meant.")
    return units
