"""The solver that T12 uses: our own adjustment, run from the released numbers."""

from __future__ import annotations

import numpy as np

from statveil.arrays import FloatArray, IntArray
from statveil.audit.attacks.system import Backwards, Reverse
from statveil.errors import StatveilError
from statveil.protect.cta import adjust
from statveil.protect.options import NO_LIMIT, Limits
from statveil.protect.problem import ProtectionProblem


def reverse_by_adjustment(*, seconds: float = 30.0, method: str = "anneal", seed: int = 0) -> Reverse:
    """Adjust with weights 1/x; a table that no adjustment is found for gives None."""

    def solve(task: Backwards) -> IntArray | None:
        try:
            found = adjust(_problem(task), method=method, limits=Limits(seconds=seconds), seed=seed)
        except StatveilError:
            return None
        return np.asarray(task.published.released + found.deviation, dtype=np.int64)

    return solve


def _problem(task: Backwards) -> ProtectionProblem:
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
