"""Risk models of a safe file, worked out anew from both files: classes are counted in full, and limits that are just reached are decided in
whole numbers. Nothing is shared with what planned the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.report import Check
from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.data.queries.recount import FileRecords


class ModelAuditTuning(NamedTuple):
    block: int = 4_000_000
    """Numbers of a block of classes times values: by judgement."""
    border: float = 1e-9
    """How near to a limit floating point is not believed."""


TUNING = ModelAuditTuning()
RISKS = ("individual-risk", "household-risk")


@dataclass(frozen=True, kw_only=True)
class PromisedModel:
    """A model by name with its limit; of diversity and closeness the column, of risks the weights and the households if there are any."""

    kind: str
    limit: float
    words: str
    column: str | None = None
    c: float = 0.0
    weight: str | None = None
    household: str | None = None


Tables = Sequence[Sequence[int]]
"""The fields of each combination, by place."""


def check_model(model: PromisedModel, before: FileRecords, after: FileRecords, tables: Tables, rule: str, unit: int) -> Check:
    """Released records that show a combination which breaks the model: by what the original holds, or under `recount` the release."""
    again, weight = rule == "recount", None if model.weight is None else (model.weight, unit)
    shown = after.held(model.column if again else None, weight if again else None, model.household)
    source = shown if again else before.held(model.column, weight, model.household)
    fields = sum(name.startswith("w") for name in shown.column_names)
    source_codes, shown_codes = _common_codes(source, shown, fields)
    cells = [_cells(source_codes[list(places)], shown_codes[list(places)]) for places in tables]
    records = _numbers(shown, "records")
    if model.kind in RISKS:
        bad = _too_risky(model, source, shown, cells, unit if model.weight else 1)
    else:
        bad = np.zeros(records.size, dtype=np.bool_)
        held = _values(source)
        for source_cell, shown_cell in cells:
            bad |= _in_broken(model, held, source_cell, shown_cell)
    words = f"No record shows a combination that breaks: {model.words}"
    return Check(name=model.kind, words=words, checked=int(records.sum()), faults=int(records[bad].sum()))


def _common_codes(source: pa.Table, shown: pa.Table, fields: int) -> tuple[IntArray, IntArray]:
    """Texts as numbers, the same on both sides; -1 for a blank."""
    found = []
    for place in range(fields):
        both = [side[f"w{place}"] for side in (source, shown)]
        words = pc.unique(pa.chunked_array([chunk for side in both for chunk in side.chunks], pa.string())).drop_null()
        found.append([pc.fill_null(pc.index_in(side, value_set=words), -1).to_numpy().astype(np.int64) for side in both])
    return np.stack([pair[0] for pair in found]), np.stack([pair[1] for pair in found])


def _cells(source: IntArray, shown: IntArray) -> tuple[IntArray, IntArray]:
    """The cell of each row of both sides, numbered alike; -1 where a field is blank."""
    both = np.concatenate([source, shown], axis=1)
    index = np.zeros(both.shape[1], dtype=np.int64)
    for row in both:
        index = np.unique(index * (int(row.max()) + 2) + row + 1, return_inverse=True)[1].ravel()
    index = np.where((both < 0).any(axis=0), -1, index)
    return index[: source.shape[1]], index[source.shape[1] :]


def _numbers(table: pa.Table, name: str) -> IntArray:
    return np.asarray(table[name].to_numpy(), dtype=np.int64)


class _HeldValues(NamedTuple):
    """The value of each row, its records, the records of each value in the file, and whether values are in order."""

    value: IntArray
    records: IntArray
    overall: IntArray
    ordered: bool


def _values(source: pa.Table) -> _HeldValues:
    """Values numbered in order where all are numbers, equal numbers as one; a missing value comes first."""
    texts = ["" if text is None else str(text) for text in source["x"].to_pylist()]
    distinct = sorted(set(texts))
    numbers = {text: _as_number(text) for text in distinct if text != ""}
    ordered = bool(numbers) and None not in numbers.values()
    keys = {text: (text != "", (numbers[text] if ordered else place) if text else 0) for place, text in enumerate(distinct)}
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
    own, records = np.array([ranks[keys[text]] for text in texts], dtype=np.int64), _numbers(source, "records")
    return _HeldValues(own, records, np.bincount(own, weights=records).astype(np.int64), ordered)


def _as_number(text: str) -> Fraction | None:
    try:
        return Fraction(text.strip().replace(",", "."))
    except (ValueError, ZeroDivisionError):
        return None


def _in_broken(model: PromisedModel, held: _HeldValues, source: IntArray, shown: IntArray) -> BoolArray:
    """Rows of the release in cells that break the model."""
    cells = np.unique(shown[shown >= 0])
    broken = np.zeros(int(max(source.max(initial=-1), shown.max(initial=-1))) + 1, dtype=np.bool_)
    for chosen, counts in _blocks(held, source, cells):
        empty = counts.sum(axis=1) == 0  # nothing is known of a combination that the file it is judged by has not
        broken[chosen[empty]] = True
        broken[chosen[~empty]] = _BREAKS[model.kind](model, counts[~empty], held)
    return np.asarray((shown >= 0) & broken[np.maximum(shown, 0)]) if broken.size else np.zeros(shown.size, dtype=np.bool_)


def _blocks(held: _HeldValues, source: IntArray, cells: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """These cells with the records of every value, some cells at a time."""
    order = np.argsort(source, kind="stable")
    size = max(1, TUNING.block // held.overall.size)
    for start in range(0, cells.size, size):
        chosen = cells[start : start + size]
        rows = order[np.searchsorted(source[order], chosen[0]) : np.searchsorted(source[order], chosen[-1], side="right")]
        place = np.searchsorted(chosen, source[rows])
        own = chosen[np.minimum(place, chosen.size - 1)] == source[rows]
        counts = np.zeros((chosen.size, held.overall.size), dtype=np.int64)
        np.add.at(counts, (place[own], held.value[rows[own]]), held.records[rows[own]])
        yield chosen, counts


def _few_values(model: PromisedModel, counts: IntArray, held: _HeldValues) -> BoolArray:
    return np.asarray((counts > 0).sum(axis=1) < model.limit)


def _low_entropy(model: PromisedModel, counts: IntArray, held: _HeldValues) -> BoolArray:
    share = counts / counts.sum(axis=1, keepdims=True)
    entropy = -np.where(counts > 0, share * np.log(np.where(counts > 0, share, 1.0)), 0.0).sum(axis=1)
    return _decided(entropy - math.log(model.limit), counts, lambda row: _entropy_below(row, Fraction(str(model.limit))))


def _entropy_below(row: IntArray, least: Fraction) -> bool:
    """n^n < l^n times the product of n_i^n_i, in whole numbers."""
    numbers = [int(number) for number in row if number]
    n: int = sum(numbers)
    right: int = least.numerator**n * math.prod(number**number for number in numbers)
    return bool(n**n * least.denominator**n < right)


def _common_value(model: PromisedModel, counts: IntArray, held: _HeldValues) -> BoolArray:
    c, ranked = Fraction(str(model.c)), -np.sort(-counts, axis=1)
    first, rest = ranked[:, 0], ranked[:, int(model.limit) - 1 :].sum(axis=1)
    return np.array([int(one) * c.denominator >= c.numerator * int(more) for one, more in zip(first, rest, strict=True)], dtype=np.bool_)


def _far_away(model: PromisedModel, counts: IntArray, held: _HeldValues) -> BoolArray:
    apart = counts / counts.sum(axis=1, keepdims=True) - held.overall / held.overall.sum()
    if held.ordered:
        distance = np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / max(1, held.overall.size - 1)
    else:
        distance = np.abs(apart).sum(axis=1) / 2
    return _decided(model.limit - distance, counts, lambda row: _exact_distance(row, held) > Fraction(str(model.limit)))


def _exact_distance(row: IntArray, held: _HeldValues) -> Fraction:
    n, every = int(row.sum()), int(held.overall.sum())
    apart = [Fraction(int(own), n) - Fraction(int(other), every) for own, other in zip(row, held.overall, strict=True)]
    if not held.ordered:
        return sum((abs(each) for each in apart), Fraction(0)) / 2
    sums = [sum(apart[: place + 1], Fraction(0)) for place in range(len(apart))]
    return sum((abs(each) for each in sums), Fraction(0)) / max(1, len(apart) - 1)


def _decided(above: FloatArray, counts: IntArray, below: Callable[[IntArray], bool]) -> BoolArray:
    """Whether each row is below its limit; rows on the border are decided exactly."""
    found = above < 0
    for row in np.flatnonzero(np.abs(above) <= TUNING.border):
        found[row] = below(counts[row])
    return np.asarray(found)


_BREAKS: dict[str, Callable[[PromisedModel, IntArray, _HeldValues], BoolArray]] = {
    "distinct-diversity": _few_values,
    "entropy-diversity": _low_entropy,
    "recursive-diversity": _common_value,
    "closeness": _far_away,
}


def _too_risky(model: PromisedModel, source: pa.Table, shown: pa.Table, cells: Sequence[tuple[IntArray, IntArray]], unit: int) -> BoolArray:
    """Rows whose risk, the largest of all combinations that they show, is above the limit; of households the risk of all members."""
    records, units = _numbers(source, "records"), _numbers(source, "units")
    risk = np.zeros(shown.num_rows)
    for source_cell, shown_cell in cells:
        here, size = source_cell >= 0, int(max(source_cell.max(initial=-1), shown_cell.max(initial=-1))) + 1
        f, total = (np.bincount(source_cell[here], weights=each[here], minlength=size) for each in (records, units))
        own = np.array([_risk(int(f[cell]), float(total[cell]) / unit) if cell >= 0 else 0.0 for cell in range(size)])
        risk = np.maximum(risk, np.where(shown_cell >= 0, own[np.maximum(shown_cell, 0)] if size else 0.0, 0.0))
    limit = model.limit * (1 + TUNING.border)
    if model.kind == "individual-risk":
        return np.asarray(risk > limit)
    homes = np.array(["" if home is None else str(home) for home in shown["home"].to_pylist()], dtype=object)
    _, home = np.unique(np.where(homes == "", [f" {row}" for row in range(homes.size)], homes).astype(str), return_inverse=True)
    times = np.where(homes == "", 1, _numbers(shown, "records"))  # who has no household is one alone
    safe = np.ones(home.max(initial=-1) + 1)
    np.multiply.at(safe, home, (1.0 - risk) ** times)
    return np.asarray((1.0 - safe > limit)[home])


def _risk(f: int, population: float) -> float:
    """Benedetti and Franconi (1998), class by class; of what the original has not, nothing is known."""
    if f == 0 or population <= f * (1 + 1e-12):
        return 1 / max(f, 1)
    p = f / population
    odds = p / (1 - p)
    if f == 1:
        return odds * math.log(1 / p)
    return odds - odds**2 * math.log(1 / p) if f == 2 else p / (f - (1 - p))
