"""From leaf cells to every margin: sums are added up, respondents are ranked anew on each level."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import AnyArray, IntArray, frozen_array
from statveil.data.engines import Session
from statveil.data.queries.tabulation import holding_parts, largest_record_amounts, leaf_sums
from statveil.tables.coding import TableUnits
from statveil.tables.positions import REQUESTED, UNWAIVED, Grid, PositionSums, combinations, join_positions


class RollUpTuning(NamedTuple):
    """How positions are numbered, and how many records are looked at together."""

    dense: int = 16
    """A list of all keys up to the last is kept where it has at most so many entries for each that is in use. By judgement."""
    part: int = 2_000_000
    """Records whose holdings are ranked at a time, about: memory beside the positions does not grow with the records. By judgement."""


TUNING = RollUpTuning()


@numba.njit(cache=True, nogil=True)
def add_into(target: Any, position: Any, source: Any) -> None:
    """Add each leaf to its position; leaves at -1 are left out."""
    for leaf in range(position.size):
        if position[leaf] >= 0:
            target[position[leaf]] += source[leaf]


@numba.njit(cache=True, nogil=True)
def xor_into(target: Any, position: Any, source: Any) -> None:
    """The same with the exclusive or: fingerprints."""
    for leaf in range(position.size):
        if position[leaf] >= 0:
            target[position[leaf]] ^= source[leaf]


@numba.njit(cache=True, nogil=True)
def place_among(largest: Any, amount: int) -> Any:
    """Move smaller amounts down and put this one in its place; -1 if it is none of the largest."""
    if largest[-1] >= amount:
        return -1
    place = largest.size - 1
    while place > 0 and largest[place - 1] < amount:
        largest[place] = largest[place - 1]
        place -= 1
    largest[place] = amount
    return place


@numba.njit(cache=True, nogil=True)
def insert_at(copies: Any, place: int, copy: int) -> None:
    """Put the copies of a respondent where its amount went, smaller ones moved down; nothing at -1."""
    if place < 0:
        return
    for lower in range(copies.size - 1, place, -1):
        copies[lower] = copies[lower - 1]
    copies[place] = copy


@numba.njit(cache=True, nogil=True)
def raise_flagged(largest: Any, flags: int, contribution: int) -> None:
    """The largest contribution of a respondent who has not waived, and of one who asked, with this one."""
    if flags & UNWAIVED:
        largest[0] = max(largest[0], contribution)
    if flags & REQUESTED:
        largest[1] = max(largest[1], contribution)


@numba.njit(cache=True, nogil=True)
def lead(leader: Any, where: int, largest: int, contribution: int, name: Any, respondent: int) -> None:
    """Who leads there once this contribution is known: of equal ones the larger name; nothing where there are no names."""
    if name.size and (contribution > largest or (contribution == largest and name[respondent] > leader[where])):
        leader[where] = name[respondent]


class ContributionRows(NamedTuple):
    """The arrays of `Contributions`, for compiled code."""

    start: Any
    leaf: Any
    amount: Any
    copies: Any
    flags: Any
    name: Any


class Ranks(NamedTuple):
    """What is known of each position so far, for compiled code. Empty places of `largest` and `flagged` hold -1.

    `state` holds four numbers side by side, because a position is looked up at random: one visit to memory instead of four. They are the
    respondent that was seen last and what it gave, the respondents so far, and their absolute contributions added up.
    """

    state: Any
    largest: Any
    copies: Any
    flagged: Any
    given_flags: Any
    leader: Any

    @classmethod
    def none(cls, size: int, top: int, *, copies: bool, flags: bool, names: bool) -> Ranks:
        return cls(
            state=np.zeros((size if names else 0, 4), np.int64),
            largest=np.full((size, top), -1, np.int64),
            copies=np.zeros((size if copies else 0, top), np.int64),
            flagged=np.full((size if flags else 0, 2), -1, np.int64),
            given_flags=np.zeros(size if flags and names else 0, np.uint8),
            leader=np.zeros(size if names else 0, np.uint64),
        )


@numba.njit(cache=True, nogil=True)
def rank_respondents(rows: ContributionRows, position: Any, ranks: Ranks) -> None:
    """Per position: respondents, their absolute contributions added up, the largest of them, of those unwaived, of those requesting,
    and the name of the one who leads: of several that give the same, the largest name, so that the order of records does not matter.

    Rows `start[h]` to `start[h + 1]` are the contributions of respondent h to leaf cells. They are added up at
    every position first: what a holding gives to a margin may be less than the sum of what it gives below.
    `copies` and `flags` hold one number per row, `name` one per respondent, or nothing where they are of no use. Respondents may come in
    several calls, each respondent in one.
    """
    start, leaf, amount, copies, flags, name = rows
    state, largest, largest_copies, largest_flagged, given_flags, leader = ranks
    seen_by, given, respondents, magnitude = state[:, 0], state[:, 1], state[:, 2], state[:, 3]
    seen_by[:] = -1
    touched = np.zeros(seen_by.size, np.int64)
    for respondent in range(start.size - 1):
        count = 0
        for row in range(start[respondent], start[respondent + 1]):
            where = position[leaf[row]]
            if where < 0:
                continue
            if seen_by[where] != respondent:
                seen_by[where] = respondent
                given[where] = 0
                if flags.size:
                    given_flags[where] = 0
                touched[count] = where
                count += 1
            given[where] += amount[row]
            if flags.size:
                given_flags[where] |= flags[row]
        for where in touched[:count]:
            contribution = abs(given[where])
            respondents[where] += 1
            magnitude[where] += contribution
            lead(leader, where, largest[where, 0], contribution, name, respondent)
            place = place_among(largest[where], contribution)
            if copies.size:
                insert_at(largest_copies[where], place, copies[start[respondent]])
            if flags.size:
                raise_flagged(largest_flagged[where], given_flags[where], contribution)


@numba.njit(cache=True, nogil=True)
def rank_records(rows: ContributionRows, position: Any, ranks: Ranks) -> None:
    """The same where every row is a respondent of its own; they are not counted and not added up, and have no names."""
    leaf, amount, copies, flags = rows.leaf, rows.amount, rows.copies, rows.flags
    largest, largest_copies, largest_flagged = ranks.largest, ranks.copies, ranks.flagged
    for row in range(leaf.size):
        where = position[leaf[row]]
        if where < 0:
            continue
        contribution = abs(amount[row])
        place = place_among(largest[where], contribution)
        if copies.size:
            insert_at(largest_copies[where], place, copies[row])
        if flags.size:
            raise_flagged(largest_flagged[where], flags[row], contribution)


@dataclass(frozen=True, kw_only=True)
class LeafCells:
    """Sums per leaf cell that holds a record, by ascending key."""

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


def read_leaf_cells(session: Session, table: int, response: int, tables: int) -> LeafCells:
    answer = leaf_sums(session, table, response, tables)
    return LeafCells(**{name: _array(answer, name) for name in answer.column_names})


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Whose contributions are ranked: of which table and response, how many are kept, and what is known of each."""

    table: int
    response: int
    top: int
    units: TableUnits
    holdings: bool
    flags: bool

    def nothing(self, size: int) -> Ranks:
        return Ranks.none(size, self.top, copies=self.units.repeats, flags=self.flags, names=self.holdings)


def contribution_parts(session: Session, wanted: Ranking, leaves: LeafCells) -> Iterator[Contributions]:
    """All contributions, some holdings at a time; or the largest of each leaf cell, where every record is a respondent."""
    find = _finder(leaves.key)
    if not wanted.holdings:
        answer = largest_record_amounts(session, wanted.table, wanted.response, wanted.top, repeats=wanted.units.repeats)
        yield _contributions(answer, wanted, find, np.arange(answer.num_rows), np.zeros(0, np.uint64))
        return
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
    """Positions of which no two share a leaf cell: their keys, the place of each leaf cell's among them (-1: none), and what is known."""

    key: IntArray
    position: IntArray
    ranks: Ranks

    @classmethod
    def of(cls, ancestor: IntArray, wanted: Ranking) -> Level:
        key, position = _numbered(ancestor)
        return cls(key=key, position=position.astype(np.int32), ranks=wanted.nothing(key.size))

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
        return np.stack([self.key[where[leads]], part.name[respondent[starts][leads]].view(np.int64)], axis=1)

    def sums(self, leaves: LeafCells, wanted: Ranking) -> PositionSums:
        sums = {}
        for name in ("records", "value", "weight", "mass", "low_print", "high_print"):
            source = getattr(leaves, name)
            sums[name] = np.zeros(self.key.size, dtype=source.dtype)
            (xor_into if name.endswith("print") else add_into)(sums[name], self.position, source)
        return PositionSums(key=self.key, **sums, **self._respondents(sums, wanted.units))

    def _respondents(self, sums: dict[str, IntArray], units: TableUnits) -> dict[str, IntArray]:
        state, largest, copies, flagged, _, leader = self.ranks
        if not leader.size:
            leader = largest[:, 0].astype(np.uint64)  # a record has no name; what it gives is the same in every cell that holds it
        if not flagged.size:
            flagged = np.stack([largest[:, 0], np.full(self.key.size, -1)], axis=1)
        largest = np.maximum(largest, 0)
        if units.repeats:
            largest, flagged = largest_units(largest, copies, units.one), np.where(flagged < 0, -1, flagged * units.one)
        return {
            # where every record is a respondent, they are counted and added up already
            "respondents": state[:, 2].copy() if state.size else sums["records"].copy(),
            "magnitude": state[:, 3].copy() if state.size else sums["mass"].copy(),
            "top": largest,
            "unwaived": np.ascontiguousarray(flagged[:, 0]),
            "requested": np.ascontiguousarray(flagged[:, 1]),
            "leader": leader,
        }


def levels_of_leaves(grid: Grid, leaves: LeafCells, wanted: Ranking) -> list[Level]:
    """Every combination of levels of a table."""
    return [Level.of(ancestor, wanted) for ancestor in combinations(grid, grid.coordinates(leaves.key))]


def rank_parts(levels: Sequence[Level], parts: Iterable[Contributions]) -> None:
    """Rank all respondents on all levels, part after part."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for part in parts:
            list(pool.map(lambda level, part=part: level.rank(part), levels))


def joined_levels(levels: Sequence[Level], leaves: LeafCells, wanted: Ranking) -> PositionSums:
    """All positions of a table, by ascending key."""
    positions = join_positions([level.sums(leaves, wanted) for level in levels])
    return positions.take(np.argsort(positions.key))


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
