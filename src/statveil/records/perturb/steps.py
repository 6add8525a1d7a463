"""The perturbations that a user may ask for, each checked when it is made; `methods.py` carries them out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from statveil.core.errors import InputError

LEAST_CODED = 3
"""Records that must share a coded extreme."""


@dataclass(frozen=True)
class _Step(ABC):
    columns: Sequence[str]

    method: ClassVar[str]
    draws: ClassVar[bool] = False
    """Whether chance plays a part, so that a key is needed."""

    def __post_init__(self) -> None:
        names = self.columns
        if isinstance(names, str) or not names or not all(isinstance(name, str) and name for name in names):
            raise InputError(f"{self.method}: columns must be a list of names.")
        if len(set(names)) < len(names):
            raise InputError(f"{self.method}: a column is named twice.")
        object.__setattr__(self, "columns", tuple(names))
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Refuse what the method cannot do."""

    def _number(self, name: str, value: Any, *, above: float, to: float) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value <= to:
            raise InputError(f"{self.method}: {name} must be a number above {above:g}, and at most {to:g}.")

    def _decimals(self, value: Any) -> None:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 9):
            raise InputError(f"{self.method}: decimals must be a whole number from 0 to 9.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What was asked besides the columns."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "columns"}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def words(self) -> str:
        told = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.method}, {told}" if told else self.method

    def as_json(self) -> dict[str, Any]:
        return {"method": self.method, "columns": list(self.columns), **self.parameters}


@dataclass(frozen=True)
class Noise(_Step):
    """Normal noise of `level` times a column's standard deviation; several columns get noise that is correlated as they are (Kim 1986).

    columns: of numbers. minimum, maximum: what no released number passes. decimals: of the released numbers; else those of the data.

    >>> Noise(["wage"], level=0.2).words
    'noise, level = 0.2'
    """

    level: float = 0.1
    minimum: float | None = None
    maximum: float | None = None
    decimals: int | None = None

    method: ClassVar[str] = "noise"
    draws: ClassVar[bool] = True

    def _check(self) -> None:
        self._number("level", self.level, above=0, to=10)
        self._decimals(self.decimals)
        for name in ("minimum", "maximum"):
            if getattr(self, name) is not None:
                self._number(name, getattr(self, name), above=-1e15, to=1e15)
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise InputError("noise: minimum must lie below maximum.")


@dataclass(frozen=True)
class RankSwapping(_Step):
    """Every value changes places with one that is at most `percent` of the ranks away (Moore 1996); each column on its own.

    columns: of numbers.

    >>> RankSwapping(["wage"], percent=2).words
    'rank-swapping, percent = 2'
    """

    percent: float = 5.0

    method: ClassVar[str] = "rank-swapping"
    draws: ClassVar[bool] = True

    def _check(self) -> None:
        self._number("percent", self.percent, above=0, to=100)


@dataclass(frozen=True)
class Microaggregation(_Step):
    """At least `k` records share each released value, the mean of theirs: one column in the best possible groups (Hansen and Mukherjee
    2003), several together by MDAV (Domingo-Ferrer and Mateo-Sanz 2002).

    columns: of numbers. decimals: of the released means; else those of the data.

    >>> Microaggregation(["wage", "age"], k=5).columns
    ('wage', 'age')
    """

    k: int = 3
    decimals: int | None = None

    method: ClassVar[str] = "microaggregation"

    def _check(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 2 <= self.k <= 1000:
            raise InputError("microaggregation: k must be a whole number from 2 to 1,000.")
        self._decimals(self.decimals)


@dataclass(frozen=True)
class Pram(_Step):
    """A code stays with probability `keep` and is otherwise drawn anew from the codes of the column, as often as they occur: an invariant
    matrix of the post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998), under which expected frequencies stay.

    columns: of codes; each is drawn on its own.

    >>> Pram(["job"], keep=0.9).draws  # by the office's key
    True
    """

    keep: float = 0.8

    method: ClassVar[str] = "pram"
    draws: ClassVar[bool] = True

    def _check(self) -> None:
        self._number("keep", self.keep, above=0, to=0.999)


@dataclass(frozen=True)
class QuantileCoding(_Step):
    """What lies below the quantile `bottom`, or above the quantile `top`, is released as that quantile: top and bottom coding.

    columns: of numbers.

    >>> QuantileCoding(["wage"], top=0.95).words
    'quantile-coding, top = 0.95'
    """

    bottom: float | None = None
    top: float | None = None

    method: ClassVar[str] = "quantile-coding"

    def _check(self) -> None:
        if self.bottom is None and self.top is None:
            raise InputError("quantile-coding: bottom or top must be given, as shares of the records: top=0.99.")
        for name in ("bottom", "top"):
            if getattr(self, name) is not None:
                self._number(name, getattr(self, name), above=0, to=0.9999)
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise InputError("quantile-coding: bottom must lie below top.")


Step = Noise | RankSwapping | Microaggregation | Pram | QuantileCoding
STEPS: Mapping[str, type[Step]] = {each.method: each for each in (Microaggregation, Noise, Pram, QuantileCoding, RankSwapping)}


def step_of(method: str, settings: Mapping[str, Any]) -> Step:
    """The step of that name; a setting that it does not know is refused."""
    if method not in STEPS:
        raise InputError(f"There is no perturbation {method!r}.", hint=f"Known: {', '.join(STEPS)}.")
    known = [each.name for each in fields(STEPS[method])]
    strange = [name for name in settings if name not in known]
    if strange:
        raise InputError(f"{method} has no setting {strange[0]!r}.", hint=f"Known: {', '.join(known)}.")
    return STEPS[method](**settings)
