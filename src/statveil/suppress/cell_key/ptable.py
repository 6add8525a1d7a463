"""Tables of probabilities for the cell key method: for each small count the distribution of the noise with the most entropy.

Marley and Leaver 2011, Giessing and Tent 2019: no bias, variance V at most (or exactly), noise between -D and D, no result of 1 to js.
The maximum of entropy under linear conditions is p(v) = exp(-a - b v - c v^2); its two multipliers are found by Newton's method. Where
p must not fall up to v = 0, neighbours that would are as likely as each other (Ayer and others 1955).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import known

Spread = Literal["at most", "exactly"]


class PtableTuning(NamedTuple):
    """By judgement: Newton's method needs about ten steps."""

    steps: int = 200
    exact: float = 1e-13
    level: float = 1e-12
    """Probabilities that differ by less do not fall."""
    largest: int = 200


TUNING = PtableTuning()


@dataclass(frozen=True, kw_only=True)
class Ptable:
    """Probabilities of noise: row i - 1 is for the count i, the last row for all larger ones; column D + v of `p` is for the noise v.

    D: largest noise. V: its variance. js: counts from 1 to js are never published. pstay: least probability of no noise.
    spread: whether the variance is `at most` V, or `exactly` V. mono: whether smaller noise below zero is at least as likely as larger, and
    none at least as any of it.

    >>> make_ptable(2, 1.0).p[-1].round(3).tolist()  # of all counts from 2 on
    [0.064, 0.245, 0.383, 0.245, 0.064]
    """

    D: int
    V: float
    js: int = 0
    pstay: float = 0.0
    spread: Spread = "at most"
    mono: bool = True
    p: FloatArray = field(repr=False)

    @property
    def cumulative(self) -> FloatArray:
        return np.cumsum(self.p, axis=1)


def make_ptable(D: int, V: float, *, js: int = 0, pstay: float = 0.0, spread: Spread = "at most", mono: bool = True) -> Ptable:
    """The table of these parameters, as the R package ptable makes it; refused where a row cannot meet them.

    D, V, js, pstay, spread, mono: as in `Ptable`.

    >>> table = make_ptable(2, 1.0)
    >>> table.p.shape, bool(abs(table.p[0] @ [-2, -1, 0, 1, 2]) < 1e-12)
    ((2, 5), True)
    """
    known("spread", spread, ("at most", "exactly"))
    if not 1 <= D <= TUNING.largest or not 0 <= js <= TUNING.largest or not V > 0 or not 0 <= pstay < 1:
        raise InputError("A table of probabilities needs D of 1 to 200, V above 0, js of 0 to 200 and pstay from 0 to below 1.")
    rows = D if js == 0 else D + js + 1
    p = np.zeros((rows, 2 * D + 1))
    for count in range(1, rows + 1):
        v = _support(count, D, js, last=count == rows)
        p[count - 1, v + D] = _row(_Row(count, V, spread, mono), v, pstay)
    return Ptable(D=D, V=V, js=js, pstay=pstay, spread=spread, mono=mono, p=p)


def _support(count: int, largest: int, js: int, *, last: bool) -> IntArray:
    v = np.arange(-largest, largest + 1)
    result = count + v
    return v if last and js == 0 else v[(result >= 0) & ((result == 0) | (result > js))]


class _Row(NamedTuple):
    """What the distribution of a count's noise must keep."""

    respondents: int
    variance: float
    spread: Spread
    mono: bool


def _row(row: _Row, v: IntArray, pstay: float) -> FloatArray:
    """The distribution of most entropy; where it stays too seldom, it stays with pstay and the rest is spread again."""
    found = _rising(row, v, 1.0)
    if 0 in v and found[v == 0][0] < pstay:
        rest = _rising(row, v[v != 0], 1.0 - pstay)
        found = np.zeros(v.size)
        found[v != 0], found[v == 0] = rest, pstay
    return found


def _rising(row: _Row, v: IntArray, mass: float) -> FloatArray:
    """Of most entropy; what falls below zero joins the pool of its neighbour, one after the other, until nothing falls."""
    pool = np.arange(v.size)
    while True:
        found = _most_entropy(row, v, mass, pool)
        falls = np.flatnonzero((np.diff(found) < -TUNING.level) & (v[1:] <= 0)) if row.mono else pool[:0]
        if not falls.size:
            return found
        pool[pool == pool[falls[0] + 1]] = pool[falls[0]]


def _most_entropy(row: _Row, v: IntArray, mass: float, pool: IntArray) -> FloatArray:
    """p over v with sum `mass`, mean 0 and variance as asked, the same for all of a pool."""
    count, variance = row.respondents, row.variance
    if not (v.min() < 0 < v.max()):
        raise InputError(f"No noise without bias exists for the count {count}: js is too large for D.", hint="Take a larger D.")
    free = _newton(v, mass, None, pool)
    if free is not None and (free @ (v * v) <= variance if row.spread == "at most" else False):
        return free
    below, above = -v[v < 0].max(), v[v > 0].min()
    least = mass * below * above if 0 not in v else 0.0
    most = mass * -v.min() * v.max()
    found = _newton(v, mass, variance, pool) if least < variance < most else None
    if abs(variance - least) <= 1e-12 and least > 0:
        found = np.where(v == -below, mass * above / (below + above), np.where(v == above, mass * below / (below + above), 0.0))
    if found is None:
        raise InputError(f"The variance cannot be met for the count {count}.", hint="Take another V, a larger D, or a smaller js or pstay.")
    return found


def _newton(v: IntArray, mass: float, variance: float | None, pool: IntArray) -> FloatArray | None:
    """Minimise the dual, log(sum exp(-b v - c v^2)) + c V / mass, with halved steps; without a variance c is 0."""
    moments = np.stack([v, v * v][: 1 if variance is None else 2]).astype(np.float64)
    target = np.array([0.0, (variance or 0.0) / mass][: moments.shape[0]])
    _, place, size = np.unique(pool, return_inverse=True, return_counts=True)
    moments = np.stack([(np.bincount(place, each) / size)[place] for each in moments])  # of a pool, whose members are alike
    scale = np.abs(moments).max(axis=1)
    moments, target = moments / scale[:, None], target / scale
    x = np.zeros(target.size)
    for _ in range(TUNING.steps):
        p = _softmax(-x @ moments)
        gradient = target - moments @ p
        if np.abs(gradient).max() <= TUNING.exact:
            return p * mass
        centred = moments - (moments @ p)[:, None]
        step = np.linalg.lstsq((centred * p) @ centred.T, -gradient, rcond=None)[0]
        length = 1.0
        while length > 1e-10 and _dual(x + length * step, moments, target) > _dual(x, moments, target) + 1e-16:
            length /= 2
        x = x + length * step
    return p * mass if np.abs(gradient).max() <= 1e-11 else None


def _softmax(exponent: FloatArray) -> FloatArray:
    weight = np.exp(exponent - exponent.max())
    return np.asarray(weight / weight.sum())


def _dual(x: FloatArray, moments: FloatArray, target: FloatArray) -> float:
    exponent = -x @ moments
    return float(exponent.max() + np.log(np.exp(exponent - exponent.max()).sum()) + x @ target)
