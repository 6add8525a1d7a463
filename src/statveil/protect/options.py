"""How to protect: the choices a user makes, in small objects checked at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.floors import Floors
from statveil.core.limits import Limits, OnProgress, check_kind, check_seed, is_finite, known
from statveil.core.show import OnlyWhatIsSet
from statveil.formats.rcta import MayGive

Variant = Literal["at-least", "exact"]
Norm = Literal["l1", "l2"]
Weights = Literal["unit", "inverse", "inverse-sqrt"]

Giving = Literal["cap", "inner", "margins", "relations", "protection"]
KNOWN: tuple[Giving, ...] = ("cap", "inner", "margins", "relations", "protection")
DEFAULT_ORDER: tuple[Giving, ...] = ("cap", "inner", "margins", "relations")
NO_LIMIT = 2**62
"""Stands for "no bound" in integer arrays."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How far any cell may move: in percent of its value, and between absolute published values.

    With none given a cell keeps its sign and is otherwise free: then a safe table always exists (all cells scaled up).

    percent_down, percent_up: in percent of |value|. minimum, maximum: of the published value.

    >>> Bounds(percent_down=10, percent_up=10, minimum=0).maximum is None
    True
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
class Repair:
    """What may give where a linear system has no safe solution.

    order: first things first: bounds of sensitive cells (`cap`), of `inner` cells, of `margins`, `relations`, `protection`.
    may_give: narrows it all down to single cells and relations. weaken_protection: without it `protection` never gives.

    >>> Repair(order=("margins", "relations")).weaken_protection
    False
    """

    order: tuple[Giving, ...] = DEFAULT_ORDER
    may_give: MayGive | None = None
    weaken_protection: bool = False

    def __post_init__(self) -> None:
        for each in self.order:
            known("class in the repair order", each, KNOWN)
        if not self.order or len(set(self.order)) < len(self.order):
            raise InputError("The repair order must name each class once, and at least one.", hint=f"Known: {', '.join(KNOWN)}.")
        if self.weaken_protection != ("protection" in self.order):
            raise InputError(
                "Protection gives only where both the repair order and the flag to weaken it say so.",
                hint="Put 'protection' into the order and set weaken_protection, or neither.",
            )
        if self.may_give is not None:
            check_kind("may_give", self.may_give, MayGive)


DEFAULT_TABLE_ORDER: tuple[Giving, ...] = ("cap", "inner", "margins")


@dataclass(frozen=True, kw_only=True)
class GivingCells:
    """Cells whose bounds may give, or with `protection` whose protection may.

    cells: {dimension: code} each; a dimension left out means its total. view: which of several linked tables is meant.

    >>> TableRepair(order=("margins",), only=(GivingCells(cells=[{"area": "north"}]),)).only[0].protection
    False
    """

    cells: Sequence[Mapping[str, str]]
    view: str | None = None
    protection: bool = False

    def __post_init__(self) -> None:
        listed = isinstance(self.cells, Sequence) and not isinstance(self.cells, str)
        if not listed or not all(isinstance(labels, Mapping) for labels in self.cells):
            raise InputError("The cells that may give must be a list of {dimension: code}.", hint='For example: [{"region": "A"}].')


@dataclass(frozen=True, kw_only=True)
class TableRepair:
    """What may give where a table from records has no safe release.

    order: first things first: bounds of sensitive cells (`cap`), of `inner` cells, of `margins`, and `protection`.
    only: narrows it down to single cells; without it all may give but frozen ones. weaken_protection: without it `protection` never gives.

    >>> Options(repair=TableRepair(order=("inner",))).repair.order
    ('inner',)
    """

    order: tuple[Giving, ...] = DEFAULT_TABLE_ORDER
    only: tuple[GivingCells, ...] = ()
    weaken_protection: bool = False

    def __post_init__(self) -> None:
        Repair(order=self.order, weaken_protection=self.weaken_protection)
        if "relations" in self.order:
            raise InputError(
                "The sums of a table from records do not give: a total less its other parts would tell of a sensitive cell.",
                hint="Leave 'relations' out of the repair order.",
            )
        if not all(isinstance(each, GivingCells) for each in self.only):
            raise InputError("What alone may give must be a list of GivingCells.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnlyWhatIsSet):
    """variant: move sensitive cells by `at-least` their level, or by `exact`-ly it.
    norm: least sum of weighted absolute (`l1`) or squared (`l2`) changes.
    weights: cost of a unit's change: `unit`, `inverse` of the value, `inverse-sqrt`; a cost given for a cell replaces it.
    bounds: how far any cell may move.
    cap: a sensitive cell moves by no more than `cap` times its level.
    repair: what of all this may give where no safe table exists; by default nothing, and there is then no release.
    floors: how the levels that rules find in records are raised, so that the release does not tell them.
    hold: headline totals that stay as they are: "total" (the grand total), the name of a dimension (its totals one step below that),
        {dimension: code}. hold_within: or move by no more than this share of their value (0.001 is a thousandth).

    >>> Options(cap=3, bounds=Bounds(percent_up=50)).norm
    'l1'
    """

    variant: Variant = "at-least"
    norm: Norm = "l1"
    weights: Weights = "inverse"
    bounds: Bounds = field(default_factory=Bounds)
    cap: float | None = None
    repair: TableRepair | None = None
    floors: Floors = field(default_factory=Floors)
    hold: Sequence[str | Mapping[str, str]] = ()
    hold_within: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.hold, str | Mapping) or not all(isinstance(each, str | Mapping) for each in self.hold):
            raise InputError("Hold: a list of totals is needed.", hint="For example hold=['total'].")
        if not (is_finite(self.hold_within) and 0 <= self.hold_within < 1) or (self.hold_within and not self.hold):
            raise InputError("Hold: hold_within is a share from 0 to less than 1 of the totals that hold names.")
        known("variant", self.variant, ("at-least", "exact"))
        known("norm", self.norm, ("l1", "l2"))
        known("weights", self.weights, ("unit", "inverse", "inverse-sqrt"))
        check_kind("bounds", self.bounds, Bounds)
        check_kind("floors", self.floors, Floors)
        if self.repair is not None:
            check_kind("repair", self.repair, TableRepair)
        if self.cap is not None and not (is_finite(self.cap) and self.cap >= 1):
            raise InputError("The cap is a multiple of the protection level, one or more.")


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a safe table is looked for.

    name: the method; `auto` chooses by the table (docs/methods.md lists them).
    settings: the method's own, such as the number of groups or blocks.
    start: senses to begin with, +1 up, -1 down, 0 not sensitive; method `fixed` keeps them.
    seed: the same seed finds the same table, unless the time limit ends the search first.

    >>> Method(name="anneal", seed=3).seed
    3
    """

    name: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: IntArray | None = field(default=None, repr=False)
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)


def method_of(method: str | Method) -> Method:
    """A method by name, or as it is."""
    if not isinstance(method, str | Method):
        raise InputError(f"The method must be a name or a Method, not {type(method).__name__}.", hint="Write method='auto'.")
    return Method(name=method) if isinstance(method, str) else method


class AdjustArguments(TypedDict, total=False):
    """How a table is looked for, as `adjust_problem` takes it; whatever builds on it hands it on."""

    method: str
    start: IntArray | None
    settings: Mapping[str, Any] | None
    limits: Limits | None
    seed: int
    on_progress: OnProgress | None
