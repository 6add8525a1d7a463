"""How to protect: the choices a user makes, in small objects checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits, OnProgress, check_kind, is_finite, known

Variant = Literal["at-least", "exact"]
Norm = Literal["l1", "l2"]
Weights = Literal["unit", "inverse", "inverse-sqrt"]

NO_LIMIT = 2**62
"""Stands for "no bound" in integer arrays."""


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
            if percent is not None and not (is_finite(percent) and percent >= 0):
                raise InputError(f"Bound {name} must be a number of percent, zero or more.")
        for name in ("minimum", "maximum"):
            bound = getattr(self, name)
            if bound is not None and not is_finite(bound):
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
        if self.cap is not None and not (is_finite(self.cap) and self.cap >= 1):
            raise InputError("The cap is a multiple of the protection level, one or more.")


class AdjustArguments(TypedDict, total=False):
    """How a table is looked for, as `adjust` takes it; whatever builds on `adjust` hands it on."""

    method: str
    start: IntArray | None
    settings: Mapping[str, Any] | None
    limits: Limits | None
    seed: int
    on_progress: OnProgress | None
