"""Which cells are sensitive, why, and how far each must move: confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from statveil.core.arrays import BoolArray, FloatArray, IntArray

UNBOUNDED = 2**62


@dataclass(frozen=True, kw_only=True)
class SafeSpread:
    """A cell that was declared safe by some of its names (`named`) and stands at others too (`reached`): a total and its only child are
    the same records, so that both are safe or none is. `freed`: a rule would have called it sensitive.
    """

    named: tuple[str, ...]
    reached: tuple[str, ...]
    freed: bool

    @property
    def words(self) -> str:
        why = ", which a rule calls sensitive" if self.freed else ""
        return f"{' and '.join(self.named)} was declared safe{why}; so was {' and '.join(self.reached)}, the same records"


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The verdict of the rules on every cell of a table, in the table's own units (10**-scale).

    A sensitive cell must be released at `value - lower_level` or below, or at `value + upper_level` or above.
    `reasons` maps the words of each rule to the cells it found; the strictest level has won, every reason is kept.
    `frozen` cells must be released as they are. `weight` holds a user's cost per cell, NaN where none was given.
    `minimum` and `maximum` bound the released value of single cells (plus or minus `UNBOUNDED` where nothing was asked).
    `spread` tells which names of a cell were declared safe by another name of it.
    """

    sensitive: BoolArray = field(repr=False)
    lower_level: IntArray = field(repr=False)
    upper_level: IntArray = field(repr=False)
    frozen: BoolArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    minimum: IntArray = field(repr=False)
    maximum: IntArray = field(repr=False)
    reasons: Mapping[str, BoolArray] = field(default_factory=dict, repr=False)
    spread: tuple[SafeSpread, ...] = field(default=(), repr=False)

    def reasons_of(self, cell: int) -> tuple[str, ...]:
        return tuple(words for words, found in self.reasons.items() if found[cell])
