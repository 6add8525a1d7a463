"""Risk and loss of a file in figures, from distinct keys: of the file as it is, and as a plan releases it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import FloatArray, IntArray
from statveil.data.microdata import Microdata
from statveil.data.queries.keys import count_values
from statveil.records.coding import WEIGHT_UNIT, CodedFile, record_key
from statveil.records.plan import FilePlan
from statveil.records.suppress.problem import row_amount
from statveil.records.write.safe_file import released_values

MOST_LOOKS = 60_000_000
"""Keys times pairs of fields up to which the tree is looked for; beyond, the fields are taken as independent."""
SCALE_STEPS = 60


def population_uniques(codes: IntArray, count: IntArray, population: float) -> float:
    """Expected number of keys with one record that one person of the population has; `codes[field, key]`, a blank is a value of its own."""
    share = count.sum() / max(population, float(count.sum()))
    alone = count == 1
    if not alone.any() or share >= 1:
        return float(alone.sum())
    mean = _means(codes, count.astype(np.float64)) * population
    mean *= _scale(mean * share, count, int(alone.sum()))
    return float(np.exp(-(1 - share) * mean[alone]).sum())


def _scale(expected: FloatArray, count: IntArray, uniques: int) -> float:
    """The factor on the means under which the expected number of sample uniques is the one found; no more than a thousandfold."""
    low, high = -np.log(1e3), np.log(1e3)
    for _ in range(SCALE_STEPS):
        middle = (low + high) / 2
        if float((count * np.exp(-expected * np.exp(middle))).sum()) > uniques:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def _means(codes: IntArray, count: FloatArray) -> FloatArray:
    """Share of the population that the tree expects in each key."""
    found, total = np.ones(count.size), count.sum()
    for field, parent in _tree(codes, count).items():
        joint = _counts([codes[field]] if parent is None else [codes[field], codes[parent]], count)
        found *= joint / (total if parent is None else _counts([codes[parent]], count))
    return found


def _counts(rows: list[IntArray], count: FloatArray) -> FloatArray:
    """For each key, the records that share its values in these fields."""
    index = rows[0].astype(np.int64) + 1
    for row in rows[1:]:
        index = index * (int(row.max()) + 2) + row + 1
    _, inverse = np.unique(index, return_inverse=True)
    return np.asarray(np.bincount(inverse.ravel(), weights=count)[inverse.ravel()])


def _tree(codes: IntArray, count: FloatArray) -> dict[int, int | None]:
    """Each field's closest field among those before it in the tree; None where nothing ties it."""
    fields = codes.shape[0]
    if fields * fields * count.size > MOST_LOOKS:
        return dict.fromkeys(range(fields))
    tie = {pair: _mutual(codes[pair[0]], codes[pair[1]], count) for pair in combinations(range(fields), 2)}
    found: dict[int, int | None] = {0: None}
    while len(found) < fields:
        inside, outside = max(
            ((one, two) for one in found for two in range(fields) if two not in found), key=lambda pair: tie[min(pair), max(pair)]
        )
        found[outside] = inside if tie[min(inside, outside), max(inside, outside)] > 0 else None
    return found


def _mutual(one: IntArray, two: IntArray, count: FloatArray) -> float:
    """What two fields tell about each other (nats), less what chance alone would make of it."""
    total = count.sum()
    shares = [_counts(rows, count) / total for rows in ([one], [two], [one, two])]
    told = float((count / total * np.log(shares[2] / (shares[0] * shares[1]))).sum())
    return told - (np.unique(one).size - 1) * (np.unique(two).size - 1) / (2 * float(total))


@dataclass(frozen=True, kw_only=True, repr=False)
class KeyClasses:
    """The different full keys of a file (a blank is a value of its own here): records and weight of each, codes by field."""

    codes: IntArray
    count: IntArray
    weight: FloatArray | None

    @property
    def records(self) -> int:
        return int(self.count.sum())


class Risk(NamedTuple):
    """Figures of re-identification. Those that need weights are None without."""

    smallest_class: int
    uniques: int
    global_risk: float | None
    """Expected share of records re-identified (Benedetti and Franconi)."""
    largest_risk: float | None
    population_uniques: float | None
    """Expected number of sample uniques that are unique in the population."""


def classes_before(coded: CodedFile) -> KeyClasses:
    """Keys that are told apart by their numbers only are one class."""
    if not len(coded.numbers):
        return KeyClasses(codes=coded.codes, count=coded.count, weight=coded.weight / WEIGHT_UNIT if coded.keys.weight else None)
    distinct, inverse = np.unique(coded.codes, axis=1, return_inverse=True)
    count = np.bincount(inverse.ravel(), weights=coded.count).astype(np.int64)
    weight = np.bincount(inverse.ravel(), weights=coded.weight) / WEIGHT_UNIT if coded.keys.weight else None
    return KeyClasses(codes=distinct, count=count, weight=weight)


def classes_after(plan: FilePlan) -> KeyClasses:
    """The keys as the plan writes them, blanks as -1."""
    found, problem = plan.suppression, plan.suppression.problem
    distinct, inverse = np.unique(released_codes(plan), axis=1, return_inverse=True)
    count = np.bincount(inverse.ravel(), weights=found.records).astype(np.int64)
    weight = None
    if plan.keys.weight:
        share = row_amount(problem, found.key, found.records) if plan.keys.counting == "weights" else _weights(plan)
        weight = np.bincount(inverse.ravel(), weights=share) / WEIGHT_UNIT
    return KeyClasses(codes=distinct, count=count, weight=weight)


def released_codes(plan: FilePlan) -> IntArray:
    """The codes that the plan writes, field by field, blanks as -1."""
    found = plan.suppression
    codes = found.problem.written_codes(found.key)
    for field in range(codes.shape[0]):
        codes[field, (found.mask >> field) & 1 == 1] = -1
    return codes


def _weights(plan: FilePlan) -> FloatArray:
    found, coded = plan.suppression, plan.coded
    return np.asarray(coded.weight[found.key] * (found.records / coded.count[found.key]))


def individual_risks(classes: KeyClasses) -> FloatArray | None:
    """Benedetti and Franconi (1998): the mean of 1/F given the sample frequency f, with F estimated by the sum of weights."""
    if classes.weight is None:
        return None
    f, total = classes.count.astype(np.float64), np.maximum(classes.weight, classes.count)
    p = f / total
    sure = p >= 1 - 1e-12
    q = np.where(sure, 0.5, p)
    ratio = q / (1 - q)
    one = ratio * np.log(1 / q)
    two = ratio - ratio**2 * np.log(1 / q)
    more = q / (f - (1 - q))
    return np.asarray(np.where(sure, 1 / f, np.where(f == 1, one, np.where(f == 2, two, more))))


def risk(classes: KeyClasses) -> Risk:
    single = individual_risks(classes)
    alone = classes.count == 1
    if single is None or classes.weight is None:
        return Risk(int(classes.count.min()), int(alone.sum()), None, None, None)
    whole = float((single * classes.count).sum() / classes.records)
    population = population_uniques(classes.codes, classes.count, float(classes.weight.sum()))
    return Risk(int(classes.count.min()), int(alone.sum()), whole, float(single.max()), population)


def discernibility(classes: KeyClasses) -> int:
    """Sum of the squares of the class sizes: how many pairs of records cannot be told apart."""
    return sum(int(count) ** 2 for count in classes.count)


def entropy_kept(plan: FilePlan) -> dict[str, float]:
    """Share of each field's entropy that the released file keeps, blanks left out and charged in proportion."""
    before, after = classes_before(plan.coded), classes_after(plan)
    return {name: _kept(before, after, place) for place, name in enumerate(plan.keys.names)}


def _kept(before: KeyClasses, after: KeyClasses, place: int) -> float:
    first, last = (_entropy(each, place) for each in (before, after))
    shown = [float(each.count[each.codes[place] >= 0].sum()) for each in (before, after)]
    return last / first * (shown[1] / shown[0]) if first > 0 and shown[0] else 1.0


def _entropy(classes: KeyClasses, place: int) -> float:
    row = classes.codes[place]
    here = row >= 0
    if not here.any():
        return 0.0
    counts = np.bincount(row[here], weights=classes.count[here])
    share = counts[counts > 0] / counts.sum()
    return float(max(0.0, -(share * np.log2(share)).sum()))


class Diversity(NamedTuple):
    """How much a class of equal keys gives away about a sensitive column."""

    column: str
    least_values: int
    """l-diversity: the fewest different values in a class."""
    largest_distance: float
    """t-closeness: the largest distance (half the sum of differences) between a class's shares and the file's."""


def diversity(data: Microdata, plan: FilePlan, sensitive: str, *, key: str | None = None) -> tuple[Diversity, Diversity]:
    """Before and after, over the classes of the full key. After the release a class is what shares its open values and blanks.

    Of a key that is released in several ways, `key` (the secret of the shuffle) decides which records get which blanks.
    """
    data.require([sensitive])
    keys = plan.keys
    with data.engine.session() as session:
        own = record_key(data, keys)
        own.lend_missing(session)
        before = count_values(session, own, sensitive)
    after = released_values(data, plan, [*keys.names, sensitive], key=key)
    return _diversity(sensitive, *_classes(before)), _diversity(sensitive, *_classes(after))


def _classes(found: pa.Table) -> tuple[IntArray, IntArray, FloatArray]:
    """Class, value of the last column, and number of records of each row; missing is a value like others."""
    *keys, value = [_places(found[name]) for name in found.column_names[:-1]]
    group = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    return np.asarray(group, dtype=np.int64), value, np.asarray(found["n"].to_numpy(), dtype=np.float64)


def _places(text: pa.ChunkedArray) -> IntArray:
    coded = text.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _diversity(name: str, group: IntArray, value: IntArray, count: FloatArray) -> Diversity:
    pairs, inverse = np.unique(np.stack([group, value]), axis=1, return_inverse=True)
    number = np.bincount(inverse.ravel(), weights=count)
    _, member, different = np.unique(pairs[0], return_inverse=True, return_counts=True)
    size = np.bincount(member.ravel(), weights=number)
    overall = np.bincount(value, weights=count)
    overall = overall / overall.sum()
    share = number / size[member.ravel()]
    present = np.abs(share - overall[pairs[1]]) - overall[pairs[1]]
    distance = (np.bincount(member.ravel(), weights=present) + 1.0) / 2
    return Diversity(name, int(different.min()), float(distance.max()))
