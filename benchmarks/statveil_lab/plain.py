"""Plain HiGHS, to stand beside our methods: S3's program (4) as it is written, on the table's own cells and in its own units.

One thread, no gap to stop at, and otherwise HiGHS's own options: no cuts, no start, no scaling or preprocessing of ours. Where a cell
has no bound, all that is forced on the table stands for it. Its figures are as it claims them.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Limits
from statveil.protect.adjustment import TracePoint
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions, all_that_is_forced
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel
from statveil.solve.processes import Send, run_isolated

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
    """HiGHS on the program as it is written, in the isolated process."""
    from statveil.solve import highs

    began = time.monotonic()
    model = program(problem)

    def improved(columns: FloatArray, bound: float) -> None:
        send((TracePoint(time.monotonic() - began, float(model.cost @ columns), bound), ""))

    left = seconds - (time.monotonic() - began)
    solution = highs.solve(model, seconds=left, on_incumbent=improved, options=highs.AS_IT_COMES)
    objective = solution.objective if solution.x is not None else float("inf")
    bound = solution.bound if math.isfinite(solution.bound) else 0.0
    send((TracePoint(time.monotonic() - began, objective, bound), solution.native))


def rescaled(problem: ProtectionProblem, seconds: float) -> TracePoint:
    """The best table of HiGHS's on the program in our scaling, and its bound as it claims it."""
    heard: list[TracePoint] = []
    run_isolated([(run_rescaled, (problem, seconds))], seconds=3 * seconds, on_message=heard.append)
    return heard[-1]


def run_rescaled(problem: ProtectionProblem, seconds: float, send: Send) -> None:
    """Switches are as tight as all up allows, which HiGHS is not told; its points' senses are priced after its time, in whole numbers."""
    from statveil.solve import highs

    began, points = time.monotonic(), []
    search = Search(problem, Limits(seconds=3 * seconds), 0, lambda _: None)
    search.try_senses(problem.all_up())
    program = Disjunctions(search)

    def improved(columns: FloatArray, _: float) -> None:
        points.append(program.senses(columns))

    left = seconds - (time.monotonic() - began)
    solution = highs.solve(program.model, seconds=left, on_incumbent=improved, options=highs.AS_IT_COMES)
    search = Search(problem, Limits(seconds=3 * seconds), 0, lambda _: None)
    for senses in points[::-1] if solution.x is None else [program.senses(solution.x), *points[::-1]]:
        if search.try_senses(senses):
            break
    send(TracePoint(seconds, search.objective, program.in_costs(solution.bound)))


def program(problem: ProtectionProblem) -> LinearModel:
    """S3's program (4): columns rise and fall of every cell, and a switch y of every sensitive one, 1 up and 0 down.

    Relations hold for rise - fall; of a sensitive cell  least * y <= rise <= most * y  and  least' * (1 - y) <= fall <= most' * (1 - y).
    """
    cells, size = np.flatnonzero(problem.sensitive), problem.size
    most = all_that_is_forced(problem)
    up = problem.up.low[cells].astype(np.float64), _within(problem.up.high, most)[cells]
    down = -problem.down.high[cells].astype(np.float64), _within(-problem.down.low, most)[cells]
    pick = csr_matrix((np.ones(cells.size), (np.arange(cells.size), cells)), shape=(cells.size, size))
    none, endless = csr_matrix((cells.size, size)), np.full(cells.size, np.inf)
    relations = problem.relations.astype(np.float64)
    rows = [hstack([relations, -relations, csr_matrix((relations.shape[0], cells.size))])]
    rows += [hstack([pick, none, _diagonal(-side)]) for side in up] + [hstack([none, pick, _diagonal(side)]) for side in down]
    nothing = np.zeros(cells.size)
    return LinearModel(
        cost=np.concatenate([problem.weight, problem.weight, nothing]),
        matrix=csr_matrix(vstack(rows)),
        row_lower=np.concatenate([problem.residual, nothing, -endless, down[0], -endless]),
        row_upper=np.concatenate([problem.residual, endless, nothing, endless, down[1]]),
        lower=np.concatenate([_within(problem.free.low, most), _within(-problem.free.high, most), ~problem.can_go_down[cells]]),
        upper=np.concatenate([_within(problem.free.high, most), _within(-problem.free.low, most), problem.can_go_up[cells]]),
        whole=np.concatenate([np.zeros(2 * size, dtype=np.bool_), np.ones(cells.size, dtype=np.bool_)]),
    )


def _diagonal(amounts: FloatArray) -> csr_matrix:
    place = np.arange(amounts.size)
    return csr_matrix((amounts, (place, place)), shape=(amounts.size, amounts.size))


def _within(amount: IntArray, most: float) -> FloatArray:
    return np.clip(amount.astype(np.float64), 0.0, most)
