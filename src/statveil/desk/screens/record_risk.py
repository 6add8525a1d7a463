"""Risk by record of a safe file: how many are unsafe, by what, and the riskiest keys with why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.desk.screens.page import Desk
from statveil.records.risk import UnsafeCombinations


class RecordRiskTuning(NamedTuple):
    """By judgement."""

    keys: int = 25
    bars: int = 8


TUNING = RecordRiskTuning()


class RiskyKey(NamedTuple):
    """A key: records that have it, its score, the smallest combinations that are rare, and why in words. Only key values are shown."""

    records: int
    score: float
    combinations: list[str]
    why: list[str]


class ScoreBar(NamedTuple):
    low: float
    high: float
    records: int
    share: float


def add(app: FastAPI, desk: Desk) -> None:
    @app.get("/record-risk")
    def record_risk(request: Request) -> Response:
        if not desk.looks.holds_records:
            raise InputError("This job makes a table, not a safe file.", hint="Open the records for a safe file on the first screen.")
        found = desk.looks.unsafe()
        return desk.page(
            request,
            "record_risk.html",
            unsafe=found.records,
            records=found.problem.coded.records,
            by_size=found.by_size(),
            fields=found.field_scores(),
            bars=score_bars(found),
            riskiest=riskiest(found),
        )


def riskiest(found: UnsafeCombinations) -> list[RiskyKey]:
    """The keys with the highest scores, the first ones where scores are equal."""
    keys, scores, count = found.keys, found.scores, found.problem.coded.count
    order = keys[np.lexsort((keys, -scores[keys]))][: TUNING.keys].tolist()
    return [
        RiskyKey(int(count[key]), float(scores[key]), [" × ".join(each) for each in found.minucs(key)], found.why(key)) for key in order
    ]


def score_bars(found: UnsafeCombinations) -> list[ScoreBar]:
    """Unsafe records by score, in classes of the same width."""
    if not found.keys.size:
        return []
    scores, count = found.scores[found.keys], found.problem.coded.count[found.keys]
    records, edges = np.histogram(scores, bins=TUNING.bars, range=(0.0, float(scores.max())), weights=count)
    most = float(records.max())
    return [
        ScoreBar(float(low), float(high), int(each), float(each) / most) for low, high, each in zip(edges, edges[1:], records, strict=False)
    ]
