"""Risk models that a safe file obeys besides its thresholds: what a combination of key values may tell about those who share it.

A combination breaks a model by what its records hold; it is then unsafe like one that too few records show, and the same optimisation
covers both. Proofs lean on what holds whichever records join or leave a combination: with fewer records there are no more different
values, and the risk of each is no lower. Entropy, recursion and closeness can go either way, so that bounds count of them only what they
imply (`necessary`).

The shares that a model allows are a convex set, so that a combination that breaks it is cut off by a line (`Cut`) that all allowed ones
respect, whatever records join or leave: programs that choose who shows what add such lines where they are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError

SLACK = 1e-12
"""Of sums and logarithms in floating point, where a limit is just reached; the audit decides such cases in whole numbers."""
CLEAR = 1e-9
"""What is more than such errors."""
TOLERANCE = 1e-6
"""A solver takes less for nothing."""
TANGENTS, COMMON = 3, 8
"""Cuts beside the deepest of an entropy, and commonest values that a recursion has cuts for, by judgement: fewer want more rounds, more
make each of them longer."""


class Cut(NamedTuple):
    """Every combination that obeys a model holds records whose `value`s sum to `least` or more, unless it holds none."""

    value: FloatArray
    least: float

    @property
    def scaled(self) -> Cut:
        """With values of up to 1: a solver takes small ones for nothing."""
        largest = float(np.abs(self.value).max(initial=0.0))
        return Cut(self.value / largest, self.least / largest) if largest > 0 else self


@dataclass(frozen=True)
class DistinctDiversity:
    """l-diversity: at least so many different values of a column in every combination (Machanavajjhala et al., 2007).

    column: the sensitive one. least: how many values.

    >>> print(DistinctDiversity("illness", 2))
    at least 2 different values of illness
    """

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

    def cuts(self, number: FloatArray, column: SensitiveColumn) -> list[Cut]:
        """The first cuts off a combination with so many records of each value, if it breaks the model; others are likely to be needed."""
        absent = number <= 0
        return [Cut(absent.astype(np.float64), self.least - float((~absent).sum()))]

    def __str__(self) -> str:
        return f"at least {self.least} different values of {self.column}"


@dataclass(frozen=True)
class EntropyDiversity:
    """Entropy l-diversity: the entropy of a column in every combination is that of `least` equally frequent values, or more.

    column: the sensitive one.

    >>> print(EntropyDiversity("illness", 2.5))
    the entropy of illness at least that of 2.5 equally frequent values
    """

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

    def cuts(self, number: FloatArray, column: SensitiveColumn) -> list[Cut]:
        """The entropy of shares p is at most -sum p log q, whatever q (Gibbs): of some between these and equal ones, what cuts deepest,
        and those nearest to equal ones, which the next answers would ask for."""
        own, even = number / number.sum(), np.full(number.size, 1.0 / number.size)
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            q = (1 - middle) * own + middle * even
            low, high = (middle, high) if -float(q @ np.log(q)) < math.log(self.least) else (low, middle)
        found = [Cut(-np.log((1 - part) * own + part * even) - math.log(self.least), 0.0).scaled for part in high * 0.5 ** np.arange(20)]
        deepest = min(range(len(found)), key=lambda place: float(found[place].value @ number))
        return [found[place] for place in dict.fromkeys((deepest, *range(TANGENTS)))]

    def __str__(self) -> str:
        return f"the entropy of {self.column} at least that of {self.least:g} equally frequent values"


@dataclass(frozen=True)
class RecursiveDiversity:
    """Recursive (c, l)-diversity: the commonest value is rarer than c times those from the l-th commonest on together.

    column: the sensitive one. c: the factor. least: l.

    >>> print(RecursiveDiversity("illness", 3, 2))
    the commonest value of illness rarer than 3 times those from the 2. commonest on
    """

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

    def cuts(self, number: FloatArray, column: SensitiveColumn) -> list[Cut]:
        """No value is as common as c times all but it and any l - 2 others: the commonest here beside those that are rarest, and then
        the next commonest, which come to be the commonest where records of that one are hidden."""
        order, least = np.argsort(-number, kind="stable").tolist(), _least_above_zero(self.c, int(column.records.sum()))
        found = []
        for common in order[:COMMON]:
            value = np.full(number.size, self.c)
            value[[each for each in order if each != common][: self.least - 2]] = 0.0
            value[common] = -1.0
            found.append(Cut(value, least))
        return found

    def __str__(self) -> str:
        return f"the commonest value of {self.column} rarer than {self.c:g} times those from the {self.least}. commonest on"


@dataclass(frozen=True)
class Closeness:
    """t-closeness: the distance of a column's shares in every combination from those in the file is at most `most`.

    Numbers are ordered: a step to the next of m values is a distance of 1/(m - 1). Other values are all equally far from each other
    (Li, Li and Venkatasubramanian, 2007). A missing value comes before all numbers.
    column: the sensitive one.

    >>> print(Closeness("income", 0.2))
    the shares of income within 0.2 of those in the file
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

    def cuts(self, number: FloatArray, column: SensitiveColumn) -> list[Cut]:
        """The distance is a sum of absolute values: each with the sign that it has here, they sum to no more."""
        shares = number / number.sum(), column.share
        own, every = (np.cumsum(each)[:-1] for each in shares) if column.ordered else shares
        sign = np.sign(own - every)
        limit = self.most * sign.size if column.ordered else 2 * self.most
        of_value = np.append(np.cumsum(sign[::-1])[::-1], 0.0) if column.ordered else sign
        return [Cut(limit + float(sign @ every) - of_value, 0.0)]

    def __str__(self) -> str:
        return f"the shares of {self.column} within {self.most:g} of those in the file"


@dataclass(frozen=True)
class IndividualRisk:
    """The risk of each record (Benedetti and Franconi, 1998) is at most `most`; without weights it is one over those who share its key.

    >>> print(IndividualRisk(0.1))
    the risk of a record at most 0.1
    """

    most: float
    kind: ClassVar[str] = "individual-risk"

    def __post_init__(self) -> None:
        _check(_number(self.most) and 0 < self.most <= 1, "most: a number above 0, up to 1")

    @property
    def necessary(self) -> RiskModel | None:
        return self

    def cut(self, records: int, weight: float, own: FloatArray) -> Cut:
        """Below the weights that 1, 2, ... records need: the line, by a record and by a weight of 1, that is furthest above this one.

        `own` are the weights of all records that there are. From 1/most records on any weight will do: a falling line stays below."""
        count = np.arange(1, min(own.size, max(math.ceil(1 / self.most), records) + 1) + 1)
        needed = np.maximum(np.minimum(self._least_weight(count), 2 * own.sum()), count * own.min())
        others = count != records
        falls = np.append(np.maximum((needed[records - 1] - needed[others]) / (count[others] - records), 0.0), 0.0)
        least = (needed + falls[:, None] * count).min(axis=1)
        best = int(np.argmax(least - falls * records))
        return Cut(np.array([falls[best], 1.0]), float(least[best]))

    def _least_weight(self, count: IntArray) -> FloatArray:
        """The weight that so many records need together, or a little less; 0 where any will do."""
        low, high = count.astype(np.float64), count * 1e12
        for _ in range(100):
            middle = np.sqrt(low * high)
            risky = benedetti_franconi(count, middle) > self.most + SLACK
            low, high = np.where(risky, middle, low), np.where(risky, high, middle)
        return np.where(benedetti_franconi(count, count.astype(np.float64)) > self.most + SLACK, low, 0.0)

    def __str__(self) -> str:
        return f"the risk of a record at most {self.most:g}"


@dataclass(frozen=True)
class HouseholdRisk(IndividualRisk):
    """The risk that a member of a household is recognised, one less the product of (1 - risk) over all members, is at most `most`.

    >>> print(HouseholdRisk(0.1))
    the risk of a household at most 0.1
    """

    kind: ClassVar[str] = "household-risk"

    def __str__(self) -> str:
        return f"the risk of a household at most {self.most:g}"


DiversityModel = DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness
RiskModel = DiversityModel | IndividualRisk | HouseholdRisk
MODELS: Mapping[str, type[RiskModel]] = {
    each.kind: each for each in (DistinctDiversity, EntropyDiversity, RecursiveDiversity, Closeness, IndividualRisk, HouseholdRisk)
}


def _least_above_zero(c: float, most: int) -> float:
    """The least that c times a whole number up to `most` exceeds one before it."""
    times = c * np.arange(1, most + 1)
    above = times - (np.ceil(times) - 1)
    return float(above[above > CLEAR * times].min(initial=1.0))


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

    def of_rows(self, key: IntArray, records: IntArray) -> ModelJudge:
        """For rows of so many records of a key each; all records of a key are alike."""
        columns = {name: self._of_rows(name, key, records) for name in self.columns}
        return replace(self, count=records, weight=self.weight[key] // self.count[key] * records, columns=columns)

    def _of_rows(self, name: str, key: IntArray, records: IntArray) -> SensitiveColumn:
        return SensitiveColumn(key=np.arange(key.size), value=self.values[name][key], records=records, ordered=self.columns[name].ordered)

    @cached_property
    def values(self) -> dict[str, IntArray]:
        """Of each key, where all its records are alike."""
        found = {name: np.zeros(self.count.size, dtype=np.int64) for name in self.columns}
        for name, column in self.columns.items():
            found[name][column.key] = column.value
        return found

    def cuts(self, key: IntArray, records: IntArray, members: IntArray) -> list[Cut]:
        """That cut off a combination shown by so many records of each key; of each of the keys that may show it, a record's value."""
        place, found = np.searchsorted(members, key), list[Cut]()
        for model in self.models:
            first, *others = (cut.scaled for cut in self._cuts(model, key, records, members))
            found += [first, *others] if first.value[place] @ records < first.least - TOLERANCE else []
        return found

    def _cuts(self, model: RiskModel, key: IntArray, records: IntArray, members: IntArray) -> list[Cut]:
        if not isinstance(model, IndividualRisk):
            column, value = self.columns[model.column], self.values[model.column]
            number = np.bincount(value[key], weights=records, minlength=column.share.size).astype(np.float64)
            return [Cut(cut.value[value[members]], cut.least) for cut in model.cuts(number, column)]
        weight = self.weight / self.count / self.unit
        cut = model.cut(int(records.sum()), float(weight[key] @ records), np.repeat(weight[members], self.count[members]))
        return [Cut(cut.value[0] + cut.value[1] * weight[members], cut.least)]

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
