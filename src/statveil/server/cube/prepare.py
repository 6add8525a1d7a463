"""From records to a protected cube: lattice, floors, signs, senses, changes, repair, audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from statveil.audit.cube import CubeEvidence, audit_cube
from statveil.core.arrays import AnyArray, BoolArray, IntArray, frozen_array
from statveil.core.errors import AuditFailed
from statveil.core.secret import SecretKey
from statveil.risk.assess import assess
from statveil.risk.rules import contributions_needed
from statveil.server.cube.counts import adjust_counts
from statveil.server.cube.cube import Cube, accuracy_of
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import contents, draw_floors, position_ids, second_is_close, sense_ids, uniform
from statveil.server.cube.lattice import Lattice, build_lattice
from statveil.server.cube.memory import CubeMemory
from statveil.server.cube.public import PublicTotal, most_off, places_of, weighed
from statveil.server.cube.solve.adjust import Limits, adjust, movers_of
from statveil.server.cube.solve.signs import SignMeasure, search_signs
from statveil.server.dataset.dataset import MeasureBlock, ServedData

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
    block, memory = data.block(measure), memory or CubeMemory()
    tell("adding up")
    lattice, held, most = _weighed_lattice(data, block, depth, public)
    ids = position_ids(key, block, lattice)
    known = _known(lattice, memory, sense_ids(ids, block, lattice))
    added = _of_rows(lattice, known)
    stored = np.sign(added)
    if block.counts:
        tell("rounding counts")
        change = _adjusted_counts(key, block, lattice, stored)
    else:
        tell("searching directions")
        memory = with_signs(key, data, depth, memory, public, ready={measure: lattice})
        tell("adjusting")
        least, floors = _least_value(block, lattice), draw_floors(key, block, lattice)
        limits = Limits(stored, _of_rows(lattice, np.abs(known)) > np.abs(added), most, least)
        movers = movers_of(lattice, floors, least, stored)
        change = adjust(lattice, floors, movers, memory.signs.look_up(block.holding), limits)
    released = lattice.leaf_value + change
    tell("auditing")
    _audit(data, block, depth, lattice, released, held)
    sense = np.where(lattice.sensitive, np.sign(lattice.sums(change)), 0)[lattice.position_row]
    for step in (0, -1, 1):
        for each, shown in zip(sense_ids(ids, block, lattice, step), _told(lattice, sense), strict=True):
            memory = replace(memory, senses=memory.senses.with_new(each[shown], sense[shown]))
    return cube_of(data, block, depth, lattice, released=released, memory=memory)


def _silent(_: str) -> None:
    pass


def _told(lattice: Lattice, sense: IntArray) -> tuple[BoolArray, BoolArray]:
    """Positions whose sense is to be remembered under their first, and under their second holding."""
    told: BoolArray = sense != 0
    return told, told & second_is_close(lattice)


def _known(lattice: Lattice, memory: CubeMemory, ids: tuple[AnyArray, AnyArray]) -> IntArray:
    """The sense in which each position was published before: under its first holding, or else under its second."""
    first, second = (memory.senses.look_up(each) for each in ids)
    return np.where(first != 0, first, np.where(second_is_close(lattice), second, 0))


def _of_rows(lattice: Lattice, known: IntArray) -> IntArray:
    """What was stored of a sensitive row's positions, added up."""
    found = np.zeros(lattice.rows, np.int64)
    np.add.at(found, lattice.position_row, known)
    return np.where(lattice.sensitive, found, 0)


def _weighed_lattice(
    data: ServedData, block: MeasureBlock, depth: Depth, public: Sequence[PublicTotal]
) -> tuple[Lattice, list[tuple[tuple[int, ...], int]], IntArray]:
    """The rows of a measure, the places of its public totals, and how far each row may be off."""
    lattice = build_lattice(data, block, depth)
    held = places_of(public, block.id, lattice.grid, depth.most(data.dimensions))
    most = most_off(held, lattice)
    return weighed(lattice, most), held, most


def with_signs(
    key: SecretKey,
    data: ServedData,
    depth: Depth,
    memory: CubeMemory,
    public: Sequence[PublicTotal] = (),
    *,
    ready: Mapping[str, Lattice],
) -> CubeMemory:
    """The memory with a sign for every holding of every measure: those that are new are searched, for all measures at once. Lattices
    that are `ready` are not built again."""
    blocks = [block for block in data.blocks.values() if not block.counts and block.value.size]
    ids = np.unique(np.concatenate([np.zeros(0, np.uint64), *(block.holding for block in blocks)]))
    known = memory.signs.look_up(ids)
    if (known != 0).all():
        return memory
    measures = []
    for block in blocks:
        lattice = ready[block.id] if block.id in ready else _weighed_lattice(data, block, depth, public)[0]
        floors = draw_floors(key, block, lattice)
        marks = sense_ids(position_ids(key, block, lattice), block, lattice)
        stored = np.sign(_of_rows(lattice, _known(lattice, memory, marks)))
        movers = movers_of(lattice, floors, _least_value(block, lattice), stored)
        measures.append(SignMeasure(lattice, floors, movers, stored, np.searchsorted(ids, block.holding)))
    drawn = np.where(ids & np.uint64(1), 1, -1)
    seed = int.from_bytes(key.digest("cube signs", data.part.id.encode(), size=8), "little")
    signs = search_signs(measures, np.where(known == 0, drawn, known), known != 0, seed)
    return replace(memory, signs=memory.signs.with_new(ids, signs))


def _adjusted_counts(key: SecretKey, block: MeasureBlock, lattice: Lattice, stored: IntArray) -> IntArray:
    drawn = uniform(key, block.space, "cube count", contents(block, lattice))
    own = np.where(lattice.leaf_row >= 0, drawn[np.maximum(lattice.leaf_row, 0)], 0.5)
    seed = int.from_bytes(key.digest("cube counts", block.space, size=8), "little")
    return adjust_counts(lattice, stored, own, smallest=block.smallest, seed=seed) - lattice.leaf_value


def _least_value(block: MeasureBlock, lattice: Lattice) -> IntArray:
    """A leaf cell with records is not published at zero; one that is not published itself may be; gains and losses have no such end."""
    if (block.value < 0).any():
        return np.full(lattice.leaves, -(2**61), np.int64)
    return np.where(lattice.leaf_row >= 0, np.minimum(1, lattice.leaf_value), 0)


def _audit(
    data: ServedData, block: MeasureBlock, depth: Depth, lattice: Lattice, released: IntArray, held: Sequence[tuple[tuple[int, ...], int]]
) -> None:
    """The independent check; nothing leaves that it finds fault with."""
    bases = [each.lowest for each in data.dimensions]
    narrow = np.int16 if max(len(base.cut.codes) for base in bases) < 2**15 else np.int32
    places = np.stack([base.position.astype(narrow)[block.leaf[axis]] for axis, base in enumerate(bases)])
    evidence = CubeEvidence(
        dimensions=lattice.grid.dimensions,
        places=places,
        holdings=np.repeat(np.arange(block.start.size - 1, dtype=np.int32), np.diff(block.start)),
        amounts=block.value,
        leaf_places=lattice.grid.coordinates(lattice.leaf_keys).T,
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
    codes = lattice.grid.coordinates(lattice.leaf_keys)
    standing = np.empty_like(codes)
    for axis, dimension in enumerate(data.dimensions):
        base = dimension.lowest
        of_code = np.zeros(len(base.cut.codes), np.int64)
        of_code[base.position[::-1]] = np.arange(base.position.size)[::-1]  # the first leaf that each code stands for
        standing[:, axis] = of_code[codes[:, axis]]
    return Cube(
        measure=block.id,
        dimensions=tuple(each.id for each in data.dimensions),
        depth=depth,
        places=frozen_array(standing),
        released=frozen_array(released),
        small=(lattice.leaf_value < block.smallest) if block.counts else None,
        accuracy=accuracy_of(error, moved, lattice.value + moved, lattice.dimensions, ~lattice.sensitive),
        memory=memory,
    )
