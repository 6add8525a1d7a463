"""Statistics that a release promises to keep, over named sets of cells: worked out again in exact integers (S1 section 3).

With n cells, true values a and released ones x, all is said by n sum(a^2) - sum(a)^2 and its like, which are whole numbers: neither a mean
is divided nor a root taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from statveil.audit.report import FINDINGS_SHOWN, Check
from statveil.core.arrays import AnyArray

Statistic = Literal["mean", "variance", "correlation", "slope"]
MEANS = "Every mean that is said to be kept is kept to the unit"
OTHERS = "Every variance, correlation and slope that is said to be kept is as close to one as was promised"


@dataclass(frozen=True, kw_only=True)
class KeptStatistic:
    """A promise: the mean of these cells to the unit, or another statistic (a ratio) at most `within` from one."""

    what: Statistic
    words: str
    cells: tuple[int, ...] = field(repr=False)
    within: Fraction = Fraction(0)


def check_kept(promises: Sequence[KeptStatistic], true: AnyArray, released: AnyArray) -> tuple[Check, ...]:
    """One check of the means and one of the other statistics, each where one is promised."""
    means = [each for each in promises if each.what == "mean"]
    others = [each for each in promises if each.what != "mean"]
    found = (
        _check("means", MEANS, [(each.words, _is_kept(each, true, released)) for each in means]),
        _check("statistics", OTHERS, [(f"the {each.what} of {each.words}", _is_kept(each, true, released)) for each in others]),
    )
    return tuple(check for check in found if check.checked)


def _check(name: str, words: str, judged: Sequence[tuple[str, bool]]) -> Check:
    wrong = [each for each, kept in judged if not kept]
    return Check(name=name, words=words, checked=len(judged), faults=len(wrong), findings=tuple(wrong[:FINDINGS_SHOWN]))


def _is_kept(promise: KeptStatistic, true: AnyArray, released: AnyArray) -> bool:
    cells = list(promise.cells)
    return is_kept(promise.what, promise.within, [int(each) for each in true[cells]], [int(each) for each in released[cells]])


def is_kept(what: Statistic, within: Fraction, true: Sequence[int], released: Sequence[int]) -> bool:
    """Whether the released values keep the statistic of the true ones, both in whole units."""
    if what == "mean":
        return sum(true) == sum(released)
    before, both = _spread(true, true), _spread(true, released)
    if what == "slope":
        return abs(both - before) <= within * before
    after = _spread(released, released)
    if what == "variance":
        return abs(after - before) <= within * before
    return both > 0 and both * both >= (1 - within) ** 2 * before * after


def _spread(one: Sequence[int], other: Sequence[int]) -> int:
    """The covariance, times the square of the number of cells."""
    products = sum(a * b for a, b in zip(one, other, strict=True))
    return len(one) * products - sum(one) * sum(other)
