"""What a method's answer loses and what a reader gets out of it: the same figures for every method. Confidential."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.audit.attacks.case import SystemOriginals
from statveil.audit.attacks.one_table.cell_intervals import infer, protection_interval
from statveil.audit.attacks.public import ReleasedSystem
from statveil.audit.patterns.pattern import Disclosure
from statveil.core.arrays import BoolArray, IntArray
from statveil.core.statistics import statistics_of
from statveil.jobs.compare.methods import JudgedTable, MethodAnswer
from statveil.tables.relations import relations


class MeasureTuning(NamedTuple):
    """By judgement."""

    intervals: int = 12
    """Sensitive cells whose interval is looked for by linear programs, at random among those that bounds alone leave open: on the
    demonstration each takes a second or two."""


TUNING = MeasureTuning()


@dataclass(frozen=True, kw_only=True)
class Loss:
    """cells: all that could be published. suppressed, moved: how many are not, and how many are with another number.

    lost: the mean over the cells that are not zero of what is lost of each: |change| / |value|, one at the most, one where suppressed.
    change: the sum of all |changes| by the sum of all |values|, suppressed cells as zero. broken: totals that do not add up.
    """

    cells: int
    suppressed: int
    moved: int
    lost: float
    change: float
    broken: int
    correlation: float | None
    slope: float | None
    variance_ratio: float | None


@dataclass(frozen=True, kw_only=True)
class Risk:
    """sensitive: cells. close: published inside their protection interval: whoever believes the number knows more than he may.

    exact: published as they are, or worked out exactly. narrow: those that the method's own published bounds pin down to less than their
    protection interval, or of suppressed cells what their audit found. cut: of `looked` others, those that bounds and sums together do.
    """

    sensitive: int
    close: int
    exact: int
    narrow: int
    cut: int = 0
    looked: int = 0

    @property
    def disclosed(self) -> float:
        """The larger share: of cells published too close, or pinned down too far."""
        return max(self.close, self.narrow + self.cut) / self.sensitive if self.sensitive else 0.0

    @property
    def safe(self) -> bool:
        return not (self.close or self.exact or self.narrow or self.cut)


def loss_of(judged: JudgedTable, answer: MethodAnswer) -> Loss:
    count = judged.table.shown
    value, shown = judged.table.value[:count], answer.shown[:count]
    change = np.where(shown, answer.released[:count] * judged.unit - value, -value)
    size = np.abs(value).astype(np.float64)
    filled = size > 0
    share = np.minimum(np.abs(change[filled]) / size[filled], 1.0)
    return Loss(
        cells=int(count),
        suppressed=int((~shown).sum()),
        moved=int((shown & (np.abs(change) >= judged.unit)).sum()),
        lost=float(share.mean()) if share.size else 0.0,
        change=float(np.abs(change).sum() / size.sum()) if size.any() else 0.0,
        broken=int((relations(judged.table) @ answer.released != 0).sum()) if answer.pattern is None else 0,
        **_statistics(value, value + change, shown),
    )


def _statistics(value: IntArray, released: IntArray, shown: BoolArray) -> Mapping[str, float | None]:
    """Of the cells that are published; None where nothing varies."""
    before, after = value[shown].astype(np.float64), released[shown].astype(np.float64)
    names = ("correlation", "slope", "variance_ratio")
    if before.size < 2 or (before == before[0]).all() or (after == after[0]).all():
        return dict.fromkeys(names)
    found = statistics_of(before, after)
    return {name: float(getattr(found, name)) for name in names}


def risk_of(judged: JudgedTable, answer: MethodAnswer, *, seed: int) -> Risk:
    found, table = judged.found, judged.table
    sensitive = np.asarray(found.sensitive & (np.arange(table.size) < table.shown))
    moved = answer.released * judged.unit - table.value
    close = sensitive & answer.shown & (moved > -found.lower_level) & (moved < found.upper_level)
    exact, cells = int((sensitive & answer.shown & (moved == 0)).sum()), np.flatnonzero(sensitive)
    pinned = (
        Pinned(len({each.cell for each in answer.pattern.faults})) if answer.pattern is not None else _pinned(judged, answer, cells, seed)
    )
    exact += answer.pattern.count(Disclosure.EXACT) if answer.pattern is not None else 0
    return Risk(sensitive=int(cells.size), close=int(close.sum()), exact=exact, **pinned._asdict())


class Pinned(NamedTuple):
    """Cells whose protection interval a reader can cut: by bounds alone, and by bounds and sums, of so many looked at."""

    narrow: int
    cut: int = 0
    looked: int = 0


def _pinned(judged: JudgedTable, answer: MethodAnswer, cells: IntArray, seed: int) -> Pinned:
    if not answer.known_bounds:
        return Pinned(0)  # any multiple of the table is possible: nothing is pinned down
    table, found = judged.table, judged.found
    secret = SystemOriginals(value=table.value, sensitive=found.sensitive, lower=found.lower_level, upper=found.upper_level)
    low, high = protection_interval(secret, cells)
    outside = (answer.low[cells] > low) | (answer.high[cells] < high)
    rest = cells[~outside]
    if rest.size > TUNING.intervals:
        rest = np.sort(np.random.Generator(np.random.PCG64(seed)).choice(rest, size=TUNING.intervals, replace=False))
    return Pinned(int(outside.sum()), *_cut(judged, answer, secret, rest))


def _cut(judged: JudgedTable, answer: MethodAnswer, secret: SystemOriginals, cells: IntArray) -> tuple[int, int]:
    """How many of the cells sums and bounds together pin down, by linear programs, and how many there was time to look at."""
    if not cells.size:
        return 0, 0
    matrix = relations(judged.table)
    public = ReleasedSystem(
        relations=matrix,
        rhs=np.zeros(matrix.shape[0], dtype=np.int64),
        released=answer.released * judged.unit,
        low=answer.low,
        high=answer.high,
        known_bounds=True,
    )
    ends = infer(public, cells, protection_interval(secret, cells), until=time.monotonic() + judged.looking)
    cells = ends.cells
    low, high = protection_interval(secret, cells)
    slack = 1e-6 * np.maximum(np.abs(judged.table.value[cells]), 1)  # ends come from a solver in doubles
    return int(np.count_nonzero((ends.low > low + slack) | (ends.high < high - slack) | ~np.isfinite(ends.low))), int(cells.size)
