"""Households: a blank in a shared field is made for all members.

Given the shared blanks of a household its members are independent, and few sets of shared blanks exist: each is priced, for every
different pattern, by the cheapest blanks in the other fields, and every household takes its best. That is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.anonymise.covers import cheapest_covers, minimal_covers, minimal_sets
from statveil.anonymise.frequencies import Words, distinct_patterns
from statveil.anonymise.problem import COST_UNIT, TIE_UNIT, SuppressionProblem
from statveil.anonymise.programs import Group, choose_households
from statveil.arrays import FloatArray, IntArray
from statveil.errors import InputError

MOST_SHARED = 10
IMPOSSIBLE = 1e30


class _Priced(NamedTuple):
    """For each pattern and set of shared blanks: all units to blank, and what they cost in one record."""

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
        cost[:, place] = np.where(stuck, IMPOSSIBLE, price + sum(int(problem.unit_cost[unit]) for unit in shared if blank >> unit & 1))
    return _Priced(blanks, units, cost / (COST_UNIT * TIE_UNIT))


def _bits(tables: IntArray, words: int) -> Words:
    found = np.zeros(words, dtype=np.uint64)
    for table in tables:
        found[table // 64] |= np.uint64(1) << np.uint64(table % 64)
    return found


def cover_households(problem: SuppressionProblem, patterns: Words, *, seconds: float) -> tuple[IntArray, float, bool]:
    """Units to blank for each row of `problem.coded.households`, whose patterns these are, the bound proved on their cost, and whether
    none of equal cost have a lower second cost."""
    homes = problem.coded.households
    assert homes is not None
    distinct, inverse = distinct_patterns(patterns)
    priced = _priced(problem, distinct)
    if problem.coded.keys.caps:
        return _capped(problem, distinct, inverse, priced, seconds)
    mass = (problem.coded.mass / problem.coded.count)[homes.key]
    total = np.zeros((len(homes.names), len(priced.blanks)))
    for place in range(len(priced.blanks)):
        total[:, place] = np.bincount(homes.home, weights=priced.cost[inverse, place] * mass, minlength=len(homes.names))
    best = np.argmin(total, axis=1)
    units = np.asarray(priced.units[inverse, best[homes.home]], dtype=np.int64)
    return units, float((problem.mask_cost(problem.fields_of(units)) * mass).sum()), True


def _capped(
    problem: SuppressionProblem, distinct: Words, inverse: IntArray, priced: _Priced, seconds: float
) -> tuple[IntArray, float, bool]:
    """Kinds of households under caps: an integer program, dealt out to the households in their order."""
    homes = problem.coded.households
    assert homes is not None
    shared = sum(1 << unit for unit in shared_units(problem))
    kinds, kind_of, members = _kinds(problem, inverse)
    covers = [_covers(problem, distinct[part], shared) for part in range(len(distinct))]
    sizes = np.bincount(inverse, minlength=len(distinct))
    mass_of = problem.coded.mass / problem.coded.count
    parts = [Group(int(sizes[part]), float(mass_of.mean()), covers[part]) for part in range(len(distinct))]
    numbers = np.bincount(kind_of, minlength=len(kinds))
    kind_groups = [Group(int(numbers[kind]), 0.0, _possible(priced, members[kind])) for kind in range(len(kinds))]
    by_home, by_part, found = choose_households(problem, kind_groups, members, parts, shared, seconds=seconds)
    return _dealt(problem, inverse, kind_of, by_home, by_part), found.bound, found.settled


def _kinds(
    problem: SuppressionProblem, inverse: IntArray
) -> tuple[list[tuple[tuple[int, int], ...]], IntArray, list[list[tuple[int, int]]]]:
    homes = problem.coded.households
    assert homes is not None
    found: dict[tuple[tuple[int, int], ...], int] = {}
    kind_of = np.zeros(len(homes.names), dtype=np.int64)
    bounds = np.searchsorted(homes.home, np.arange(len(homes.names) + 1))
    for home in range(len(homes.names)):
        rows = slice(bounds[home], bounds[home + 1])
        number: dict[int, int] = {}
        for part in inverse[rows]:
            number[int(part)] = number.get(int(part), 0) + 1
        kind_of[home] = found.setdefault(tuple(sorted(number.items())), len(found))
    kinds = list(found)
    return kinds, kind_of, [list(kind) for kind in kinds]


def _covers(problem: SuppressionProblem, pattern: Words, shared: int) -> list[int]:
    """Minimal covers, and each of them with more shared units: others of the household may need those."""
    minimal = minimal_covers(minimal_sets(pattern, problem.table_masks)) or [0]
    units = [unit for unit in range(shared.bit_length()) if shared >> unit & 1]
    more = [sum(1 << unit for place, unit in enumerate(units) if number >> place & 1) for number in range(2 ** len(units))]
    widened = {cover | each for cover in minimal for each in more}
    return sorted(cover for cover in widened if not any(
        other != cover and other & cover == other and other & shared == cover & shared for other in widened))  # fmt: skip


def _possible(priced: _Priced, members: list[tuple[int, int]]) -> list[int]:
    return [blank for place, blank in enumerate(priced.blanks) if all(priced.cost[part, place] < IMPOSSIBLE / 1e20 for part, _ in members)]


def _dealt(
    problem: SuppressionProblem, inverse: IntArray, kind_of: IntArray,
    by_home: list[list[tuple[int, int]]], by_part: dict[tuple[int, int], list[tuple[int, int]]],
) -> IntArray:  # fmt: skip
    """Give each household its shared blanks and each of its rows a cover, in order, until the numbers are used up."""
    homes = problem.coded.households
    assert homes is not None
    left = {pair: [list(each) for each in choices] for pair, choices in by_part.items()}
    queue = [[list(each) for each in choices] for choices in by_home]
    blanks = np.zeros(len(homes.names), dtype=np.int64)
    for home, kind in enumerate(kind_of):
        blanks[home] = queue[kind][0][0]
        queue[kind][0][1] -= 1
        if not queue[kind][0][1]:
            queue[kind].pop(0)
    units = np.zeros(homes.key.size, dtype=np.int64)
    for row in range(units.size):
        choices = left[int(inverse[row]), int(blanks[homes.home[row]])]
        units[row] = choices[0][0]
        choices[0][1] -= 1
        if not choices[0][1]:
            choices.pop(0)
    return units
