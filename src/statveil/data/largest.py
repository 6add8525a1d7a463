"""Compiled: sums of positions, and the largest of what is given to each, of records or of respondents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

UNWAIVED, REQUESTED = 1, 2
"""Bits of a respondent's flags; a holding has the bits that any of its records has."""


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
def add_records(rows: RecordRows, sums: Any) -> None:
    """Add each record to its cell: one, its value, its weight, its mass. They lie side by side, because a cell is looked up at random.
    Without weights a record weighs one, and its mass is the size of its value."""
    for row in range(rows.key.size):
        cell = sums[rows.key[row]]
        cell[0] += 1
        cell[1] += rows.value[row]
        if rows.weight.size:
            cell[2] += rows.weight[row]
            cell[3] += rows.mass[row]
        else:
            cell[2] += 1
            cell[3] += abs(rows.value[row])


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


class RecordRows(NamedTuple):
    """Columns of records, for compiled code."""

    key: Any
    value: Any
    weight: Any
    mass: Any


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


@numba.njit(cache=True, nogil=True)
def raise_ranks(lower: Ranks, position: Any, upper: Ranks) -> None:
    """The same from positions of a finer level: the largest there are all that can be the largest here."""
    for below in range(position.size):
        where = position[below]
        if where < 0:
            continue
        for rank in range(lower.largest.shape[1]):
            if lower.largest[below, rank] < 0:
                break
            place = place_among(upper.largest[where], lower.largest[below, rank])
            if lower.copies.size:
                insert_at(upper.copies[where], place, lower.copies[below, rank])
        if lower.flagged.size:
            for kind in range(2):
                upper.flagged[where, kind] = max(upper.flagged[where, kind], lower.flagged[below, kind])
