"""Measures beyond S1's four, for the tabu search (S1 section 4: "any other appropriate measure of information loss").

A measure is a function of the true and the released values of all cells; it is zero when nothing is lost. It is worked out
anew for every move looked at, so a search with measures looks at fewer moves than one without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.arrays import AnyArray, IntArray
from statveil.errors import InputError
from statveil.protect.quality import statistics

Function = Callable[[AnyArray, AnyArray], float]


@dataclass(frozen=True)
class Measure:
    """A named measure. `two_way`: it needs the cells of a two-way table, given by `on`."""

    name: str
    function: Function
    two_way: bool = False

    @property
    def known(self) -> bool:
        """Whether it is one of ours: a user's own function is known to the user's process only."""
        function = self.function.function if isinstance(self.function, Shown) else self.function
        return type(function).__module__ == __name__ or getattr(function, "__module__", "") == __name__

    def __call__(self, true: AnyArray, released: AnyArray) -> float:
        lost = float(self.function(true, released))
        if not np.isfinite(lost) or lost < 0:
            raise InputError(f"Keep: the measure {self.name!r} must be a number, zero or more.")
        return lost


@dataclass(frozen=True)
class Shown:
    """A function of the first so many cells: those that a reader sees."""

    function: Function
    cells: int

    def __call__(self, true: AnyArray, released: AnyArray) -> float:
        return self.function(true[: self.cells], released[: self.cells])


@dataclass(frozen=True)
class TwoWay:
    """The loss of a statistic of a two-way table: its relative change. `cells[r, c]` numbers the cell at row r, column c (-1: none)."""

    statistic: Callable[[AnyArray], float]
    cells: IntArray

    def __call__(self, true: AnyArray, released: AnyArray) -> float:
        filled = self.cells >= 0
        before, after = (self.statistic(np.where(filled, values[self.cells], 0)) for values in (true, released))
        return abs(after / before - 1) if before else abs(after)


def chi_square(cells: IntArray) -> Measure:
    """Relative change of chi-square of independence over a two-way layout of cells."""
    return Measure("chi-square", TwoWay(statistics.chi_square_of, np.asarray(cells)))


def cramers_v(cells: IntArray) -> Measure:
    """Relative change of Cramer's V over a two-way layout of cells."""
    return Measure("cramers-v", TwoWay(statistics.cramers_v_of, np.asarray(cells)))


def ranks(true: AnyArray, released: AnyArray) -> float:
    """1 - Spearman's rank correlation."""
    return 1.0 - statistics.rank_correlation_of(true, released)


def quantiles(true: AnyArray, released: AnyArray) -> float:
    """Mean relative change of the quantiles."""
    pairs = [(statistics.quantile_of(true, share), statistics.quantile_of(released, share)) for share in statistics.QUANTILES]
    return float(np.mean([abs(after - before) / max(abs(before), 1.0) for before, after in pairs]))


def gini(true: AnyArray, released: AnyArray) -> float:
    """Change of the Gini coefficient."""
    return abs(statistics.gini_of(released) - statistics.gini_of(true))


def distance(true: AnyArray, released: AnyArray) -> float:
    """Chi-square of the released against the true values, by their sum."""
    total = float(np.abs(true).sum())
    return statistics.distance_of(true, released) / total if total else 0.0


PLAIN: Mapping[str, Function] = {"ranks": ranks, "quantiles": quantiles, "gini": gini, "distance": distance}
LAID_OUT: Mapping[str, Callable[[AnyArray], float]] = {
    "chi-square": statistics.chi_square_of,
    "cramers-v": statistics.cramers_v_of,
}


def measure_named(given: Any) -> Measure:
    """A measure by its name, or the user's own function as one."""
    if isinstance(given, Measure):
        return given
    if isinstance(given, str) and given in PLAIN:
        return Measure(given, PLAIN[given])
    if isinstance(given, str) and given in LAID_OUT:
        return Measure(given, _never, two_way=True)
    if callable(given):
        return Measure(getattr(given, "__name__", "own measure"), given)
    raise InputError(f"Keep: unknown measure {given!r}.", hint=f"Known: {', '.join([*PLAIN, *LAID_OUT])}, or a function of your own.")


def _never(true: AnyArray, released: AnyArray) -> float:
    raise InputError("Keep: chi-square and Cramer's V need a two-way table.", hint="Say which: chi_square(layout), cramers_v(layout).")
