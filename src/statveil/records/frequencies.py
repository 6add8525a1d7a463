"""Frequency tables over distinct keys: which combinations of which keys are unsafe.

A combination of a key is a cell of a table; its index is a number in mixed radix, counted in a dense array where that is small and in
a hash table otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from statveil.core.arrays import BoolArray, IntArray


class FrequencyTuning(NamedTuple):
    densest: int = 1 << 22
    """Cells up to which a table is a dense array, or twice the number of keys if that is more: by judgement."""
    many_keys: int = 100_000
    """Keys from which tables are counted on several cores, and unsafe keys left out of larger tables: by judgement."""
    ahead: int = 16
    """Tables that are counted ahead of the one asked for: by judgement."""
    most_threads: int = 4
    """By judgement; the engine needs cores too."""


TUNING = FrequencyTuning()
WIDEST = 2.0**62
"""Cells whose numbers still fit 64 bits."""
Words = NDArray[np.uint64]
Array = TypeVar("Array")
NONE: BoolArray = np.zeros(0, dtype=np.bool_)


@njit(cache=True, nogil=True)
def _index(codes, places, rows, maps, sizes, skipped, index):  # type: ignore[no-untyped-def]
    """The cell of each key in mixed radix; -1 where a field is unknown or the key is skipped."""
    for key in range(codes.shape[1]):
        if skipped.size and skipped[key]:
            index[key] = -1
            continue
        cell = 0
        for j in range(places.size):
            code = codes[places[j], key]
            if code < 0:
                cell = -1
                break
            cell = cell * sizes[j] + maps[rows[j], code]
        index[key] = cell


@njit(cache=True, nogil=True)
def _count_dense(index, amount, cells, total):  # type: ignore[no-untyped-def]
    """What the cell of each key holds, counted in an array of all cells."""
    table = np.zeros(cells, dtype=np.int64)
    for key in range(index.size):
        if index[key] >= 0:
            table[index[key]] += amount[key]
    for key in range(index.size):
        total[key] = table[index[key]] if index[key] >= 0 else -1


@njit(cache=True, nogil=True)
def _count_hashed(index, amount, total):  # type: ignore[no-untyped-def]
    """The same, counted in an open hash table."""
    size = 16
    while size < 2 * index.size:
        size *= 2
    mask = size - 1
    table = np.zeros((size, 2), dtype=np.int64)  # cell + 1 and its total side by side: one look into memory finds both
    for key in range(index.size):
        cell = index[key]
        if cell < 0:
            continue
        place = ((cell ^ (cell >> 29)) * 0x9E3779B97F4A7C1) & mask
        place = (place ^ (place >> 15)) & mask
        while table[place, 0] != 0 and table[place, 0] != cell + 1:
            place = (place + 1) & mask
        table[place, 0] = cell + 1
        table[place, 1] += amount[key]
        total[key] = place
    for key in range(index.size):
        total[key] = table[total[key], 1] if index[key] >= 0 else -1


@njit(cache=True, nogil=True)
def _set_bits(total, threshold, word, bit, patterns):  # type: ignore[no-untyped-def]
    """Mark the keys whose cell is too small in one table."""
    mark = np.uint64(1) << np.uint64(bit)
    for key in range(total.size):
        if 0 <= total[key] < threshold:
            patterns[key, word] |= mark


class LevelMaps:
    """New codes by (row, old code); a row is one way to write one field. Rows may be added later."""

    def __init__(self, levels: Sequence[Sequence[IntArray]]) -> None:
        self.rows: list[list[int]] = []
        self._sizes: list[int] = []
        self._maps: list[IntArray] = []
        for field in levels:
            self.rows.append([self._append(code) for code in field])
        self._pack()

    def add(self, field: int, code: IntArray) -> int:
        """Another way to write a field; its number among the field's levels."""
        self.rows[field].append(self._append(code))
        self._pack()
        return len(self.rows[field]) - 1

    def _append(self, code: IntArray) -> int:
        code = code if code.size else np.zeros(1, dtype=np.int32)  # a field that is missing everywhere
        self._maps.append(code)
        self._sizes.append(int(code.max()) + 1)
        return len(self._maps) - 1

    def _pack(self) -> None:
        widest = max((each.size for each in self._maps), default=0)
        self.maps = np.zeros((len(self._maps), max(widest, 1)), dtype=np.int32)
        for row, each in enumerate(self._maps):
            self.maps[row, : each.size] = each

    def size(self, field: int, level: int) -> int:
        return self._sizes[self.rows[field][level]]

    def code(self, field: int, level: int) -> IntArray:
        return self._maps[self.rows[field][level]]


def cell_totals(
    codes: IntArray, amount: IntArray, maps: LevelMaps, places: Sequence[int], levels: Sequence[int], skipped: BoolArray = NONE
) -> IntArray:
    """For each key, what its cell of this table holds; -1 where a field is blank or the key skipped. `levels` has one entry per place."""
    index, cells = cell_index(codes, maps, places, levels, skipped)
    total = np.empty(index.size, dtype=np.int64)
    if cells <= max(TUNING.densest, 2 * index.size):
        _count_dense(index, amount, int(cells), total)
    else:
        _count_hashed(index, amount, total)
    return total


def cell_index(
    codes: IntArray, maps: LevelMaps, places: Sequence[int], levels: Sequence[int], skipped: BoolArray = NONE
) -> tuple[IntArray, float]:
    """The cell of each key (-1 for none) and the number of cells."""
    sizes = [maps.size(place, level) for place, level in zip(places, levels, strict=True)]
    cells = float(np.prod([float(size) for size in sizes]))
    if cells >= WIDEST:
        index, cells = _folded_index(codes, maps, places, levels)
        return (np.where(skipped, -1, index) if skipped.size else index), cells
    rows = np.array([maps.rows[place][level] for place, level in zip(places, levels, strict=True)], dtype=np.int64)
    index = np.empty(codes.shape[1], dtype=np.int64)
    _index(codes, np.array(places, dtype=np.int64), rows, maps.maps, np.array(sizes, dtype=np.int64), skipped, index)
    return index, cells


def _folded_index(codes: IntArray, maps: LevelMaps, places: Sequence[int], levels: Sequence[int]) -> tuple[IntArray, float]:
    """The same where the product of the sizes overflows: number the cells found after each field."""
    index = np.zeros(codes.shape[1], dtype=np.int64)
    for place, level in zip(places, levels, strict=True):
        row = codes[place]
        new = maps.code(place, level)[np.maximum(row, 0)].astype(np.int64)
        joined = np.where((index < 0) | (row < 0), -1, index * maps.size(place, level) + new)
        distinct, inverse = np.unique(joined, return_inverse=True)
        index = inverse.ravel().astype(np.int64) - int(distinct[0] < 0)
    return index, float(index.max() + 1)


def unsafe_flags(
    codes: IntArray,
    amount: IntArray,
    maps: LevelMaps,
    places: Sequence[int],
    levels: Sequence[int],
    threshold: int,
    skipped: BoolArray = NONE,
) -> BoolArray:
    total = cell_totals(codes, amount, maps, places, levels, skipped)
    return np.asarray((total >= 0) & (total < threshold))


def unsafe_patterns(
    codes: IntArray, amount: IntArray, maps: LevelMaps, tables: Sequence[tuple[tuple[int, ...], int]], levels: Sequence[int]
) -> Words:
    """One bit for each table in which the key's combination is unsafe. `levels` has one entry per field."""
    patterns = np.zeros((codes.shape[1], (len(tables) + 63) // 64), dtype=np.uint64)

    def count(number: int) -> IntArray:
        places = tables[number][0]
        return cell_totals(codes, amount, maps, places, [levels[place] for place in places])

    for number, total in side_by_side(count, range(len(tables)), keys=codes.shape[1]):
        _set_bits(total, tables[number][1], number // 64, number % 64, patterns)
    return patterns


def minimal_patterns(
    codes: IntArray, amount: IntArray, maps: LevelMaps, tables: Sequence[tuple[tuple[int, ...], int]], levels: Sequence[int]
) -> Words:
    """The same, for many keys: bits of inclusion-minimal unsafe combinations, and perhaps of some others.

    A key that is unsafe in a smaller table need not be looked at in a larger one: whoever shares its larger cell shares the smaller one,
    so that leaving all of them out changes no count of the others.
    """
    patterns = np.zeros((codes.shape[1], (len(tables) + 63) // 64), dtype=np.uint64)
    below = tables_below(tables)

    def count(number: int) -> IntArray:
        places = tables[number][0]
        skipped = (patterns & below[number]).any(axis=1)
        return cell_totals(codes, amount, maps, places, [levels[place] for place in places], skipped)

    for size in sorted({len(places) for places, _ in tables}):
        numbers = [number for number, (places, _) in enumerate(tables) if len(places) == size]
        for number, total in list(side_by_side(count, numbers, keys=codes.shape[1])):
            _set_bits(total, tables[number][1], number // 64, number % 64, patterns)
    return patterns


def tables_below(tables: Sequence[tuple[tuple[int, ...], int]]) -> Words:
    """For each table the bits of the tables whose fields are part of its own."""
    masks = [sum(1 << place for place in places) for places, _ in tables]
    found = np.zeros((len(tables), (len(tables) + 63) // 64), dtype=np.uint64)
    for number, mask in enumerate(masks):
        for other, part in enumerate(masks):
            if part != mask and part & mask == part:
                found[number, other // 64] |= np.uint64(1) << np.uint64(other % 64)
    return found


def side_by_side(work: Callable[[int], Array], numbers: Sequence[int], *, keys: int) -> Iterator[tuple[int, Array]]:
    """(number, its result) in order; on several cores where there are many keys, a few numbers ahead of the one asked for."""
    if keys < TUNING.many_keys:
        yield from ((number, work(number)) for number in numbers)
        return
    with ThreadPoolExecutor(max_workers=min(TUNING.most_threads, os.cpu_count() or 1)) as pool:
        for start in range(0, len(numbers), TUNING.ahead):
            part = numbers[start : start + TUNING.ahead]
            yield from zip(part, pool.map(work, part), strict=True)


@njit(cache=True)
def pattern_hash(pattern):  # type: ignore[no-untyped-def]
    """A number that different patterns hardly ever share."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in pattern:
        mixed ^= word
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@njit(cache=True)
def _group(patterns, kind, first):  # type: ignore[no-untyped-def]
    """Number equal patterns alike, in the order of their first keys; how many there are."""
    size = 1024
    while size < 2 * patterns.shape[0]:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    mask, found = np.uint64(size - 1), 0
    for key in range(patterns.shape[0]):
        place = pattern_hash(patterns[key]) & mask
        while slots[place] >= 0:
            same = True
            for word in range(patterns.shape[1]):
                if patterns[first[slots[place]], word] != patterns[key, word]:
                    same = False
                    break
            if same:
                break
            place = (place + np.uint64(1)) & mask
        if slots[place] < 0:
            slots[place] = found
            first[found] = key
            found += 1
        kind[key] = slots[place]
    return found


def distinct_patterns(patterns: Words) -> tuple[Words, IntArray]:
    """The different patterns in the order in which keys show them, and for each key the number of its own."""
    kind, first = np.empty(len(patterns), dtype=np.int64), np.empty(len(patterns), dtype=np.int64)
    found = int(_group(patterns, kind, first))
    return np.ascontiguousarray(patterns[first[:found]]), kind
