"""Plain HiGHS, to stand beside our methods: S3's program (4) on the table's own cells, with no cuts, no start, no preprocessing.

Where a cell has no upper bound, all that is forced on the table stands for it. Its figures are as it claims them.
"""

from __future__ import annotations

import math
import time
from typing import Any

from statveil.arrays import FloatArray
from statveil.protect.adjustment import TracePoint
from statveil.protect.exact import Disjunctions
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import Search
from statveil.solve.isolate import Send, run_isolated

GRACE = 5.0
Claim = tuple[TracePoint, str]
"""Seconds, objective and bound so far, and at the end HiGHS's own words."""


def claims(problem: ProtectionProblem, seconds: float) -> list[Claim]:
    """What plain HiGHS claims within so many seconds, one after the other; the last may be of a killed process."""
    heard: list[Claim] = []

    def hear(claim: Any) -> None:
        heard.append(claim)

    run_isolated([(run_plainly, (problem, seconds))], seconds=seconds + GRACE, on_message=hear)
    if not heard or not heard[-1][1]:
        last = heard[-1][0] if heard else TracePoint(seconds, float("inf"), 0.0)
        heard.append((last._replace(seconds=seconds + GRACE), "killed"))
    return heard


def run_plainly(problem: ProtectionProblem, seconds: float, send: Send) -> None:
    """HiGHS on the untouched program, in the isolated process."""
    from statveil.solve import highs

    began = time.monotonic()
    program = Disjunctions(Search(problem, Limits(seconds=seconds), 0, lambda found: None))

    def improved(columns: FloatArray, bound: float) -> None:
        send((TracePoint(time.monotonic() - began, program.in_costs(float(program.model.cost @ columns)), program.in_costs(bound)), ""))

    solution = highs.solve(program.model, seconds=seconds - (time.monotonic() - began), on_incumbent=improved)
    objective = program.in_costs(solution.objective) if solution.x is not None else float("inf")
    bound = program.in_costs(solution.bound) if math.isfinite(solution.bound) else 0.0
    send((TracePoint(time.monotonic() - began, objective, bound), solution.native))
