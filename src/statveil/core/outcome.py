"""One vocabulary for how a computation ended, whoever computed."""

from __future__ import annotations

from enum import StrEnum


class Ending(StrEnum):
    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"
