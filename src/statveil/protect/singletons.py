"""Single respondents in one sum kept apart (T14).

The only respondent of a cell knows how far its cell was moved. Where another single respondent's cell in the same sum was moved by nearly
as much the other way, the two changes cancel, and what the first knows tells it the second. So the changes of any two such cells must not
add up to less than p% of the larger. There are many pairs and few that clash: a table is found first, then the pairs that clash become
sets of cells with a level of their own, and the amounts are found anew for the same senses, until none is left.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity, vstack

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import SolverFailed, StatveilError
from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment, ending_of
from statveil.protect.fixed_senses import FixedSenses, adjust_with_senses
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.solve.processes import Send, run_isolated


class SingletonTuning(NamedTuple):
    """How long pairs are looked for. By judgement."""

    rounds: int = 30
    """Two to four were needed."""
    block: int = 2_000
    """Single respondents of one sum that are compared with all others at once."""
    gap: float = 0.05
    """Near enough, where other senses must be found."""
    share: float = 0.5
    """Of the time left, for one search of other senses: what it finds may clash elsewhere and needs time again."""
    turns: int = 6
    """Pairs that cannot clash any more leave some less room; after so many turns other senses are searched for."""
    grace: float = 1.0
    """Seconds a child may overrun before it is killed."""


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
        return np.asarray(pairs[np.abs(deviation[pairs].sum(axis=1)) < self.levels(pairs[:, 0], pairs[:, 1])])


def _parts_of_sums(relations: csr_matrix, single: BoolArray) -> Iterator[IntArray]:
    """The single respondents' cells among the parts of each sum that has two or more."""
    parts = csr_matrix((relations > 0).multiply(single[np.newaxis]))
    parts.eliminate_zeros()
    for row in np.flatnonzero(np.diff(parts.indptr) > 1).tolist():
        yield parts.indices[parts.indptr[row] : parts.indptr[row + 1]].astype(np.int64)


Further = Callable[[IntArray], tuple[IntArray, IntArray]]
"""From deviations to how far each cell must fall and rise at least so that it tells nothing; zero where that does not matter."""


def keep_apart(
    problem: ProtectionProblem, found: Adjustment, singletons: Singletons, *, seconds: float, further: Further | None = None
) -> Adjustment:
    """The adjustment with no clash left and no cell that must go further, at the same senses; or as far as that can be had in time."""
    end, pairs = time.monotonic() + seconds, np.zeros((0, 2), dtype=np.int64)
    if problem.variant == "exact":  # amounts are what they are
        return found
    for _ in range(TUNING.rounds):
        clashes = singletons.clashes(problem.relations, found.deviation)
        stricter = problem if further is None else _stricter(problem, *further(found.deviation))
        if not clashes.size and stricter.accepts(found.deviation):
            break
        problem = stricter
        pairs = np.unique(np.concatenate([pairs, clashes]), axis=0)
        larger = with_pairs(problem, pairs, singletons.levels(pairs[:, 0], pairs[:, 1]))
        deviation = cheapest(larger, _senses(problem, found, larger, pairs), seconds=end - time.monotonic())
        if deviation is None:  # these senses leave no room
            deviation = _searched(larger, seconds=TUNING.share * (end - time.monotonic()))
        if deviation is None:
            break
        found = _with_deviation(problem, found, deviation[: problem.size])
    return found


def _stricter(problem: ProtectionProblem, fall: IntArray, rise: IntArray) -> ProtectionProblem:
    """The problem with levels that are at least so high."""
    lower, upper = np.maximum(problem.lower_level, fall), np.maximum(problem.upper_level, rise)
    return dataclasses.replace(problem, lower_level=lower, upper_level=upper)


def _senses(problem: ProtectionProblem, found: Adjustment, larger: ProtectionProblem, pairs: IntArray) -> IntArray:
    """The senses of the table, with pairs turned the same way that no amounts keep apart while they go opposite ways.

    Caps leave two cells of like size no room to differ enough; then the smaller goes where the larger goes, if it can. A pair goes where
    it has more room, or where the larger of its changes goes.
    """
    senses, level = found.senses.copy(), larger.upper_level[problem.size :]
    for _ in range(TUNING.turns):
        low, high = _room(problem, senses, pairs)
        small = _smaller(problem.value, pairs)
        stuck = (high < level) & (low > -level) & problem.can_go_up[small] & problem.can_go_down[small]
        if not stuck.any():
            break
        other = pairs.sum(axis=1) - small
        senses[small[stuck]] = senses[other[stuck]]
    low, high = _room(problem, senses, pairs)
    moved = found.deviation[pairs]
    leading = np.take_along_axis(moved, np.argmax(np.abs(moved), axis=1)[:, np.newaxis], axis=1)[:, 0]
    up = np.where(high < level, False, np.where(low > -level, True, leading >= 0))
    return np.concatenate([senses, np.where(up, 1, -1)])


def _room(problem: ProtectionProblem, senses: IntArray, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """The least and the most that the changes of each pair add up to with these senses."""
    allowed = problem.allowed(senses)
    low, high = (np.clip(bound, -NO_LIMIT // 4, NO_LIMIT // 4) for bound in allowed)
    return low[pairs].sum(axis=1), high[pairs].sum(axis=1)


def _smaller(value: IntArray, pairs: IntArray) -> IntArray:
    """The member of each pair with the smaller value."""
    return np.take_along_axis(pairs, np.argmin(np.abs(value[pairs]), axis=1)[:, np.newaxis], axis=1)[:, 0]


def cheapest(problem: ProtectionProblem, senses: IntArray, *, seconds: float) -> IntArray | None:
    """The cheapest whole table with these senses, found in a process of its own; None if none was found in time."""
    heard: list[IntArray | None] = []
    if seconds <= 0:
        return None
    try:
        run_isolated([(_cheapest, (problem, senses, seconds))], seconds=seconds + TUNING.grace, on_message=heard.append)
    except SolverFailed:
        return None
    return next((found for found in heard if found is not None and problem.accepts(found)), None)


def _cheapest(problem: ProtectionProblem, senses: IntArray, seconds: float, send: Send) -> None:
    send(adjust_with_senses(FixedSenses(problem), senses, seconds=seconds))


def _searched(problem: ProtectionProblem, *, seconds: float) -> IntArray | None:
    """A table with whatever senses; None if none was found in time."""
    if seconds <= 0:
        return None
    try:
        return adjust_problem(problem, limits=Limits(seconds=seconds, gap=TUNING.gap)).deviation
    except StatveilError:
        return None


def undrawn_cost(problem: ProtectionProblem, plain: ProtectionProblem, found: Adjustment, *, seconds: float) -> float | None:
    """What the same senses cost at the levels of the plain problem, counted in the costs of the problem itself."""
    levels = {name: getattr(plain, name) for name in ("lower_level", "upper_level", "lower", "upper")}
    looser = dataclasses.replace(problem, **levels)
    deviation = cheapest(looser, found.senses, seconds=seconds)
    return None if deviation is None else looser.cost(deviation)


def with_pairs(problem: ProtectionProblem, pairs: IntArray, level: IntArray) -> ProtectionProblem:
    """The problem with the sum of each pair as a further sensitive cell, which costs next to nothing."""
    count = len(pairs)
    rows = np.repeat(np.arange(count), 2)
    members = csr_matrix((np.ones(2 * count, dtype=np.int64), (rows, pairs.reshape(-1))), shape=(count, problem.size))
    minus_one = csr_matrix(-identity(count, dtype=np.int64))
    none = np.zeros(0, dtype=np.int64)
    beside = csr_matrix((none, (none, none)), shape=(problem.relations.shape[0], count))
    blocks = [hstack([problem.relations, beside], format="csr"), hstack([members, minus_one], format="csr")]
    relations = csr_matrix(vstack(blocks, format="csr"))
    everywhere = np.full(count, NO_LIMIT, dtype=np.int64)
    further: dict[str, Any] = {
        "value": problem.value[pairs].sum(axis=1),
        "weight": np.full(count, float(problem.weight.min(initial=1.0)) * NEXT_TO_NOTHING),
        "lower": -everywhere,
        "upper": everywhere,
        "sensitive": np.ones(count, dtype=np.bool_),
        "lower_level": level,
        "upper_level": level,
    }
    arrays: dict[str, Any] = {name: np.concatenate([getattr(problem, name), array]) for name, array in further.items()}
    rhs = np.concatenate([problem.rhs, np.zeros(count, dtype=np.int64)])
    return dataclasses.replace(problem, relations=relations, rhs=rhs, **arrays)


def _with_deviation(problem: ProtectionProblem, found: Adjustment, deviation: IntArray) -> Adjustment:
    """The adjustment with other amounts; its bound is one for all tables, also for those with pairs kept apart."""
    objective = problem.cost(deviation)
    ending = ending_of(objective, certified=found.certified_bound, claimed=0.0)
    return dataclasses.replace(found, deviation=deviation, senses=problem.senses_of(deviation), objective=objective, ending=ending)
