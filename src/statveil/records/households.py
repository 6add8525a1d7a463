"""Households: a blank in a shared field is made for all members.

Given the shared blanks of a household its members are independent, and few sets of shared blanks exist: each is priced, for every
different pattern, by the cheapest blanks in the other fields, and every household takes its best. That is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.records.frequencies import Words, distinct_patterns
from statveil.records.suppress.blanks import known_only
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.problem import SuppressionProblem

MOST_SHARED = 10
IMPOSSIBLE = 1e30


class _Priced(NamedTuple):
    """For each pattern and set of shared blanks: all units to blank, and what those that are not shared cost in one record."""

    blanks: list[int]
    units: IntArray
    cost: FloatArray


def shared_units(problem: SuppressionProblem) -> list[int]:
    places = [problem.coded.keys.names.index(name) for name in problem.coded.keys.shared]
    units = sorted({int(problem.unit_of[place]) for place in places})
    if len(units) > MOST_SHARED:
        raise InputError(f"{len(units)} shared fields are more than {MOST_SHARED}.", hint="Keep those that an intruder may know.")
    return units


def _priced(problem: SuppressionProblem, patterns: Words) -> _Priced:
    shared = shared_units(problem)
    every = sum(1 << unit for unit in shared)
    blanks = [sum(1 << unit for place, unit in enumerate(shared) if number >> place & 1) for number in range(2 ** len(shared))]
    units, cost = np.zeros((len(patterns), len(blanks)), dtype=np.int64), np.zeros((len(patterns), len(blanks)))
    masks = problem.table_masks
    for place, blank in enumerate(blanks):
        left = np.where(masks & blank, 0, masks)
        own = left & ~every
        words = patterns & ~_bits(np.flatnonzero(masks & blank), patterns.shape[1])
        stuck = (patterns & _bits(np.flatnonzero((left != 0) & (own == 0)), patterns.shape[1])).any(axis=1)
        chosen, price = cheapest_covers(words, np.where(own == 0, masks, own), problem.unit_cost)
        units[:, place] = chosen | blank
        cost[:, place] = np.where(stuck, IMPOSSIBLE, price)
    return _Priced(blanks, units, cost)


def _bits(tables: IntArray, words: int) -> Words:
    found = np.zeros(words, dtype=np.uint64)
    for table in tables:
        found[table // 64] |= np.uint64(1) << np.uint64(table % 64)
    return found


def cover_households(problem: SuppressionProblem, patterns: Words) -> tuple[IntArray, float]:
    """Units to blank for each row of `problem.coded.households`, whose patterns these are, and what they cost.

    A shared blank costs nothing in a member of whom the value is unknown anyway.
    """
    homes = problem.coded.households
    assert homes is not None
    distinct, inverse = distinct_patterns(patterns)
    priced = _priced(problem, distinct)
    mass = (problem.coded.mass / problem.coded.count)[homes.key]
    every = problem.units_of(known_only(problem, homes.key, np.full(homes.key.size, (1 << problem.unit_of.size) - 1, dtype=np.int64)))
    shared = {unit: ((every >> unit) & 1) * int(problem.unit_cost[unit]) for unit in shared_units(problem)}
    total = np.zeros((len(homes.names), len(priced.blanks)))
    for place, blanks in enumerate(priced.blanks):
        each = priced.cost[inverse, place] + sum(cost for unit, cost in shared.items() if blanks >> unit & 1)
        total[:, place] = np.bincount(homes.home, weights=each * mass, minlength=len(homes.names))
    best = np.argmin(total, axis=1)
    units = np.asarray(priced.units[inverse, best[homes.home]], dtype=np.int64)
    return units, float((problem.mask_cost(problem.fields_of(units & every)) * mass).sum())
