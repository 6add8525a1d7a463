"""The cheapest blanks for one pattern of unsafe combinations: a weighted hitting set, exactly (S4, eq. 1 for one record).

Fields are bits of a number. Costs are whole numbers with the second objective in their lowest digits, so that "cheaper" is exact and
ties are broken on purpose.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.core.arrays import IntArray
from statveil.records.frequencies import Words

LARGEST = 2**62


@njit(cache=True)
def _sets_of(pattern, masks, sets):  # type: ignore[no-untyped-def]
    """The inclusion-minimal unsafe combinations (minucs) of a pattern; their number."""
    found = 0
    for table in range(masks.size):
        if pattern[table // 64] == 0 or not (pattern[table // 64] >> np.uint64(table % 64)) & np.uint64(1):
            continue
        mask, kept, dominated = masks[table], 0, False
        for other in range(found):
            if sets[other] & mask == sets[other]:
                dominated = True
                break
        if dominated:
            continue
        for other in range(found):
            if sets[other] & mask != mask:
                sets[kept] = sets[other]
                kept += 1
        sets[kept] = mask
        found = kept + 1
    return found


@njit(cache=True)
def _cheapest(sets, found, cost, taken, barred, spent):  # type: ignore[no-untyped-def]  # noqa: C901 - one loop that must not call
    """Branch and bound: hit the narrowest set that is not hit yet, one of its fields at a time, never looking at a choice twice."""
    fields = cost.size
    best, best_mask = LARGEST, 0
    taken[0] = barred[0] = spent[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        mask, without, price = taken[depth], barred[depth], spent[depth]
        narrow, width, bound, used = -1, 65, price, 0
        for number in range(found):
            if sets[number] & mask:
                continue
            open_fields = sets[number] & ~without
            size, least = 0, LARGEST
            for field in range(fields):
                if (open_fields >> field) & 1:
                    size += 1
                    least = min(least, cost[field])
            if size == 0:
                bound = LARGEST
                break
            if size < width:
                narrow, width = number, size
            if not open_fields & used:
                used |= open_fields
                bound += least
        if bound >= best:
            continue
        if narrow < 0:
            best, best_mask = price, mask
            continue
        choices = sets[narrow] & ~without
        passed = without
        for field in range(fields):
            if (choices >> field) & 1:
                taken[depth], barred[depth], spent[depth] = mask | (1 << field), passed, price + cost[field]
                passed |= 1 << field
                depth += 1
    return best_mask, best


@njit(cache=True)
def _cover_all(patterns, masks, cost, chosen, price):  # type: ignore[no-untyped-def]
    """The cheapest hitting set of each pattern's minimal combinations, and its price."""
    sets = np.empty(masks.size, np.int64)
    room = cost.size * cost.size + 8
    taken, barred, spent = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    for number in range(patterns.shape[0]):
        found = _sets_of(patterns[number], masks, sets)
        chosen[number], price[number] = _cheapest(sets, found, cost, taken, barred, spent)


def cheapest_covers(patterns: Words, masks: IntArray, cost: IntArray) -> tuple[IntArray, IntArray]:
    """For each pattern the fields to blank, as bits, and what they cost."""
    chosen, price = np.zeros(len(patterns), dtype=np.int64), np.zeros(len(patterns), dtype=np.int64)
    _cover_all(patterns, masks, cost, chosen, price)
    return chosen, price


def minimal_sets(pattern: Words, masks: IntArray) -> list[int]:
    """The minucs of a pattern as bits of fields."""
    sets = np.empty(masks.size, np.int64)
    found = int(_sets_of(pattern, masks, sets))
    return sorted(int(each) for each in sets[:found])


def maximal_sets(pattern: Words, masks: IntArray) -> list[int]:
    """The manucs: unsafe combinations that no other unsafe one contains."""
    unsafe = [int(mask) for table, mask in enumerate(masks) if int(pattern[table // 64]) >> (table % 64) & 1]
    return sorted(mask for mask in unsafe if not any(mask & other == mask and mask != other for other in unsafe))


def minimal_covers(sets: list[int], *, most: int = 100_000) -> list[int] | None:
    """All inclusion-minimal hitting sets (Berge's method), or None if they are more than `most`."""
    covers = {0}
    for each in sets:
        hit = {cover for cover in covers if cover & each}
        grown = {cover | 1 << field for cover in covers - hit for field in range(each.bit_length()) if each >> field & 1}
        covers = hit | {cover for cover in grown if not any(other & cover == other for other in hit)}
        if len(covers) > most:
            return None
    return sorted(covers)
