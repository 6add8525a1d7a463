"""What the rules have in common: what they find, how they judge respondents, and by how much a cell must move.

A cell's respondents contribute x1 >= x2 >= ... that add up to T. Contributions are taken as absolute values, so that a
cell of large gains and losses that nearly cancel is judged by how large its respondents are, not by what is left of them;
a level is then compared with the published value as it is. The *target* is the largest respondent who has not waived
protection. A cell whose respondents have all waived it is never unsafe.

All arithmetic is exact, in whole numbers and fractions; levels are rounded up to the table's unit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import RuleError
from statveil.risk.rules.exact import Level, Number, both_ways, ceiling, product, share, wide
from statveil.tables.table import Table

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


def too_close(table: Table, ratio: Fraction, coalition: int, lower_factor: Number) -> Finding:
    """Cells whose rest is less than ratio x target: the p% and the (p, q) rule."""
    target = np.maximum(table.largest_unwaived, 0)
    largest = table.top[:, :coalition].sum(axis=1)
    next_largest = table.top[:, coalition]
    others = np.where(target >= next_largest, largest + next_largest - target, largest)
    rest = table.magnitude - target - others
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
