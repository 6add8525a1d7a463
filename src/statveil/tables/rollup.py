"""From leaf cells to every margin: sums are added up, respondents are ranked anew on each level."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa

from statveil.core.arrays import AnyArray, BoolArray, IntArray, frozen_array
from statveil.data.engines import Session
from statveil.data.queries.tabulation import holding_amounts, holding_names, largest_record_amounts, leaf_sums, record_amounts
from statveil.tables.coding import TableUnits
from statveil.tables.positions import REQUESTED, UNWAIVED, Grid, PositionSums, combinations, join_positions
from statveil.tables.spec import TableSpec


class RollUpTuning(NamedTuple):
    """How positions are numbered."""

    dense: int = 16
    """A list of all keys up to the last is kept where it has at most so many entries for each that is in use. By judgement."""


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


@numba.njit(cache=True, nogil=True)
def rank_respondents(rows: ContributionRows, position: Any, size: int, top: int) -> Any:
    """Per position: respondents, their absolute contributions added up, the largest of them, of those unwaived, of those requesting,
    and the name of the one who leads: of several that give the same, the largest name, so that the order of records does not matter.

    Rows `start[h]` to `start[h + 1]` are the contributions of respondent h to leaf cells. They are added up at
    every position first: what a holding gives to a margin may be less than the sum of what it gives below.
    `copies` and `flags` hold one number per row, `name` one per respondent, or nothing where they are of no use. Empty places hold -1.
    """
    start, leaf, amount, copies, flags, name = rows
    # Side by side, because a position is looked up at random: one visit to memory instead of four.
    state = np.zeros((size, 4), np.int64)
    seen_by, given, respondents, magnitude = state[:, 0], state[:, 1], state[:, 2], state[:, 3]
    seen_by[:] = -1
    largest = np.full((size, top), -1, np.int64)
    largest_copies = np.zeros((size if copies.size else 0, top), np.int64)
    largest_flagged = np.full((size if flags.size else 0, 2), -1, np.int64)
    given_flags = np.zeros(size if flags.size else 0, np.uint8)
    leader = np.zeros(size if name.size else 0, np.uint64)
    touched = np.zeros(size, np.int64)
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
    return respondents.copy(), magnitude.copy(), largest, largest_copies, largest_flagged, leader


@numba.njit(cache=True, nogil=True)
def rank_records(rows: ContributionRows, position: Any, size: int, top: int) -> Any:
    """The same where every row is a respondent of its own; they are not counted and not added up, and have no names."""
    leaf, amount, copies, flags = rows.leaf, rows.amount, rows.copies, rows.flags
    largest = np.full((size, top), -1, np.int64)
    largest_copies = np.zeros((size if copies.size else 0, top), np.int64)
    largest_flagged = np.full((size if flags.size else 0, 2), -1, np.int64)
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
    nothing = np.zeros(0, np.int64)
    return nothing, nothing, largest, largest_copies, largest_flagged, np.zeros(0, np.uint64)


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
    """What each respondent gives to each leaf cell, grouped by respondent: see `rank_respondents`.

    Without names every record is a respondent, and records that are never among the largest may be left out.
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


class ContributionsWanted(NamedTuple):
    """Of which table and response, and the number of largest records a leaf cell; None reads them all."""

    table: int
    response: int
    top: int | None


def read_contributions(
    session: Session, wanted: ContributionsWanted, leaves: LeafCells, spec: TableSpec, units: TableUnits
) -> Contributions:
    table, response, top = wanted
    nothing = np.zeros(0, dtype=np.int64)
    if spec.holding:
        answer = holding_amounts(session, table, response)
        start = np.flatnonzero(np.diff(_array(answer, "holding"), prepend=-1))
        names = _array(holding_names(session), "name")[_array(answer, "holding")[start]]
    else:
        few = partial(largest_record_amounts, session, table, response, repeats=units.repeats)
        answer = few(top) if top else record_amounts(session, table, response)
        start, names = np.arange(answer.num_rows), nothing.astype(np.uint64)
    return Contributions(
        start=np.append(start, answer.num_rows).astype(np.int64),
        leaf=_places(leaves.key, _array(answer, "key")),
        amount=_array(answer, "amount"),
        copies=_array(answer, "copies") if units.repeats else nothing,
        flags=_array(answer, "flags").astype(np.uint8) if spec.waiver or spec.request else nothing.astype(np.uint8),
        name=names,
    )


def _places(keys: IntArray, wanted: IntArray) -> AnyArray:
    """Where each wanted key stands among all, which ascend; by a list of all numbers up to the last where that is not long."""
    if not keys.size or keys[-1] > TUNING.dense * (keys.size + wanted.size):
        return np.searchsorted(keys, wanted).astype(np.int32)
    place = np.zeros(keys[-1] + 1, dtype=np.int32)
    place[keys] = np.arange(keys.size, dtype=np.int32)
    return place[wanted]


def _array(answer: pa.Table, name: str) -> AnyArray:
    found = answer[name]
    column: AnyArray = (found.cast(pa.uint64()) if pa.types.is_decimal(found.type) else found).to_numpy()
    return column


def roll_up(grid: Grid, leaves: LeafCells, contributions: Contributions, *, top: int, units: TableUnits) -> PositionSums:
    """All positions of a table, by ascending key."""
    level = partial(_one_level, leaves, contributions, top, units)
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        positions = join_positions(list(pool.map(level, combinations(grid, grid.coordinates(leaves.key)))))
    return positions.take(np.argsort(positions.key))


def roll_up_union(leaves: LeafCells, contributions: Contributions, inside: BoolArray, *, top: int, units: TableUnits) -> PositionSums:
    """The one position that all leaf cells inside make together, under the key zero."""
    return _one_level(leaves, contributions, top, units, np.where(inside, 0, -1).astype(np.int64))


def find_leaders(grid: Grid, leaves: LeafCells, rows: Contributions) -> IntArray:
    """Rows (key of a position, number of a respondent whose contribution there is the largest; of equal ones, each)."""
    respondent = np.repeat(np.arange(rows.start.size - 1), np.diff(rows.start))
    found = [
        _leaders_of_level(ancestor[rows.leaf], respondent, rows.amount) for ancestor in combinations(grid, grid.coordinates(leaves.key))
    ]
    return np.concatenate([np.zeros((0, 2), dtype=np.int64), *found])


def _leaders_of_level(key: IntArray, respondent: IntArray, amount: IntArray) -> IntArray:
    inside = np.flatnonzero(key >= 0)
    order = inside[np.lexsort((respondent[inside], key[inside]))]
    if not order.size:
        return np.zeros((0, 2), dtype=np.int64)
    key, respondent = key[order], respondent[order]
    starts = np.flatnonzero((np.diff(key, prepend=-1) != 0) | (np.diff(respondent, prepend=-1) != 0))
    given, key, respondent = np.abs(np.add.reduceat(amount[order], starts)), key[starts], respondent[starts]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    largest = np.repeat(np.maximum.reduceat(given, first), np.diff(np.append(first, key.size)))
    leading = given == largest
    return np.stack([key[leading], respondent[leading]], axis=1)


def _one_level(leaves: LeafCells, contributions: Contributions, top: int, units: TableUnits, ancestor: IntArray) -> PositionSums:

    key, position = _numbered(ancestor)
    sums = {}
    for name in ("records", "value", "weight", "mass", "low_print", "high_print"):
        source = getattr(leaves, name)
        sums[name] = np.zeros(key.size, dtype=source.dtype)
        (xor_into if name.endswith("print") else add_into)(sums[name], position, source)
    found = _respondents(contributions, position, key.size, top, units=units)
    if not contributions.name.size:  # every record is a respondent, so that they are counted and added up already
        found |= {"respondents": sums["records"].copy(), "magnitude": sums["mass"].copy()}
    return PositionSums(key=key, **sums, **found)


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


def _respondents(rows: Contributions, position: IntArray, size: int, top: int, *, units: TableUnits) -> dict[str, IntArray]:

    given = ContributionRows(*(getattr(rows, name) for name in ContributionRows._fields))
    rank = rank_respondents if rows.name.size else rank_records
    respondents, magnitude, largest, copies, flagged, leader = rank(given, position, size, top)
    if not leader.size:
        leader = largest[:, 0].astype(np.uint64)  # a record has no name; what it gives is the same in every cell that holds it
    if not rows.flags.size:
        flagged = np.stack([largest[:, 0], np.full(size, -1)], axis=1)
    largest = np.maximum(largest, 0)
    if units.repeats:
        largest, flagged = largest_units(largest, copies, units.one), np.where(flagged < 0, -1, flagged * units.one)
    return {
        "respondents": respondents,
        "magnitude": magnitude,
        "top": largest,
        "unwaived": np.ascontiguousarray(flagged[:, 0]),
        "requested": np.ascontiguousarray(flagged[:, 1]),
        "leader": leader,
    }


def largest_units(amounts: IntArray, copies: IntArray, one: int) -> IntArray:
    """The largest units when the record of `amounts[i, j]` stands for `copies[i, j] / one` equal units.

    The n largest units take the records in descending order, the last one in part; the n-th unit is what the n-th adds.
    """
    before = np.cumsum(copies, axis=1) - copies
    wanted = np.arange(1, amounts.shape[1] + 1) * one
    taken = [(np.clip(limit - before, 0, copies) * amounts).sum(axis=1) for limit in wanted]
    return np.diff(np.stack(taken, axis=1), axis=1, prepend=0)
