"""The verbs: a front of safe tables from the least total change to the least distortion, of a problem and of tables from records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from statveil.audit.report import AuditReport
from statveil.audit.systems import audit_system
from statveil.audit.tables import release_hash
from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import Ending, Limits, OnProgress, check_kind, check_seed, stages
from statveil.core.provenance import Provenance
from statveil.formats.system import LinearSystem
from statveil.jobs.tables.assess import LinkedTables, assess_records, settle_levels
from statveil.jobs.tables.protect import Specs, in_labels, keyed, records_of, require_rules, settled
from statveil.jobs.tables.released import as_json, links_as_json, requirements_of, run_as_json
from statveil.jobs.tradeoff.explore import Candidate, FrontPlan
from statveil.jobs.tradeoff.front import DEFAULT, distortion_of, knee, non_dominated
from statveil.jobs.tradeoff.run import TUNING, AcceptedTable, FrontMonitor, objectives, search_front, thinned
from statveil.protect.adjustment import Adjustment
from statveil.protect.build import build_problem
from statveil.protect.keep.adjust_keeping import plain_in_time
from statveil.protect.keep.result import OnFront, Quality
from statveil.protect.keep.tabu.objective import Outcome, outcomes
from statveil.protect.keep.wishes import Keep, Target, keep_of, targets_of
from statveil.protect.options import Method, Options
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import system_of
from statveil.protect.warm_up import make_ready_first
from statveil.publish.release import Release
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import ProtectedTable, Table

POINTS = 15
"""Points of a front, at most, where nothing else is asked."""


@dataclass(frozen=True, kw_only=True)
class FrontPoint:
    """A safe, audited table and what it is worth. Confidential.

    deviation: of each cell, in units of the published decimal. audit: the independent audit, which it passed.

    >>> import numpy as np
    >>> found, audit = {"deviation": np.array([2])}, AuditReport(checks=())
    >>> FrontPoint(change=2.0, distortion=0.1, cap=1.5, percent=3.0, outcomes=(), by="plain", audit=audit, **found).cap
    1.5
    """

    change: float
    """Total weighted change: the objective of the plain adjustment."""
    distortion: float
    """S1's measure over the sets of cells asked for: zero when no statistic changed."""
    cap: float
    """The largest move of a sensitive cell, in multiples of its protection level."""
    percent: float
    """The largest move of any other cell, in percent of its value."""
    outcomes: tuple[Outcome, ...]
    """Mean, correlation, slope and variance ratio of each set of cells."""
    by: str
    """The way it was found."""
    deviation: IntArray = field(repr=False)
    audit: AuditReport = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """The front: `points` in ascending order of change, none better than another in both change and distortion.

    `tighter` are tables off the front that get by with smaller caps than any table that is as good in both. `plain` is what
    the plain adjustment found, and proved. `complete` tells whether the search ended by itself rather than by time or by a signal.
    keep: what was to be kept. tried: tables found on the way. seed, seconds: of the search.

    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> none = np.zeros(3, dtype=int)  # nothing is sensitive: the table itself is all there is
    >>> problem = ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=none > 0, lower=none, upper=np.full(3, 200), lower_level=none, upper_level=none)
    >>> front = tradeoff(problem, limits=Limits(seconds=600))
    >>> [point.change for point in front.points], front.complete
    ([0.0], True)
    """

    points: tuple[FrontPoint, ...]
    knee: int | None
    """The place of the point that is recommended; None where too few were found to recommend one."""
    tighter: tuple[FrontPoint, ...]
    plain: Adjustment = field(repr=False)
    keep: Keep
    words: tuple[str, ...]
    """The sets of cells, and what is kept over each."""
    tried: int
    seed: int
    seconds: float
    complete: bool
    least_possible: float = 0.0
    """A distortion that no table goes below, proved; zero where nothing is."""

    @property
    def recommended(self) -> FrontPoint | None:
        """None where fewer than four points were found, which say too little; a front of one table that was searched to its end is that."""
        return None if self.knee is None else self.points[self.knee]

    def reached(self, point: FrontPoint) -> float:
        """The share of the possible: of what can be taken off the plain table's distortion at the most, what the point takes off."""
        plain = max(each.distortion for each in self.points)
        possible = plain - self.least_possible
        return (plain - point.distortion) / possible if possible > 0 else 1.0

    def number_of(self, point: int | None) -> int:
        """The number of a point, from 1; without one, of the recommended one. Refused where there is none."""
        if point is None and self.knee is None:
            raise InputError(
                f"No point of the trade-off is recommended: {len(self.points)} were found, too few to tell where it bends.",
                hint=f"Name the point, from 1 to {len(self.points)}, or give more time.",
            )
        number = self.knee + 1 if point is None and self.knee is not None else point
        if number is None or not 1 <= number <= len(self.points):
            raise InputError(f"There is no point {number}.", hint=f"Points go from 1 to {len(self.points)}.")
        return number


class FrontArguments(TypedDict, total=False):
    """What a front is about and how it is looked for, as `tradeoff` takes it; whatever builds on it hands it on."""

    keep: Keep | None
    points: int
    method: str
    limits: Limits | None
    seed: int
    on_progress: OnProgress | None


def tradeoff(
    problem: ProtectionProblem,
    *,
    keep: Keep | None = None,
    points: int = POINTS,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Tradeoff:
    """What keeping statistics costs: tables between the least change and the least distortion of the statistics in `keep`.

    Without `keep`: mean, variance, correlation and slope of the sensitive cells. Caps are free within the problem's bounds; each point
    tells the percentages it needs. Every point is whole, safe, additive and audited. Ctrl-C ends the search with the front so far.
    problem: the table to protect. points: at most so many. method, seed: of the plain adjustment, where the search begins.
    limits: when to stop. on_progress: called with a `Progress` now and then.

    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> level = np.array([5, 0, 0])
    >>> problem = ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=level > 0, lower=np.zeros(3, dtype=int), upper=np.full(3, 200),
    ...     lower_level=level, upper_level=level)
    >>> tradeoff(problem, points=2, limits=Limits(seconds=600)).points[0].change
    10.0
    """
    limits, keep = Limits() if limits is None else limits, DEFAULT if keep is None else keep
    _check(problem, keep, points, limits, seed)
    make_ready_first(("search", "keep"), stages(on_progress, limits))
    targets = targets_of(keep, problem)
    monitor = FrontMonitor(problem, targets, limits, on_progress)
    plain = plain_in_time(problem, {"method": method, "seed": seed, "on_progress": monitor.pass_on}, limits)
    monitor.bound = plain.bound
    monitor.hear(Candidate(plain.deviation, "plain"))
    complete = True
    if targets and problem.sensitive.any():  # else nothing need change, or nothing is to be kept: the plain table is all there is
        complete = search_front(monitor, keep, plain.deviation, FrontPlan(points, 0.0, seed))
    monitor.say("auditing the front")
    return _settled(monitor, plain, keep, points, seed, complete=complete)


def check_keep(keep: Keep) -> None:
    """Refuse what a front has no use for: it goes from the least change to the least distortion, within the bounds given."""
    check_kind("keep", keep, Keep)
    if keep.measures:
        raise InputError("The trade-off is about mean, variance, correlation and slope.", hint="Leave the measures out.")
    usual = {field.name: field.default for field in dataclasses.fields(Keep)}
    for name in ("within", "senses", "by", "coefficients", "widen"):
        if getattr(keep, name) != usual[name]:
            raise InputError(f"The trade-off has no use for {name!r} of what is to be kept.", hint=f"Leave out {name}, or the trade-off.")


def _check(problem: ProtectionProblem, keep: Keep, points: int, limits: Limits, seed: int) -> None:
    check_kind("problem", problem, ProtectionProblem)
    check_keep(keep)
    check_kind("limits", limits, Limits)
    check_seed(seed)
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= 200:
        raise InputError("The number of points must be a whole number from 1 to 200.")
    if problem.norm != "l1":
        raise InputError("The trade-off weighs sums of absolute changes.", hint="Choose norm 'l1'.")


def _settled(monitor: FrontMonitor, plain: Adjustment, keep: Keep, points: int, seed: int, *, complete: bool) -> Tradeoff:
    """The tables that are shown, audited."""
    front, shown, found = monitor.front(), monitor.shown(points), monitor.found
    on_front = {id(each) for each in front}
    caps = [each.cap for each in found], [each.percent for each in found]
    small = (found[place] for place in non_dominated(*objectives(found), *caps).tolist())
    tighter = thinned([each for each in small if id(each) not in on_front], points)
    system = system_of(monitor.problem)
    return Tradeoff(
        points=tuple(_point(monitor, each, system) for each in shown),
        knee=_knee(front, shown, points, complete=complete),
        tighter=tuple(_point(monitor, each, system) for each in tighter),
        plain=plain,
        keep=keep,
        words=tuple(_in_words(target) for target in monitor.targets),
        tried=len(found),
        seed=seed,
        seconds=monitor.seconds,
        complete=complete,
        least_possible=min(monitor.least_possible, *(each.distortion for each in found)),
    )


def _knee(front: Sequence[AcceptedTable], shown: Sequence[AcceptedTable], points: int, *, complete: bool) -> int | None:
    """The place of the knee among the points shown; none where few were found, or fewer than could have been shown tell apart."""
    if len(front) < TUNING.fewest or len(shown) < min(TUNING.fewest, points):
        return 0 if len(front) == 1 and complete else None
    return knee(*objectives(shown))


def _point(monitor: FrontMonitor, accepted: AcceptedTable, system: LinearSystem) -> FrontPoint:
    """The independent audit's word on a table, and what it is worth."""
    deviation = accepted.candidate.deviation
    report = audit_system(system, monitor.problem.value + deviation, variant=monitor.problem.variant)
    if not report.passed:
        raise AuditFailed("The independent audit found faults in a table of the front; nothing is shown.", hint=str(report))
    return FrontPoint(
        change=accepted.change,
        distortion=accepted.distortion,
        cap=accepted.cap,
        percent=accepted.percent,
        outcomes=outcomes(monitor.targets, deviation),
        by=accepted.candidate.by,
        deviation=frozen_array(deviation),
        audit=report,
    )


def _in_words(target: Target) -> str:
    asked = [what for what in ("mean", "variance", "correlation", "slope") if getattr(target, what)]
    return f"{', '.join(asked)} of {target.words}"


@dataclass(frozen=True, kw_only=True)
class TableTradeoff:
    """The front of a table. `release` gives any of its points as an audited release; publish one of them, never two.

    front: its points. table, sensitivity: what was to be protected. problem, options: how. parameters: as the certificate tells them.

    >>> import pyarrow as pa, statveil as sv
    >>> shops, spec = pa.table({"area": list("ppqq"), "sales": [7, 3, 50, 20]}), sv.TableSpec(dimensions={"area": None}, measure="sales")
    >>> found = tradeoff_table(shops, spec, rules=[sv.MinimumFrequency(2)], limits=Limits(seconds=600))
    >>> len(found.front.points), found.release(1).audit.passed
    (1, True)
    """

    front: Tradeoff
    table: Table = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    problem: ProtectionProblem = field(repr=False)
    options: Options = field(repr=False)
    parameters: Mapping[str, Any] = field(repr=False)

    def release(self, point: int | None = None, *, job: Mapping[str, Any] | None = None, asked: Mapping[str, Any] | None = None) -> Release:
        """The table of a point, counted from 1 as on the page; without a number, the recommended one.

        `job` repeats the release, `asked` are its words for what is asked of the front.
        """
        number = self.front.number_of(point)
        chosen, plain = self.front.points[number - 1], self.front.plain
        adjustment = dataclasses.replace(
            plain,
            deviation=chosen.deviation,
            senses=self.problem.senses_of(chosen.deviation),
            objective=chosen.change,
            ending=plain.ending if chosen.change <= plain.objective else Ending.FEASIBLE,
            certificate=None,
            seconds=self.front.seconds,
            quality=self._quality(number),
        )
        value = frozen_array(self.problem.value + chosen.deviation)
        protected = ProtectedTable(views=self.table.views, value=value, decimals=self.table.decimals)
        own = {"tradeoff": {**self.parameters["tradeoff"], "point": "recommended" if point is None else point}}
        parameters = {**self.parameters, **(own if asked is None else asked)}
        return Release(
            protected=protected,
            adjustment=adjustment,
            provenance=Provenance(parameters=parameters, input_hash=self.table.input_hash, release_hash=release_hash(protected)),
            table=self.table,
            sensitivity=self.sensitivity,
            requirements=requirements_of(self.options),
            job=job or {},
        )

    def _quality(self, number: int) -> Quality | None:
        """What became of the statistics at a point; None where there were none to keep."""
        front, chosen = self.front, self.front.points[number - 1]
        targets = targets_of(front.keep, self.problem)
        if not targets:
            return None
        return Quality(
            plain=outcomes(targets, front.plain.deviation),
            kept=chosen.outcomes,
            plain_objective=front.plain.objective,
            objective=chosen.change,
            found_by=chosen.by,
            front=OnFront(
                point=number,
                points=len(front.points),
                recommended=chosen is front.recommended,
                distortion=chosen.distortion,
                plain_distortion=distortion_of(targets, front.plain.deviation),
            ),
        )


def tradeoff_table(
    data: Any,
    spec: Specs,
    *,
    rules: Sequence[Rule],
    options: Options | None = None,
    on_table: Callable[[Table], object] | None = None,
    **asked: Unpack[FrontArguments],
) -> TableTradeoff:
    """Records to a front of safe tables: tabulate, assess, then `tradeoff`, whose arguments it takes.

    data, spec, rules, options: as for `protect_table`. on_table: sees the table before the search, and may refuse it.
    asked: as for `tradeoff`.

    >>> import pyarrow as pa, statveil as sv
    >>> shops, spec = pa.table({"area": list("ppq"), "sales": [7, 3, 50]}), sv.TableSpec(dimensions={"area": None}, measure="sales")
    >>> tradeoff_table(shops, spec, rules=[sv.MinimumFrequency(2)], points=2).release().audit.passed
    True
    """
    method = Method(name=asked.get("method", "auto"), seed=asked.get("seed", 0))
    how = settled(options, method=method, limits=asked.get("limits"), on_progress=asked.get("on_progress"))
    given, points = asked.get("keep"), asked.get("points", POINTS)
    keep = DEFAULT if given is None else given
    check_keep(keep)
    linked = spec if isinstance(spec, LinkedTables) else LinkedTables(tables=spec)
    require_rules(rules)
    how = keyed(how)
    table, found = assess_records(records_of(data), linked, rules, tell=how.tell)
    if on_table is not None:
        on_table(table)
    sensitivity = settle_levels(table, found, rules, how.options)
    problem = build_problem(table, sensitivity, how.options)
    with in_labels(problem, table):
        front = tradeoff(problem, **(asked | {"keep": keep_of(keep, table, sensitivity.sensitive), "limits": how.limits}))
    parameters = {
        "tables": as_json(linked.tables),
        "rules": as_json(rules),
        **links_as_json(linked),
        **run_as_json(how.options, how.limits, how.method),
        "tradeoff": {"points": points, "kept": list(front.words)},
    }
    return TableTradeoff(front=front, table=table, sensitivity=sensitivity, problem=problem, options=how.options, parameters=parameters)
