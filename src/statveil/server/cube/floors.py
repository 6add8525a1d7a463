"""What the key draws: how far above its level each sensitive row must move, where safe leaf cells wander, and ids for the memory.

A search for the least change leaves rows at their floors; were those the levels, the truth would be told but for the sign (T11). Part of
a floor's rise is for ever of the row's leader, so that years of averaging do not wear it down; the rest is of the content, so that one
year's truth, when it becomes known, does not tell the next year's, nor two editions what one firm changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import STEP, mixed
from statveil.core.secret import SecretKey
from statveil.risk.rules import PPercent
from statveil.risk.rules.base import share
from statveil.server.cube.lattice import Lattice
from statveil.server.dataset.dataset import MeasureBlock

_FULL = 2.0**64


class FloorTuning(NamedTuple):
    """benchmarks/RESULTS.md, the cube."""

    leaf_rise: float = 0.45
    """Floors of leaf cells are up to so much above their levels."""
    total_rise: float = 0.2
    permanent: float = 0.2
    """The part of a rise that is the leader's for ever."""
    dither: float = 0.1
    """Safe leaf cells wander by up to this part of their largest contribution."""
    target: float = 0.05
    """Other safe rows are drawn to up to this part of it, so that two editions of them do not tell what one firm changed,"""
    most_target: tuple[float, ...] = (0.001, 0.005, 0.008, 0.03)
    """but by no more than this part of themselves, by dimensions shown."""
    rest: float = 0.9
    """Totals fall beyond their rest where that is at most this part of what the second contributor must miss by."""
    size_class: float = 1.3
    """Classes of size in which senses are remembered; neighbouring ones count as the same."""
    percent: Fraction = Fraction(10)
    """What a second contributor must miss by, where no p% rule says it."""


TUNING = FloorTuning()


class Floors(NamedTuple):
    """By row, zero where it is not sensitive: how far it must go `up` or `down`, and how far down at least if that cannot be had.

    `beyond`: how far down it must go to be past what the second contributor finds, zero where there is none. What a safe leaf cell is
    drawn to is its `dither`, and other safe rows to their `target`.
    """

    up: IntArray
    down: IntArray
    least_down: IntArray
    beyond: IntArray
    target: FloatArray
    dither: FloatArray


def draw_floors(key: SecretKey, block: MeasureBlock, lattice: Lattice) -> Floors:
    """The floors of all rows, and the dither of all leaf cells."""
    content = contents(block, lattice)
    drawn = uniform(key, block.space, "cube floor", content)
    own = block.floor[np.maximum(lattice.leader, 0)] if block.floor.size else np.zeros(lattice.rows)
    rise = TUNING.permanent * own + (1 - TUNING.permanent) * drawn
    smallest = deepest(lattice)
    factor = 1.0 + np.where(smallest, TUNING.leaf_rise, TUNING.total_rise) * rise
    beyond, little = second_misses(block, lattice)
    up, least_down, beyond = (np.maximum(np.ceil(level * factor).astype(np.int64), level) for level in (lattice.up, lattice.down, beyond))
    down = np.where((beyond > 0) & (little | (smallest & (lattice.leaf_row >= 0).all())), np.maximum(beyond, least_down), least_down)
    wander = np.where(lattice.sensitive, 0.0, 2 * uniform(key, block.space, "cube dither", content) - 1)
    first, most = lattice.top[:, 0], np.array(TUNING.most_target)[np.minimum(lattice.dimensions, len(TUNING.most_target) - 1)]
    shown, row = lattice.leaf_row >= 0, np.maximum(lattice.leaf_row, 0)
    target = np.where(smallest & shown.all(), 0.0, wander * np.minimum(TUNING.target * first, most * lattice.magnitude))
    dither = np.where(shown, TUNING.dither * (wander * first)[row], 0.0)
    return Floors(up, down, np.where(smallest, down, least_down), beyond, target, dither)


def second_misses(block: MeasureBlock, lattice: Lattice) -> tuple[IntArray, BoolArray]:
    """Levels downward at which the second contributor, subtracting its own, misses the first by p% as well (T13); and where they cost
    little.

    It computes x - x2 = x1 + rest + change. A fall near the rest would make that right, so that it must be passed by p% of x1. Totals
    need not fall so far where the rest is large: that would cost more than all else.
    """
    p = max((Fraction(str(rule.p)) for rule in block.rules if isinstance(rule, PPercent)), default=TUNING.percent)
    first, rest = lattice.top[:, 0], lattice.magnitude - lattice.top[:, 0] - lattice.top[:, 1]
    own = share(first, p / 100)
    asked = (lattice.down > 0) & (lattice.respondents > 2)
    return np.where(asked, np.maximum(lattice.down, own + rest), 0), rest <= TUNING.rest * own


def deepest(lattice: Lattice) -> BoolArray:
    """Rows that are one leaf cell; where leaf cells are not shown, rows of as many dimensions as are shown at once."""
    if lattice.coarse:
        found: BoolArray = lattice.dimensions == lattice.dimensions.max(initial=0)
        return found
    alone = np.zeros(lattice.rows, np.bool_)
    alone[lattice.leaf_row] = True
    return alone


def contents(block: MeasureBlock, lattice: Lattice) -> tuple[AnyArray, AnyArray]:
    """Per row two sums over its holdings and what they have: the same for the same content, wherever it stands."""
    holding = np.repeat(np.arange(lattice.pairs.start.size - 1), np.diff(lattice.pairs.start))
    first = mixed(block.tie[holding].astype(np.uint64) + lattice.pairs.amount.astype(np.uint64) * STEP)
    found = []
    for lane in (first, mixed(first ^ STEP)):
        of_leaf = np.zeros(lattice.leaves, np.uint64)
        np.add.at(of_leaf, lattice.pairs.leaf, lane)
        found.append(lattice.sums(of_leaf))
    return found[0], found[1]


def uniform(key: SecretKey, space: bytes, purpose: str, content: tuple[AnyArray, AnyArray]) -> FloatArray:
    """A number from 0 to 1 for each content, by the key."""
    raw = np.stack([each.astype("<u8") for each in content], axis=1).tobytes()
    words = (raw[at : at + 16] for at in range(0, len(raw), 16))
    return _drawn(key.hasher(purpose, space, size=8), words).astype(np.float64) / _FULL


def _drawn(start: Any, words: Iterable[bytes]) -> AnyArray:
    found = []
    for word in words:
        digest = start.copy()
        digest.update(word)
        found.append(digest.digest())
    return np.frombuffer(b"".join(found), "<u8").astype(np.uint64)


def position_ids(key: SecretKey, block: MeasureBlock, lattice: Lattice) -> AnyArray:
    """A keyed id for each position by its codes and the measure: totals, which say nothing, add nothing."""
    found = np.zeros(lattice.position_key.size, np.uint64)
    places = lattice.grid.coordinates(lattice.position_key) if lattice.position_key.size else np.zeros((0, 0), np.int64)
    for axis in range(places.shape[1]):
        dimension = lattice.grid.dimensions[axis]
        drawn = _drawn(key.hasher("cube code", block.space, dimension.name.encode(), size=8), (code.encode() for code in dimension.codes))
        drawn[dimension.position[dimension.total]] = 0
        found += drawn[places[:, axis]]
    ids: AnyArray = mixed(found + np.uint64(int.from_bytes(block.space[:8], "little")))
    return ids


def sense_ids(ids: AnyArray, block: MeasureBlock, lattice: Lattice, step: int = 0) -> tuple[AnyArray, AnyArray]:
    """Ids under which a position's sense is remembered: with the first of its holdings, with the second where that is close, and with a
    class of its size, `step` classes from its own. One that half of its content left is another quantity, of which no average tells."""
    first, second = (np.where(who < 0, np.uint64(0), block.holding[who])[lattice.position_row] for who in (lattice.leader, lattice.second))
    size = np.floor(np.log(np.maximum(lattice.magnitude, 1)) / np.log(TUNING.size_class)).astype(np.int64)[lattice.position_row] + step
    marked = ids ^ mixed((size + 1000).astype(np.uint64) * STEP)
    return mixed(marked ^ mixed(first)), mixed(marked ^ mixed(second))


def second_is_close(lattice: Lattice) -> BoolArray:
    """By position: whether the two largest might change places and the cell still be the same quantity, of which an average tells."""
    close: BoolArray = ((lattice.second >= 0) & (2 * lattice.top[:, 1] >= lattice.top[:, 0]))[lattice.position_row]
    return close
