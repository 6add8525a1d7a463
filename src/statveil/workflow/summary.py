"""The figures of a run over a linear system, under their fixed names: other programs read them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from statveil.arrays import IntArray
from statveil.audit.repairs import in_words
from statveil.audit.report import AuditReport
from statveil.protect.adjustment import Adjustment
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import SystemOptions
from statveil.publish.utility import system_utility
from statveil.solve.memory import peak_mb
from statveil.table.exchange.repairs import Relaxation


def summary_of(
    problem: ProtectionProblem, options: SystemOptions, adjustment: Adjustment, audit: AuditReport, relaxations: Sequence[Relaxation]
) -> dict[str, Any]:
    """What was asked, found and audited; infinite figures are None."""
    return {
        "cells": problem.size,
        "sensitive": int(problem.sensitive.sum()),
        "relations": int(problem.rhs.size),
        "method": adjustment.method,
        "norm": options.norm,
        "weights": options.weights,
        "variant": options.variant,
        "objective": _finite(adjustment.objective),
        "bound": _finite(adjustment.bound),
        "gap": _finite(adjustment.gap),
        "ending": str(adjustment.ending),
        "seconds": round(adjustment.seconds, 3),
        "peak_mb": peak_mb(),
        "seed": adjustment.seed,
        "trace": [[round(point.seconds, 3), _finite(point.objective), _finite(point.bound)] for point in adjustment.trace],
        "audit": {
            "passed": audit.passed,
            "findings": [
                *(f"{check.name}: {finding}" for check in audit.checks for finding in check.findings),
                *(f"repair: {words}" for words in in_words(relaxations)),
            ],
            "checked": sum(check.checked for check in audit.checks),
        },
        **quality_figures(adjustment),
    }


def utility_of(problem: ProtectionProblem, released: IntArray, decimals: int) -> dict[str, Any]:
    """Statistics before and after, over all cells and over the sensitive ones."""
    found = system_utility(problem.value, released, problem.sensitive, decimals=decimals)
    return {"utility": {each.subset.name.split()[0]: each.figures() for each in found}}


def json_lines(figures: Mapping[str, Any]) -> str:
    """JSON with a line for each key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(content, allow_nan=False)}" for key, content in figures.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def quality_figures(adjustment: Adjustment) -> dict[str, Any]:
    """What became of the statistics, where some were to be kept."""
    quality = adjustment.quality
    if quality is None:
        return {}
    names = ("words", "asked", "mean_off", "correlation", "slope", "variance_ratio")
    sets = [
        {name: getattr(after, name) for name in names} | {f"plain_{name}": getattr(before, name) for name in names[2:]}
        for before, after in zip(quality.plain, quality.kept, strict=True)
    ]
    measures = [{"name": name, "plain_loss": before, "loss": after} for name, before, after in quality.measures]
    told = {name: getattr(quality, name) for name in ("found_by", "price", "cap", "without_programs", "failed")}
    front = {} if quality.front is None else {"front": quality.front._asdict()}
    return {"quality": {**told, **front, "sets": sets, "measures": measures}}


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
