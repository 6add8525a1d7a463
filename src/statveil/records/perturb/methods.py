"""The perturbations themselves, on arrays. A method answers new numbers, or whose value each record shows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import ndtri

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.records.perturb.columns import Codes
from statveil.records.perturb.draws import KeyedDraws
from statveil.records.perturb.microaggregation import group_means
from statveil.records.perturb.steps import LEAST_CODED, Microaggregation, Noise, QuantileCoding


def add_noise(step: Noise, values: FloatArray, decimals: list[int], draws: KeyedDraws) -> FloatArray:
    """Columns of `values` plus normal noise whose covariance is level**2 times theirs (Kim 1986; Brand 2002): correlations stay, and
    variances grow by the factor 1 + level**2."""
    spread = np.array([_spread(column, name) for column, name in zip(values.T, step.columns, strict=True)])
    for name, noise, places in zip(step.columns, step.level * spread, decimals, strict=True):
        if noise < 10.0**-places:
            raise InputError(
                f"Noise of {step.level:g} times its spread would be lost in the rounding of column {name!r}.",
                hint="Give decimals, or a larger level.",
            )
    normal = np.stack([ndtri(draws.uniform("noise", name)) for name in step.columns], axis=1)
    moved = values + step.level * (normal @ _square_root(_correlation(values))) * spread
    return np.asarray(np.clip(moved, step.minimum, step.maximum)) if (step.minimum, step.maximum) != (None, None) else moved


def _spread(column: FloatArray, name: str) -> float:
    here = column[~np.isnan(column)]
    found = float(here.std()) if here.size > 1 else 0.0
    if not found > 0:
        raise InputError(
            f"Column {name!r} holds fewer than two different numbers: this method would change nothing.", hint="Drop it, or leave it."
        )
    return found


def _correlation(values: FloatArray) -> FloatArray:
    """Of the records that have all columns; columns without a correlation stand alone."""
    whole = values[~np.isnan(values).any(axis=1)]
    found = np.eye(values.shape[1])
    varied = np.flatnonzero(whole.std(axis=0) > 0) if len(whole) > 1 else np.zeros(0, dtype=np.int64)
    if varied.size > 1:
        found[np.ix_(varied, varied)] = np.corrcoef(whole[:, varied], rowvar=False)
    return found


def _square_root(matrix: FloatArray) -> FloatArray:
    weights, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(weights, 0)) @ vectors.T)


def swap_ranks(name: str, percent: float, values: FloatArray, uniform: FloatArray) -> IntArray:
    """Whose value each record shows: in the order of their values, a record that was not yet swapped changes places with one of those
    not yet swapped at most `percent` of the ranks above it, each as likely (Moore 1996)."""
    _spread(values, name)
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    window = max(1, math.floor(round(percent / 100 * order.size, 9)))
    source = np.arange(values.size)
    source[order] = order[_partners(uniform[order], window)]
    return source


@njit(cache=True)
def _partners(uniform, window):  # type: ignore[no-untyped-def]
    """The rank that each rank changes places with. Free ranks are counted by a Fenwick tree."""
    n = uniform.size
    tree, partner, free = np.zeros(n + 1, dtype=np.int64), np.arange(n), np.ones(n, dtype=np.bool_)
    for place in range(1, n + 1):
        tree[place] = place & -place
    for rank in range(n):
        if not free[rank]:
            continue
        free[rank] = False
        _less(tree, rank + 1)
        before, upto = _upto(tree, rank + 1), _upto(tree, min(rank + 1 + window, n))
        if upto > before:
            other = _find(tree, before + 1 + int(uniform[rank] * (upto - before)))
            free[other] = False
            _less(tree, other + 1)
            partner[rank], partner[other] = other, rank
    return partner


@njit(cache=True)
def _less(tree, place):  # type: ignore[no-untyped-def]
    """One rank less at `place`: a step of a Fenwick tree."""
    while place < tree.size:
        tree[place] -= 1
        place += place & -place


@njit(cache=True)
def _upto(tree, place):  # type: ignore[no-untyped-def]
    """How many ranks up to `place` are left, by the Fenwick tree."""
    found = 0
    while place > 0:
        found += tree[place]
        place -= place & -place
    return found


@njit(cache=True)
def _find(tree, number):  # type: ignore[no-untyped-def]
    """The rank of the free one of this number, counted from 1."""
    place, step = 0, 1
    while 2 * step < tree.size:
        step *= 2
    while step > 0:
        if place + step < tree.size and tree[place + step] < number:
            place += step
            number -= tree[place]
        step //= 2
    return place


def microaggregate(step: Microaggregation, values: FloatArray) -> FloatArray:
    """Records that have the same columns are grouped with each other; fewer than k of them have no company, and their values go."""
    missing = np.isnan(values)
    pattern = missing @ (1 << np.arange(values.shape[1], dtype=np.int64))
    found, grouped = np.full(values.shape, np.nan), 0
    for each in np.unique(pattern):
        rows, here = pattern == each, np.flatnonzero(~missing[pattern == each][0])
        if here.size and rows.sum() >= step.k:
            found[np.ix_(rows, here)] = group_means(values[np.ix_(rows, here)], step.k)
            grouped += 1
    if not grouped:
        raise InputError(f"Fewer than k = {step.k} records hold {', '.join(map(repr, step.columns))}.", hint="Drop these columns.")
    return found


def randomise_codes(name: str, keep: float, codes: Codes, draws: KeyedDraws) -> IntArray:
    """Whose code each record shows: its own with probability `keep`, else that of a code drawn by the frequencies of the column."""
    count = np.bincount(codes.code[codes.code >= 0], minlength=1)
    if count.size < 2:
        raise InputError(f"Column {name!r} holds fewer than two different codes: PRAM would change nothing.", hint="Drop it, or leave it.")
    redrawn = (draws.uniform("pram", name, "whether") >= keep) & (codes.code >= 0)
    drawn = np.searchsorted(np.cumsum(count) / count.sum(), draws.uniform("pram", name, "which"), side="right")
    return np.where(redrawn, codes.holder[np.minimum(drawn, count.size - 1)], np.arange(codes.code.size))


def code_extremes(name: str, step: QuantileCoding, values: FloatArray) -> IntArray:
    """Whose value each record shows: its own between the quantiles, and that of a record at the quantile beyond them."""
    present = np.flatnonzero(~np.isnan(values))
    order, source = present[np.argsort(values[present], kind="stable")], np.arange(values.size)
    ends = []
    if step.bottom is not None and order.size:
        ends.append((order[math.floor(round(step.bottom * order.size, 9))], -1))
    if step.top is not None and order.size:
        ends.append((order[math.ceil(round(step.top * order.size, 9)) - 1], 1))
    for holder, side in ends or [(0, 0)]:
        beyond = side * values >= side * values[holder] if ends else np.zeros(values.size, dtype=bool)
        if int(beyond.sum()) < LEAST_CODED:
            raise InputError(
                f"Fewer than {LEAST_CODED} records would share an end of column {name!r}.", hint="Choose a quantile farther from the end."
            )
        source[beyond & (values != values[holder])] = holder
    return source
