"""The interval that the published numbers leave open to a cell: two linear programs (T08)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.arrays import FloatArray, IntArray
from statveil.audit.attacks.system import Originals, Published
from statveil.solve.highs import Ranges
from statveil.solve.model import LinearModel


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Lowest and highest possible true value of each of `cells`; infinite ends where nothing bounds it. None possible: empty.

    Where a cell was seen to reach all that is `enough`, the interval is at least this wide; otherwise it is exactly this.
    """

    cells: IntArray
    low: FloatArray
    high: FloatArray
    possible: bool
    programs: int


def infer(published: Published, cells: IntArray, enough: tuple[FloatArray, FloatArray] | None = None) -> Intervals:
    """The attacker's interval of each cell, from the relations and what the public knows of each value.

    `enough` (low, high per cell): an end is not looked for once some possible table was seen at or beyond it.
    """
    if not published.known_bounds and not published.rhs.any() and not published.low.any():
        return _scaled(published, cells)
    scale = max(float(np.abs(published.released).max(initial=1)) / 1e6, 1.0)  # the solver computes in doubles
    ranges = Ranges(
        LinearModel(
            cost=np.zeros(published.released.size),
            matrix=published.relations,
            row_lower=published.rhs / scale,
            row_upper=published.rhs / scale,
            lower=published.low / scale,
            upper=published.high / scale,
        )
    )
    if not ranges.possible:
        nothing = np.full(cells.size, np.nan)
        return Intervals(cells=cells, low=nothing, high=nothing, possible=False, programs=1)
    unlimited = np.full(cells.size, np.inf)
    need_low, need_high = (-unlimited, unlimited) if enough is None else (enough[0] / scale, enough[1] / scale)
    low = high = ranges.point[cells]
    programs = 1
    for place, cell in enumerate(cells.tolist()):
        for end, done in ((ranges.lowest, low[place] <= need_low[place]), (ranges.highest, high[place] >= need_high[place])):
            if done:
                continue
            found = end(cell)
            programs += 1
            point = ranges.point[cells] if np.isfinite(found) else low
            low, high = np.minimum(low, point), np.maximum(high, point)
            low[place], high[place] = min(low[place], found), max(high[place], found)
    return Intervals(cells=cells, low=low * scale, high=high * scale, possible=True, programs=programs)


def _scaled(published: Published, cells: IntArray) -> Intervals:
    """Nothing known but sums and signs: the released table times any factor is possible too, so only zeros are certain."""
    high = np.where(published.released[cells] > 0, np.inf, published.high[cells])
    return Intervals(cells=cells, low=np.zeros(cells.size), high=high, possible=True, programs=0)


def sample(originals: Originals, most: int, dice: np.random.Generator) -> IntArray:
    """The sensitive cells to look at: all, or that many at random."""
    cells = np.flatnonzero(originals.sensitive)
    return cells if cells.size <= most else np.sort(dice.choice(cells, size=most, replace=False))


def measured(found: Intervals, originals: Originals) -> dict[str, float]:
    """How wide the intervals are beside the protection asked, and whether they hold the protection interval."""
    at = found.cells
    need_low, need_high = protection_interval(originals, at)
    need = originals.lower[at] + originals.upper[at]
    width = np.where(found.low == found.high, 0.0, found.high - found.low)
    ratio = width / np.maximum(need, 1)
    tolerance = 1e-6 * np.maximum(np.abs(originals.value[at]), 1)  # ends come from a solver in doubles
    holds = (found.low <= need_low + tolerance) & (found.high >= need_high - tolerance)
    pinned = width <= 0.2 * need
    return {
        "linear programs": found.programs,
        "least width / 2p": float(ratio.min(initial=np.inf)),
        "narrower than 2p": int((ratio < 1 - 1e-9).sum()),
        "without [a - p, a + p]": int((~holds).sum()),
        "known to within 0.1 p": int(pinned.sum()),
    }


def protection_interval(originals: Originals, cells: IntArray) -> tuple[FloatArray, FloatArray]:
    """[a - p, a + p], cut at zero for values that are not negative; the least that an attacker must be left with."""
    value = originals.value[cells].astype(np.float64)
    low = value - originals.lower[cells]
    return np.where(value >= 0, np.maximum(low, 0.0), low), value + originals.upper[cells]
