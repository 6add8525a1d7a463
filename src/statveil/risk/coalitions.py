"""Levels that withstand respondents who subtract what they gave (T13).

Who is in a cell, alone or in a coalition as large as the p% rule fears, subtracts its own contributions from the release and takes what is
left for another respondent. So the release must keep away from every amount after which such a difference comes too near: open intervals
of moves. Where all contributions have the value's sign, such moves go towards zero, but for small ones that the rule's own level passes.
Of gains and losses that nearly cancel they go both ways, and far.

The largest contributions are known, without their signs: those of a cell with gains and losses are any that its sum allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray, frozen_array
from statveil.risk.rules import PPercent, Rule
from statveil.risk.rules.base import LIMIT, RespondentRule, ceiling, product, share
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.table import Table


class CoalitionTuning(NamedTuple):
    """How far into a cell is looked. By judgement."""

    contributions: int = 8
    """Largest contributions known of each cell; of smaller ones it is known that they are no larger."""
    percent: int = 10
    """The p that coalitions must miss by where no p% rule gives one: what the attacks assume too."""
    chunk: int = 20_000
    """Cells worked on at once."""
    chunk_of_both_signs: int = 1_000
    """The same where contributions may have either sign: there are four to eight times as many intervals."""


TUNING = CoalitionTuning()


def opponents(rules: Sequence[Rule]) -> tuple[Fraction, int]:
    """By what share of the target an estimate must miss, and how many respondents may pool what they know: of the p% rules."""
    found = [rule for rule in rules if isinstance(rule, PPercent)]
    share_ = max((Fraction(str(rule.p)) / 100 for rule in found), default=Fraction(TUNING.percent, 100))
    sizes = [getattr(rule, "coalition", 1) for rule in rules if isinstance(rule, RespondentRule)]
    return share_, max([1, *sizes])


def withstand_coalitions(table: Table, found: Sensitivity, near: Fraction, coalition: int) -> Sensitivity:
    """Raise levels past the moves that tell, and bound what goes towards zero where the next of them begin.

    Away from zero a cell stays free, so that there always is a table; who lands on a telling move out there is found by `still_told`.
    Of a shadow variable a contribution is the same share of the value.
    """
    lower, upper, minimum, maximum = (getattr(found, name).copy() for name in ("lower_level", "upper_level", "minimum", "maximum"))
    for cells in _where_coalitions_are(table, found):
        value, (left, right) = table.value[cells], _telling_moves(table, cells, near, coalition)
        upper[cells], rise = _past(upper[cells], left, right)
        lower[cells], fall = _past(lower[cells], -right, -left)
        minimum[cells] = np.maximum(minimum[cells], np.where((value > 0) & (fall < LIMIT), value - fall, -UNBOUNDED))
        maximum[cells] = np.minimum(maximum[cells], np.where((value < 0) & (rise < LIMIT), value + rise, UNBOUNDED))
    lower, upper, minimum, maximum = (frozen_array(array) for array in (lower, upper, minimum, maximum))
    return replace(found, lower_level=lower, upper_level=upper, minimum=minimum, maximum=maximum)


def still_told(table: Table, found: Sensitivity, near: Fraction, coalition: int, released: IntArray) -> tuple[IntArray, IntArray]:
    """How far each cell must fall or rise whose released value tells a coalition; in the table's units, zero elsewhere."""
    fall, rise = np.zeros(table.size, dtype=np.int64), np.zeros(table.size, dtype=np.int64)
    for cells in _where_coalitions_are(table, found):
        left, right = _telling_moves(table, cells, near, coalition)
        for further, moved, begin, end in (
            (rise, released[cells] - table.value[cells], left, right),
            (fall, table.value[cells] - released[cells], -right, -left),
        ):
            past, _ = _past(moved, begin, end)
            further[cells] = np.where((moved > 0) & (past > moved), past, 0)
    return fall, rise


def _where_coalitions_are(table: Table, found: Sensitivity) -> Iterator[IntArray]:
    """Sensitive cells of several respondents whose contributions are known, some at a time."""
    known = table.value != 0 if table.has_shadow else np.full(table.size, table.rule_scale <= table.scale)
    cells = found.sensitive & (table.units > 1) & (table.magnitude > 0) & known
    mixed = _has_both_signs(table)
    for chosen, chunk in ((cells & ~mixed, TUNING.chunk), (cells & mixed, TUNING.chunk_of_both_signs)):
        yield from np.split(np.flatnonzero(chosen), range(chunk, np.count_nonzero(chosen), chunk)) if chosen.any() else ()


def _has_both_signs(table: Table) -> BoolArray:
    if table.has_shadow or table.rule_scale > table.scale:
        return np.zeros(table.size, dtype=np.bool_)
    return np.asarray(table.magnitude.astype(object) * 10 ** (table.scale - table.rule_scale) != np.abs(table.value))


@dataclass(frozen=True, kw_only=True)
class _WhoGave:
    """Of some cells, a column a respondent: those known, then as many unknown ones as a coalition and its target need.

    least, most: what each gave, without signs. exists: whether the cell has so many. signs: a row for each choice of them, zero where
    either is possible. possible: which choices the cell's sum allows.
    """

    least: IntArray
    most: IntArray
    exists: BoolArray
    signs: IntArray
    possible: BoolArray

    def choices(self, who: list[int]) -> Iterator[tuple[BoolArray, IntArray, IntArray]]:
        """Choices of these respondents' signs: the cells that allow it, and what the respondents gave together, at least and at most."""
        there = self.exists[:, who].all(axis=1) & (self.most[:, who[-1]] > 0)
        for signs in np.unique(self.signs[:, who], axis=0):
            rows = (self.signs[:, who] == signs).all(axis=1)
            least = np.where(signs > 0, self.least[:, who], -self.most[:, who]).sum(axis=1)
            most = np.where(signs < 0, -self.least[:, who], self.most[:, who]).sum(axis=1)
            yield there & self.possible[:, rows].any(axis=1), least, most


def _telling_moves(table: Table, cells: IntArray, near: Fraction, coalition: int) -> tuple[IntArray, IntArray]:
    """Per cell, open intervals (left, right) of moves after which a coalition's estimate of a respondent comes too near.

    A coalition that gave c takes value + move - c for the contribution x of another: too near where |value + move - c - x| < near |x|.
    Where contributions are not known the interval covers all they may be.
    """
    known, value = _contributions(table, cells, coalition), table.value[cells]
    margin = share(known.most, near)
    lefts, rights = [np.full(cells.size, LIMIT)], [np.full(cells.size, LIMIT)]
    for members, target in _pairs(known.most.shape[1], coalition):
        for real, least, most in known.choices([*members, target]):
            if real.any():
                lefts.append(np.where(real, least - value - margin[:, target], LIMIT))
                rights.append(np.where(real, most - value + margin[:, target], LIMIT))
    return np.stack(lefts, axis=1), np.stack(rights, axis=1)


def _contributions(table: Table, cells: IntArray, coalition: int) -> _WhoGave:
    """What is known of the respondents of cells that have gains and losses, or of cells that have not."""
    least, most = _known(table, cells)
    count, value, width = table.units[cells][:, np.newaxis], table.value[cells], most.shape[1]
    hidden = np.repeat(most[:, -1:], coalition + 1, axis=1)
    if _has_both_signs(table)[cells[0]]:
        signs = np.array(list(itertools.product((1, -1), repeat=width)), dtype=np.int64)
        rest = table.magnitude[cells] * 10 ** (table.scale - table.rule_scale) - most.sum(axis=1)
        possible = np.abs(value[:, np.newaxis] - most @ signs.T) <= rest[:, np.newaxis]
        signs = np.concatenate([signs, np.zeros((len(signs), coalition + 1), dtype=np.int64)], axis=1)
    else:
        signs = np.repeat([[1], [-1]], width + coalition + 1, axis=1)
        possible = np.stack([value > 0, value < 0], axis=1)
    return _WhoGave(
        least=np.concatenate([least, hidden * 0], axis=1),
        most=np.concatenate([most, hidden], axis=1),
        exists=np.concatenate([count > np.arange(width), count > width + np.arange(coalition + 1)], axis=1),
        signs=signs,
        possible=possible,
    )


def _known(table: Table, cells: IntArray) -> tuple[IntArray, IntArray]:
    """The largest contributions in the value's unit, without signs; of a shadow variable, shares of the value, rounded down and up."""
    top = table.top[cells][:, : TUNING.contributions]
    if not table.has_shadow:
        known = np.asarray(top * 10 ** (table.scale - table.rule_scale))
        return known, known
    parts, mass = product(top, np.abs(table.value[cells])[:, np.newaxis]), table.magnitude[cells][:, np.newaxis]
    return (parts // mass).astype(np.int64), ceiling(parts, mass)


def _pairs(width: int, coalition: int) -> Iterator[tuple[list[int], int]]:
    """Every coalition of up to so many, and everyone outside it."""
    for size in range(1, coalition + 1):
        for members in itertools.combinations(range(width), size):
            yield from ((list(members), target) for target in range(width) if target not in members)


def _past(level: AnyArray, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """The least move from the level on that lies in no interval, and how far it may go on from there before the next begins."""
    order = np.argsort(left, axis=1, kind="stable")
    left, right = np.take_along_axis(left, order, axis=1), np.take_along_axis(right, order, axis=1)
    level = level.copy()
    for begin, end in zip(left.T, right.T, strict=True):
        level = np.where((begin < level) & (level < end), end, level)
    last = np.where(left >= level[:, np.newaxis], left, LIMIT).min(axis=1, initial=LIMIT)
    return level, last
