"""What came of the wishes, in figures and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from statveil.arrays import IntArray
from statveil.protect.quality.keep import Keep, Target
from statveil.protect.quality.measures import Measure
from statveil.protect.quality.moments import Outcome, outcomes


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The statistics of the released table beside those of the plain one, and what they cost. Holds no value of a cell."""

    plain: tuple[Outcome, ...]
    """Of the table that costs least, whatever becomes of the statistics."""
    kept: tuple[Outcome, ...]
    plain_objective: float
    objective: float
    found_by: str
    """programs, tabu, or plain where the plain table was as good."""
    cap: float | None = None
    """The cap that the bounds were widened to, as a multiple of the levels; None where those given were enough."""
    measures: tuple[tuple[str, float, float], ...] = field(default=())
    """(name, loss of the plain table, loss of this one)."""

    @property
    def price(self) -> float:
        """How much more is changed than in the plain table, in shares of that."""
        return self.objective / self.plain_objective - 1 if self.plain_objective > 0 else 0.0

    def in_words(self) -> list[str]:
        """A line for each set of cells, and one for what was widened."""
        lines = [_line(before, after) for before, after in zip(self.plain, self.kept, strict=True)]
        lines += [f"{name}: loss {after:.4g} (plain table: {before:.4g})" for name, before, after in self.measures]
        if self.cap is not None:
            lines.append(f"The bounds given were too narrow: sensitive cells may move by up to {self.cap:g} times their level.")
        lines.append(f"The change costs {self.price:+.1%} beside the plain table.")
        return lines


def _line(plain: Outcome, kept: Outcome) -> str:
    mean = "mean kept exactly, " if "mean" in kept.asked and kept.mean_off == 0 else ""
    return (
        f"{kept.words}: {mean}correlation {kept.correlation:.4f} (plain table: {plain.correlation:.4f}), "
        f"slope {kept.slope:.4f} ({plain.slope:.4f}), variance ratio {kept.variance_ratio:.4f} ({plain.variance_ratio:.4f})"
    )


def missed(keep: Keep, targets: Sequence[Target], deviation: IntArray) -> list[str]:
    """The criteria asked for that a table does not meet, in words; those without a distance asked are met by any table."""
    found = []
    for outcome in outcomes(targets, deviation):
        if "mean" in outcome.asked and outcome.mean_off != 0:
            found.append(f"the mean of {outcome.words}")
        if keep.within is None:
            continue
        off = {
            "variance": abs(outcome.variance_ratio - 1),
            "correlation": 1 - outcome.correlation,
            "slope": abs(outcome.slope - 1),
        }
        found += [f"the {what} of {outcome.words}" for what, by in off.items() if what in outcome.asked and by > keep.within]
    return found


def losses(keep: Keep, true: IntArray, plain: IntArray, kept: IntArray) -> tuple[tuple[str, float, float], ...]:
    measures = [each for each in keep.measures if isinstance(each, Measure)]
    return tuple((each.name, each(true, true + plain), each(true, true + kept)) for each in measures)
