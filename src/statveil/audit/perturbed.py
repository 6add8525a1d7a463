"""Perturbed columns checked against the originals, record by record, by arithmetic of its own: what each method promises must hold.

Noise and PRAM promise chance: what a fair draw shows no more than once in 10**9 releases is a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.report import Check
from statveil.core.arrays import AnyArray, FloatArray
from statveil.data.engines import engine_over_arrow
from statveil.data.microdata import Microdata
from statveil.data.queries.recount import content_sums

UNLIKELY = float(np.log(2e9))
"""What a fair draw passes once in 10**9 times is a fault."""
FEW = 100
"""Fewer numbers do not tell whether noise is as large as it should be."""
SHARED = 3
"""Records that share a coded extreme."""


@dataclass(frozen=True, kw_only=True)
class PerturbationStatement:
    """What was promised of some columns: the method, its parameters, the decimals of new numbers, and the decimal mark of texts."""

    method: str
    columns: Sequence[str]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    decimals: Mapping[str, int] = field(default_factory=dict)
    mark: str | None = "."


def audit_perturbed(
    original: Microdata, before: pa.Table, after: pa.Table, statements: Sequence[PerturbationStatement]
) -> tuple[Check, ...]:
    """`before` holds the original records and `after` the perturbed ones, in the same order."""
    touched = [name for each in statements for name in each.columns]
    others = [name for name in before.column_names if name not in touched]
    alike = before.column_names == after.column_names and len(before) == len(after)
    held = content_sums(original) == content_sums(replace(original, engine=engine_over_arrow(before, origin=original.origin)))
    faults = 0 if alike and held else 1
    faults += sum(not before[name].equals(after[name]) for name in others) if alike else 0
    words = "The perturbed records are the original ones, other columns untouched"
    first = Check(name="perturbed", words=words, checked=len(before), faults=faults)
    return (first, *(_step(before, after, each) for each in statements)) if alike else (first,)


def _step(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> Check:
    words, check = _CHECKS[promised.method]
    named = f"{', '.join(promised.columns)}: {words}"
    return Check(name=promised.method, words=named, checked=len(before), faults=check(before, after, promised))


def _numbers(table: pa.Table, promised: PerturbationStatement) -> FloatArray:
    """The step's columns as numbers, one a column; missing is not a number."""
    return np.stack([_number(table[name], promised.mark) for name in promised.columns], axis=1)


def _number(values: pa.ChunkedArray, mark: str | None) -> FloatArray:
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return np.array([np.nan if each is None else float(each) for each in values.to_pylist()])
    texts = [(each or "").strip() for each in values.cast(pa.string()).to_pylist()]
    comma = mark == "," or (mark is None and any("," in each for each in texts))
    return np.array([float(each.replace(",", ".") if comma else each) if each else np.nan for each in texts])


def _gone(before: FloatArray, after: FloatArray) -> int:
    """Values that are missing now and were not, or the other way round."""
    return int((np.isnan(before) != np.isnan(after)).sum())


def _microaggregation(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> int:
    """Every released record of the columns is shared by k, and is the mean of theirs, rounded. Values without company are missing."""
    true, shown = _numbers(before, promised), _numbers(after, promised)
    faults = int((np.isnan(true) & ~np.isnan(shown)).sum())
    kept = ~np.isnan(shown).all(axis=1)
    faults += int((np.isnan(shown) & ~np.isnan(true))[kept].sum())
    distinct, group, size = np.unique(np.nan_to_num(shown[kept], nan=np.inf), axis=0, return_inverse=True, return_counts=True)
    faults += int(size[size < int(promised.parameters["k"])].sum())
    for place, name in enumerate(promised.columns):
        unit, held = 10.0 ** -promised.decimals[name], 2.0**-23 if after.schema.field(name).type == pa.float32() else 1e-12
        mean = np.bincount(group.ravel(), weights=np.nan_to_num(true[kept, place]), minlength=size.size) / size
        off = np.abs(mean - distinct[:, place]) > unit * 0.5000001 + held * np.abs(mean)
        faults += int((off & np.isfinite(distinct[:, place])).sum())
    return faults


def _rank_swapping(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> int:
    """The same numbers as before, none farther from its place than so many ranks; equal numbers share a range of ranks."""
    faults = 0
    for true, shown in zip(_numbers(before, promised).T, _numbers(after, promised).T, strict=True):
        faults += _gone(true, shown)
        here = ~np.isnan(true) & ~np.isnan(shown)
        ordered, window = np.sort(true[here]), max(1.0, promised.parameters["percent"] / 100 * here.sum() + 1e-6)
        faults += int((ordered != np.sort(shown[here])).sum())
        low, high = np.minimum(true[here], shown[here]), np.maximum(true[here], shown[here])
        apart = np.searchsorted(ordered, high, "left") - np.searchsorted(ordered, low, "right") + 1
        faults += int(((apart > window) & (low < high)).sum())
    return faults


def _noise(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> int:
    """Within the limits, and at least half as large as stated where enough numbers tell; limits make it smaller."""
    faults, limits = 0, [promised.parameters.get(name) for name in ("minimum", "maximum")]
    for true, shown in zip(_numbers(before, promised).T, _numbers(after, promised).T, strict=True):
        faults += _gone(true, shown)
        here = ~np.isnan(true) & ~np.isnan(shown)
        low, high = (edge if given is None else given for given, edge in zip(limits, (-np.inf, np.inf), strict=True))
        faults += int(((shown[here] < low) | (shown[here] > high)).sum())
        moved = np.sqrt(np.mean((shown[here] - true[here]) ** 2)) if here.any() else 0.0
        stated = promised.parameters["level"] * true[here].std() if here.any() else 0.0
        faults += int(here.sum() >= FEW and limits == [None, None] and moved < stated / 2)
    return faults


def _pram(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> int:
    """Only codes of the column, changed about as often as stated, and each about as frequent as before."""
    faults, keep = 0, float(promised.parameters["keep"])
    for name in promised.columns:
        true, shown = (pc.if_else(pc.equal(texts, ""), None, texts) for texts in (t[name].cast(pa.string()) for t in (before, after)))
        faults += int(pc.sum(pc.not_equal(true.is_null(), shown.is_null())).as_py() or 0)
        words = pc.unique(true).drop_null()
        codes, new = (np.asarray(pc.fill_null(pc.index_in(each, value_set=words), -1).to_numpy()) for each in (true, shown))
        faults += int(((new < 0) & ~np.asarray(shown.is_null().to_numpy())).sum())
        count = np.bincount(codes[codes >= 0], minlength=len(words)).astype(np.float64)
        share = count / count.sum()
        stay = keep + (1 - keep) * share
        faults += int(_beyond((codes != new).sum() - (count * (1 - stay)).sum(), (count * stay * (1 - stay)).sum()))
        come = (1 - keep) * share
        spread = count * stay * (1 - stay) + (count.sum() - count) * come * (1 - come)
        faults += int(_beyond(np.bincount(new[new >= 0], minlength=len(words)) - count, spread).sum())
    return faults


def _beyond(off: AnyArray, variance: AnyArray) -> AnyArray:
    """Whether a sum of independent chances is farther off than once in 10**9 (Bernstein's inequality)."""
    return np.asarray(np.abs(off) > UNLIKELY / 3 + np.sqrt(UNLIKELY**2 / 9 + 2 * UNLIKELY * variance))


def _quantile_coding(before: pa.Table, after: pa.Table, promised: PerturbationStatement) -> int:
    """Numbers between the ends are untouched; beyond, they show the end, which at least three share."""
    faults = 0
    for true, shown in zip(_numbers(before, promised).T, _numbers(after, promised).T, strict=True):
        faults += _gone(true, shown)
        here = ~np.isnan(true) & ~np.isnan(shown)
        low, high = shown[here].min(initial=np.inf), shown[here].max(initial=-np.inf)
        faults += int((shown[here] != np.clip(true[here], low, high)).sum())
        for name, end, beyond in (("bottom", low, (true < low).sum()), ("top", high, (true > high).sum())):
            share = promised.parameters.get(name)
            outside = 0 if share is None else int(np.ceil(here.sum() * (share if name == "bottom" else 1 - share) + 1e-6))
            faults += int(beyond > outside) + int(share is not None and (shown == end).sum() < SHARED)
    return faults


_CHECKS: Mapping[str, tuple[str, Callable[[pa.Table, pa.Table, PerturbationStatement], int]]] = {
    "microaggregation": ("at least k records share each value, the mean of theirs", _microaggregation),
    "noise": ("noise is within its limits and not smaller than stated", _noise),
    "pram": ("codes of the column only, as frequent as before but for chance", _pram),
    "quantile-coding": ("only extremes are coded, and at least three records share each end", _quantile_coding),
    "rank-swapping": ("the same values as before, none farther from its rank than stated", _rank_swapping),
}
