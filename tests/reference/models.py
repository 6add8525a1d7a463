"""Risk models in plain words: what a class may hold, and the cheapest way to make a small file obey them: by an integer program over the
blanks of every record under rule `original`, by trying everything under `recount`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

Record = tuple[str | None, ...]


def ordered_distance(values: Sequence[int], every: Sequence[int]) -> float:
    """Earth mover's distance of a class from the file over all values in order (Li, Li and Venkatasubramanian, 2007)."""
    distinct = sorted(set(every))
    total, p, q = 0.0, 0.0, 0.0
    for value in distinct:
        p += list(values).count(value) / len(values)
        q += list(every).count(value) / len(every)
        total += abs(p - q)
    return total / (len(distinct) - 1) if len(distinct) > 1 else 0.0


def equal_distance(values: Sequence[str], every: Sequence[str]) -> float:
    return sum(abs(list(values).count(value) / len(values) - list(every).count(value) / len(every)) for value in set(every)) / 2


def risk(f: int, population: float) -> float:
    """Benedetti and Franconi (1998)."""
    p = f / max(population, f)
    if p >= 1 - 1e-12:
        return 1 / f
    if f == 1:
        return p / (1 - p) * math.log(1 / p)
    if f == 2:
        return p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p)
    return p / (f - (1 - p))


@dataclass(frozen=True, kw_only=True)
class PlainModel:
    kind: str
    limit: float
    c: float = 0.0

    def breaks(self, values: Sequence[str], every: Sequence[str], weights: Sequence[float]) -> bool:
        """A class with these values of the sensitive column and these weights."""
        counts = sorted(Counter(values).values(), reverse=True)
        if self.kind == "distinct-diversity":
            return len(counts) < self.limit
        if self.kind == "entropy-diversity":
            return -sum(n / len(values) * math.log(n / len(values)) for n in counts) < math.log(self.limit) - 1e-9
        if self.kind == "recursive-diversity":
            return not counts[0] < self.c * sum(counts[int(self.limit) - 1 :])
        if self.kind == "closeness":
            numbers = all(value.isdigit() for value in every)
            far = ordered_distance([int(v) for v in values], [int(v) for v in every]) if numbers else equal_distance(values, every)
            return far > self.limit + 1e-9
        return risk(len(values), sum(weights)) > self.limit + 1e-9


@dataclass(frozen=True, kw_only=True)
class PlainFile:
    """Records as they are written, with a value of the sensitive column, a weight and a household each."""

    records: Sequence[Record]
    values: Sequence[str]
    weights: Sequence[float]
    homes: Sequence[str]
    tables: Sequence[tuple[int, ...]]
    threshold: int
    model: PlainModel
    cost: Sequence[float] = field(default=(1.0, 1.0, 1.0))

    def members(self, records: Sequence[Record], shown: Record, places: tuple[int, ...]) -> list[int]:
        return [n for n, each in enumerate(records) if all(each[f] == shown[f] for f in places)]

    def unsafe(self, records: Sequence[Record], shown: Record, places: tuple[int, ...]) -> bool:
        """Whether the combination of this record's values is unsafe, counted in these records."""
        if any(shown[f] is None for f in places):
            return False
        return not self.allowed(self.members(records, shown, places))

    def allowed(self, own: Sequence[int]) -> bool:
        """Whether these records may share a combination; nobody may."""
        values, weights = [self.values[n] for n in own], [self.weights[n] for n in own]
        return not own or not (len(own) < self.threshold or self.model.breaks(values, self.values, weights))

    def loss(self, shown: Record) -> float:
        """-log(1 - risk), the risk being the largest of all combinations shown, counted in the file as it is."""
        found = 0.0
        for places in self.tables:
            if all(shown[f] is not None for f in places):
                own = self.members(self.records, shown, places)
                found = max(found, risk(len(own), sum(self.weights[n] for n in own)))
        return -math.log1p(-found) if found < 1 else math.inf

    def masks(self, record: Record) -> Iterator[tuple[Record, float]]:
        """Every way to blank a record, with its cost."""
        for blank in product((False, True), repeat=len(record)):
            if not any(gone and value is None for gone, value in zip(blank, record, strict=True)):
                shown = tuple(None if gone else value for gone, value in zip(blank, record, strict=True))
                yield shown, sum(cost for gone, cost in zip(blank, self.cost, strict=False) if gone)


def least_cost(file: PlainFile) -> float:
    """Rule `original`, by an integer program: one way to blank for each record; the losses of a household add up."""
    columns = [
        (number, shown, price)
        for number, record in enumerate(file.records)
        for shown, price in file.masks(record)
        if not any(file.unsafe(file.records, shown, places) for places in file.tables)
    ]
    rows, low, high = [], [], []
    for number in range(len(file.records)):
        rows.append([float(own == number) for own, _, _ in columns])
        low.append(1.0)
        high.append(1.0)
    if file.model.kind == "household-risk":
        limit = -math.log1p(-file.model.limit)
        for home in sorted(set(file.homes)):
            rows.append([min(file.loss(shown), 1e3) if file.homes[own] == home else 0.0 for own, shown, _ in columns])
            low.append(0.0)
            high.append(limit + 1e-9)
    found = milp(
        np.array([price for *_, price in columns]),
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(rows), low, high),
    )
    assert found.success
    return float(found.fun)


def least_recounted(file: PlainFile) -> float:
    """Rule `recount`, by trying every way to blank every record."""
    best = math.inf
    for chosen in product(*(list(file.masks(record)) for record in file.records)):
        price = sum(cost for _, cost in chosen)
        released = [shown for shown, _ in chosen]
        if price < best and not any(file.unsafe(released, shown, places) for shown in released for places in file.tables):
            best = price
    return best


def least_recounted_by_program(file: PlainFile) -> float:
    """The same by an integer program: of each cell one set of its records shows it, and only sets that obey threshold and model exist."""
    columns = [(number, shown, price) for number, record in enumerate(file.records) for shown, price in file.masks(record)]
    cells = {(places, tuple(record[f] for f in places)) for record in file.records for places in file.tables}
    rows, low, entries = 0, list[float](), list[tuple[int, int, float]]()
    for number in range(len(file.records)):
        entries += [(rows, column, 1.0) for column, (own, _, _) in enumerate(columns) if own == number]
        rows, low = rows + 1, [*low, 1.0]
    size = len(columns)
    for places, code in sorted((each for each in cells if None not in each[1]), key=str):
        own = [number for number, record in enumerate(file.records) if tuple(record[f] for f in places) == code]
        chosen = [each for size_ in range(len(own) + 1) for each in combinations(own, size_) if file.allowed(each)]
        entries += [(rows, size + place, 1.0) for place in range(len(chosen))]
        for row, number in enumerate(own, start=rows + 1):
            entries += [(row, size + place, 1.0) for place, each in enumerate(chosen) if number in each]
            entries += [(row, column, -1.0) for column, (mine, shown, _) in enumerate(columns)
                        if mine == number and all(shown[f] is not None for f in places)]  # fmt: skip
        rows, low, size = rows + 1 + len(own), [*low, 1.0, *[0.0] * len(own)], size + len(chosen)
    row, column, value = zip(*entries, strict=True)
    cost = np.zeros(size)
    cost[: len(columns)] = [price for *_, price in columns]
    held = LinearConstraint(csr_matrix((value, (row, column)), shape=(rows, size)), low, low)
    found = milp(cost, integrality=np.ones(size), bounds=Bounds(0, 1), constraints=held)
    assert found.success
    return float(found.fun)


def least_with_recoding(
    file: PlainFile, menus: Sequence[Sequence[tuple[float, Callable[[str], str]]]], price: Callable[[PlainFile], float]
) -> float:
    """The least of recoding and blanks; a menu has the cost of each way to write its field, and that way."""
    best = math.inf
    for levels in sorted(product(*menus), key=lambda each: sum(cost for cost, _ in each)):
        if sum(cost for cost, _ in levels) >= best:
            break
        written = [tuple(None if v is None else way(v) for v, (_, way) in zip(record, levels, strict=True)) for record in file.records]
        best = min(best, sum(cost for cost, _ in levels) + price(_replaced(file, written)))
    return best


def _replaced(file: PlainFile, records: Sequence[Record]) -> PlainFile:
    parts: Mapping[str, object] = {**vars(file), "records": records}
    return PlainFile(**parts)  # type: ignore[arg-type]


def tables_up_to(fields: int, order: int) -> list[tuple[int, ...]]:
    return [places for size in range(1, order + 1) for places in combinations(range(fields), size)]
