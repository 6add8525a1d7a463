"""A table of cells, confidential: what the records add up to, before any protection.

A `Table` holds each *distinct* cell once. Two positions that aggregate the same records (a total and its
only child, or the same margin in two linked tables) are one cell; every `View` says which cell stands at
each of its positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from statveil.arrays import IntArray
from statveil.table.spec import Dimension


@dataclass(frozen=True, kw_only=True)
class View:
    """One table as its reader sees it: positions (rows of `coordinates`) that point at cells.

    `coordinates[i, k]` is an index into `dimensions[k].codes`. Rows are in ascending lexicographic order of
    the coordinates. Positions that hold no record are absent: they are empty, unless `structural` says that
    they are impossible by definition (rows of coordinates as well).
    """

    name: str
    dimensions: tuple[Dimension, ...]
    coordinates: IntArray = field(repr=False)
    cell: IntArray = field(repr=False)
    structural: IntArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells with all that the sensitivity rules ask about them.

    `value` is an exact integer in units of 10**-scale (measure decimals plus weight decimals); the table is
    published with `decimals` decimals. The rules see respondents: holdings when the spec names a holding
    column, records otherwise. Their contributions are absolute values of the shadow variable if there is one
    (else of the measure), in units of 10**-rule_scale.
    """

    views: tuple[View, ...]
    value: IntArray = field(repr=False)
    scale: int
    decimals: int
    records: IntArray = field(repr=False)
    respondents: IntArray = field(repr=False)
    frequency: IntArray = field(repr=False)
    """What a frequency rule compares, in units of 10**-frequency_scale: respondents, or the sum of weights."""
    frequency_scale: int
    magnitude: IntArray = field(repr=False)
    """Sum of the respondents' absolute contributions: T in the rules."""
    top: IntArray = field(repr=False)
    """`top[i, j]`: the (j+1)-th largest respondent's contribution to cell i, zero where there is none."""
    largest_unwaived: IntArray = field(repr=False)
    """Largest contribution of a respondent who has not waived protection; -1 when all have."""
    largest_requested: IntArray = field(repr=False)
    """Largest contribution of a respondent who asked for protection; -1 when none did."""
    rule_scale: int
    has_shadow: bool
    input_hash: str
    """Hash of the records used, the same in whatever order they came."""

    @property
    def size(self) -> int:
        return int(self.value.size)
