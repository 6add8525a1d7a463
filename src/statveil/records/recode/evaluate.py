"""What a recoding costs, thousands of times a second.

The cost of a recoding is its own plus that of the cheapest blanks under it (S4's complete model (3)). Between two recodings that differ
in one field only the tables with that field change: their unsafe flags are kept per (table, levels of its fields), the keys' patterns
are updated bit by bit, and the cheapest blanks of every pattern ever seen are remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.records.coding import CodedFile, relaxed_models
from statveil.records.frequencies import (
    NONE,
    LevelMaps,
    Words,
    cell_index,
    distinct_patterns,
    pattern_hash,
    side_by_side,
    tables_below,
    unsafe_flags,
)
from statveil.records.frequencies import TUNING as FREQUENCY_TUNING
from statveil.records.loss import recoding_costs
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.problem import SuppressionProblem, problem_of


class EvaluatorTuning(NamedTuple):
    cache_bytes: int = 1 << 30
    """Unsafe flags that are kept, at most: by judgement."""


TUNING = EvaluatorTuning()

Levels = tuple[int, ...]


@njit(cache=True)
def _update(flags, old, word, bit, patterns):  # type: ignore[no-untyped-def]
    """Turn the bit of one table where its flags changed."""
    mark = np.uint64(1) << np.uint64(bit)
    for key in range(flags.size):
        if flags[key] != old[key]:
            patterns[key, word] ^= mark


@njit(cache=True)
def _price(patterns, mass, known, cost, slots, missing):  # type: ignore[no-untyped-def]
    """Sum of mass x cost over the keys whose pattern is known; the places of those whose is not, and how many."""
    total, strange, mask = 0.0, 0, np.uint64(slots.size - 1)
    for key in range(patterns.shape[0]):
        empty = True
        for word in range(patterns.shape[1]):
            if patterns[key, word]:
                empty = False
                break
        if empty:
            continue
        place = pattern_hash(patterns[key]) & mask
        found = -1
        while slots[place] >= 0:
            same = True
            for word in range(patterns.shape[1]):
                if known[slots[place], word] != patterns[key, word]:
                    same = False
                    break
            if same:
                found = slots[place]
                break
            place = (place + np.uint64(1)) & mask
        if found >= 0:
            total += mass[key] * cost[found]
        else:
            missing[strange] = key
            strange += 1
    return total, strange


@njit(cache=True)
def _enter(known, first, last, slots):  # type: ignore[no-untyped-def]
    """Put patterns into the hash table of the known ones."""
    mask = np.uint64(slots.size - 1)
    for number in range(first, last):
        place = pattern_hash(known[number]) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = number


class _Memo:
    """Cost of the cheapest blanks by pattern, in an open hash table."""

    def __init__(self, words: int) -> None:
        self.known: Words = np.zeros((1024, words), dtype=np.uint64)
        self.cost = np.zeros(1024)
        self.size = 0
        self.slots: IntArray = np.full(4096, -1, dtype=np.int64)

    def add(self, patterns: Words, cost: FloatArray) -> None:
        first, last = self.size, self.size + len(patterns)
        if last > len(self.known):
            room = max(2 * len(self.known), last)
            known, kept = np.zeros((room, self.known.shape[1]), dtype=np.uint64), np.zeros(room)
            known[:first], kept[:first] = self.known[:first], self.cost[:first]
            self.known, self.cost = known, kept
        self.known[first:last], self.cost[first:last] = patterns, cost
        self.size = last
        if 4 * last > self.slots.size:
            self.slots = np.full(1 << int(8 * last - 1).bit_length(), -1, dtype=np.int64)
            first = 0
        _enter(self.known, first, last, self.slots)


@dataclass(kw_only=True)
class Evaluator:
    """Costs of recodings, incrementally from the one asked for last. `evaluations` counts the different ones priced."""

    coded: CodedFile
    shared_maps: LevelMaps | None = None
    """Those of another evaluator, whose levels this one is asked about as well."""

    def __post_init__(self) -> None:
        coded = self.coded
        self.problem: SuppressionProblem = problem_of(coded, (0,) * len(coded.values), self.shared_maps)
        self.maps: LevelMaps = self.problem.maps
        self.costs = recoding_costs(coded)
        self.menu: tuple[int, ...] = tuple(len(each) for each in coded.levels)
        self.evaluations = 0
        self.seen: dict[Levels, float] = {}
        self._at: Levels | None = None
        self._flags: list[BoolArray] = []
        self._cache: OrderedDict[tuple[int, ...], NDArray[np.uint8]] = OrderedDict()
        self._patterns: Words = np.zeros((coded.size, (len(coded.tables) + 63) // 64), dtype=np.uint64)
        self._memo = _Memo(self._patterns.shape[1])
        self._missing = np.empty(coded.size, dtype=np.int64)
        bits = tables_below(coded.tables)
        self._below = [[t for t in range(len(coded.tables)) if int(row[t // 64]) >> (t % 64) & 1] for row in bits]
        self._tables_of = [[t for t, (places, _) in enumerate(coded.tables) if field in places] for field in range(len(self.menu))]

    @cached_property
    def floor(self) -> Evaluator:
        """Of the same file with what its risk models imply: coarser values leave less unsafe there, as boxes of recodings need it."""
        relaxed = relaxed_models(self.coded)
        return self if relaxed is self.coded else Evaluator(coded=relaxed, shared_maps=self.maps)

    @property
    def least(self) -> Evaluator:
        """Whose cost bounds that of a single recoding: under `recount` a blank may mend what a model calls unsafe in other records."""
        return self.floor if self.coded.keys.rule == "recount" else self

    def cost(self, levels: Levels) -> float:
        """Recoding plus blanks (model (3) under rule `original`)."""
        return self.recoding(levels) + self.blanks(levels)

    def recoding(self, levels: Levels) -> float:
        return float(sum(costs[level] for costs, level in zip(self.costs, levels, strict=True)))

    def blanks(self, levels: Levels) -> float:
        """Cost of the cheapest blanks under these levels, which may be added ones (`maps.add`)."""
        if levels not in self.seen:
            self.evaluations += 1
            self._move(levels)
            self.seen[levels] = self._priced()
        return self.seen[levels]

    def flags(self, table: int, levels: Levels) -> BoolArray:
        """The keys whose cell in a table is unsafe; `levels` has an entry for every field.

        Of many keys, only those that are not unsafe in a smaller table.
        """
        return np.unpackbits(self._packed(table, levels), count=self.coded.size).view(np.bool_)

    def _packed(self, table: int, levels: Levels) -> NDArray[np.uint8]:
        places, threshold = self.coded.tables[table]
        key = (table, *(levels[place] for place in places))
        packed = self._cache.get(key)
        if packed is None:
            own = [levels[place] for place in places]
            skipped = self._skipped(table, levels)
            bad = unsafe_flags(self.coded.codes, self.coded.amount, self.maps, places, own, threshold, skipped)
            if self.coded.judge is not None:
                bad |= self.coded.judge.broken(cell_index(self.coded.codes, self.maps, places, own)[0])
            packed = np.packbits(bad)
            self._cache[key] = packed
            if len(self._cache) * (self.coded.size // 8 + 64) > TUNING.cache_bytes:
                self._cache.popitem(last=False)
        return packed

    def _skipped(self, table: int, levels: Levels) -> BoolArray:
        """Keys that need not be looked at, as `minimal_patterns` explains."""
        if self.coded.size < FREQUENCY_TUNING.many_keys or not self._below[table]:
            return NONE
        packed = np.bitwise_or.reduce([self._packed(other, levels) for other in self._below[table]])
        return np.unpackbits(packed, count=self.coded.size).view(np.bool_)

    def patterns(self, levels: Levels) -> Words:
        self._move(levels)
        return self._patterns

    def _move(self, levels: Levels) -> None:
        if self._at is None:
            changed = list(range(len(self.coded.tables)))
            self._flags = [np.zeros(self.coded.size, dtype=np.bool_) for _ in changed]
        else:
            fields = [field for field, (old, new) in enumerate(zip(self._at, levels, strict=True)) if old != new]
            changed = sorted({table for field in fields for table in self._tables_of[field]})
        for size in sorted({len(self.coded.tables[table][0]) for table in changed}):
            alike = [table for table in changed if len(self.coded.tables[table][0]) == size]
            for table, flags in side_by_side(lambda table: self.flags(table, levels), alike, keys=self.coded.size):
                _update(flags, self._flags[table], table // 64, table % 64, self._patterns)
                self._flags[table] = flags
        self._at = levels

    def _priced(self) -> float:
        memo = self._memo
        total, strange = _price(self._patterns, self.coded.mass, memo.known, memo.cost, memo.slots, self._missing)
        if strange:
            new, _ = distinct_patterns(self._patterns[self._missing[:strange]])
            units, _ = cheapest_covers(new, self.problem.table_masks, self.problem.unit_cost)
            memo.add(new, self.problem.units_cost(units))
            total, _ = _price(self._patterns, self.coded.mass, memo.known, memo.cost, memo.slots, self._missing)
        return float(total)


class RestrictedEvaluator(Evaluator):
    """S4's restricted model (2): a minimal unsafe combination of the original file is met by a blank, or by one field's recoding that
    makes it safe with all others as they are. What several recodings do together is left out, for better and for worse."""

    def flags(self, table: int, levels: Levels) -> BoolArray:
        found = self._minimal(table)
        for place in self.coded.tables[table][0]:
            if levels[place]:
                found = found & super().flags(table, tuple(level if field == place else 0 for field, level in enumerate(levels)))
        return found

    def _minimal(self, table: int) -> BoolArray:
        finest = (0,) * len(self.menu)
        smaller = [super(RestrictedEvaluator, self).flags(other, finest) for other in self._below[table]]
        found = super().flags(table, finest)
        return np.asarray(found & ~np.logical_or.reduce(smaller)) if smaller else found

    def _skipped(self, table: int, levels: Levels) -> BoolArray:
        return NONE  # a combination left out under one recoding may be all that is unsafe under another
