"""What the rules have in common: what they find, how they judge respondents, and by how much a cell must move.

A cell's respondents contribute x1 >= x2 >= ... that add up to T. Contributions are taken as absolute values, so that a
cell of large gains and losses that nearly cancel is judged by how large its respondents are, not by what is left of them;
a level is then compared with the published value as it is. The *target* is the largest respondent who has not waived
protection. A cell whose respondents have all waived it is never unsafe.

All arithmetic is exact, in whole numbers and fractions; levels are rounded up to the table's unit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import RuleError
from statveil.tables.table import Table

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


NO_RESPONDENT = -1


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The numbers of the cells that a rule calls unsafe, and how far each must move, in the table's units of 10**-scale."""

    cells: IntArray
    lower: IntArray
    upper: IntArray


def percent_of_value(table: Table, cells: IntArray, level: Level) -> Finding:
    """Levels that are a percentage of |value|."""
    lower, upper = (share(np.abs(table.value[cells]), percent / 100) for percent in both_ways("level", level))
    return Finding(cells=cells, lower=lower, upper=upper)


class RespondentRule(ABC):
    """A rule that judges a cell by its respondents."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The rule in words: the reason that a cell keeps."""

    @property
    def contributions_needed(self) -> int:
        """How many of a cell's largest contributions the rule looks at."""
        return 0

    def find(self, table: Table) -> Finding:
        """The unsafe cells, once it is sure that the table can answer the rule's question."""
        if (table.records < 0).any():
            raise RuleError(
                f"The {self.words} needs the respondents of every cell, and this table was given without them.",
                hint="Build the table from records, or name its sensitive cells with Manual.",
            )
        held, needed = table.top.shape[1], self.contributions_needed
        if held < needed:
            raise RuleError(
                f"The {self.words} looks at the {needed} largest contributions of a cell, and the table holds {held}.",
                hint="Tabulate with a larger top.",
            )
        return self._find(table)

    def figure(self, table: Table, cell: int) -> str:
        """What the rule measures at a cell beside what it asks, in words: confidential. Empty where it measures nothing."""
        return ""

    @abstractmethod
    def _find(self, table: Table) -> Finding: ...


def has_target(table: Table) -> BoolArray:
    """Cells with a respondent who has not waived protection."""
    found: BoolArray = table.largest_unwaived != NO_RESPONDENT
    return found


def fewer_than(table: Table, n: int) -> BoolArray:
    """Cells whose frequency is below n."""
    found: BoolArray = table.frequency < n * 10**table.frequency_scale
    return found


def times(array: IntArray, factor: int) -> AnyArray:
    """The product, in a type wide enough for the difference of two such products."""
    return wide(array, 2 * factor) * factor


def against(coalition: int) -> str:
    """The coalition in words, where it is not a single respondent."""
    return "" if coalition == 1 else f", coalition of {coalition}"


def target_and_rest(table: Table, coalition: int) -> tuple[IntArray, IntArray]:
    """Of each cell the target's contribution, and what is left without the target and the largest others."""
    target = np.maximum(table.largest_unwaived, 0)
    largest = table.top[:, :coalition].sum(axis=1)
    next_largest = table.top[:, coalition]
    others = np.where(target >= next_largest, largest + next_largest - target, largest)
    return target, table.magnitude - target - others


def rest_in_words(table: Table, cell: int, coalition: int, asked: Fraction) -> str:
    """How well the rest hides the target: the figure of the p% and the (p, q) rule."""
    target, rest = (int(each[cell]) for each in target_and_rest(table, coalition))
    if not target:
        return "nobody to protect"
    share = 100 * rest / target
    return f"the rest is {share:{',.0f' if share >= 100 else '.3g'}}% of the target; at least {float(asked):.3g}% asked"


def too_close(table: Table, ratio: Fraction, coalition: int, lower_factor: Number) -> Finding:
    """Cells whose rest is less than ratio x target: the p% and the (p, q) rule."""
    target, rest = target_and_rest(table, coalition)
    excess = times(target, ratio.numerator) - times(rest, ratio.denominator)
    return excess_finding(table, np.where(has_target(table), excess, 0), ratio.denominator, lower_factor)


def excess_finding(table: Table, numerator: AnyArray, denominator: int, lower_factor: Number) -> Finding:
    """Unsafe where the excess is positive; the excess is the upper level, in the contributions' unit."""
    cells = np.flatnonzero(numerator > 0)
    lower_part = Fraction(str(lower_factor)) / denominator
    return Finding(
        cells=cells,
        lower=_in_table_units(table, cells, numerator[cells], lower_part),
        upper=_in_table_units(table, cells, numerator[cells], Fraction(1, denominator)),
    )


def _in_table_units(table: Table, cells: IntArray, amount: AnyArray, part: Fraction) -> IntArray:
    """part x amount of the contributions, in the value's unit; of a shadow variable the same share of |value| instead."""
    if table.has_shadow:
        scaled = product(wide(amount, part.numerator) * part.numerator, np.abs(table.value[cells]))
        return ceiling(scaled, wide(table.magnitude[cells], part.denominator) * part.denominator)
    return share(amount, part * Fraction(10) ** (table.scale - table.rule_scale))
