"""The solver that attack T12 is lent: our own adjustment, run on what was released."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.case import ReverseProblem, ReverseSolver
from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import OutOfTime, StatveilError
from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem

SHORT = 0.8
"""Share of the time after which a search that found nothing had not enough of it. By judgement."""


def reverse_by_adjustment(*, seconds: float = 30.0, longest: float = 0.0, method: str = "anneal", seed: int = 0) -> ReverseSolver:
    """Adjust with weights 1/x; a table that no adjustment is found for gives None, and so does one for which the time was too short.

    longest: where other work leaves a search no time to begin it has twice as much, and again, up to so many seconds. What must be compiled
    after an installation is compiled beside the time.
    """

    def solve(task: ReverseProblem) -> IntArray | None:
        problem, given = _problem(task), seconds
        while True:
            try:
                found = adjust_problem(problem, method=method, limits=Limits(seconds=given), seed=seed)
                if len(found.trace) > 1 or found.seconds <= SHORT * given:  # not just the table that is there before any search
                    return np.asarray(task.published.released + found.deviation, dtype=np.int64)
            except OutOfTime:
                pass
            except StatveilError:
                return None
            if given >= longest:
                return None
            given = min(2 * given, longest)

    return solve


def _problem(task: ReverseProblem) -> ProtectionProblem:
    published = task.published
    return ProtectionProblem(
        relations=published.relations,
        rhs=published.rhs,
        value=published.released,
        weight=1.0 / np.maximum(np.abs(published.released), 1),
        lower=np.minimum(_whole(np.floor(published.low)), published.released),
        upper=np.maximum(_whole(np.ceil(published.high)), published.released),
        sensitive=task.sensitive,
        lower_level=np.where(task.sensitive, task.lower, 0),
        upper_level=np.where(task.sensitive, task.upper, 0),
    )


def _whole(bound: FloatArray) -> IntArray:
    limited = np.clip(bound, -float(2**53), float(2**53))
    return np.where(np.isfinite(bound), limited, np.sign(bound) * NO_LIMIT).astype(np.int64)
