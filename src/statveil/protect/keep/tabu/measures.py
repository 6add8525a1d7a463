"""Measures beyond S1's four, for the tabu search (S1 section 4: "any other appropriate measure of information loss").

A measure is a function of the true and the released values of all cells; it is zero when nothing is lost. It is worked out
anew for every move looked at, so a search with measures looks at fewer moves than one without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from statveil.core import statistics
from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import InputError

Function = Callable[[AnyArray, AnyArray], float]


@dataclass(frozen=True)
class Measure:
    """A measure with its name.

    name: in messages and results. function: of (true, released) values of all cells; zero when nothing is lost.
    two_way: it needs the cells of a two-way table, given by `on`.

    >>> Measure("largest move", lambda true, released: float(abs(released - true).max())).function(np.array([7, 3]), np.array([5, 4]))
    2.0
    """

    name: str
    function: Function
    two_way: bool = False

    @property
    def known(self) -> bool:
        """Whether it is one of ours: a user's own function is known to the user's process only."""
        function = self.function.function if isinstance(self.function, ShownCells) else self.function
        return type(function).__module__ == __name__ or getattr(function, "__module__", "") == __name__

    def __call__(self, true: AnyArray, released: AnyArray) -> float:
        """The loss. The values are handed out to be read, not to be changed: they are those of the table itself.

        Of a function of the user's own that fails, the words are not repeated: they may hold values of cells.
        """
        try:
            lost = self.function(_read_only(true), _read_only(released))
        except Exception as error:
            if self.known:
                raise
            if isinstance(error, ValueError) and "read-only" in str(error):
                raise InputError(
                    f"Keep: the measure {self.name!r} changes the values it is given.", hint="Let it work on copies."
                ) from error
            raise InputError(f"Keep: the measure {self.name!r} ended in an error: {type(error).__name__}.") from error
        if not isinstance(lost, Real) or not np.isfinite(float(lost)) or lost < 0:
            raise InputError(f"Keep: the measure {self.name!r} must be a number, zero or more.")
        return float(lost)


def _read_only(values: AnyArray) -> AnyArray:
    seen = values.view()
    seen.flags.writeable = False
    return seen


@dataclass(frozen=True)
class ShownCells:
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
        if int(self.cells.max()) >= true.size:
            raise InputError("Keep: the layout of a measure names a cell that does not exist.", hint=f"Cells go from 0 to {true.size - 1}.")
        filled = self.cells >= 0
        before, after = (self.statistic(np.where(filled, values[self.cells], 0)) for values in (true, released))
        return abs(after / before - 1) if before else abs(after)


def _layout(cells: Any) -> IntArray:
    """Numbers of cells in rows and columns."""
    try:
        found = np.asarray(cells)
    except ValueError:
        found = np.zeros(0)
    if found.ndim != 2 or found.size == 0 or not np.issubdtype(found.dtype, np.integer) or found.min() < -1:
        raise InputError("Keep: a layout lists the numbers of cells in rows and columns, -1 where there is none.")
    return np.asarray(found, dtype=np.int64)


def chi_square(cells: IntArray | Sequence[Sequence[int]]) -> Measure:
    """Relative change of chi-square of independence over a two-way layout of cells.

    cells: their numbers, a list for each row.

    >>> chi_square([[0, 1], [2, 3]]).function(np.array([10, 0, 0, 10]), np.array([5, 5, 5, 5]))  # all dependence is lost
    1.0
    """
    return Measure("chi-square", TwoWay(statistics.chi_square_of, _layout(cells)))


def cramers_v(cells: IntArray | Sequence[Sequence[int]]) -> Measure:
    """Relative change of Cramer's V over a two-way layout of cells.

    cells: their numbers, a list for each row.

    >>> cramers_v([[0, 1], [2, 3]]).function(np.array([10, 0, 0, 10]), np.array([20, 0, 0, 20]))  # as dependent as before
    0.0
    """
    return Measure("cramers-v", TwoWay(statistics.cramers_v_of, _layout(cells)))


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
    raise InputError(
        "Keep: chi-square and Cramer's V need a two-way table.",
        hint="A linear system does not tell its rows and columns: lay its cells out in Python, chi_square(layout) or cramers_v(layout).",
    )
