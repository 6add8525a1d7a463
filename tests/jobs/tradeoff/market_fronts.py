"""Ample time, and a search that says what it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import statveil as sv
from statveil.jobs.tradeoff.explore import Candidate, StageMessage
from statveil.solve.processes import Halt

LIMITS = sv.Limits(seconds=600)


def scripted(problem: Any, tables: list[Any], halt: Halt) -> Callable[..., Halt]:
    """In place of the search: these tables, and this end."""

    def run(calls: Any, *, seconds: float, on_message: Callable[[Any], object]) -> Halt:
        on_message(StageMessage("least distortion"))
        for table in tables:
            on_message(Candidate(table, "somewhere"))
        return halt

    return run
