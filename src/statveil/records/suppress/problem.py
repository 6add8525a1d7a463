"""The suppression problem on distinct keys under one recoding: what is unsafe, and what blanks cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from statveil.core.arrays import FloatArray, IntArray, frozen_array
from statveil.core.limits import Ending
from statveil.records.coding import CodedFile
from statveil.records.frequencies import TUNING, LevelMaps, Words, cell_index, distinct_patterns, minimal_patterns, unsafe_patterns
from statveil.records.keys import Costs
from statveil.records.models import ModelJudge
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
    def record_mass(self) -> FloatArray:
        """What a blank of cost 1 costs in one record of each key."""
        return np.asarray(self.coded.mass / self.coded.count)

    @cached_property
    def missing(self) -> IntArray:
        """The fields that are unknown in each key, as bits."""
        return np.asarray(sum((row < 0).astype(np.int64) << place for place, row in enumerate(self.coded.codes)), dtype=np.int64)

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

    def patterns(self, codes: IntArray | None = None, amount: IntArray | None = None, judge: ModelJudge | None = None) -> Words:
        """Unsafe combinations of the keys, or of the rows given instead (with blanks as unknown codes); of many keys the minimal ones."""
        codes = self.coded.codes if codes is None else codes
        amount = self.coded.amount if amount is None else amount
        count = minimal_patterns if codes.shape[1] >= TUNING.many_keys else unsafe_patterns
        return self.with_models(count(codes, amount, self.maps, self.coded.tables, self.levels), codes, judge)

    def with_models(self, patterns: Words, codes: IntArray, judge: ModelJudge | None = None) -> Words:
        """With the bits of combinations that break a risk model; `judge` is the one of the rows, where they are not the keys."""
        judge = self.coded.judge if judge is None else judge
        if judge is not None:
            assert codes.shape[1] == judge.count.size
            for number, (places, _) in enumerate(self.coded.tables):
                bad = judge.broken(self.cells(places, codes))
                patterns[bad, number // 64] |= np.uint64(1) << np.uint64(number % 64)
        return patterns

    def judge_of(self, key: IntArray, records: IntArray) -> ModelJudge | None:
        """Of rows of keys; where the records of a key are not alike in what models look at, rows are the keys."""
        judge = self.coded.judge
        return judge.of_rows(key, records) if judge is not None and self.coded.judged_apart else judge

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
        for place, each in enumerate(self.field_cost):
            cost += ((masks >> place) & 1) * each
        return cost

    def units_cost(self, units: IntArray) -> FloatArray:
        """What the blanks of a mask of units cost in one record of mass 1."""
        return self.mask_cost(self.fields_of(units))

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
        for place in range(codes.shape[0]):
            codes[place, (masks >> place) & 1 == 1] = -1
        return codes

    def cells(self, places: Sequence[int], codes: IntArray | None = None) -> IntArray:
        """The cell of each key (or of the rows given instead) in the table of these fields; -1 for none."""
        codes = self.coded.codes if codes is None else codes
        return cell_index(codes, self.maps, places, [self.levels[place] for place in places])[0]

    def written_codes(self, key: IntArray) -> IntArray:
        """The keys' codes as the recoding writes them; unknown stays unknown."""
        rows = zip(self.coded.codes[:, key], self.levels, strict=True)
        written = [np.where(row < 0, -1, self.maps.code(place, level)[np.maximum(row, 0)]) for place, (row, level) in enumerate(rows)]
        return np.stack(written)


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
    return shannon_entropy(np.where(row < 0, -1, code[np.maximum(row, 0)]) if code.size else row, coded.count)


def shannon_entropy(row: IntArray, count: IntArray) -> float:
    """In bits, of codes that so many records have each; unknown ones are left out."""
    here = row >= 0
    if not here.any():
        return 0.0
    counts = np.bincount(row[here], weights=count[here].astype(np.float64))
    share = counts[counts > 0] / counts.sum()
    return float(max(0.0, -(share * np.log2(share)).sum()))


@dataclass(frozen=True, kw_only=True, repr=False)
class Suppression:
    """Which values are blank.

    key, mask, records: `records[i]` records of key `key[i]` are released with the fields of `mask[i]` blank; every key is there with all
    its records. problem: keys, recoding and rule. bound: proved, no suppression that obeys the rule costs less.
    home: set where blanks depend on households. notes: counts of what was done.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> found = sv.recode.suppress(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    >>> sorted(zip(found.records.tolist(), found.mask.tolist())), found.bound
    ([(1, 1), (2, 0)], 1.0)
    """

    problem: SuppressionProblem
    key: IntArray
    mask: IntArray
    records: IntArray
    bound: float
    rounds: tuple[int, ...] = ()
    """Blanks after each round, where a rule takes several."""
    home: IntArray | None = None
    notes: Mapping[str, int] = field(default_factory=dict)
    open_ties: int = 0
    """Programs in which it is not proved that no answer of equal cost has a lower second cost."""
    extra_cost: float = 0.0
    """Cost of the blanks that the rule does not need, made against guessing: the bound says nothing about them."""

    def __post_init__(self) -> None:
        for name in ("key", "mask", "records"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    def __repr__(self) -> str:
        return f"Suppression({self.total:,} blanks, cost {self.cost:,.6g}, bound {self.bound:,.6g})"

    @property
    def mass(self) -> IntArray:
        """What a blank of cost 1 costs in these records: their share of the key's, whose records cost the same where keys are split."""
        coded = self.problem.coded
        return np.asarray(coded.mass[self.key] * (self.records / coded.count[self.key]))

    @property
    def cost(self) -> float:
        """A group of linked fields costs the same in every record, whether or not some of its values were missing already."""
        units = self.problem.units_of(self.mask)
        return float((self.problem.units_cost(units) * self.mass).sum())

    @property
    def second_cost(self) -> float:
        """The second objective (`ties`): the rank of each blanked unit among the second costs, from 0, times the record's mass."""
        return float((self.problem.tie_cost(self.problem.units_of(self.mask)) * self.mass).sum())

    @property
    def ties_settled(self) -> bool:
        """Whether it is proved that no suppression of equal, least cost has a lower second cost (extra blanks apart)."""
        return self.ending is Ending.OPTIMAL and not self.open_ties

    @property
    def ending(self) -> Ending:
        return Ending.OPTIMAL if self.cost - self.extra_cost <= self.bound * (1 + 1e-9) + 1e-9 else Ending.FEASIBLE

    @property
    def blanks(self) -> dict[str, int]:
        """Blanked values by field."""
        names = self.problem.coded.keys.names
        return {name: int(self.records[(self.mask >> place) & 1 == 1].sum()) for place, name in enumerate(names)}

    @property
    def total(self) -> int:
        return sum(self.blanks.values())


def known_only(problem: SuppressionProblem, key: IntArray, mask: IntArray) -> IntArray:
    """Masks without the fields that are unknown anyway: they cost nothing and change nothing."""
    return np.asarray(mask & ~problem.missing[key], dtype=np.int64)


def merged(key: IntArray, mask: IntArray, records: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Equal (key, mask) rows as one, sorted."""
    order = np.lexsort((mask, key))
    key, mask, records = key[order], mask[order], records[order]
    first = np.ones(key.size, dtype=np.bool_)
    first[1:] = (key[1:] != key[:-1]) | (mask[1:] != mask[:-1])
    return key[first], mask[first], np.add.reduceat(records, np.flatnonzero(first)) if key.size else records


def row_amount(problem: SuppressionProblem, key: IntArray, records: IntArray) -> IntArray:
    """What rows hold in the unit of the threshold: records, or their part of the key's weight (equal where keys are split)."""
    coded = problem.coded
    if coded.keys.counting == "records":
        return records
    return np.asarray((coded.weight[key].astype(object) * records // coded.count[key]).astype(np.int64))
