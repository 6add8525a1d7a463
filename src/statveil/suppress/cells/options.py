"""How to suppress: the choices a user makes, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from statveil.core.errors import InputError
from statveil.core.limits import check_seed, is_finite, known

Cost = Literal["unit", "value", "frequency", "log"]
MethodName = Literal["auto", "optimal", "hypercube", "modular", "network", "elimination"]
COSTS: tuple[Cost, ...] = ("unit", "value", "frequency", "log")
METHOD_NAMES: tuple[MethodName, ...] = ("auto", "optimal", "hypercube", "modular", "network", "elimination")
BY_TABLES = ("hypercube", "modular", "network")
"""Methods that must know where in a table each cell stands."""
EXACT_ONLY = ("elimination",)
"""Methods that promise that no sensitive cell follows exactly, and nothing of intervals."""


@dataclass(frozen=True, kw_only=True)
class HypercubeOptions:
    """What tau-ARGUS lets choose of GH.

    known_percent: how closely the cubes take every value to be known beforehand, in percent.
    ratio: the width that every suppressed cell should have as a share of its value; None: the median of what sensitive cells need.
    singleton: whether the only respondent of a cell gets two cubes.

    >>> SuppressionOptions(hypercube=HypercubeOptions(ratio=0.2)).hypercube.singleton
    True
    """

    known_percent: float = 100.0
    ratio: float | None = None
    singleton: bool = True

    def __post_init__(self) -> None:
        if not (is_finite(self.known_percent) and self.known_percent > 0):
            raise InputError("What is known beforehand must be a positive number of percent.")
        if self.ratio is not None and not (is_finite(self.ratio) and self.ratio >= 0):
            raise InputError("The ratio of the cubes must be a number, not below zero.")


@dataclass(frozen=True, kw_only=True)
class ModularOptions:
    """What tau-ARGUS lets choose of MOD.

    minutes: for each simple table. two_singletons: whether two only respondents must not be alone in a sum.
    singleton_and_other: nor an only respondent with one other suppressed cell.
    minimum_frequency: two sensitive cells alone in a sum must have so many respondents together (0: need not).
    margins: LOWERMARG and UPPERMARG, the narrow levels of cells suppressed in a table above.

    >>> SuppressionOptions(modular=ModularOptions(minimum_frequency=3)).modular.margins
    (0.99, 1.01)
    """

    minutes: float = 1.0
    two_singletons: bool = True
    singleton_and_other: bool = True
    minimum_frequency: int = 0
    margins: tuple[float, float] = (0.99, 1.01)

    def __post_init__(self) -> None:
        lower, upper = self.margins
        if not (is_finite(self.minutes) and self.minutes > 0) or self.minimum_frequency < 0:
            raise InputError("A simple table needs a positive number of minutes, and a frequency not below zero.")
        if not (0 < lower <= 1 <= upper and is_finite(upper)):
            raise InputError("The narrow levels must have a lower factor up to 1 and an upper one from 1 on.")


@dataclass(frozen=True, kw_only=True)
class SuppressionOptions:
    """cost: what suppressing a cell costs: `unit` counts cells, `value` and `frequency` add up what is lost, `log` the logarithm of the
        value (times 1,000, rounded). A cost given for a cell replaces it.
    known_percent: what readers know of each cell beforehand, in percent of its value either way; None: only that it is not below zero.
    singletons: whether the only respondent of a cell must not be able to work out another sensitive cell.
    hypercube, modular: what those two methods let choose.
    seed: the same seed finds the same pattern, unless the time limit ends the search first.

    >>> SuppressionOptions(cost="value").singletons
    True
    """

    cost: Cost = "unit"
    known_percent: float | None = None
    singletons: bool = True
    hypercube: HypercubeOptions = HypercubeOptions()
    modular: ModularOptions = ModularOptions()
    seed: int = 0

    def __post_init__(self) -> None:
        known("cost", self.cost, COSTS)
        check_seed(self.seed)
        if self.known_percent is not None and not (is_finite(self.known_percent) and self.known_percent > 0):
            raise InputError("known_percent must be a positive number of percent, or None.")
