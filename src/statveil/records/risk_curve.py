"""The risk-utility curve of a file: for each threshold the plan of least loss, the risk that it leaves and what the file still tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.data.microdata import Microdata
from statveil.records.coding import WEIGHT_UNIT, CodedFile, code_file
from statveil.records.keys import KeyVariables
from statveil.records.models import ModelJudge
from statveil.records.plan import FilePlan, plan_recoding
from statveil.records.risk import entropy_kept
from statveil.records.suppress.problem import SuppressionProblem, problem_of

THRESHOLDS = (2, 3, 5, 10, 20)


class RiskUtilityPoint(NamedTuple):
    """One plan of a risk-utility curve. The first point of a curve, of threshold 0, is the file as it stands.

    threshold: of the plan. expected: share of records re-identified, by the combinations asked for. largest: risk of one record.
    kept: share of the key's entropy. blanks, recoded: values that are blank, and fields that are recoded. cost, bound: of the plan, and the
    least of any.

    >>> RiskUtilityPoint(threshold=2, expected=0.25, largest=0.5, kept=0.8, blanks=3, recoded=1, cost=4.0, bound=4.0).kept
    0.8
    """

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
    """The file as it stands, then a plan for each threshold, with everything else as `keys` says.

    data: the records. thresholds: to plan for. limits: the time is shared out evenly. seed: of the searches.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> print(*(point.blanks for point in risk_utility(people, sv.KeyVariables(fields={"job": None}, order=1), thresholds=[1, 2])))
    0 0 1
    """
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}))
    if not thresholds:
        raise InputError("A risk-utility curve needs a threshold or more.")
    whole = limits or Limits()
    each = replace(whole, seconds=max(1.0, whole.seconds / len(thresholds)))
    none = problem_of(coded, (0,) * len(coded.values))
    expected, largest = _risks(none, np.arange(coded.size), np.zeros(coded.size, dtype=np.int64), coded.count)
    points = [RiskUtilityPoint(0, expected, largest, 1.0, 0, 0, 0.0, 0.0)]
    for threshold in thresholds:
        plan = plan_recoding(replace(coded, keys=replace(coded.keys, threshold=threshold)), limits=each, seed=seed)
        points.append(_point(threshold, plan))
    return points


def _point(threshold: int, plan: FilePlan) -> RiskUtilityPoint:
    found = plan.suppression
    expected, largest = _risks(found.problem, found.key, found.mask, found.records)
    kept = float(np.mean(list(entropy_kept(plan).values())))
    recoded = sum(level > 0 for level in plan.levels)
    return RiskUtilityPoint(threshold, expected, largest, kept, plan.suppression.total, recoded, plan.cost, plan.bound)


def _risks(problem: SuppressionProblem, key: IntArray, mask: IntArray, records: IntArray) -> tuple[float, float]:
    """Expected and largest risk of a record: the largest of the combinations asked for that it shows, counted as the rule counts them."""
    coded, codes = problem.coded, problem.blanked(key, mask)
    if coded.keys.rule == "recount":
        share = np.round(coded.weight[key] * (records / coded.count[key])).astype(np.int64)
        judge, cells = _judge(coded, records, share), [problem.cells(places, codes) for places, _ in coded.tables]
        risk = np.max([judge.risks(cell) for cell in cells], axis=0)
    else:
        judge = _judge(coded, coded.count, coded.weight)
        shown = [(codes[list(places)] >= 0).all(axis=0) for places, _ in coded.tables]
        every = [judge.risks(problem.cells(places))[key] for places, _ in coded.tables]
        risk = np.max([np.where(here, each, 0.0) for here, each in zip(shown, every, strict=True)], axis=0)
    return float((risk * records).sum() / records.sum()), float(risk.max())


def _judge(coded: CodedFile, count: IntArray, weight: IntArray) -> ModelJudge:
    return ModelJudge(models=(), count=count, weight=weight, unit=WEIGHT_UNIT if coded.keys.weight else 1, columns={})
