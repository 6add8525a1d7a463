"""Single respondents in one sum kept apart (T14).

The only respondent of a cell knows how far its cell was moved. Where another single respondent's cell in the same sum was moved by nearly
as much the other way, the two changes cancel, and what the first knows tells it the second. So the changes of any two such cells must not
add up to less than p% of the larger. There are many pairs and few that clash: a table is found first, then the pairs that clash become
sets of cells with a level of their own, and the amounts are found anew for the same senses, until none is left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import bmat, csr_matrix, identity

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InfeasibleProblem, OutOfTime, SolverFailed
from statveil.core.limits import Ending, Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.options import NO_LIMIT, AdjustArguments
from statveil.protect.problem import ProtectionProblem


class SingletonTuning(NamedTuple):
    """How long pairs are looked for. By judgement."""

    rounds: int = 12
    block: int = 2_000
    """Single respondents of one sum that are compared with all others at once."""
    share: float = 0.25
    """Of the time limit, in all."""
    fewest_seconds: float = 2.0


TUNING = SingletonTuning()
NEXT_TO_NOTHING = 1e-6
"""The cost of the sum of a pair, which nobody publishes, beside that of the cheapest cell."""


@dataclass(frozen=True, kw_only=True)
class Singletons:
    """Cells of a single respondent each, what each gave, and the share by which it must not be found."""

    single: BoolArray
    value: IntArray
    near: Fraction

    def levels(self, first: IntArray, second: IntArray) -> IntArray:
        """How far from cancelling two cells' changes must stay: rounded up."""
        larger = np.maximum(np.abs(self.value[first]), np.abs(self.value[second])).astype(object)
        return np.asarray(-(-larger * self.near.numerator // self.near.denominator)).astype(np.int64)

    def clashes(self, relations: csr_matrix, deviation: IntArray) -> IntArray:
        """Rows (cell, cell), each pair once: parts of one sum whose changes come too near to cancelling."""
        found = [np.zeros((0, 2), dtype=np.int64)]
        for cells in _parts_of_sums(relations, self.single):
            for start in range(0, cells.size, TUNING.block):
                mine = cells[start : start + TUNING.block]
                together = np.abs(deviation[mine][:, np.newaxis] + deviation[cells])
                first, second = np.nonzero(together < float(self.near) * np.abs(self.value[cells]) + 1)
                pairs = np.stack([mine[first], cells[second]], axis=1)
                found.append(pairs[pairs[:, 0] != pairs[:, 1]])
        pairs = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
        return pairs[np.abs(deviation[pairs].sum(axis=1)) < self.levels(pairs[:, 0], pairs[:, 1])]


def _parts_of_sums(relations: csr_matrix, single: BoolArray) -> Iterator[IntArray]:
    """The single respondents' cells among the parts of each sum that has two or more."""
    parts = relations.multiply(relations > 0).tocsr()
    parts = parts[:, :].multiply(single[np.newaxis]).tocsr()
    parts.eliminate_zeros()
    for row in np.flatnonzero(np.diff(parts.indptr) > 1).tolist():
        yield parts.indices[parts.indptr[row] : parts.indptr[row + 1]].astype(np.int64)


def keep_apart(problem: ProtectionProblem, found: Adjustment, singletons: Singletons, run: AdjustArguments) -> Adjustment:
    """The adjustment with no clash left, at the same senses; or as far as that can be had in time."""
    pairs, best = np.zeros((0, 2), dtype=np.int64), found
    if problem.variant == "exact":
        return found
    for _ in range(TUNING.rounds):
        clashes = singletons.clashes(problem.relations, best.deviation)
        if not clashes.size:
            return best
        pairs = np.unique(np.concatenate([pairs, clashes]), axis=0)
        deviation = _apart(problem, best.deviation, singletons, pairs, run)
        if deviation is None:
            return best
        best = _with_deviation(problem, best, deviation)
    return best


def _apart(problem: ProtectionProblem, deviation: IntArray, singletons: Singletons, pairs: IntArray, run: AdjustArguments) -> IntArray | None:
    """The cheapest amounts with the same senses for which these pairs do not clash; None if none were found."""
    larger = with_pairs(problem, pairs, singletons.levels(pairs[:, 0], pairs[:, 1]))
    senses = problem.senses_of(deviation)
    moved = deviation[pairs]
    which = np.argmax(np.abs(moved), axis=1)
    start = np.concatenate([senses, np.where(np.take_along_axis(moved, which[:, np.newaxis], axis=1)[:, 0] >= 0, 1, -1)])
    limits = run.get("limits") or Limits()
    seconds = max(TUNING.share * limits.seconds / TUNING.rounds, TUNING.fewest_seconds)
    try:
        answer = adjust_problem(larger, method="fixed", start=start, limits=Limits(seconds=seconds), seed=run.get("seed", 0))
    except (InfeasibleProblem, OutOfTime, SolverFailed):
        return None
    return answer.deviation[: problem.size]


def undrawn_cost(problem: ProtectionProblem, plain: ProtectionProblem, found: Adjustment, run: AdjustArguments) -> float | None:
    """What the same senses cost at the levels of the plain problem, counted in the costs of the problem itself."""
    levels = {name: getattr(plain, name) for name in ("lower_level", "upper_level", "lower", "upper")}
    limits = run.get("limits") or Limits()
    seconds = max(TUNING.share * limits.seconds / TUNING.rounds, TUNING.fewest_seconds)
    try:
        answer = adjust_problem(
            dataclasses.replace(problem, **levels), method="fixed", start=found.senses, limits=Limits(seconds=seconds), seed=run.get("seed", 0)
        )
    except (InfeasibleProblem, OutOfTime, SolverFailed):
        return None
    return answer.objective


def with_pairs(problem: ProtectionProblem, pairs: IntArray, level: IntArray) -> ProtectionProblem:
    """The problem with the sum of each pair as a further sensitive cell, which costs next to nothing."""
    count = len(pairs)
    rows = np.repeat(np.arange(count), 2)
    members = csr_matrix((np.ones(2 * count, dtype=np.int64), (rows, pairs.reshape(-1))), shape=(count, problem.size))
    relations = bmat([[problem.relations, None], [members, -identity(count, dtype=np.int64)]], format="csr")
    everywhere = np.full(count, NO_LIMIT, dtype=np.int64)
    further = {
        "value": problem.value[pairs].sum(axis=1),
        "weight": np.full(count, float(problem.weight.min(initial=1.0)) * NEXT_TO_NOTHING),
        "lower": -everywhere,
        "upper": everywhere,
        "sensitive": np.ones(count, dtype=np.bool_),
        "lower_level": level,
        "upper_level": level,
    }
    arrays = {name: np.concatenate([getattr(problem, name), array]) for name, array in further.items()}
    rhs = np.concatenate([problem.rhs, np.zeros(count, dtype=np.int64)])
    return dataclasses.replace(problem, relations=relations, rhs=rhs, **arrays)


def _with_deviation(problem: ProtectionProblem, found: Adjustment, deviation: IntArray) -> Adjustment:
    """The adjustment with other amounts; its bound is one for all tables, also for those with pairs kept apart."""
    objective = problem.cost(deviation)
    ending = found.ending if objective <= found.objective else Ending.FEASIBLE
    return dataclasses.replace(found, deviation=deviation, senses=problem.senses_of(deviation), objective=objective, ending=ending)
