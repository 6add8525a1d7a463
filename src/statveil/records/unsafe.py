"""`find_unsafe`: which combinations are rare, in which records, and why, before anything is changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import FloatArray, IntArray
from statveil.data.microdata import Microdata
from statveil.data.queries.keys import WEIGHT_DECIMALS, records_by_risk
from statveil.records.coding import WEIGHT_UNIT, CodedFile, code_file, level_of, record_key
from statveil.records.frequencies import Words, cell_index, cell_totals, distinct_patterns, unsafe_patterns
from statveil.records.keys import KeyVariables
from statveil.records.suppress.covers import maximal_sets, minimal_sets
from statveil.records.suppress.problem import SuppressionProblem, problem_of
from statveil.records.write.safe_file import key_columns


class TableCount(NamedTuple):
    """One combination of fields: how many of its cells are unsafe, and how many records lie in them."""

    fields: tuple[str, ...]
    threshold: int
    cells: int
    unsafe_cells: int
    unsafe_records: int


@dataclass(frozen=True, kw_only=True, repr=False)
class UnsafeCombinations:
    """What `find_unsafe` found. Confidential: it names values of single records."""

    problem: SuppressionProblem
    patterns: Words

    def __repr__(self) -> str:
        return f"UnsafeCombinations({self.records:,} of {self.problem.coded.records:,} records unsafe)"

    @cached_property
    def _kinds(self) -> tuple[Words, IntArray]:
        return distinct_patterns(self.patterns)

    @property
    def keys(self) -> IntArray:
        """Places of the unsafe keys."""
        return np.flatnonzero(self.patterns.any(axis=1))

    @property
    def records(self) -> int:
        return int(self.problem.coded.count[self.keys].sum())

    def by_combination(self) -> list[TableCount]:
        coded, found = self.problem.coded, []
        unit = 1 if coded.keys.counting == "records" else WEIGHT_UNIT
        for number, (places, threshold) in enumerate(coded.tables):
            index, _ = cell_index(coded.codes, self.problem.maps, places, [self.problem.levels[place] for place in places])
            bad = self.patterns[:, number // 64] >> np.uint64(number % 64) & np.uint64(1) == 1
            fields = tuple(coded.keys.names[place] for place in places)
            cells = np.unique(index[index >= 0]).size
            found.append(TableCount(fields, threshold // unit, cells, np.unique(index[bad]).size, int(coded.count[bad].sum())))
        return found

    def by_size(self) -> dict[int, tuple[int, int]]:
        """Size of combination to (unsafe cells, records in at least one of them)."""
        coded, found = self.problem.coded, dict[int, tuple[int, int]]()
        counts = self.by_combination()
        for size in sorted({len(places) for places, _ in coded.tables}):
            chosen = [number for number, (places, _) in enumerate(coded.tables) if len(places) == size]
            word = np.zeros(self.patterns.shape[1], dtype=np.uint64)
            for number in chosen:
                word[number // 64] |= np.uint64(1) << np.uint64(number % 64)
            bad = (self.patterns & word).any(axis=1)
            found[size] = (sum(counts[number].unsafe_cells for number in chosen), int(coded.count[bad].sum()))
        return found

    @cached_property
    def _tables(self) -> IntArray:
        """Fields of each table, as bits."""
        return np.array([sum(1 << place for place in places) for places, _ in self.problem.coded.tables], dtype=np.int64)

    def minucs(self, key: int) -> list[tuple[str, ...]]:
        """Minimal unsafe combinations of a key (S4, s.2)."""
        return [self._named(mask) for mask in minimal_sets(self.patterns[key], self._tables)]

    def manucs(self, key: int) -> list[tuple[str, ...]]:
        """Maximal unsafe combinations of a key."""
        return [self._named(mask) for mask in maximal_sets(self.patterns[key], self._tables)]

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(self.problem.coded.keys.names) if mask >> place & 1)

    @cached_property
    def _kind_scores(self) -> tuple[FloatArray, FloatArray]:
        """Score of each pattern, and the part of it that each field has."""
        distinct, _ = self._kinds
        fields = len(self.problem.coded.keys.names)
        highest = max(len(places) for places, _ in self.problem.coded.tables)
        score, part = np.zeros(len(distinct)), np.zeros((len(distinct), fields))
        for kind, pattern in enumerate(distinct):
            for mask in minimal_sets(pattern, self._tables):
                worth = suda_score(mask.bit_count(), fields=fields, highest=highest)
                score[kind] += worth
                part[kind] += worth * np.array([mask >> field & 1 for field in range(fields)])
        return score, part

    @property
    def scores(self) -> FloatArray:
        """One score a key: many small minucs weigh most (SUDA's score, with minucs for sample uniques)."""
        return np.asarray(self._kind_scores[0][self._kinds[1]])

    def field_scores(self) -> dict[str, float]:
        """The share of the file's whole score in which each field takes part."""
        part = (self._kind_scores[1][self._kinds[1]] * self.problem.coded.count[:, None]).sum(axis=0)
        whole = float((self.scores * self.problem.coded.count).sum())
        return {name: float(part[place] / whole) if whole else 0.0 for place, name in enumerate(self.problem.coded.keys.names)}

    def value_scores(self, field: str) -> dict[str, float]:
        """For each value of a field, the mean score that its records owe to it."""
        coded = self.problem.coded
        place = coded.keys.names.index(field)
        row, here = coded.codes[place], coded.codes[place] >= 0
        part = self._kind_scores[1][self._kinds[1], place] * coded.count
        total = np.bincount(row[here], weights=part[here], minlength=len(coded.values[place]))
        count = np.bincount(row[here], weights=coded.count[here], minlength=len(coded.values[place]))
        return {value: float(total[code] / count[code]) if count[code] else 0.0 for code, value in enumerate(coded.values[place])}

    def why(self, key: int) -> list[str]:
        """In words, for the office's own eyes: the values that make the key unsafe, and how many records share them."""
        return list(self._reasons(key))

    def _reasons(self, key: int) -> Iterator[str]:
        coded, problem = self.problem.coded, self.problem
        minimal = set(minimal_sets(self.patterns[key], self._tables))
        for (places, _), mask in zip(coded.tables, self._tables, strict=True):
            if int(mask) not in minimal:
                continue
            levels = [problem.levels[place] for place in places]
            total, amount = (int(cell_totals(coded.codes, each, problem.maps, places, levels)[key]) for each in (coded.count, coded.amount))
            shown = ", ".join(f"{coded.keys.names[place]} = {self._value(place, key)}" for place in places)
            records = f"{total:,} {'record' if total == 1 else 'records'}"
            if coded.keys.counting == "weights":
                yield f"Only a weight of {_in_units(amount)} ({records}) has {shown}."
            else:
                yield f"Only {records} {'has' if total == 1 else 'have'} {shown}."

    def _value(self, place: int, key: int) -> str:
        level = self.problem.coded.levels[place][self.problem.levels[place]]
        return level.values[int(level.code[self.problem.coded.codes[place, key]])]

    def to_arrow(self) -> pa.Table:
        """The unsafe keys with their values, records, score and number of minucs, most risky first. Confidential."""
        coded, scores = self.problem.coded, self.scores
        order = self.keys[np.lexsort((self.keys, -scores[self.keys]))]
        columns: dict[str, object] = {
            name: [self._value(place, key) if coded.codes[place, key] >= 0 else None for key in order]
            for place, name in enumerate(coded.keys.names)
        }
        minucs = [len(self.minucs(int(key))) for key in order]
        return pa.table({**columns, "records": coded.count[order], "minucs": minucs, "score": scores[order]})

    def by_record(self, data: Microdata, *columns: str) -> pa.Table:
        """Every record with the columns named (say, an identifier), its minucs and its score, most risky first. Confidential."""
        data.require(columns)
        coded = self.problem.coded
        unsafe = self.keys
        risks = {"minucs": pa.array([len(self.minucs(int(key))) for key in unsafe], pa.int64()), "score": pa.array(self.scores[unsafe])}
        key = record_key(data, coded.keys)
        with data.engine.session() as session:
            key.lend_missing(session)
            return records_by_risk(session, key, pa.table({**key_columns(coded, unsafe), **risks}), columns)


def _in_units(amount: int) -> str:
    whole, rest = divmod(amount, WEIGHT_UNIT)
    return f"{whole:,}" + f".{rest:0{WEIGHT_DECIMALS}}".rstrip("0").rstrip(".")


def suda_score(size: int, *, fields: int, highest: int) -> float:
    """Weight of a minuc of that size: the paths from it up to the largest combination looked at (Elliot et al., SUDA)."""
    return math.prod(float(fields - step) for step in range(size, highest)) if size < highest else 1.0


def find_unsafe(
    data: Microdata | CodedFile, keys: KeyVariables | None = None, *, recoding: Mapping[str, str] | None = None
) -> UnsafeCombinations:
    """Count all combinations and say which are unsafe, under a recoding if one is given."""
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}), apart=False)
    problem = problem_of(coded, level_of(coded, recoding or {}))
    return UnsafeCombinations(
        problem=problem, patterns=unsafe_patterns(coded.codes, coded.amount, problem.maps, coded.tables, problem.levels)
    )
