"""Risk models that a safe file obeys besides its thresholds: what a combination of key values may tell about those who share it.

A combination breaks a model by what its records hold; it is then unsafe like one that too few records show, and the same optimisation
covers both. Proofs lean on what holds whichever records join or leave a combination: with fewer records there are no more different
values, and the risk of each is no lower. Entropy, recursion and closeness can go either way, so that bounds count of them only what they
imply (`necessary`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError

SLACK = 1e-12
"""Of sums and logarithms in floating point, where a limit is just reached; the audit decides such cases in whole numbers."""


@dataclass(frozen=True)
class DistinctDiversity:
    """l-diversity: at least so many different values of a column in every combination (Machanavajjhala et al., 2007)."""

    column: str
    least: int
    kind: ClassVar[str] = "distinct-diversity"

    def __post_init__(self) -> None:
        _check(isinstance(self.least, int) and not isinstance(self.least, bool) and self.least >= 1, "least: a whole number, one or more")

    @property
    def necessary(self) -> RiskModel | None:
        return self

    def broken(self, cells: CellValues) -> BoolArray:
        return np.asarray(cells.different < self.least)

    def __str__(self) -> str:
        return f"at least {self.least} different values of {self.column}"


@dataclass(frozen=True)
class EntropyDiversity:
    """Entropy l-diversity: the entropy of a column in every combination is that of `least` equally frequent values, or more."""

    column: str
    least: float
    kind: ClassVar[str] = "entropy-diversity"

    def __post_init__(self) -> None:
        _check(_number(self.least) and self.least >= 1, "least: a number, one or more")

    @property
    def necessary(self) -> RiskModel | None:
        return DistinctDiversity(self.column, math.ceil(self.least))

    def broken(self, cells: CellValues) -> BoolArray:
        return np.asarray(cells.entropy < math.log(self.least) - SLACK)

    def __str__(self) -> str:
        return f"the entropy of {self.column} at least that of {self.least:g} equally frequent values"


@dataclass(frozen=True)
class RecursiveDiversity:
    """Recursive (c, l)-diversity: the commonest value is rarer than c times those from the l-th commonest on together."""

    column: str
    c: float
    least: int
    kind: ClassVar[str] = "recursive-diversity"

    def __post_init__(self) -> None:
        _check(_number(self.c) and self.c > 0, "c: a number above zero")
        _check(isinstance(self.least, int) and not isinstance(self.least, bool) and self.least >= 2, "least: a whole number, two or more")

    @property
    def necessary(self) -> RiskModel | None:
        return DistinctDiversity(self.column, self.least)

    def broken(self, cells: CellValues) -> BoolArray:
        first, rest = cells.commonest, cells.from_place(self.least)
        return np.asarray(first >= self.c * rest - SLACK * first)

    def __str__(self) -> str:
        return f"the commonest value of {self.column} rarer than {self.c:g} times those from the {self.least}. commonest on"


@dataclass(frozen=True)
class Closeness:
    """t-closeness: the distance of a column's shares in every combination from those in the file is at most `most`.

    Numbers are ordered: a step to the next of m values is a distance of 1/(m - 1). Other values are all equally far from each other
    (Li, Li and Venkatasubramanian, 2007). A missing value comes before all numbers.
    """

    column: str
    most: float
    kind: ClassVar[str] = "closeness"

    def __post_init__(self) -> None:
        _check(_number(self.most) and 0 <= self.most <= 1, "most: a number from 0 to 1")

    @property
    def necessary(self) -> RiskModel | None:
        return None

    def broken(self, cells: CellValues) -> BoolArray:
        return np.asarray(cells.distance > self.most + SLACK)

    def __str__(self) -> str:
        return f"the shares of {self.column} within {self.most:g} of those in the file"


@dataclass(frozen=True)
class IndividualRisk:
    """The risk of each record (Benedetti and Franconi, 1998) is at most `most`; without weights it is one over those who share its key."""

    most: float
    kind: ClassVar[str] = "individual-risk"

    def __post_init__(self) -> None:
        _check(_number(self.most) and 0 < self.most <= 1, "most: a number above 0, up to 1")

    @property
    def necessary(self) -> RiskModel | None:
        return self

    def __str__(self) -> str:
        return f"the risk of a record at most {self.most:g}"


@dataclass(frozen=True)
class HouseholdRisk(IndividualRisk):
    """The risk that a member of a household is recognised, one less the product of (1 - risk) over all members, is at most `most`."""

    kind: ClassVar[str] = "household-risk"

    def __str__(self) -> str:
        return f"the risk of a household at most {self.most:g}"


DiversityModel = DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness
RiskModel = DiversityModel | IndividualRisk | HouseholdRisk
MODELS: Mapping[str, type[RiskModel]] = {
    each.kind: each for each in (DistinctDiversity, EntropyDiversity, RecursiveDiversity, Closeness, IndividualRisk, HouseholdRisk)
}


def _check(fits: bool, words: str) -> None:
    if not fits:
        raise InputError(f"A risk model needs {words}.")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, kw_only=True, repr=False)
class SensitiveColumn:
    """What the keys hold of a column: `records[i]` records of `key[i]` have the value `value[i]`, numbered in order if there is one."""

    key: IntArray
    value: IntArray
    records: IntArray
    ordered: bool

    @cached_property
    def share(self) -> FloatArray:
        """Of each value in the file."""
        counts = np.bincount(self.value, weights=self.records)
        return np.asarray(counts / counts.sum())

    def by_cell(self, cell: IntArray, cells: int) -> CellValues:
        """What each of so many cells holds, `cell[key]` being a key's cell or -1."""
        own = cell[self.key]
        here = own >= 0
        pairs, inverse = np.unique(own[here] * self.share.size + self.value[here], return_inverse=True)
        number = np.bincount(inverse.ravel(), weights=self.records[here], minlength=pairs.size)
        return CellValues(
            cell=pairs // self.share.size, value=pairs % self.share.size, number=number.astype(np.float64), column=self, cells=cells
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CellValues:
    """The different values of each cell and how many records (`number`) have them, sorted by cell and value."""

    cell: IntArray
    value: IntArray
    number: FloatArray
    column: SensitiveColumn
    cells: int

    def _sum(self, amount: FloatArray | None = None) -> FloatArray:
        return np.asarray(np.bincount(self.cell, weights=amount, minlength=self.cells))

    @cached_property
    def size(self) -> FloatArray:
        return self._sum(self.number)

    @cached_property
    def different(self) -> IntArray:
        return np.bincount(self.cell, minlength=self.cells)

    @property
    def entropy(self) -> FloatArray:
        """In nats."""
        share = self.number / self.size[self.cell]
        return self._sum(-share * np.log(share))

    @cached_property
    def _place(self) -> IntArray:
        """Of each value among those of its cell, the commonest first, from 1."""
        order = np.lexsort((-self.number, self.cell))
        begin = np.concatenate([[0], np.cumsum(self.different)])[self.cell[order]]
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size) - begin + 1
        return place

    @property
    def commonest(self) -> FloatArray:
        return self._sum(np.where(self._place == 1, self.number, 0.0))

    def from_place(self, place: int) -> FloatArray:
        """Records with a value that is the l-th commonest or rarer."""
        return self._sum(np.where(self._place >= place, self.number, 0.0))

    @property
    def distance(self) -> FloatArray:
        """Of each cell's shares from the file's: the earth mover's distance."""
        return self._ordered_distance() if self.column.ordered else self._equal_distance()

    def _equal_distance(self) -> FloatArray:
        """Half the sum of differences; what a cell lacks adds its share in the file."""
        overall, share = self.column.share[self.value], self.number / self.size[self.cell]
        return np.asarray((self._sum(np.abs(share - overall) - overall) + 1.0) / 2)

    def _ordered_distance(self) -> FloatArray:
        """Sum of |P_j - Q_j| over cumulative shares, over m - 1. P is constant from one value of the cell to its next; Q rises, so that
        the sum over such a run is two differences of sums of Q."""
        q = np.cumsum(self.column.share)
        if q.size == 1:
            return np.zeros(self.cells)
        sums, last = np.concatenate([[0.0], np.cumsum(q)]), q.size - 1
        total = np.cumsum(self.number)
        starts = np.concatenate([[0.0], np.cumsum(self.size)])[self.cell]
        p = (total - starts) / self.size[self.cell]
        following = np.append(self.cell[1:] == self.cell[:-1], False)
        end = np.where(following, np.append(self.value[1:], last), last)
        found = self._sum(_run(p, self.value, np.minimum(end, last), q, sums))
        first = np.concatenate([[True], self.cell[1:] != self.cell[:-1]]) if self.cell.size else np.zeros(0, dtype=np.bool_)
        np.add.at(found, self.cell[first], sums[self.value[first]])  # before its first value P is nothing
        return np.asarray(found / last)


def _run(p: FloatArray, begin: IntArray, end: IntArray, q: FloatArray, sums: FloatArray) -> FloatArray:
    """Sum of |p - q_j| for begin <= j < end."""
    middle = np.clip(np.searchsorted(q, p), begin, end)
    below = p * (middle - begin) - (sums[middle] - sums[begin])
    return np.asarray(below + (sums[end] - sums[middle]) - p * (end - middle))


def benedetti_franconi(count: IntArray, weight: FloatArray) -> FloatArray:
    """Individual risk (1998): the mean of 1/F given the sample frequency f, with F estimated by the sum of weights."""
    f, total = count.astype(np.float64), np.maximum(weight, count)
    p = f / total
    sure = p >= 1 - 1e-12
    q = np.where(sure, 0.5, p)
    ratio = q / (1 - q)
    one = ratio * np.log(1 / q)
    two = ratio - ratio**2 * np.log(1 / q)
    more = q / (f - (1 - q))
    return np.asarray(np.where(sure, 1 / f, np.where(f == 1, one, np.where(f == 2, two, more))))


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelJudge:
    """Says which cells break a model; keys come as `cell[key]`, the number of each key's cell, -1 for none."""

    models: Sequence[RiskModel]
    count: IntArray
    weight: IntArray
    """Of each key, so many `unit` of which are a weight of one; its records where there are no weights."""
    unit: int
    columns: Mapping[str, SensitiveColumn]

    def broken(self, cell: IntArray) -> BoolArray:
        """Keys in cells that break a model."""
        found, dense, here = np.zeros(cell.size, dtype=np.bool_), *_numbered(cell)
        cells = int(dense.max(initial=-1)) + 1
        held: dict[str, CellValues] = {}
        for model in self.models:
            if isinstance(model, IndividualRisk):
                bad = self._risks(dense, cells) > model.most + SLACK
            else:
                if model.column not in held:
                    held[model.column] = self.columns[model.column].by_cell(dense, cells)
                bad = model.broken(held[model.column])
            found[here] |= bad[dense[here]]
        return found

    def risks(self, cell: IntArray) -> FloatArray:
        """The individual risk that a cell gives its keys; 0 where there is no cell."""
        dense, here = _numbered(cell)
        found = np.zeros(cell.size)
        found[here] = self._risks(dense, int(dense.max(initial=-1)) + 1)[dense[here]]
        return found

    def _risks(self, dense: IntArray, cells: int) -> FloatArray:
        here = dense >= 0
        count, weight = (np.bincount(dense[here], weights=each[here], minlength=cells) for each in (self.count, self.weight))
        return benedetti_franconi(np.round(count).astype(np.int64), weight / self.unit)


def _numbered(cell: IntArray) -> tuple[IntArray, BoolArray]:
    """Cells numbered without gaps, -1 for none; and which keys have one."""
    here = cell >= 0
    dense = np.full(cell.size, -1, dtype=np.int64)
    dense[here] = np.unique(cell[here], return_inverse=True)[1].ravel()
    return dense, here


def necessary_models(models: Sequence[RiskModel]) -> tuple[RiskModel, ...]:
    """What these imply whichever records join or leave a combination: bounds may count on it."""
    found = [model.necessary for model in models]
    return tuple(dict.fromkeys(model for model in found if model is not None))
