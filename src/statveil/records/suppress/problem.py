"""The suppression problem on distinct keys under one recoding: what is unsafe, and what blanks cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.records.coding import CodedFile
from statveil.records.frequencies import MANY_KEYS, LevelMaps, Words, distinct_patterns, minimal_patterns, unsafe_patterns
from statveil.records.keys import Costs
from statveil.records.suppress.covers import cheapest_covers

COST_UNIT = 1_000_000
TIE_UNIT = 1 << 12
"""Second costs are whole numbers from 0 to 62, so that 63 fields together stay below this."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressionProblem:
    """Keys, tables and costs. Fields that are linked are blanked as one unit; masks are bits of units inside, of fields outside."""

    coded: CodedFile
    levels: tuple[int, ...]
    maps: LevelMaps

    @cached_property
    def field_cost(self) -> FloatArray:
        return field_costs(self.coded, self.coded.keys.costs)

    @cached_property
    def unit_of(self) -> IntArray:
        """The unit of each field: its own, or its linked group's."""
        names = self.coded.keys.names
        first = {name: names.index(group[0]) for group in self.coded.keys.linked for name in group if name in names}
        return np.array([first.get(name, place) for place, name in enumerate(names)], dtype=np.int64)

    @cached_property
    def unit_mask(self) -> IntArray:
        """The fields of each unit, as bits; no fields where a field belongs to another's unit."""
        found = np.zeros(self.unit_of.size, dtype=np.int64)
        np.bitwise_or.at(found, self.unit_of, np.int64(1) << np.arange(self.unit_of.size, dtype=np.int64))
        return found

    @cached_property
    def table_masks(self) -> IntArray:
        """Each table's units, as bits."""
        return np.array([self._units(places) for places, _ in self.coded.tables], dtype=np.int64)

    def _units(self, places: Sequence[int]) -> int:
        return int(np.bitwise_or.reduce([1 << int(self.unit_of[place]) for place in places]))

    @cached_property
    def unit_cost(self) -> IntArray:
        """Cost of a unit's blank in one record: whole micro-units, the second objective in the lowest digits."""
        first = np.zeros(self.unit_of.size)
        np.add.at(first, self.unit_of, self.field_cost)
        second = np.zeros(self.unit_of.size)
        np.add.at(second, self.unit_of, field_costs(self.coded, self.coded.keys.ties))
        rank = np.argsort(np.argsort(second, kind="stable"), kind="stable")
        return np.asarray(np.round(first * COST_UNIT).astype(np.int64) * TIE_UNIT + rank, dtype=np.int64)

    def patterns(self, codes: IntArray | None = None, amount: IntArray | None = None) -> Words:
        """Unsafe combinations of the keys, or of the rows given instead (with blanks as unknown codes); of many keys the minimal ones."""
        codes = self.coded.codes if codes is None else codes
        amount = self.coded.amount if amount is None else amount
        count = minimal_patterns if codes.shape[1] >= MANY_KEYS else unsafe_patterns
        return count(codes, amount, self.maps, self.coded.tables, self.levels)

    def covers(self, patterns: Words) -> IntArray:
        """The cheapest units to blank for each row's pattern (S4, eq. 1), solved once for each different pattern."""
        distinct, inverse = distinct_patterns(patterns)
        return np.asarray(cheapest_covers(distinct, self.table_masks, self.unit_cost)[0][inverse], dtype=np.int64)

    def fields_of(self, units: IntArray) -> IntArray:
        """Masks of units as masks of fields."""
        masks = np.zeros_like(units)
        for unit, fields in enumerate(self.unit_mask):
            masks |= np.where((units >> unit) & 1, fields, 0)
        return masks

    def mask_cost(self, masks: IntArray) -> FloatArray:
        """What the blanks of a mask of fields cost in one record of mass 1."""
        cost = np.zeros(masks.size)
        for field, each in enumerate(self.field_cost):
            cost += ((masks >> field) & 1) * each
        return cost

    def tie_cost(self, units: IntArray) -> FloatArray:
        """The second objective: what the blanks of a mask of units cost in one record of mass 1 when first costs are equal."""
        cost = np.zeros(units.size)
        for unit, rank in enumerate(self.unit_cost % TIE_UNIT):
            cost += ((units >> unit) & 1) * float(rank)
        return cost

    def units_of(self, masks: IntArray) -> IntArray:
        """Masks of fields as masks of the units that they touch."""
        units = np.zeros_like(masks)
        for unit, fields in enumerate(self.unit_mask):
            units |= np.where(masks & fields, np.int64(1) << unit, 0)
        return units

    def blanked(self, key: IntArray, masks: IntArray) -> IntArray:
        """Codes of these keys with blanks where the masks of fields say so."""
        codes = self.coded.codes[:, key].copy()
        for field in range(codes.shape[0]):
            codes[field, (masks >> field) & 1 == 1] = -1
        return codes


def problem_of(coded: CodedFile, levels: tuple[int, ...], maps: LevelMaps | None = None) -> SuppressionProblem:
    return SuppressionProblem(coded=coded, levels=levels, maps=maps or level_maps(coded))


def level_maps(coded: CodedFile) -> LevelMaps:
    return LevelMaps([[level.code for level in field] for field in coded.levels])


def field_costs(coded: CodedFile, costs: Costs) -> FloatArray:
    """Cost by field: equal, the user's, by entropy (mean 1), or by priority (the first field is the dearest)."""
    names = coded.keys.names
    if isinstance(costs, Mapping):
        return np.array([float(costs[name]) for name in names])
    if costs == "priority":
        return np.arange(len(names), 0, -1).astype(np.float64)
    if costs == "equal":
        return np.ones(len(names))
    found = np.array([entropy(coded, field, np.arange(len(coded.values[field]))) for field in range(len(names))])
    mean = found.mean()
    return np.maximum(found / mean, 1e-6) if mean > 0 else np.ones(len(names))


def entropy(coded: CodedFile, field: int, code: IntArray) -> float:
    """Shannon's entropy of a field written in these codes, in bits; missing values are left out."""
    row = coded.codes[field]
    here = row >= 0
    if not here.any():
        return 0.0
    counts = np.bincount(code[row[here]], weights=coded.count[here].astype(np.float64))
    share = counts[counts > 0] / counts.sum()
    return float(max(0.0, -(share * np.log2(share)).sum()))
