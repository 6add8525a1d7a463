"""The independent check of a protected cube, before anything of it is served: exact integers, no tolerance, no solver.

It adds up for itself, from the records and from the released leaf cells: every choice of levels within the depth, every position on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import BoolArray, IntArray
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
    places: IntArray = field(repr=False)
    holdings: IntArray = field(repr=False)
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
    found = _Found()
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


def _check(name: str, words: str, checked: int, faults: int) -> Check:
    return Check(name=name, words=words, checked=checked, faults=faults)


def _ways_up(dimension: Dimension) -> list[IntArray]:
    """Per way to show a dimension, the place of the code that each code is counted in, -1 for none: first its total, then every depth
    of every tree. A code that stands at several depths is looked at more than once, which does no harm."""
    size, ways = len(dimension.codes), [np.full(len(dimension.codes), dimension.position[dimension.total], np.int64)]
    for tree in dimension.trees:
        for depth in range(1, max(tree.depth.values()) + 1):
            way = np.full(size, -1, np.int64)
            for code in tree.leaves:
                above = code
                while tree.depth[above] > depth:
                    above = tree.parent[above]
                way[dimension.position[code]] = dimension.position[above]
            ways.append(way)
    return ways


def _choices(ways: Sequence[Sequence[IntArray]], most: int) -> Iterable[tuple[IntArray, ...]]:
    """One way for each dimension, with no more than so many that are not the total."""
    if not ways:
        yield ()
        return
    for number, first in enumerate(ways[0] if most else ways[0][:1]):
        for rest in _choices(ways[1:], most - (number > 0)):
            yield (first, *rest)


def _numbered(evidence: CubeEvidence, shown: Sequence[IntArray], places: IntArray) -> IntArray:
    """One number for each position; -1 outside."""
    key, outside = np.zeros(places.shape[1], np.int64), np.zeros(places.shape[1], np.bool_)
    for axis, way in enumerate(shown):
        place = way[places[axis]]
        outside |= place < 0
        key = key * len(evidence.dimensions[axis].codes) + place
    return np.where(outside, -1, key)


def _look(evidence: CubeEvidence, shown: Sequence[IntArray], found: _Found) -> None:
    """All positions of one choice of levels."""
    record, leaf = (_numbered(evidence, shown, places) for places in (evidence.places, evidence.leaf_places))
    table, keys = _table(evidence, record)
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


def _table(evidence: CubeEvidence, record: IntArray) -> tuple[Table, IntArray]:
    """What the records add up to, by holding first and then by position; positions in ascending order of their numbers."""
    kept = np.flatnonzero(record >= 0)
    order = kept[np.lexsort((evidence.holdings[kept], record[kept]))]
    position, holding = record[order], evidence.holdings[order]
    new = np.ones(order.size, np.bool_)
    new[1:] = (np.diff(position) != 0) | (np.diff(holding) != 0)
    starts = np.flatnonzero(new)
    amount = np.add.reduceat(evidence.amounts[order], starts) if starts.size else np.zeros(0, np.int64)
    keys, first, respondents = np.unique(position[starts], return_index=True, return_counts=True)
    size = np.abs(amount)
    value, magnitude = (np.add.reduceat(each, first) if first.size else np.zeros(0, np.int64) for each in (amount, size))
    ranked = size[np.lexsort((-size, position[starts]))]
    top = np.zeros((keys.size, evidence.contributions), np.int64)
    for rank in range(evidence.contributions):
        has = respondents > rank
        top[has, rank] = ranked[first[has] + rank]
    table = Table(
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
        largest_requested=np.full(keys.size, -1, np.int64),
        rule_scale=evidence.decimals,
        has_shadow=False,
        input_hash="",
    )
    return table, keys


def _off(evidence: CubeEvidence, place: Sequence[int]) -> int:
    """How far a position is off that was to be held."""
    shown = []
    for dimension, code in zip(evidence.dimensions, place, strict=True):
        below = {dimension.codes[code]}
        for tree in dimension.trees:
            for each in tree.codes:
                if tree.parent.get(each) in below:
                    below.add(each)
        shown.append(np.array([0 if each in below else -1 for each in dimension.codes], np.int64))
    record, leaf = (_numbered(evidence, shown, places) == 0 for places in (evidence.places, evidence.leaf_places))
    return abs(int(evidence.released[leaf].sum()) - int(evidence.amounts[record].sum()))
