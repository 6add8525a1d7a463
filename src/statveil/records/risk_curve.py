"""The risk-utility curve of a file: for each threshold the plan of least loss, the risk that it leaves and what the file still tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.data.microdata import Microdata
from statveil.records.coding import CodedFile, code_file
from statveil.records.keys import KeyVariables
from statveil.records.models import benedetti_franconi
from statveil.records.plan import FilePlan, plan_recoding
from statveil.records.risk import KeyClasses, classes_after, classes_before, entropy_kept

THRESHOLDS = (2, 3, 5, 10, 20)


class RiskUtilityPoint(NamedTuple):
    """One plan: expected share of records re-identified and the largest risk of one, the share of the key's entropy kept, and the cost
    with its bound. The first point of a curve, of threshold 0, is the file as it stands."""

    threshold: int
    expected: float
    largest: float
    kept: float
    blanks: int
    recoded: int
    cost: float
    bound: float


def risk_utility(
    data: Microdata | CodedFile,
    keys: KeyVariables | None = None,
    *,
    thresholds: Sequence[int] = THRESHOLDS,
    limits: Limits | None = None,
    seed: int = 0,
) -> list[RiskUtilityPoint]:
    """The file as it stands, then a plan for each threshold, with everything else as `keys` says; the time is shared out evenly.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> [point.blanks for point in risk_utility(people, sv.KeyVariables(fields={"job": None}, order=1), thresholds=[1, 2])]
    [0, 0, 1]
    """
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}))
    if not thresholds:
        raise InputError("A risk-utility curve needs a threshold or more.")
    whole = limits or Limits()
    each = replace(whole, seconds=max(1.0, whole.seconds / len(thresholds)))
    expected, largest = _risks(classes_before(coded))
    points = [RiskUtilityPoint(0, expected, largest, 1.0, 0, 0, 0.0, 0.0)]
    for threshold in thresholds:
        plan = plan_recoding(replace(coded, keys=replace(coded.keys, threshold=threshold)), limits=each, seed=seed)
        points.append(_point(threshold, plan))
    return points


def _point(threshold: int, plan: FilePlan) -> RiskUtilityPoint:
    expected, largest = _risks(classes_after(plan))
    kept = float(np.mean(list(entropy_kept(plan).values())))
    recoded = sum(level > 0 for level in plan.levels)
    return RiskUtilityPoint(threshold, expected, largest, kept, plan.suppression.total, recoded, plan.cost, plan.bound)


def _risks(classes: KeyClasses) -> tuple[float, float]:
    """Expected and largest individual risk over the classes of the full key; without weights 1/f."""
    weight = classes.count.astype(np.float64) if classes.weight is None else classes.weight
    single = benedetti_franconi(classes.count, weight)
    return float((single * classes.count).sum() / classes.records), float(single.max())
