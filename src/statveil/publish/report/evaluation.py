"""The page of `statveil serve --evaluate`: accuracy and attacks by depth, in one HTML file that needs no network. Confidential."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from statveil.audit.attacks.verdict import SuiteReport, VerdictStatus
from statveil.core.arrays import FloatArray
from statveil.publish.formats.files import write_bytes
from statveil.publish.report.page import asset, json_for_page, render
from statveil.version import VERSION

_STYLES = {VerdictStatus.PASSED: "passed", VerdictStatus.FAILED: "failed", VerdictStatus.NOT_APPLICABLE: "idle"}


class Score(Protocol):
    """Hits of tries; `most` is the share that is accepted, None where it is told only."""

    @property
    def threat(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def hits(self) -> int: ...

    @property
    def tries(self) -> int: ...

    @property
    def most(self) -> float | None: ...


@dataclass(frozen=True, kw_only=True)
class DepthColumn:
    """What was measured at one depth; `errors` by measure and number of dimensions shown, as shares, of cells that are not sensitive.

    `scores`: how often somebody who has every answer, and knows something besides, comes near.
    """

    depth: int
    seconds: float = 0.0
    errors: Mapping[str, Mapping[int, FloatArray]] = field(default_factory=dict, repr=False)
    levels: Mapping[str, float] = field(default_factory=dict)
    attacks: SuiteReport | None = None
    scores: Sequence[Score] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class EvaluatedDataset:
    id: str
    label: str
    mode: str
    in_use: int
    columns: tuple[DepthColumn, ...]


def write_evaluation(datasets: Sequence[EvaluatedDataset], path: Path) -> Path:
    """The page at `path` and its figures beside it."""
    told = [_told(each) for each in datasets]
    context: dict[str, Any] = {
        "title": ", ".join(each.label for each in datasets),
        "axes": [],
        "software": f"statveil {VERSION}",
        "css": asset("templates/report.css"),
        "script": "",
        "page_data": json_for_page({}),
        "datasets": told,
    }
    page = write_bytes(path, render("evaluation.html", context).encode())
    text = json.dumps({"software": f"statveil {VERSION}", "datasets": told}, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path.with_suffix(".json"), (text + "\n").encode())
    return page


def _told(dataset: EvaluatedDataset) -> dict[str, Any]:
    done = [column for column in dataset.columns if not column.reason]
    return {
        "id": dataset.id,
        "label": dataset.label,
        "mode": dataset.mode,
        "in_use": dataset.in_use,
        "depths": [
            {"depth": each.depth, "reason": each.reason, "seconds": round(each.seconds, 1), "facts": _facts(each)}
            for each in dataset.columns
        ],
        "accuracy": [row for column in done for row in _accuracy(column)],
        "shown": sorted({shown for column in done for errors in column.errors.values() for shown in errors if shown}),
        "levels": [
            {"name": name, "changes": [percent(column.levels[name]) for column in done]} for name in (done[0].levels if done else ())
        ],
        "attacks": _attacks(done),
        "scores": _scores(done),
        "done": [column.depth for column in done],
    }


def _facts(column: DepthColumn) -> dict[str, Any]:
    return dict(column.attacks.facts) if column.attacks is not None else {}


def _accuracy(column: DepthColumn) -> list[dict[str, Any]]:
    found = []
    for measure, errors in column.errors.items():
        every = np.concatenate([np.zeros(0), *(part for shown, part in errors.items() if shown)])
        found.append(
            {
                "depth": column.depth,
                "measure": measure,
                "cells": int(every.size),
                "mean": percent(float(every.mean()) if every.size else 0.0),
                "median": percent(float(np.median(every)) if every.size else 0.0),
                "nine_in_ten": percent(float(np.quantile(every, 0.9)) if every.size else 0.0),
                "total": percent(float(errors[0][0]) if 0 in errors and errors[0].size else 0.0),
                "by_shown": {shown: percent(float(part.mean()) if part.size else 0.0) for shown, part in errors.items() if shown},
            }
        )
    return found


def _attacks(columns: Sequence[DepthColumn]) -> list[dict[str, Any]]:
    """One row for each attack, one verdict for each depth."""
    reports = [column.attacks for column in columns if column.attacks is not None]
    if not reports:
        return []
    return [
        {
            "id": first.threat.id,
            "name": first.threat.name,
            "mark": first.threat.mark,
            "verdicts": [
                {"status": str(found.status), "style": _STYLES[found.status], "number": found.reason or found.number}
                for found in (report[first.threat.id] for report in reports)
            ],
        }
        for first in reports[0].verdicts
    ]


def _scores(columns: Sequence[DepthColumn]) -> list[dict[str, Any]]:
    """One row for each score, in the order of the first depth that has it."""
    names = list(dict.fromkeys((each.threat, each.name) for column in columns for each in column.scores))
    return [{"threat": threat, "name": name, "shares": [_share(column, name) for column in columns]} for threat, name in names]


def _share(column: DepthColumn, name: str) -> dict[str, str]:
    found = next((each for each in column.scores if each.name == name), None)
    if found is None or not found.tries:
        return {"style": "idle", "words": "nothing to try", "accepted": ""}
    share = found.hits / found.tries
    style = "idle" if found.most is None else "passed" if share <= found.most else "failed"
    accepted = "" if found.most is None else f"at most {found.most:.0%}"
    return {"style": style, "words": f"{100 * share:.1f}% of {found.tries:,}", "accepted": accepted}


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"
