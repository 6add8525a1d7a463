"""The office's word on one cell, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from statveil.errors import RuleError
from statveil.risk.exact import Level, Number, above, both_ways, exact

Status = Literal["sensitive", "safe", "frozen"]
STATUSES = ("sensitive", "safe", "frozen")


@dataclass(frozen=True, kw_only=True)
class ManualCell:
    """The office's word on one cell.

    cell: {dimension: code}; a dimension left out means its total. view: which of several linked tables is meant.
    status: "sensitive", "safe" (no rule makes it sensitive), "frozen" (released as it is), or None.
    lower, upper: protection levels as amounts; level: in percent of |value| (one number, or lower and upper).
    cost: what a unit's change costs. minimum, maximum: bounds on the released amount.
    """

    cell: Mapping[str, str]
    view: str | None = None
    status: Status | None = None
    lower: Number | None = None
    upper: Number | None = None
    level: Level | None = None
    cost: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None

    def __post_init__(self) -> None:
        if self.status is not None and self.status not in STATUSES:
            raise RuleError(f"Manual: unknown status {self.status!r}. Known: {', '.join(STATUSES)}.")
        self._check_levels()
        if self.cost is not None:
            above("Manual: cost", self.cost, 0, up_to=10**15)
        bounds = [
            exact(f"Manual: {name}", bound) for name, bound in (("minimum", self.minimum), ("maximum", self.maximum)) if bound is not None
        ]
        if bounds != sorted(bounds):
            raise RuleError("Manual: minimum is above maximum.")

    def _check_levels(self) -> None:
        amounts = [
            exact(f"Manual: {name}", amount) for name, amount in (("lower", self.lower), ("upper", self.upper)) if amount is not None
        ]
        if len(amounts) == 1:
            raise RuleError("Manual: lower and upper belong together.", hint="Give both, or neither.")
        if min(amounts, default=Fraction(0)) < 0:
            raise RuleError("Manual: lower and upper are distances, zero or more.")
        if self.level is not None:
            both_ways("Manual: level", self.level)
        if self.status != "sensitive" and (amounts or self.level is not None):
            raise RuleError("Manual: levels were given for a cell that is not declared sensitive.", hint='Give it status "sensitive".')
