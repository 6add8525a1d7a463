"""Changes of leaf cells: the signs' first ones, the continuous program's better ones, whole numbers, repair, polish."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.server.cube.floors import Floors, deepest
from statveil.server.cube.lattice import Lattice
from statveil.server.cube.public import FREE
from statveil.server.cube.solve.polish import polish
from statveil.server.cube.solve.program import Program, solve_program
from statveil.server.cube.solve.repair import Wanted, repair
from statveil.server.cube.solve.signs import Movers


class AdjustTuning(NamedTuple):
    """benchmarks/RESULTS.md, the cube."""

    share: tuple[float, float] = (0.6, 0.9)
    """A leaf cell moves by no more than this part of itself, if it is shown, and if it is not,"""
    floors: float = 2.0
    """or by so many times its floor."""
    band: float = 0.025
    """A safe leaf cell stays so near to its dither, in parts of its largest contribution."""
    spare: float = 0.02
    """A public total must have at least so much room both ways, in parts of itself; else its safe leaf cells get more."""
    short: tuple[float, float] = (10.0, 30.0)
    """What it costs to be short of a floor, where all leaf cells are shown, and where the depth ends above them."""
    sensitive_weight: float = 0.02
    pace: float = 5.0
    """How quickly prices of sensitive rows move; others move by their weight."""
    leading: float = 3.0
    """A row whose first holding has so many times what the second has goes its way: when others leave, it need not turn."""
    seconds: float = 0.1
    """The share of sensitive rows of three or more in which the second contributor may come near the first: chance brings a few."""
    again: int = 4
    """A row that was published in the other sense before moves by so many floors, so that no average over editions is near."""


TUNING = AdjustTuning()


def movers_of(lattice: Lattice, floors: Floors, least: IntArray, stored: IntArray) -> Movers:
    """Who moves each leaf cell: of the sensitive rows that show most, each is moved by the leaf cell in which its leader has most.

    One that was published in a sense before goes that way again, and one that cannot fall rises, whatever the sign of its leader.
    """
    chosen = np.flatnonzero(deepest(lattice) & lattice.sensitive)
    home = homes(lattice)[chosen]
    order = np.lexsort((chosen, floors.up[chosen], home))  # of several rows the last, with the largest floor, decides
    leader, up, down = np.full(lattice.leaves, -1, np.int64), np.zeros(lattice.leaves), np.zeros(lattice.leaves)
    leader[home[order]] = lattice.leader[chosen[order]]
    up[home[order]], down[home[order]] = floors.up[chosen[order]], floors.down[chosen[order]]
    way = np.where((lattice.leaf_row >= 0) & (leader >= 0), stored[np.maximum(lattice.leaf_row, 0)], 0)
    way = np.where((leader >= 0) & (lattice.leaf_value - down < least), 1, way)
    rest = np.where(way > 0, up, np.where(way < 0, -down, np.where(leader >= 0, 0.0, floors.dither)))
    return Movers(np.where(way != 0, -1, leader), up, down, rest)


def homes(lattice: Lattice) -> IntArray:
    """Per row, the leaf cell in which its leader has most."""
    found: IntArray = _homes(*lattice.pairs, lattice.rows_of.start, lattice.rows_of.item, lattice.leader, lattice.rows)
    return found


@numba.njit(cache=True, nogil=True)
def _homes(start, leaf, amount, row_start, row_item, leader, rows):  # type: ignore[no-untyped-def]
    """For each row the leaf that holds most of its leader's amount, or -1."""
    home, most = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
    for holding in range(start.size - 1):
        for pair in range(start[holding], start[holding + 1]):
            for at in range(row_start[leaf[pair]], row_start[leaf[pair] + 1]):
                row = row_item[at]
                if leader[row] == holding and abs(amount[pair]) > most[row]:
                    home[row], most[row] = leaf[pair], abs(amount[pair])
    return home


class Limits(NamedTuple):
    """By row: senses published before (`stored`, 0: none; `both`: in both senses), the most it may be off. By leaf cell: least value."""

    stored: IntArray
    both: BoolArray
    most: IntArray
    least: IntArray


def adjust(lattice: Lattice, floors: Floors, movers: Movers, signs: IntArray, limits: Limits) -> IntArray:
    """The changes of leaf cells, in whole numbers: all sensitive rows beyond their levels, the others as near as can be."""
    if not lattice.leaves:
        return np.zeros(0, np.int64)
    first = movers.changes(signs)
    sense = _senses(lattice, floors, first, limits)
    up = floors.up * np.where(limits.both | (limits.stored < 0), TUNING.again, 1)
    down = floors.least_down * np.where(limits.both | (limits.stored > 0), TUNING.again, 1)
    floor = np.where(sense > 0, up, np.maximum(floors.down, down))
    low, high = _widened(lattice, limits, *_bounds(lattice, floors, movers, sense, floor, limits.least))
    scale = np.maximum(lattice.magnitude, 1).astype(np.float64)
    weight = lattice.weight * np.where(lattice.sensitive, TUNING.sensitive_weight, 1.0)
    program = Program(
        rows_of=lattice.rows_of,
        size=scale,
        weight=weight,
        short=np.where(lattice.sensitive, TUNING.short[lattice.coarse], 0.0),
        pace=np.where(lattice.sensitive, TUNING.pace, weight),
        sense=sense,
        floor=floor.astype(np.float64),
        target=floors.target,
        most=np.where(limits.most >= FREE, np.inf, limits.most.astype(np.float64)),
        leaf_size=np.maximum(lattice.leaf_magnitude, 1).astype(np.float64),
        low=low,
        high=high,
    )
    change = _whole(solve_program(program, first), low, high)
    cost = np.zeros(lattice.leaves)
    np.add.at(cost, np.repeat(np.arange(lattice.leaves), np.diff(lattice.rows_of.start)), (weight / scale)[lattice.rows_of.item])
    wanted = Wanted(
        sense=sense,
        up=up,
        down=down,
        most=limits.most,
        stored=limits.stored != 0,
        least=limits.least - lattice.leaf_value,
        low=np.ceil(low).astype(np.int64),
        high=np.floor(high).astype(np.int64),
        cost=cost,
    )
    change, sense = repair(lattice.rows_of, lattice.leaves_of, wanted, change)
    further = _past_the_second(lattice, floors, down, lattice.sums(change))
    if (further > down).any():
        change, sense = repair(lattice.rows_of, lattice.leaves_of, wanted._replace(sense=sense, down=further), change)
    kept = np.maximum(down, floors.beyond)
    floor = np.where(sense > 0, up, np.where(-lattice.sums(change) >= kept, kept, down))
    return polish(program._replace(sense=sense, floor=floor.astype(np.float64)), floor, limits, lattice.leaf_value, change)


def _past_the_second(lattice: Lattice, floors: Floors, down: IntArray, moved: IntArray) -> IntArray:
    """How far down rows must be, where too many fell just to what the second contributor finds: those that cost least go past it."""
    near = np.flatnonzero((moved < 0) & (-moved < floors.beyond))
    excess = near.size - int(TUNING.seconds * np.count_nonzero(floors.beyond))
    cost = (lattice.weight * (floors.beyond + moved) / np.maximum(lattice.magnitude, 1))[near]
    found, chosen = down.copy(), near[np.argsort(cost, kind="stable")[: max(excess, 0)]]
    found[chosen] = np.maximum(floors.beyond, down)[chosen]
    return found


def _senses(lattice: Lattice, floors: Floors, first: FloatArray, limits: Limits) -> IntArray:
    """That of a leaf cell is its mover's; that of another row is the stored one, else the side on which it stands, or the nearer one."""
    moved = lattice.sums(first)
    sense = np.where(floors.up - moved < floors.down + moved, 1, -1)
    home = homes(lattice)
    leading = (home >= 0) & (lattice.top[:, 0] >= TUNING.leading * lattice.top[:, 1])
    sense = np.where(leading & (first[home] != 0), np.where(first[home] < 0, -1, 1), sense)
    sense = np.where(limits.stored != 0, limits.stored, sense)
    alone = np.flatnonzero(lattice.leaf_row >= 0)
    sense[lattice.leaf_row[alone]] = np.where(first[alone] < 0, -1, 1)
    return np.where(lattice.sensitive, sense, 0)


def _bounds(
    lattice: Lattice, floors: Floors, movers: Movers, sense: IntArray, floor: IntArray, least: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How far leaf cells may go: sensitive ones beyond their floors, safe ones near their dither, those not shown either way."""
    row, shown = np.maximum(lattice.leaf_row, 0), lattice.leaf_row >= 0
    own, way = np.where(shown, floor[row], 0), np.where(shown, sense[row], 0)
    share = np.where(shown, *TUNING.share)
    far = np.maximum(share * lattice.leaf_magnitude, TUNING.floors * np.maximum(own, np.maximum(movers.up, movers.down)))
    near = TUNING.band * lattice.top[row, 0]
    safe_low, safe_high = np.where(shown, floors.dither - near, -far), np.where(shown, floors.dither + near, far)
    low = np.where(way > 0, own, np.where(way < 0, -far, safe_low))
    high = np.where(way > 0, far, np.where(way < 0, -own, safe_high))
    low = np.maximum(low, least - lattice.leaf_value)
    return low, np.maximum(low, high)


def _widened(lattice: Lattice, limits: Limits, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where one firm's change is more than the others may make up for, as a public total wants, safe leaf cells may go further."""
    public = limits.most < FREE
    tight = public & ((lattice.sums(low) > -TUNING.spare * lattice.magnitude) | (lattice.sums(high) < TUNING.spare * lattice.magnitude))
    if not tight.any():
        return low, high
    entry = np.repeat(np.arange(lattice.leaves), np.diff(lattice.rows_of.start))
    inside = np.zeros(lattice.leaves, np.bool_)
    inside[entry[tight[lattice.rows_of.item]]] = True
    wide = inside & ((lattice.leaf_row < 0) | ~lattice.sensitive[np.maximum(lattice.leaf_row, 0)])
    far = TUNING.share[0] * lattice.leaf_magnitude
    lower = np.maximum(np.minimum(low, -far), limits.least - lattice.leaf_value)
    return np.where(wide, lower, low), np.where(wide, np.maximum(high, far), high)


def _whole(change: FloatArray, low: FloatArray, high: FloatArray) -> IntArray:
    """Rounded, and within bounds where a whole number is."""
    rounded = np.clip(np.rint(change), np.ceil(low), np.maximum(np.floor(high), np.ceil(low)))
    return rounded.astype(np.int64)
