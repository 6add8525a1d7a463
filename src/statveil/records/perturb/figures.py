"""What a perturbation costs and what it hides, column by column: figures of the literature, none of them a guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.records.perturb.steps import Pram, Step


class LinkageTuning(NamedTuple):
    looked_at: int = 10_000
    """Released records whose nearest original is looked for; evenly spread over the file where there are more: by judgement."""
    near: float = 0.01
    """A value this close to the true one, in standard deviations, is called near: by judgement."""


TUNING = LinkageTuning()


@dataclass(frozen=True, kw_only=True)
class PerturbedColumn:
    """Figures of one column; None where one has no meaning for it.

    column: its name. method: in words. values: that are not missing, of which `changed` (share) differ now; blanked: values that went.
    Utility. mean, deviation: before and after (deviation is the standard deviation). correlation: of released and true values.
    loss: mean distance over the standard deviation and the root of two (IL1s of Yancey, Winkler and Creecy 2002).
    moved: half the sum of differences of shares, of codes.
    Risk. linked: share of records whose released values are nearest to their own true ones (distance-based linkage, Domingo-Ferrer and
    Torra 2001), of all columns of the step together. near: share within a hundredth of a standard deviation of the truth.
    sure: probability that a released code is true, for the code where it is largest.

    >>> import pyarrow as pa, statveil as sv
    >>> wages = sv.read_microdata(pa.table({"wage": [1, 2, 3, 10, 11, 12]}))
    >>> (figures,) = sv.perturb.perturb_records(wages, [sv.perturb.Microaggregation(["wage"], k=3)]).figures
    >>> figures.mean, round(figures.changed, 2)
    ((6.5, 6.5), 0.67)
    """

    column: str
    method: str
    values: int
    changed: float
    blanked: int = 0
    mean: tuple[float, float] | None = None
    deviation: tuple[float, float] | None = None
    correlation: float | None = None
    loss: float | None = None
    moved: float | None = None
    linked: float | None = None
    near: float | None = None
    sure: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def number_figures(step: Step, before: FloatArray, after: FloatArray) -> Iterator[PerturbedColumn]:
    linked = linked_share(before, after)
    for place, name in enumerate(step.columns):
        true, shown = before[:, place], after[:, place]
        here = ~np.isnan(true) & ~np.isnan(shown)
        x, y = true[here], shown[here]
        spread = _deviation(true)
        yield PerturbedColumn(
            column=name,
            method=step.words,
            values=int((~np.isnan(true)).sum()),
            changed=_share(x != y),
            blanked=int((~np.isnan(true) & np.isnan(shown)).sum()),
            mean=(float(np.mean(x)), float(np.mean(y))) if x.size else None,
            deviation=(spread, _deviation(shown)) if x.size else None,
            correlation=float(np.corrcoef(x, y)[0, 1]) if x.size > 1 and x.std() > 0 and y.std() > 0 else None,
            loss=float(np.abs(x - y).mean() / (np.sqrt(2) * spread)) if x.size and spread > 0 else None,
            linked=linked,
            near=_share(np.abs(x - y) <= TUNING.near * spread),
        )


def _deviation(values: FloatArray) -> float:
    here = values[~np.isnan(values)]
    return float(here.std()) if here.size else 0.0


def _share(flags: BoolArray) -> float:
    return float(flags.mean()) if flags.size else 0.0


def linked_share(before: FloatArray, after: FloatArray) -> float | None:
    """Share of released records that are nearest to their own original; of several equal originals one is guessed. A record that is as
    near to others counts as linked: at most too many are."""
    whole = ~(np.isnan(before) | np.isnan(after)).any(axis=1)
    if not whole.any():
        return None
    true, shown = before[whole], after[whole]
    spread = true.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    points, own, count = np.unique(true / scale, axis=0, return_inverse=True, return_counts=True)
    rows = np.unique(np.linspace(0, len(true) - 1, min(len(true), TUNING.looked_at)).astype(np.int64))
    nearest, _ = cKDTree(points).query(shown[rows] / scale)
    own = own.ravel()[rows]
    distance = np.linalg.norm(shown[rows] / scale - points[own], axis=1)
    return float(((distance <= nearest * (1 + 1e-9) + 1e-12) / count[own]).mean())


def category_figures(step: Pram, name: str, before: IntArray, after: IntArray) -> PerturbedColumn:
    """By Bayes' rule a released code is true as often as it was kept, because the matrix is invariant (Gouweleeuw et al. 1998)."""
    here = before >= 0
    size = int(max(before.max(initial=0), after.max(initial=0))) + 1
    share = np.bincount(before[here], minlength=size) / max(1, int(here.sum()))
    shown = np.bincount(after[here], minlength=size) / max(1, int(here.sum()))
    return PerturbedColumn(
        column=name,
        method=step.words,
        values=int(here.sum()),
        changed=_share(before[here] != after[here]),
        moved=float(np.abs(share - shown).sum() / 2),
        sure=float(step.keep + (1 - step.keep) * share.max()),
    )
