"""When to stop, where a run stands, how it ended, and checks at the door that every folder shares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
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


LEAST_SHARE = 0.1
"""Of a time limit, for a step that comes late. By judgement."""


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

    def left(self, began: float, *, reserved: float = 0.0) -> Limits:
        """What is left of them for a step of a run that `began` so long ago (`time.monotonic`), with seconds reserved for later ones.

        A step gets a tenth of the whole at least: it must be able to say something.
        """
        seconds = self.seconds - reserved - (time.monotonic() - began)
        return replace(self, seconds=max(seconds, LEAST_SHARE * self.seconds))


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


class RunClock:
    """The one clock of a run of several steps: their news go on with the run's own time, and what a step found is not forgotten."""

    def __init__(self, on_progress: OnProgress, limits: Limits | None = None) -> None:
        self._tell, self._limit, self._began = on_progress, limits.seconds if limits else math.inf, time.monotonic()
        self._objective, self._bound = math.inf, 0.0

    def __call__(self, news: Progress) -> None:
        """Pass on the news of a step."""
        self._objective, self._bound = news.objective, news.bound
        self.enter(news.stage)

    def found(self, stage: str, objective: float, bound: float, *, last: bool = False) -> None:
        """Tell of a stage after which the objective and the bound are these."""
        self._objective, self._bound = objective, bound
        self.enter(stage, last=last)

    def enter(self, stage: str, *, last: bool = False) -> None:
        """Tell of a stage; after the `last` no time is left, whatever the limit was."""
        seconds = time.monotonic() - self._began
        left = 0.0 if last else max(0.0, self._limit - seconds)
        self._tell(Progress(stage, seconds, self._objective, self._bound, left))


def clocked(on_progress: OnProgress | None, limits: Limits | None = None) -> RunClock | None:
    """The clock of a run that begins now, or of the one that this is a step of; without limits stages take as long as they take."""
    return on_progress if on_progress is None or isinstance(on_progress, RunClock) else RunClock(on_progress, limits)


def stages(on_progress: OnProgress | None, limits: Limits | None = None) -> Callable[[str], None]:
    """Something to tell stages to."""
    clock = clocked(on_progress, limits)
    return (lambda stage: None) if clock is None else clock.enter
