"""What came of the wishes, in figures and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from statveil.audit.kept import KeptStatistic, Statistic, is_kept
from statveil.core.arrays import IntArray
from statveil.core.statistics import correlation_of, covariance_of, variance_of
from statveil.protect.keep.tabu.objective import TUNING, Outcome, Pair
from statveil.protect.keep.wishes import Keep, Target

STATISTICS: tuple[Statistic, ...] = ("mean", "variance", "correlation", "slope")
NOTHING_TO_TELL = "-"
"""In place of a statistic that means nothing: of cells that do not differ."""


class OnFront(NamedTuple):
    """Where on a front of change and distortion a table lies: its number from 1, of how many, and whether it is the one recommended."""

    point: int
    points: int
    recommended: bool
    distortion: float
    plain_distortion: float

    def in_words(self) -> str:
        which = f"Point {self.point} of {self.points} of the trade-off{', the recommended one' if self.recommended else ''}"
        return f"{which}: distortion {self.distortion:.4g} (plain table: {self.plain_distortion:.4g})."


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The statistics of the released table beside those of the plain one, and what they cost. Holds no value of a cell.

    kept: of the released table. plain_objective, objective: what the plain table costs, and the released one.

    >>> Quality(plain=(), kept=(), plain_objective=20.0, objective=25.0, found_by="programs").price
    0.25
    """

    plain: tuple[Outcome, ...]
    """Of the table that costs least, whatever becomes of the statistics."""
    kept: tuple[Outcome, ...]
    plain_objective: float
    objective: float
    found_by: str
    """programs, tabu, or plain where the plain table was as good; of a front, the way that its point was found."""
    cap: float | None = None
    """The cap that the bounds were widened to, as a multiple of the levels; None where those given were enough."""
    measures: tuple[tuple[str, float, float], ...] = field(default=())
    """(name, loss of the plain table, loss of this one)."""
    front: OnFront | None = None
    """Where the table lies on a front of change and distortion; None where it is not of one."""
    failed: str = ""
    """Why the search ended before its time: what a measure of the user's own did."""
    without_programs: bool = False
    """Whether the linear programs were to keep statistics and gave no whole table: neither this one nor any other."""

    @property
    def price(self) -> float:
        """How much more is changed than in the plain table, in shares of that."""
        return self.objective / self.plain_objective - 1 if self.plain_objective > 0 else 0.0

    def in_words(self) -> list[str]:
        """A line for each set of cells, and one for what was widened."""
        lines = [_line(before, after) for before, after in zip(self.plain, self.kept, strict=True)]
        lines += [f"{name}: loss {after:.4g} (plain table: {before:.4g})" for name, before, after in self.measures]
        if self.cap is not None:
            lines.append(
                f"WIDENED: no table was found within the bounds given; sensitive cells may move by up to {self.cap:g} times their level."
            )
        if self.front is not None:
            lines.append(self.front.in_words())
        if self.failed:
            lines.append(f"STOPPED EARLY: {self.failed} This is the best table found until then.")
        if self.without_programs:
            lines.append("WITHOUT THE LINEAR PROGRAMS: they gave no whole table, so the statistics may be further off than they need be.")
        lines.append(f"The change costs {self.price:+.1%} beside the plain table.")
        return lines


def _line(plain: Outcome, kept: Outcome) -> str:
    mean = "mean kept exactly, " if "mean" in kept.asked and kept.mean_off == 0 else ""
    return (
        f"{kept.words}: {mean}correlation {_figure(kept.correlation)} (plain table: {_figure(plain.correlation)}), "
        f"slope {_figure(kept.slope)} ({_figure(plain.slope)}), "
        f"variance ratio {_figure(kept.variance_ratio)} ({_figure(plain.variance_ratio)})"
    )


def _figure(value: float | None) -> str:
    return NOTHING_TO_TELL if value is None else f"{value:.4f}"


def promised(keep: Keep, targets: Sequence[Target]) -> tuple[KeptStatistic, ...]:
    """What is promised of each set of cells: its mean to the unit and, where a distance is asked, the other statistics within it."""
    within = Fraction(0) if keep.within is None else Fraction(str(keep.within))
    return tuple(
        KeptStatistic(what=what, words=target.words, cells=tuple(target.cells.tolist()), within=Fraction(0) if what == "mean" else within)
        for target in targets
        for what in STATISTICS
        if getattr(target, what) and (what == "mean" or keep.within is not None)
    )


def missed(keep: Keep, targets: Sequence[Target], deviation: IntArray, pairs: Sequence[Pair] = ()) -> list[str]:
    """The criteria asked for that a table does not meet, in words; those without a distance asked are met by any table.

    By the audit's own exact arithmetic: a table that its gate would refuse is not taken for an answer.
    """
    found: list[str] = []
    if keep.within is not None and any(max(changes_of(pair, targets, deviation)) > keep.within for pair in pairs):
        found.append("the relations of the variables to one another")
    for target in targets:
        true = [int(value) for value in target.value.tolist()]
        released = [value + change for value, change in zip(true, deviation[target.cells].tolist(), strict=True)]
        wrong = (each for each in promised(keep, [target]) if not is_kept(each.what, each.within, true, released))
        found += [f"the {each.what} of {each.words}" for each in wrong]
    return found


def changes_of(pair: Pair, targets: Sequence[Target], deviation: IntArray) -> tuple[float, float, float]:
    """What the tabu search counts: the change of two variables' correlation, and relative ones of the slopes of each on the other."""
    one, other = (targets[number] for number in pair)
    before = covariance_of(one.value, other.value)
    released = [target.value + deviation[target.cells] for target in (one, other)]
    after, scale = covariance_of(*released), math.sqrt(one.variance_before * other.variance_before)
    typical = max(abs(before), TUNING.least_related * scale)
    ratios = [max(variance_of(values) / own.variance_before, TUNING.all_equal) for values, own in zip(released, (one, other), strict=True)]
    of_other, of_one = (abs(after / ratio - before) / typical for ratio in ratios)
    return abs(correlation_of(*released) - before / scale), of_other, of_one
