"""Several variables on the same cells (turnover, employment, wages), protected together so that their relations to one another are kept.

S1 section 5 names this as open. The problems stand side by side, joined by no relation; a covariance of released variables is
Cov(x + u, y + v) = Cov(x, y) + Cov(x, v) + Cov(u, y) + Cov(u, v): linear in the deviations but for the last, small term. The programs keep
it at nothing, that term by its tangent at the last table; the tabu search has the true correlations and slopes. Each variable keeps
its own rules, levels and bounds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits, OnProgress, check_kind
from statveil.core.statistics import correlations, slopes
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.keep.adjust_keeping import adjust_keeping, seconds_for_plain
from statveil.protect.keep.problems import side_by_side
from statveil.protect.keep.tabu.objective import Pair
from statveil.protect.keep.wishes import Coefficients, Keep, Target, targets_of
from statveil.protect.problem import ProtectionProblem

KEPT = Keep(mean="all", variance="all", coefficients=Coefficients(correlation=100.0, variance=100.0))
"""With variances and covariances, correlations and slopes are kept as well. A thousandth of them counts for a tenth of the change."""


@dataclass(frozen=True, kw_only=True)
class Together:
    """An adjustment for each variable, and the variables' relations to one another over all cells, before and after.

    adjustments: by the names of the variables.

    >>> before, after = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> round(Together(adjustments={}, correlations=(before, after), slopes=(before, after)).correlation_change, 3)
    0.1
    """

    adjustments: Mapping[str, Adjustment]
    correlations: tuple[FloatArray, FloatArray] = field(repr=False)
    """Of every variable with every other: (before, after)."""
    slopes: tuple[FloatArray, FloatArray] = field(repr=False)
    """Of the regression of variable j on variable i, at [i, j]: (before, after)."""

    @property
    def correlation_change(self) -> float:
        """The largest change of a correlation."""
        return float(np.abs(self.correlations[1] - self.correlations[0]).max())

    @property
    def slope_change(self) -> float:
        """The largest relative change of a slope."""
        before, after = self.slopes
        return float((np.abs(after - before) / np.maximum(np.abs(before), 1e-12)).max())


def adjust_together(
    problems: Mapping[str, ProtectionProblem],
    *,
    keep: Keep = KEPT,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Together:
    """Safe tables of several variables on the same cells, their statistics and their relations to one another kept.

    `keep` is asked of each variable over its own cells; wherever it asks for a spread (variance, correlation or slope), the
    covariances, correlations and regressions of the variables over those cells are kept too.
    """
    limits = Limits() if limits is None else limits
    check_kind("keep", keep, Keep)
    _check(problems, keep)
    names = list(problems)
    targets, pairs = _joined_targets(list(problems.values()), keep)
    plain = _plain(problems, method, limits, seed, on_progress)
    scaled = [dataclasses.replace(problems[name], weight=problems[name].weight / max(plain[name].objective, 1e-12)) for name in names]
    joined = side_by_side(scaled)
    rest = dataclasses.replace(limits, seconds=limits.seconds - seconds_for_plain(limits.seconds))
    start = np.concatenate([plain[name].deviation for name in names])
    told = _shifted(on_progress, seconds_for_plain(limits.seconds))
    found = adjust_keeping(joined, keep, limits=rest, seed=seed, on_progress=told, table=start, targets=targets, pairs=pairs)
    tables = dict(zip(names, np.split(found.deviation, len(names)), strict=True))
    before = [problems[name].value for name in names]
    after = [problems[name].value + tables[name] for name in names]
    return Together(
        adjustments={name: _own(problems[name], plain[name], tables[name], found) for name in names},
        correlations=(correlations(before), correlations(after)),
        slopes=(slopes(before), slopes(after)),
    )


def _check(problems: Mapping[str, ProtectionProblem], keep: Keep) -> None:
    if len(problems) < 2:
        raise InputError("Several variables are needed to be protected together.")
    first, *others = problems.values()
    for other in others:
        if other.size != first.size or abs(other.relations - first.relations).nnz:
            raise InputError("The variables must be on the same cells, with the same relations.")
        if (other.variant, other.norm) != (first.variant, first.norm):
            raise InputError("The variables must have the same variant and norm.")
    if keep.measures:
        raise InputError("Measures are of one variable, not of several at once.", hint="Leave the measures out, or protect each by itself.")
    if keep.widen:
        raise InputError("Caps are not widened for several variables at once.", hint="Give each variable's options the cap it needs.")


def _plain(
    problems: Mapping[str, ProtectionProblem], method: str, limits: Limits, seed: int, on_progress: OnProgress | None
) -> dict[str, Adjustment]:
    """Each variable's plain table, in equal shares of the time."""
    each = dataclasses.replace(limits, seconds=seconds_for_plain(limits.seconds) / len(problems))
    return {
        name: adjust_problem(problem, method=method, limits=each, seed=seed, on_progress=_shifted(on_progress, place * each.seconds))
        for place, (name, problem) in enumerate(problems.items())
    }


def _joined_targets(problems: Sequence[ProtectionProblem], keep: Keep) -> tuple[list[Target], list[Pair]]:
    """The targets of all variables, numbered on through them; and each two of one set of cells that have a spread to keep."""
    targets: list[Target] = []
    alike: dict[tuple[int, ...], list[int]] = {}
    start = 0
    for problem in problems:
        for target in targets_of(keep, problem):
            if target.spread:
                alike.setdefault(tuple(target.cells.tolist()), []).append(len(targets))
            targets.append(dataclasses.replace(target, cells=target.cells + start))
        start += problem.size
    if any(len(same) < len(problems) for same in alike.values()):
        raise InputError(
            "Keep: the variables have different cells here, so their relations to one another cannot be kept over them.",
            hint="Which cells are sensitive depends on the variable. Name the cells: 'all', rows, levels, or numbers.",
        )
    pairs = [Pair(*two) for same in alike.values() for two in combinations(same, 2)]
    return targets, pairs


def _own(problem: ProtectionProblem, plain: Adjustment, table: IntArray, found: Adjustment) -> Adjustment:
    cost = problem.cost(table)
    return dataclasses.replace(
        plain,
        deviation=table,
        senses=problem.senses_of(table),
        objective=cost,
        bound=min(plain.bound, cost),
        ending=found.ending,
        seconds=found.seconds,
        quality=found.quality,
    )


def _shifted(on_progress: OnProgress | None, seconds: float) -> OnProgress | None:
    """Tells the progress of a part of a run that began so many seconds before."""
    return None if on_progress is None else lambda progress: on_progress(progress._replace(seconds=progress.seconds + seconds))
