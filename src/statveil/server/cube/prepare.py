"""From records to a protected cube: lattice, floors, signs, senses, changes, repair, audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from statveil.audit.cube import CubeEvidence, audit_cube
from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import AuditFailed
from statveil.core.secret import SecretKey
from statveil.risk.assess import assess
from statveil.risk.rules import contributions_needed
from statveil.server.cube.counts import adjust_counts
from statveil.server.cube.cube import Cube, accuracy_of
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import Floors, contents, draw_floors, position_ids, uniform
from statveil.server.cube.lattice import Lattice, build_lattice
from statveil.server.cube.memory import CubeMemory
from statveil.server.cube.public import PublicTotal, most_off, places_of
from statveil.server.cube.repair import Wanted, repair
from statveil.server.engine.dataset import MeasureBlock, ServedData

OnStage = Callable[[str], None]
"""Told what is being done now."""


def prepare_cube(
    data: ServedData,
    measure: str,
    *,
    depth: Depth,
    key: SecretKey,
    memory: CubeMemory | None = None,
    public: Sequence[PublicTotal] = (),
    progress: OnStage | None = None,
) -> Cube:
    """The cube of one measure. Measures of one dataset are prepared one after the other, each with the memory that the one before left.

    The same data, key and memory give the same bytes, whatever the order of the records.
    """
    tell = progress or _silent
    depth.check_names(data.dimensions)
    block, memory = data.block(measure), memory or CubeMemory()
    tell("adding up")
    lattice = build_lattice(data, block, depth)
    held = places_of(public, measure, lattice.grid, depth.most(data.dimensions))
    ids = position_ids(key, block, lattice)
    stored = np.zeros(lattice.rows, np.int64)
    np.add.at(stored, lattice.position_row, memory.senses.look_up(ids))
    stored = np.where(lattice.sensitive, np.sign(stored), 0)
    tell("adjusting")
    if block.counts:
        change = _adjusted_counts(key, block, lattice, stored)
    else:
        signs = _signs(block, memory)
        change = _adjusted(key, block, lattice, signs, stored, most_off(held, lattice))
        memory = replace(memory, signs=memory.signs.with_new(block.holding, signs))
    released = lattice.leaf_value + change
    tell("auditing")
    _audit(data, block, depth, lattice, released, held)
    sense = np.where(lattice.sensitive, np.sign(lattice.sums(change)), 0)[lattice.position_row]
    memory = replace(memory, senses=memory.senses.with_new(ids[sense != 0], sense[sense != 0]))
    return cube_of(data, block, depth, lattice, released=released, memory=memory)


def _silent(_: str) -> None:
    pass


def _signs(block: MeasureBlock, memory: CubeMemory) -> IntArray:
    """Those of earlier editions and measures; else drawn."""
    known = memory.signs.look_up(block.holding)
    return np.where(known == 0, np.where(block.holding & np.uint64(1), 1, -1), known)


def _adjusted_counts(key: SecretKey, block: MeasureBlock, lattice: Lattice, stored: IntArray) -> IntArray:
    drawn = uniform(key, block.space, "cube count", contents(block, lattice))
    own = np.where(lattice.leaf_row >= 0, drawn[np.maximum(lattice.leaf_row, 0)], 0.5)
    seed = int.from_bytes(key.digest("cube counts", block.space, size=8), "little")
    return adjust_counts(lattice, stored, own, smallest=block.smallest, seed=seed) - lattice.leaf_value


def _adjusted(key: SecretKey, block: MeasureBlock, lattice: Lattice, signs: IntArray, stored: IntArray, most: IntArray) -> IntArray:
    floors = draw_floors(key, block, lattice)
    change = _first_changes(block, lattice, floors, signs)
    wanted = _wanted(block, lattice, floors, signs, change, stored, most)
    return repair(lattice.rows_of, lattice.leaves_of, wanted, change)[0]


def _first_changes(block: MeasureBlock, lattice: Lattice, floors: Floors, signs: IntArray) -> IntArray:
    """Sensitive leaf cells at their floors, in the direction of their leaders, upward where they cannot fall; others at their dither."""
    row = np.maximum(lattice.leaf_row, 0)
    sensitive = (lattice.leaf_row >= 0) & lattice.sensitive[row]
    up = (signs[lattice.leader[row]] > 0) | (lattice.leaf_value - floors.down[row] < _least_value(block, lattice))
    moved = np.where(up, floors.up[row], -floors.down[row])
    return np.where(sensitive, moved, np.rint(floors.dither).astype(np.int64))


def _least_value(block: MeasureBlock, lattice: Lattice) -> IntArray:
    """A leaf cell with records is not published at zero; one that is not published itself may be; gains and losses have no such end."""
    if (block.value < 0).any():
        return np.full(lattice.leaves, -(2**61), np.int64)
    return np.where(lattice.leaf_row >= 0, np.minimum(1, lattice.leaf_value), 0)


def _wanted(
    block: MeasureBlock, lattice: Lattice, floors: Floors, signs: IntArray, change: IntArray, stored: IntArray, most: IntArray
) -> Wanted:
    moved = lattice.sums(change)
    sense = np.where(np.abs(moved) * 2 >= floors.up, np.sign(moved), signs[np.maximum(lattice.leader, 0)])
    sense = np.where(stored != 0, stored, np.where(sense == 0, 1, sense))
    sense = np.where(lattice.sensitive, sense, 0)
    floor = np.where(sense > 0, floors.up, floors.down)
    scale = np.maximum(lattice.magnitude, 1)
    cost = np.zeros(lattice.leaves)
    start, index = lattice.rows_of
    np.add.at(cost, np.repeat(np.arange(lattice.leaves), np.diff(start)), (lattice.weight / scale)[index])
    return Wanted(sense, floor, floors.up, most, _least_value(block, lattice) - lattice.leaf_value, cost)


def _audit(
    data: ServedData, block: MeasureBlock, depth: Depth, lattice: Lattice, released: IntArray, held: Sequence[tuple[tuple[int, ...], int]]
) -> None:
    """The independent check; nothing leaves that it finds fault with."""
    bases = [depth.base(each) for each in data.dimensions]
    leaf_codes = [np.array([base.cut.position[code] for code in base.cut.trees[0].leaves], np.int64) for base in bases]
    places = np.stack([base.position[block.leaf[axis]] for axis, base in enumerate(bases)])
    evidence = CubeEvidence(
        dimensions=lattice.grid.dimensions,
        places=places,
        holdings=np.repeat(np.arange(block.start.size - 1), np.diff(block.start)),
        amounts=block.value,
        leaf_places=np.stack([codes[lattice.coordinates[:, axis]] for axis, codes in enumerate(leaf_codes)]),
        released=released,
        most=depth.most(data.dimensions),
        judge=partial(assess, rules=block.rules),
        contributions=max(2, contributions_needed(block.rules)),
        decimals=block.decimals,
        smallest=None if (block.value < 0).any() else block.smallest,
        counts=block.counts,
        held=held,
    )
    if not audit_cube(evidence).passed:
        raise AuditFailed("The protected cube does not pass its independent check; nothing is served.", hint="Report this as a fault.")


def cube_of(
    data: ServedData,
    block: MeasureBlock,
    depth: Depth,
    lattice: Lattice,
    *,
    released: IntArray,
    memory: CubeMemory,
) -> Cube:
    moved = lattice.sums(released) - lattice.value
    error = 100 * np.abs(moved) / np.maximum(lattice.magnitude, 1)
    standing = np.empty_like(lattice.coordinates)
    for axis, dimension in enumerate(data.dimensions):
        base = depth.base(dimension)
        of_code = np.zeros(len(base.cut.codes), np.int64)
        of_code[base.position[::-1]] = np.arange(base.position.size)[::-1]  # the first leaf that each code stands for
        codes = np.array([base.cut.position[code] for code in base.cut.trees[0].leaves], np.int64)
        standing[:, axis] = of_code[codes[lattice.coordinates[:, axis]]]
    return Cube(
        measure=block.id,
        dimensions=tuple(each.id for each in data.dimensions),
        depth=depth,
        places=frozen_array(standing),
        released=frozen_array(released),
        small=(lattice.leaf_value < block.smallest) if block.counts else None,
        accuracy=accuracy_of(error, lattice.value + moved, lattice.dimensions, ~lattice.sensitive),
        memory=memory,
    )
