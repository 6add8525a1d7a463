"""What is told while the work goes on: its stages, and what clashes in the table's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from statveil.core.errors import InfeasibleProblem
from statveil.core.limits import Limits, OnProgress, Progress
from statveil.protect.build import CellLabels
from statveil.protect.infeasible.explain import Explanation
from statveil.protect.problem import ProtectionProblem
from statveil.tables.table import Table

UNKNOWN = float("inf")


def stages(on_progress: OnProgress | None, limits: Limits | None = None) -> Callable[[str], None]:
    """Something to tell stages to; without limits they take as long as they take."""

    def tell(stage: str) -> None:
        if on_progress is not None:
            on_progress(Progress(stage, 0.0, UNKNOWN, 0.0, limits.seconds if limits else UNKNOWN))

    return tell


@contextmanager
def in_labels(problem: ProtectionProblem, table: Table) -> Iterator[None]:
    """Say what clashes in the table's own words."""
    try:
        yield
    except InfeasibleProblem as error:
        if not isinstance(error.explanation, Explanation):
            raise
        words = error.explanation.public(CellLabels(problem, table))
        raise InfeasibleProblem(error.message, hint=words, explanation=error.explanation) from None
