"""When to stop, where a run stands, how it ended, and checks at the door that every folder shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from numbers import Real
from typing import NamedTuple

import numpy as np

from statveil.core.errors import InputError


class Ending(StrEnum):
    """One vocabulary for how a computation ended, whoever computed.

    Of a protected table `optimal` means that a certificate proves it, confirmed by the independent checker; `claimed`, that a solver
    says so, and nobody has confirmed it.
    """

    OPTIMAL = "optimal"
    CLAIMED = "claimed"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"


def known(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among the allowed ones."""
    if value not in allowed:
        raise InputError(f"Unknown {name} {value!r}. Known: {', '.join(allowed)}.")


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse a thing of another type."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {kind.__name__}, not {type(value).__name__}.", hint=f"Write {name}={kind.__name__}(...).")


def check_seed(seed: object) -> None:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError("The seed must be a whole number, zero or more.")


def is_finite(number: object) -> bool:
    return isinstance(number, Real | Decimal | np.number) and not isinstance(number, bool) and math.isfinite(number)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop.

    seconds: after so many. gap: or once the certified gap is this small (0.01 is 1%).

    >>> Limits(seconds=10, gap=0.01).gap
    0.01
    """

    seconds: float = 60.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        if not (is_finite(self.seconds) and self.seconds > 0):
            raise InputError("Limits: seconds must be a positive number.")
        if not (is_finite(self.gap) and self.gap >= 0):
            raise InputError("Limits: gap must be zero or more.")


class Progress(NamedTuple):
    """Where a run stands.

    stage: what it does now. seconds, seconds_left: since it began, and until its limit.
    objective, bound: the best so far; infinite until there is one.

    >>> Progress(stage="adjusting", seconds=1.0, objective=12.0, bound=10.0, seconds_left=59.0).stage
    'adjusting'
    """

    stage: str
    seconds: float
    objective: float
    bound: float
    seconds_left: float


OnProgress = Callable[[Progress], None]


def stages(on_progress: OnProgress | None, limits: Limits | None = None) -> Callable[[str], None]:
    """Something to tell stages to; without limits they take as long as they take."""

    def tell(stage: str) -> None:
        if on_progress is not None:
            on_progress(Progress(stage, 0.0, math.inf, 0.0, limits.seconds if limits else math.inf))

    return tell
