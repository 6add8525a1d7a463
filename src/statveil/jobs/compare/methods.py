"""The methods that are compared. Each makes of the same judged table what it would publish; a new one is a line in COMPARED."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from statveil.audit.patterns.pattern import PatternAudit
from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.core.secret import SecretKey
from statveil.jobs.compare.keys import key_sums
from statveil.jobs.table_job import TableJob
from statveil.jobs.tables.own_attacks import most_change
from statveil.jobs.tables.protect import keyed, protect_assessed, settled
from statveil.protect.build import nearest
from statveil.protect.keep.wishes import Keep
from statveil.publish.formats.numbers import percent
from statveil.publish.release import Release
from statveil.risk.sensitivity import Sensitivity
from statveil.suppress.cell_key.cell_key import cell_key
from statveil.suppress.cell_key.magnitudes import cell_key_magnitudes
from statveil.suppress.cell_key.ptable import make_ptable
from statveil.suppress.cells.options import SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells
from statveil.suppress.rounding.round_table import round_table
from statveil.tables.table import Table


class CompareTuning(NamedTuple):
    """What methods do where nobody says how. By judgement: usual choices of offices, and noise of the size of a p% rule with p = 10."""

    count_base: int = 5
    count_noise: tuple[int, float, int] = (5, 3.0, 2)
    """D, V, js."""
    magnitude_noise: tuple[int, float] = (3, 1.0)
    magnitude_scale: float = 0.1
    most_steps: int = 2


TUNING = CompareTuning()


@dataclass(frozen=True, kw_only=True)
class JudgedTable:
    """What every method gets: the job, its table, what the rules say of it, and the same with levels that hide. Confidential."""

    job: TableJob
    table: Table = field(repr=False)
    found: Sensitivity = field(repr=False)
    raised: Sensitivity = field(repr=False)
    key: SecretKey = field(repr=False)
    base: int | None = None
    """Of rounding, in published units; None: chosen."""
    release: Release | None = None
    """What the job has made already: it is not made again."""
    looking: float = math.inf
    """Seconds for what readers find out about one method by sums."""

    def made(self, name: str) -> Release | None:
        """The release, if this method is what the job does."""
        return self.release if name == ("adjustment" if self.job.keep() is None else "keep") else None

    @property
    def unit(self) -> int:
        """One published unit in the table's own."""
        return int(10 ** (self.table.scale - self.table.decimals))

    @property
    def counts(self) -> bool:
        """Whether cells are numbers of records."""
        return bool(np.array_equal(self.table.value, self.table.records * 10**self.table.scale))


@dataclass(frozen=True, kw_only=True)
class MethodAnswer:
    """What a method would publish. released: in published units. shown: cells that are published.

    low, high: between what the method's own rules leave the true value, in the table's units, as any reader may know. pattern: the audit of
    suppressed cells, in place of an interval attack. parameters, quality: in words. release: of adjustment, which is attacked further.
    """

    released: IntArray = field(repr=False)
    shown: BoolArray = field(repr=False)
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    known_bounds: bool
    parameters: str
    quality: str
    pattern: PatternAudit | None = field(default=None, repr=False)
    release: Release | None = field(default=None, repr=False)


class ComparedMethod(NamedTuple):
    """How it is called, what part of the time it gets, and what makes its answer within so many seconds."""

    words: str
    share: float
    run: Callable[[JudgedTable, float], MethodAnswer]


def adjusted(judged: JudgedTable, seconds: float, keep: Keep | None = None) -> MethodAnswer:
    """Controlled tabular adjustment, as `statveil protect` does it."""
    job, made = judged.job, judged.made("adjustment" if keep is None else "keep")
    if made is not None:
        return answer_of(judged, made, keep)
    how = keyed(settled(job.options(), keep, job.method(), Limits(seconds=seconds, gap=job.limits().gap)))
    return answer_of(judged, protect_assessed(judged.table, judged.raised, how, found=judged.found, rules=job.rules()), keep)


def answer_of(judged: JudgedTable, release: Release, keep: Keep | None) -> MethodAnswer:
    """A release as the answer of adjustment."""
    change = most_change(judged.job.options())
    released = release.protected.value * judged.unit
    low = np.zeros(released.size) if change is None else released / (1 + change)
    high = np.full(released.size, np.inf) if change is None or change >= 1 else released / (1 - change)
    gap = release.gap
    return MethodAnswer(
        released=release.protected.value,
        shown=np.ones(released.size, dtype=np.bool_),
        low=low,
        high=high,
        known_bounds=change is not None,
        parameters="as the job says" if keep is None else "means kept; variance, correlation and slope as close as can be",
        quality=_quality(gap),
        release=release,
    )


def _quality(gap: float) -> str:
    return "proved best" if gap == 0 else f"within {percent(gap)} of a certified bound" if math.isfinite(gap) else "no bound"


def kept(judged: JudgedTable, seconds: float) -> MethodAnswer:
    """Adjustment that keeps statistics: those of the job, or the usual four over the sensitive cells."""
    return adjusted(
        judged, seconds, judged.job.keep() or Keep(mean="sensitive", variance="sensitive", correlation="sensitive", slope="sensitive")
    )


def suppressed(judged: JudgedTable, seconds: float) -> MethodAnswer:
    """Cell suppression that counts cells, to the levels that the rules ask for; what is hidden is judged by the audit of its pattern."""
    options = SuppressionOptions(seed=judged.job.parts.protection.seed)
    made = suppress_cells(judged.table, judged.found, options=options, limits=Limits(seconds=seconds))
    secondary = int(made.secondary[: judged.table.shown].sum())
    return MethodAnswer(
        released=nearest(judged.table.value, judged.unit),
        shown=~made.suppressed,
        low=made.problem.lower.astype(np.float64),
        high=made.problem.upper.astype(np.float64),
        known_bounds=False,
        parameters=f"{secondary:,} cells beside the sensitive ones; single respondents too are kept from the others",
        quality=_quality(made.gap),
        pattern=made.audit,
    )


def rounded(judged: JudgedTable, seconds: float) -> MethodAnswer:
    base = judged.base or usual_base(judged)
    made = round_table(judged.table, base, most_steps=TUNING.most_steps, seconds=seconds)
    own = made.released * judged.unit
    reach = (made.steps + 1) * base * judged.unit - 1
    signed = bool((judged.table.value < 0).any())
    return MethodAnswer(
        released=made.released,
        shown=np.ones(own.size, dtype=np.bool_),
        low=np.asarray(own - float(reach) if signed else np.maximum(own - float(reach), 0.0), dtype=np.float64),
        high=np.asarray(own + float(reach), dtype=np.float64),
        known_bounds=True,
        parameters=f"base {base:,}" + (f", up to {made.steps} bases further" if made.steps else ", every cell within one base"),
        quality="proved best" if made.proved else f"within {percent(made.gap)} of a certified bound",
    )


def usual_base(judged: JudgedTable) -> int:
    """Of counts 5; else the first of 1, 2, 5, 10, 20, ... that half of the levels lie within."""
    if judged.counts or not judged.found.sensitive.any():
        return TUNING.count_base
    level = np.maximum(judged.found.lower_level, judged.found.upper_level)[judged.found.sensitive]
    wanted = max(float(np.median(level)) / judged.unit, 1.0)
    power = 10 ** int(math.log10(wanted))
    return int(next(step * power for step in (1, 2, 5, 10, 20) if step * power >= wanted))


def perturbed(judged: JudgedTable, seconds: float) -> MethodAnswer:
    """The cell key method, of counts or of magnitudes; it takes no time to speak of."""
    specs = judged.job.specs()
    if len(specs) != 1:
        raise InputError("The cell key method is for one table.", hint="Compare linked tables without it.")
    sums = key_sums(judged.job.microdata, specs[0], judged.table, judged.key)
    return _perturbed_counts(judged, sums) if judged.counts else _perturbed_magnitudes(judged, sums)


def _perturbed_counts(judged: JudgedTable, sums: IntArray) -> MethodAnswer:
    largest, variance, js = TUNING.count_noise
    made = cell_key(judged.table.records, sums, make_ptable(largest, variance, js=js))
    own = made.released * judged.unit
    return MethodAnswer(
        released=made.released * 10**judged.table.decimals,
        shown=np.ones(own.size, dtype=np.bool_),
        low=np.maximum(own - float(largest * judged.unit), 0.0).astype(np.float64),
        high=np.asarray(own + float(largest * judged.unit), dtype=np.float64),
        known_bounds=True,
        parameters=f"D = {largest}, V = {variance:g}, js = {js}",
        quality="does not add up",
    )


def _perturbed_magnitudes(judged: JudgedTable, sums: IntArray) -> MethodAnswer:
    """Readers know that noise is at most a share of the largest contribution, and that it is no larger than the cell."""
    table, (largest, variance), scale = judged.table, TUNING.magnitude_noise, TUNING.magnitude_scale
    if (table.value < 0).any():
        raise InputError("The cell key method for magnitudes is for values that are not negative.")
    top = np.rint(table.top[:, :1] * 10.0 ** (table.decimals - table.rule_scale)).astype(np.int64)
    values = np.rint(table.value / judged.unit).astype(np.int64)
    made = cell_key_magnitudes(values, np.minimum(top, values[:, None]), sums, make_ptable(largest, variance), scale=scale)
    own, most = made.released * judged.unit, largest * scale
    return MethodAnswer(
        released=made.released,
        shown=np.ones(own.size, dtype=np.bool_),
        low=np.maximum((own - judged.unit) / (1 + most), 0.0),
        high=(own + judged.unit) / (1 - most),
        known_bounds=True,
        parameters=f"noise of at most {percent(most)} of the largest contribution, deviation {percent(scale * math.sqrt(variance))}",
        quality="does not add up",
    )


COMPARED: Mapping[str, ComparedMethod] = {
    "adjustment": ComparedMethod("adjustment", 0.4, adjusted),
    "keep": ComparedMethod("adjustment, statistics kept", 0.3, kept),
    "suppression": ComparedMethod("cell suppression", 0.3, suppressed),
    "rounding": ComparedMethod("controlled rounding", 0.3, rounded),
    "cell-key": ComparedMethod("cell key", 0.0, perturbed),
}
"""In the order in which they are shown."""
