"""How to suppress: the choices a user makes, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from statveil.core.errors import InputError
from statveil.core.limits import check_seed, is_finite, known

Cost = Literal["unit", "value", "frequency", "log"]
MethodName = Literal["auto", "optimal"]
COSTS: tuple[Cost, ...] = ("unit", "value", "frequency", "log")
METHOD_NAMES: tuple[MethodName, ...] = ("auto", "optimal")


@dataclass(frozen=True, kw_only=True)
class SuppressionOptions:
    """cost: what suppressing a cell costs: `unit` counts cells, `value` and `frequency` add up what is lost, `log` the logarithm of the
        value (times 1,000, rounded). A cost given for a cell replaces it.
    known_percent: what readers know of each cell beforehand, in percent of its value either way; None: only that it is not below zero.
    singletons: whether the only respondent of a cell must not be able to work out another sensitive cell.
    seed: the same seed finds the same pattern, unless the time limit ends the search first.

    >>> SuppressionOptions(cost="value").singletons
    True
    """

    cost: Cost = "unit"
    known_percent: float | None = None
    singletons: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        known("cost", self.cost, COSTS)
        check_seed(self.seed)
        if self.known_percent is not None and not (is_finite(self.known_percent) and self.known_percent > 0):
            raise InputError("known_percent must be a positive number of percent, or None.")
