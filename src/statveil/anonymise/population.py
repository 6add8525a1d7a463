"""How many sample uniques are unique in the population: an estimate from the sample and its size in the population alone (THREATS M06).

The number of people F with a key is taken as Poisson with a mean that follows from the fields: each field depends on one other, the
closest (a tree of Chow and Liu, 1968; the log-linear models of Skinner and Shlomo, 2008, are of the same kind). The means are scaled so
that the model expects as many sample uniques as there are. A sample unique is then alone with probability exp(-(1 - share) x mean).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from statveil.arrays import FloatArray, IntArray

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
