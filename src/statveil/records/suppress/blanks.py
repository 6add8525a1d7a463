"""What is blanked: for each key, how many of its records lose which fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.outcome import Ending
from statveil.records.suppress.problem import SuppressionProblem


@dataclass(frozen=True, kw_only=True, repr=False)
class Suppression:
    """`records[i]` records of key `key[i]` are released with the fields of `mask[i]` blank; every key is there with all its records.

    `bound` is a proved lower bound on the cost of any suppression that obeys the rule; `home` is set where blanks depend on households.
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

    @property
    def mass(self) -> IntArray:
        """What a blank of cost 1 costs in these records: their share of the key's, whose records cost the same where keys are split."""
        coded = self.problem.coded
        return np.asarray(coded.mass[self.key] * (self.records / coded.count[self.key]))

    @property
    def cost(self) -> float:
        """A group of linked fields costs the same in every record, whether or not some of its values were missing already."""
        units = self.problem.units_of(self.mask)
        return float((self.problem.mask_cost(self.problem.fields_of(units)) * self.mass).sum())

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
    unknown = np.zeros(key.size, dtype=np.int64)
    for field_number, row in enumerate(problem.coded.codes):
        unknown |= np.where(row[key] < 0, np.int64(1) << field_number, 0)
    return np.asarray(mask & ~unknown, dtype=np.int64)


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
