"""The hot loops of tabulation, compiled: adding up and ranking respondents in one pass per level."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from statveil.table.cells import REQUESTED, UNWAIVED


@numba.njit(cache=True, nogil=True)
def add_into(target: Any, position: Any, source: Any) -> None:
    for leaf in range(position.size):
        if position[leaf] >= 0:
            target[position[leaf]] += source[leaf]


@numba.njit(cache=True, nogil=True)
def xor_into(target: Any, position: Any, source: Any) -> None:
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
    if place < 0:
        return
    for lower in range(copies.size - 1, place, -1):
        copies[lower] = copies[lower - 1]
    copies[place] = copy


@numba.njit(cache=True, nogil=True)
def raise_flagged(largest: Any, flags: int, contribution: int) -> None:
    if flags & UNWAIVED:
        largest[0] = max(largest[0], contribution)
    if flags & REQUESTED:
        largest[1] = max(largest[1], contribution)


@numba.njit(cache=True, nogil=True)
def rank_respondents(start: Any, leaf: Any, amount: Any, copies: Any, flags: Any, position: Any, size: int, top: int) -> Any:
    """Per position: respondents, their absolute contributions added up, the largest of them, of those unwaived, of those requesting.

    Rows `start[h]` to `start[h + 1]` are the contributions of respondent h to leaf cells. They are added up at
    every position first: what a holding gives to a margin may be less than the sum of what it gives below.
    `copies` and `flags` hold one number per row, or nothing where they are of no use. Empty places hold -1.
    """
    # Side by side, because a position is looked up at random: one visit to memory instead of four.
    state = np.zeros((size, 4), np.int64)
    seen_by, given, respondents, magnitude = state[:, 0], state[:, 1], state[:, 2], state[:, 3]
    seen_by[:] = -1
    largest = np.full((size, top), -1, np.int64)
    largest_copies = np.zeros((size if copies.size else 0, top), np.int64)
    largest_flagged = np.full((size if flags.size else 0, 2), -1, np.int64)
    given_flags = np.zeros(size if flags.size else 0, np.uint8)
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
            place = place_among(largest[where], contribution)
            if copies.size:
                insert_at(largest_copies[where], place, copies[start[respondent]])
            if flags.size:
                raise_flagged(largest_flagged[where], given_flags[where], contribution)
    return respondents.copy(), magnitude.copy(), largest, largest_copies, largest_flagged
