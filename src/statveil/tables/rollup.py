"""From leaf cells to every margin: sums are added up, respondents are ranked anew on each level."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import AnyArray, IntArray, frozen_array
from statveil.data.engines import Session
from statveil.data.largest import (
    ContributionRows,
    Ranks,
    RecordRows,
    add_into,
    add_records,
    raise_ranks,
    rank_records,
    rank_respondents,
    xor_into,
)
from statveil.data.queries.tabulation import coded_batches, holding_parts, largest_record_amounts, leaf_prints, leaf_sums
from statveil.tables.coding import TableUnits
from statveil.tables.positions import Grid, PositionSums, join_positions, steps


class RollUpTuning(NamedTuple):
    """How positions are numbered, and how many records are looked at together."""

    dense: int = 16
    """A list of all keys up to the last is kept where it has at most so many entries for each that is in use. By judgement."""
    part: int = 2_000_000
    """Records whose holdings are ranked at a time, about: memory beside the positions does not grow with the records. By judgement."""
    listed: int = 1 << 22
    """A table of at most so many positions has a place for each of them while records of this process go by. By judgement."""
    batch: int = 1 << 17
    """Records that go by at a time. By judgement."""


TUNING = RollUpTuning()
_PRINT_SEED = 20_240_229


@dataclass(frozen=True, kw_only=True)
class LeafCells:
    """Sums per cell that holds a record, by ascending key: of the leaves, or of a level above them."""

    key: IntArray
    records: IntArray
    low_print: AnyArray
    high_print: AnyArray
    value: IntArray
    weight: IntArray
    mass: IntArray

    def __post_init__(self) -> None:
        _freeze(self)


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """What some respondents give to each leaf cell, grouped by respondent: see `rank_respondents`.

    Without names every record is a respondent, and records that are never among the largest are left out.
    """

    start: IntArray
    leaf: AnyArray
    amount: IntArray
    copies: IntArray
    flags: AnyArray
    name: AnyArray

    def __post_init__(self) -> None:
        _freeze(self)


def _freeze(arrays: LeafCells | Contributions) -> None:
    """Close all arrays for writing: a loop is compiled anew for every mixture of open and closed ones."""
    for field in fields(arrays):
        object.__setattr__(arrays, field.name, frozen_array(getattr(arrays, field.name)))


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Whose contributions are ranked: of which table and response, how many are kept, and what is known of each. `plain`: records weigh
    one, and the rules look at what is published."""

    table: int
    response: int
    top: int
    units: TableUnits
    holdings: bool
    flags: bool
    plain: bool = False

    def nothing(self, size: int) -> Ranks:
        return Ranks.none(size, self.top, copies=self.units.repeats, flags=self.flags, names=self.holdings)


def are_listed(session: Session, grid: Grid) -> bool:
    """Whether the records may go by once, each added to its place in a list of all positions: they must be in this process."""
    return session.in_process and prod(grid.shape) <= TUNING.listed


def read_leaves(session: Session, grid: Grid, wanted: Ranking, tables: int) -> Level:
    """The leaf cells that hold a record; where every record is a respondent, with what is known of the largest."""
    if are_listed(session, grid):
        sums, ranks = _added_records(session, grid, wanted)
        held = np.flatnonzero(sums[:, 0])
        totals = dict(zip(("records", "value", "weight", "mass"), np.ascontiguousarray(sums[held].T), strict=True))
        cells = LeafCells(key=held, **totals, **_prints(session, wanted.table, tables, held.size))
        level = Level.of_leaves(cells, wanted)
        return level if wanted.holdings else replace(level, ranks=Ranks(*(each[held] if each.size else each for each in ranks)))
    answer = leaf_sums(session, wanted.table, wanted.response)
    cells = LeafCells(
        **{name: _array(answer, name) for name in answer.column_names}, **_prints(session, wanted.table, tables, answer.num_rows)
    )
    level = Level.of_leaves(cells, wanted)
    if not wanted.holdings:
        answer = largest_record_amounts(session, wanted.table, wanted.response, wanted.top, repeats=wanted.units.repeats)
        level.rank(_contributions(answer, wanted, _finder(cells.key), np.arange(answer.num_rows), np.zeros(0, np.uint64)))
    return level


def _added_records(session: Session, grid: Grid, wanted: Ranking) -> tuple[IntArray, Ranks]:
    """Four sums (records, value, weight, mass) and the largest at each position, once all records went by."""
    size = prod(grid.shape)
    sums, where, ranks = np.zeros((size, 4), np.int64), _places(size), wanted.nothing(0 if wanted.holdings else size)
    nothing = np.zeros(0, np.int64)
    for columns in coded_batches(session, wanted.table, wanted.response, plain=wanted.plain, rows=TUNING.batch):
        key, value = columns["key"], columns["value"]
        add_records(RecordRows(key, value, columns.get("weight", nothing), columns.get("mass", nothing)), sums)
        if not wanted.holdings:
            copies = columns["copies"] if wanted.units.repeats else nothing
            flags = (columns["flags"] if wanted.flags else nothing).astype(np.uint8)
            rank_records(ContributionRows(nothing, key, columns.get("amount", value), copies, flags, nothing), where, ranks)
    return sums, ranks


def _prints(session: Session, table: int, tables: int, size: int) -> dict[str, AnyArray]:
    """Fingerprints of the leaf cells' sets of records: of one table any two numbers will do."""
    if tables == 1:
        return random_prints(size)
    answer = leaf_prints(session, table, tables)
    return {name: _array(answer, name) for name in ("low_print", "high_print")}


def random_prints(size: int) -> dict[str, AnyArray]:
    """Two numbers for each of so many sets; the exclusive or of some of them tells their union from all others (Zobrist, 1970)."""
    low, high = np.random.default_rng(_PRINT_SEED).integers(0, 2**64, size=(2, size), dtype=np.uint64)
    return {"low_print": low, "high_print": high}


def _places(size: int) -> AnyArray:
    return frozen_array(np.arange(size, dtype=np.int32))


def contribution_parts(session: Session, wanted: Ranking, leaves: LeafCells) -> Iterator[Contributions]:
    """The contributions of all holdings, some holdings at a time."""
    find = _finder(leaves.key)
    parts = -(-int(leaves.records.sum()) // TUNING.part)
    for answer, names in holding_parts(session, wanted.table, wanted.response, parts):
        yield _contributions(answer, wanted, find, starts_of(answer["holding"]), _array(names, "name"))


def _contributions(
    answer: pa.Table, wanted: Ranking, find: Callable[[IntArray], AnyArray], start: IntArray, names: AnyArray
) -> Contributions:
    nothing = np.zeros(0, dtype=np.int64)
    return Contributions(
        start=np.append(start, answer.num_rows).astype(np.int64),
        leaf=find(_array(answer, "key")),
        amount=_array(answer, "amount"),
        copies=_array(answer, "copies") if wanted.units.repeats else nothing,
        flags=_array(answer, "flags").astype(np.uint8) if wanted.flags else nothing.astype(np.uint8),
        name=names,
    )


def starts_of(column: pa.ChunkedArray) -> IntArray:
    """Where each run of equal values begins."""
    values = column.combine_chunks()
    new = pc.fill_null(pc.not_equal(values.slice(1), values.slice(0, max(len(values) - 1, 0))), False)
    return np.flatnonzero(np.append(np.ones(min(len(values), 1), np.bool_), np.asarray(new)))


def _finder(keys: IntArray) -> Callable[[IntArray], AnyArray]:
    """Where a wanted key stands among all, which ascend; by a list of all numbers up to the last where that is not long."""
    if not keys.size or keys[-1] > TUNING.dense * keys.size:
        return lambda wanted: np.searchsorted(keys, wanted).astype(np.int32)
    place = np.zeros(keys[-1] + 1, dtype=np.int32)
    place[keys] = np.arange(keys.size, dtype=np.int32)
    return lambda wanted: place[wanted]


def _array(answer: pa.Table, name: str) -> AnyArray:
    found = answer[name]
    column: AnyArray = (found.cast(pa.uint64()) if pa.types.is_decimal(found.type) else found).to_numpy()
    return column


@dataclass(frozen=True, kw_only=True)
class Level:
    """Positions of which no two share a leaf cell: their sums, the place among them of each position of a finer level (-1: none; that
    of the leaves is their own), and what is known of the largest."""

    cells: LeafCells
    step: AnyArray
    ranks: Ranks
    source: Level | None = None

    @classmethod
    def of_leaves(cls, cells: LeafCells, wanted: Ranking) -> Level:
        return cls(cells=cells, step=_places(cells.key.size), ranks=wanted.nothing(cells.key.size))

    @classmethod
    def above(cls, source: Level, ancestor: IntArray, wanted: Ranking) -> Level:
        """From the key of the position that each of the source's becomes, -1 for none."""
        key, place = _numbered(ancestor)
        step = frozen_array(place.astype(np.int32))
        sums = {}
        for name in ("records", "value", "weight", "mass", "low_print", "high_print"):
            below = getattr(source.cells, name)
            sums[name] = np.zeros(key.size, dtype=below.dtype)
            (xor_into if name.endswith("print") else add_into)(sums[name], step, below)
        ranks = wanted.nothing(key.size)
        if not wanted.holdings:
            raise_ranks(source.ranks, step, ranks)
        return cls(cells=LeafCells(key=key, **sums), step=step, ranks=ranks, source=source)

    @cached_property
    def position(self) -> AnyArray:
        """The place of each leaf cell's."""
        return self.step if self.source is None else frozen_array(np.append(self.step, np.int32(-1))[self.source.position])

    def rank(self, part: Contributions) -> None:
        rows = ContributionRows(*(getattr(part, name) for name in ContributionRows._fields))
        (rank_respondents if self.ranks.leader.size else rank_records)(rows, self.position, self.ranks)

    def leading(self, part: Contributions) -> IntArray:
        """Rows (key of a position, name of a respondent whose contribution there is the largest), once all parts are ranked."""
        respondent = np.repeat(np.arange(part.start.size - 1), np.diff(part.start))
        where = self.position[part.leaf]
        inside = np.flatnonzero(where >= 0)
        order = inside[np.lexsort((respondent[inside], where[inside]))]
        if not order.size:
            return np.zeros((0, 2), dtype=np.int64)
        where, respondent = where[order], respondent[order]
        starts = np.flatnonzero((np.diff(where, prepend=-1) != 0) | (np.diff(respondent, prepend=-1) != 0))
        given, where = np.abs(np.add.reduceat(part.amount[order], starts)), where[starts]
        leads = given == self.ranks.largest[where, 0]
        return np.stack([self.cells.key[where[leads]], part.name[respondent[starts][leads]].view(np.int64)], axis=1)

    def sums(self, wanted: Ranking) -> PositionSums:
        sums = {field.name: getattr(self.cells, field.name) for field in fields(LeafCells)}
        return PositionSums(**sums, **self._respondents(sums, wanted.units))

    def _respondents(self, sums: dict[str, IntArray], units: TableUnits) -> dict[str, IntArray]:
        state, largest, copies, flagged, _, leader = self.ranks
        if not leader.size:
            leader = largest[:, 0].astype(np.uint64)  # a record has no name; what it gives is the same in every cell that holds it
        if not flagged.size:
            flagged = np.stack([largest[:, 0], np.full(self.cells.key.size, -1)], axis=1)
        largest = np.maximum(largest, 0)
        if units.repeats:
            largest, flagged = largest_units(largest, copies, units.one), np.where(flagged < 0, -1, flagged * units.one)
        return {
            # where every record is a respondent, they are counted and added up already
            "respondents": state[:, 2].copy() if state.size else sums["records"],
            "magnitude": state[:, 3].copy() if state.size else sums["mass"],
            "top": largest,
            "unwaived": np.ascontiguousarray(flagged[:, 0]),
            "requested": np.ascontiguousarray(flagged[:, 1]),
            "leader": leader,
        }


def levels_above(grid: Grid, leaves: Level, wanted: Ranking) -> list[Level]:
    """Every combination of levels of a table, the leaves' own first."""
    levels = [leaves]
    for source, axis, up in steps(grid):
        key, stride = levels[source].cells.key, int(grid.strides[axis])
        code = key // stride % grid.shape[axis]
        higher = up[code]
        levels.append(Level.above(levels[source], np.where(higher >= 0, key + stride * (higher - code), -1), wanted))
    return levels


def rank_parts(levels: Sequence[Level], parts: Iterable[Contributions]) -> None:
    """Rank all respondents on all levels, part after part."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for part in parts:
            list(pool.map(lambda level, part=part: level.rank(part), levels))


def joined_levels(levels: Sequence[Level], wanted: Ranking) -> PositionSums:
    """All positions of a table, by ascending key."""
    positions = join_positions([level.sums(wanted) for level in levels])
    return positions.take(np.argsort(positions.key, kind="stable"))


def find_leaders(levels: Sequence[Level], parts: Iterable[Contributions]) -> IntArray:
    """Rows (key of a position, name of a holding whose contribution there is the largest; of equal ones, each), ascending."""
    found = [level.leading(part) for part in parts for level in levels]
    return np.unique(np.concatenate([np.zeros((0, 2), dtype=np.int64), *found]), axis=0)


def _numbered(ancestor: IntArray) -> tuple[IntArray, IntArray]:
    """The different keys, ascending, and where that of each leaf stands among them; -1 stays."""
    inside = ancestor >= 0
    last = int(ancestor.max(initial=-1))
    if last > TUNING.dense * ancestor.size:
        key = np.unique(ancestor[inside])
        return key, np.where(inside, np.searchsorted(key, ancestor), -1)
    held = np.zeros(last + 1, dtype=np.bool_)
    held[ancestor[inside]] = True
    number = np.append(np.cumsum(held) - 1, -1)  # the last is what -1 finds
    return np.flatnonzero(held), number[ancestor]


def largest_units(amounts: IntArray, copies: IntArray, one: int) -> IntArray:
    """The largest units when the record of `amounts[i, j]` stands for `copies[i, j] / one` equal units.

    The n largest units take the records in descending order, the last one in part; the n-th unit is what the n-th adds.
    """
    before = np.cumsum(copies, axis=1) - copies
    wanted = np.arange(1, amounts.shape[1] + 1) * one
    taken = [(np.clip(limit - before, 0, copies) * amounts).sum(axis=1) for limit in wanted]
    return np.diff(np.stack(taken, axis=1), axis=1, prepend=0)
