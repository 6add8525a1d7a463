"""What rules about respondents have in common.

A cell's respondents contribute x1 >= x2 >= ... that add up to T. Contributions are taken as absolute values, so that a
cell of large gains and losses that nearly cancel is judged by how large its respondents are, not by what is left of them;
a level is then compared with the published value as it is. The *target* is the largest respondent who has not waived
protection. A cell whose respondents have all waived it is never unsafe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import RuleError
from statveil.risk.rules.exact import wide
from statveil.risk.sensitivity import Finding
from statveil.tables.table import Table

NO_RESPONDENT = -1


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
