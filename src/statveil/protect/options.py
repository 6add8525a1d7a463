"""How to protect: the choices a user makes, in small objects checked at the door."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from statveil.arrays import IntArray
from statveil.errors import InputError

Variant = Literal["at-least", "exact"]
Norm = Literal["l1", "l2"]
Weights = Literal["unit", "inverse", "inverse-sqrt"]

NO_LIMIT = 2**62
"""Stands for "no bound" in integer arrays."""


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


def _is_finite(number: object) -> bool:
    return isinstance(number, Real | Decimal | np.number) and not isinstance(number, bool) and math.isfinite(number)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How far any cell may move: in percent of its value, and between absolute published values.

    With none given a cell keeps its sign and is otherwise free: then a safe table always exists (all cells scaled up).
    """

    percent_down: float | None = None
    percent_up: float | None = None
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        for name in ("percent_down", "percent_up"):
            percent = getattr(self, name)
            if percent is not None and not (_is_finite(percent) and percent >= 0):
                raise InputError(f"Bound {name} must be a number of percent, zero or more.")
        for name in ("minimum", "maximum"):
            bound = getattr(self, name)
            if bound is not None and not _is_finite(bound):
                raise InputError(f"Bound {name} must be a finite number.")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise InputError("Bound minimum is above maximum.")


@dataclass(frozen=True, kw_only=True)
class Options:
    """variant: move sensitive cells by `at-least` their level, or by `exact`-ly it (S0, S1).
    norm: least sum of weighted absolute (`l1`) or squared (`l2`) changes.
    weights: cost of a unit's change: `unit`, `inverse` of the value, `inverse-sqrt`; a cost given for a cell replaces it.
    cap: a sensitive cell moves by no more than `cap` times its level.
    """

    variant: Variant = "at-least"
    norm: Norm = "l1"
    weights: Weights = "inverse"
    bounds: Bounds = field(default_factory=Bounds)
    cap: float | None = None

    def __post_init__(self) -> None:
        known("variant", self.variant, ("at-least", "exact"))
        known("norm", self.norm, ("l1", "l2"))
        known("weights", self.weights, ("unit", "inverse", "inverse-sqrt"))
        check_kind("bounds", self.bounds, Bounds)
        if self.cap is not None and not (_is_finite(self.cap) and self.cap >= 1):
            raise InputError("The cap is a multiple of the protection level, one or more.")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: after so many seconds, or once the certified gap is this small (0.01 is 1%)."""

    seconds: float = 60.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        if not (_is_finite(self.seconds) and self.seconds > 0):
            raise InputError("Limits: seconds must be a positive number.")
        if not (_is_finite(self.gap) and self.gap >= 0):
            raise InputError("Limits: gap must be zero or more.")


class Progress(NamedTuple):
    """Where a run stands. Objective and bound are infinite until there is one."""

    stage: str
    seconds: float
    objective: float
    bound: float
    seconds_left: float


OnProgress = Callable[[Progress], None]


class Run(TypedDict, total=False):
    """How a table is looked for, as `adjust` takes it; whatever builds on `adjust` hands it on."""

    method: str
    start: IntArray | None
    settings: Mapping[str, Any] | None
    limits: Limits | None
    seed: int
    on_progress: OnProgress | None
