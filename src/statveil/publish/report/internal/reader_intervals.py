"""Between which values a reader can place the truth of a cell: an interval by linear programming, for the internal edition.

A reader who knows sums and signs alone can place nothing: the released table times any factor is possible. The one taken here knows more
than any reader is told: how far cells of each level moved at most, as a share of the truth. What stays open to that one stays open to all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import SolverFailed
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.frames import common_units
from statveil.publish.formats.numbers import grouped
from statveil.publish.report.changes import CellChanges
from statveil.solve.highs import ColumnRanges
from statveil.solve.model import LinearModel
from statveil.tables.relations import relations


class ReaderTuning(NamedTuple):
    cells: int = 1_000
    """Sensitive cells whose interval is worked out; of more a part, evenly spread: by judgement."""
    table: int = 20_000
    """Cells of the largest table that a program is made of: by judgement."""
    seconds: float = 6.0
    """For all intervals of a report; a single program may take longer: by judgement."""
    sweeps: int = 8
    """Programs that push all cells at once, each up or down, before single cells are looked at: by judgement."""


TUNING = ReaderTuning()


@dataclass(frozen=True, kw_only=True)
class ReaderIntervals:
    """Intervals in words by cell, and what they show in a sentence or two."""

    words: dict[int, str]
    sentences: tuple[str, ...]


def reader_intervals(release: AuditedTable, changes: CellChanges) -> ReaderIntervals:
    """Intervals of the sensitive cells; nothing where none is sensitive or the table is too large."""
    sensitive = np.flatnonzero(changes.sensitive)
    if not sensitive.size:
        return ReaderIntervals(words={}, sentences=())
    if release.table.size > TUNING.table:
        return ReaderIntervals(words={}, sentences=(f"Intervals are worked out for tables of up to {TUNING.table:,} cells.",))
    cells = sensitive[np.unique(np.linspace(0, sensitive.size - 1, min(TUNING.cells, sensitive.size)).round().astype(np.int64))]
    try:
        found = _seen(release, changes, cells)
    except SolverFailed:
        return ReaderIntervals(words={}, sentences=("The solver could not work the intervals out.",))
    ends = zip(cells.tolist(), found.low, found.high, found.exact, strict=True)
    words = {cell: _words(low, high, changes.decimals, exact=exact) for cell, low, high, exact in ends}
    return ReaderIntervals(words=words, sentences=_sentences(release, changes, cells, found))


class _Seen(NamedTuple):
    """Values of the cells that possible tables were seen to have, lowest and highest; `exact` where no table goes beyond."""

    low: FloatArray
    high: FloatArray
    exact: BoolArray


def _seen(release: AuditedTable, changes: CellChanges, cells: IntArray) -> _Seen:
    """First all cells are pushed at once, up or down as chance has it, then one after the other, until the time is over."""
    until, rng = time.monotonic() + TUNING.seconds, np.random.default_rng(0)
    ranges, scale = _possible_tables(release, changes)
    low = high = changes.original[cells] / scale  # the truth is possible
    exact, size = np.zeros(cells.size, dtype=np.bool_), np.maximum(np.abs(low), 1e-6)
    cost, push = np.zeros(release.table.size), np.ones(cells.size)
    for sweep in range(TUNING.sweeps):
        if time.monotonic() > until:
            break
        push = -push if sweep % 2 else rng.choice([-1.0, 1.0], cells.size)  # and back again, so that each cell goes both ways
        cost[cells] = push / size
        if ranges.toward(cost):
            low, high = np.minimum(low, ranges.point[cells]), np.maximum(high, ranges.point[cells])
    for place, cell in enumerate(cells.tolist()):
        if time.monotonic() > until:
            break
        low[place], high[place] = ranges.lowest(cell), ranges.highest(cell)
        exact[place] = True
    return _Seen(low * scale, high * scale, exact)


def _possible_tables(release: AuditedTable, changes: CellChanges) -> tuple[ColumnRanges, float]:
    """The tables that add up and lie around the released numbers as far as the largest change of each level allows, scaled down."""
    _, released, _ = common_units(release)
    matrix, shown = relations(release.table), changes.original.size
    low, high = np.full(released.size, -np.inf), np.full(released.size, np.inf)  # the sums of sets of cells are not published
    low[:shown], high[:shown] = _around(released[:shown], changes)
    scale = max(float(np.abs(released).max(initial=1)) / 1e6, 1.0)  # the solver computes in doubles
    sums = np.zeros(matrix.shape[0])
    model = LinearModel(cost=np.zeros(released.size), matrix=matrix, row_lower=sums, row_upper=sums, lower=low / scale, upper=high / scale)
    ranges = ColumnRanges(model)
    if not ranges.possible:
        raise SolverFailed("The true table was not found possible.", hint="The release is not affected.")
    return ranges, scale


def _around(released: IntArray, changes: CellChanges) -> tuple[FloatArray, FloatArray]:
    """|released - true| <= share |true|: true lies from released / (1 + share) to released / (1 - share)."""
    share = np.zeros(released.size)
    for level in np.unique(changes.level):
        here = changes.level == level
        share[here] = np.nan_to_num(changes.relative[here], nan=0.0).max(initial=0.0)
        if (np.isnan(changes.relative[here]) & (changes.change[here] != 0)).any():
            share[here] = np.inf  # a zero that was moved: the level leaves nothing certain
    size = np.abs(released).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = np.floor(size / (1 + share)), np.where(share < 1, np.ceil(size / (1 - share)), np.where(size > 0, np.inf, 0.0))
    return np.where(released >= 0, near, -far), np.where(released >= 0, far, -near)


def _words(low: float, high: float, decimals: int, *, exact: bool) -> str:
    ends = [grouped(round(end), decimals) if np.isfinite(end) else "any" for end in (low, high)]
    return f"{'' if exact else 'at least '}{ends[0]} to {ends[1]}"


def _sentences(release: AuditedTable, changes: CellChanges, cells: IntArray, found: _Seen) -> tuple[str, ...]:
    step = 10 ** (changes.decimals - release.table.scale)
    value, all_of_them = changes.original[cells].astype(np.float64), int(changes.sensitive.sum())
    low = value - release.sensitivity.lower_level[cells] * step
    low, high = np.where(value >= 0, np.maximum(low, 0.0), low), value + release.sensitivity.upper_level[cells] * step
    inside = (found.low <= low + 1) & (found.high >= high - 1)  # ends come from a solver in doubles
    closed = found.exact & ~inside
    looked = f"all {cells.size:,}" if cells.size == all_of_them else f"{cells.size:,} of the {all_of_them:,}"
    left = (
        f" In the time given {int((~found.exact).sum()):,} were only seen to reach at least what is shown." if not found.exact.all() else ""
    )
    return (
        "A reader's interval: where the truth of a cell can lie for somebody who knows how far cells of each level moved at most, as a "
        "share of the truth. No reader is told that; who knows sums and signs alone can place no cell. "
        f"Of {looked} sensitive cells, {int(inside.sum()):,} leave the whole protection interval open; {int(closed.sum()):,} do not: "
        f"cells that moved most of their level lie at the edge of what that reader knows.{left}",
    )
