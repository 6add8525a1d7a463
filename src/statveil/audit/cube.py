"""The independent check of a protected cube, before anything of it is served: exact integers, no tolerance, no solver.

It adds up for itself, from the records and from the released leaf cells: every choice of levels within the depth, every position on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

import numpy as np

from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.spec import Dimension
from statveil.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class CubeEvidence:
    """Records by their places among the `codes` of each dimension, down to the lowest that are shown, and the released leaf cells.

    `most`: dimensions shown at once. `judge`: the rules. `smallest`: the least number that may be published where there are records;
    None: any. `counts`: the cube of a number of records, zero or `smallest` and more. `held`: the most by which positions may be off, as
    (place in each dimension, distance).
    """

    dimensions: Sequence[Dimension]
    places: AnyArray = field(repr=False)
    holdings: AnyArray = field(repr=False)
    amounts: IntArray = field(repr=False)
    leaf_places: IntArray = field(repr=False)
    released: IntArray = field(repr=False)
    most: int
    judge: Callable[[Table], Sensitivity] = field(repr=False)
    contributions: int
    decimals: int
    smallest: int | None = 1
    counts: bool = False
    held: Sequence[tuple[tuple[int, ...], int]] = field(default=(), repr=False)


@dataclass
class _Found:
    positions: int = 0
    sensitive: int = 0
    unsafe: int = 0
    wrong: int = 0
    strangers: int = 0


def audit_cube(evidence: CubeEvidence) -> AuditReport:
    """Every check; nothing is served unless all pass."""
    found, evidence = _Found(), _by_holding(evidence)
    for shown in _choices([_ways_up(dimension) for dimension in evidence.dimensions], evidence.most):
        _look(evidence, shown, found)
    off = sum(_off(evidence, place) > distance for place, distance in evidence.held)
    checks = (
        _check("cells", "Released leaf cells hold records, and records lie in released leaf cells", found.positions, found.strangers),
        _check("protection", "Every sensitive cell is moved by its level or more", found.sensitive, found.unsafe),
        _check(
            "zeros", "No cell with records is below the smallest number published, but for counts of zero", found.positions, found.wrong
        ),
        _check("held", "Public totals are within the distance stated", len(evidence.held), off),
    )
    return AuditReport(checks=checks)


def _by_holding(evidence: CubeEvidence) -> CubeEvidence:
    """The records in the order of their holdings."""
    holdings = evidence.holdings
    if (holdings[1:] >= holdings[:-1]).all():
        return evidence
    order = np.argsort(holdings, kind="stable")
    return replace(evidence, places=evidence.places[:, order], holdings=holdings[order], amounts=evidence.amounts[order])


def _check(name: str, words: str, checked: int, faults: int) -> Check:
    return Check(name=name, words=words, checked=checked, faults=faults)


class _Way(NamedTuple):
    """A way to show a dimension: the number of the code that each code is counted in, -1 for none, and how many such codes there are."""

    number: IntArray
    size: int


def _way(above: IntArray) -> _Way:
    kinds = np.unique(above[above >= 0])
    return _Way(np.where(above >= 0, np.searchsorted(kinds, above), -1), kinds.size)


def _ways_up(dimension: Dimension) -> list[_Way]:
    """All ways: first by its total, then by every depth of every tree. A code that stands at several depths is looked at more than once,
    which does no harm."""
    size, ways = len(dimension.codes), [_way(np.full(len(dimension.codes), dimension.position[dimension.total], np.int64))]
    for tree in dimension.trees:
        for depth in range(1, max(tree.depth.values()) + 1):
            way = np.full(size, -1, np.int64)
            for code in tree.leaves:
                above = code
                while tree.depth[above] > depth:
                    above = tree.parent[above]
                way[dimension.position[code]] = dimension.position[above]
            ways.append(_way(way))
    return ways


def _choices(ways: Sequence[Sequence[_Way]], most: int) -> Iterable[tuple[_Way, ...]]:
    """One way for each dimension, with no more than so many that are not the total."""
    if not ways:
        yield ()
        return
    for number, first in enumerate(ways[0] if most else ways[0][:1]):
        for rest in _choices(ways[1:], most - (number > 0)):
            yield (first, *rest)


def _numbered(shown: Sequence[_Way], places: AnyArray) -> AnyArray:
    """One number for each position, from 0 to the product of the ways' sizes; -1 outside."""
    kind = np.int32 if prod(way.size for way in shown) < 2**31 else np.int64
    key: AnyArray = np.zeros(places.shape[1], kind)
    outside = np.zeros(places.shape[1], np.bool_)
    for axis, way in enumerate(shown):
        if way.size == 1 and (way.number == 0).all():
            continue
        number = way.number.astype(kind)[places[axis]]
        outside |= number < 0
        key *= kind(way.size)
        key += number
    key[outside] = -1
    return key


def _look(evidence: CubeEvidence, shown: Sequence[_Way], found: _Found) -> None:
    """All positions of one choice of levels."""
    record, leaf = (_numbered(shown, places) for places in (evidence.places, evidence.leaf_places))
    kept = slice(None) if (record >= 0).all() else np.flatnonzero(record >= 0)
    keys, position = _positions(record[kept], prod(way.size for way in shown))
    table = _table(evidence, position, keys.size, kept)
    released = np.zeros(keys.size, np.int64)
    inside = leaf >= 0
    place = np.minimum(np.searchsorted(keys, leaf), max(keys.size - 1, 0))
    known = inside & (keys[place] == leaf) if keys.size else np.zeros(leaf.size, np.bool_)
    np.add.at(released, place[known], evidence.released[known])
    seen = np.zeros(keys.size, np.bool_)
    seen[place[known]] = True
    found.strangers += int((inside & ~known).sum()) + int((~seen).sum())
    found.positions += keys.size
    judged = evidence.judge(table)
    moved = released - table.value
    found.sensitive += int(judged.sensitive.sum())
    found.unsafe += int(_unsafe(judged, moved).sum())
    if evidence.smallest is not None:
        hidden = evidence.counts & (released == 0)
        found.wrong += int(((released < evidence.smallest) & ~hidden).sum())


def _unsafe(judged: Sensitivity, moved: IntArray) -> BoolArray:
    far = np.where(moved > 0, moved >= judged.upper_level, (moved < 0) & (-moved >= judged.lower_level))
    unsafe: BoolArray = judged.sensitive & ~far
    return unsafe


def _positions(number: AnyArray, size: int) -> tuple[IntArray, AnyArray]:
    """The different numbers below `size` in ascending order, and the place of each among them, as narrow as may be: records are many."""
    if size <= 4 * number.size:  # no larger than the records themselves
        marks = np.zeros(size, np.bool_)
        marks[number] = True
        keys, place = np.flatnonzero(marks), (np.cumsum(marks, dtype=np.int32) - np.int32(1))[number]
    else:
        keys, place = np.unique(number, return_inverse=True)
    return keys, place.reshape(-1).astype(np.uint16 if keys.size < 2**16 else np.int32)


def _table(evidence: CubeEvidence, position: AnyArray, count: int, kept: slice | IntArray) -> Table:
    """What the records add up to, by holding first and then by position; every one of `count` positions has a record."""
    order = np.argsort(position, kind="stable")  # records come by holding
    where, holding, amount = position[order], evidence.holdings[kept][order], evidence.amounts[kept][order]
    new = np.ones(order.size, np.bool_)
    new[1:] = (where[1:] != where[:-1]) | (holding[1:] != holding[:-1])
    del order, holding
    starts = np.flatnonzero(new)
    amount, where = _by_group(np.add, amount, starts), where[starts]
    del new, starts
    respondents = np.bincount(where, minlength=count)
    first = np.cumsum(respondents) - respondents
    value, size = _by_group(np.add, amount, first), np.abs(amount)
    magnitude, top = _by_group(np.add, size, first), np.zeros((count, evidence.contributions), np.int64)
    for rank in range(evidence.contributions):
        most = _by_group(np.maximum, size, first)
        top[:, rank] = np.maximum(most, 0)
        largest = np.flatnonzero(size == most[where])
        one = np.ones(largest.size, np.bool_)
        one[1:] = where[largest][1:] != where[largest][:-1]
        size[largest[one]] = -1  # each is counted once
    return Table(
        views=(),
        value=value,
        scale=evidence.decimals,
        decimals=evidence.decimals,
        records=respondents,
        respondents=respondents,
        frequency=respondents,
        frequency_scale=0,
        magnitude=magnitude,
        top=top,
        largest_unwaived=top[:, 0],
        largest_requested=np.full(count, -1, np.int64),
        rule_scale=evidence.decimals,
        has_shadow=False,
        input_hash="",
    )


def _by_group(operation: np.ufunc, values: IntArray, first: IntArray) -> IntArray:
    """The values of each group together, by where it begins."""
    found: IntArray = operation.reduceat(values, first) if first.size else np.zeros(0, np.int64)
    return found


def _off(evidence: CubeEvidence, place: Sequence[int]) -> int:
    """How far a position is off that was to be held."""
    shown = []
    for dimension, code in zip(evidence.dimensions, place, strict=True):
        below = {dimension.codes[code]}
        for tree in dimension.trees:
            for each in tree.codes:
                if tree.parent.get(each) in below:
                    below.add(each)
        shown.append(_Way(np.array([0 if each in below else -1 for each in dimension.codes], np.int64), 1))
    record, leaf = (_numbered(shown, places) == 0 for places in (evidence.places, evidence.leaf_places))
    return abs(int(evidence.released[leaf].sum()) - int(evidence.amounts[record].sum()))
