"""The verb for tables: records, or a table whose sensitive cells are known, to an audited release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InfeasibleProblem, InputError, RuleError
from statveil.core.floors import AS_GIVEN
from statveil.core.limits import Limits, OnProgress, RunClock, check_kind, clocked, stages
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.jobs.tables.assess import LinkedTables, assess_records, settle_levels, singletons_of
from statveil.jobs.tables.released import (
    as_json,
    keep_as_json,
    keep_statistics,
    links_as_json,
    release_of,
    repair_as_json,
    run_as_json,
    widened_as_json,
)
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.build import CellLabels, build_problem
from statveil.protect.infeasible.explain import Explanation
from statveil.protect.infeasible.repair import adjust_or_repair, kept_of, repair_of
from statveil.protect.keep.variables import KEPT, Together, adjust_together
from statveil.protect.keep.wishes import Keep, keep_of
from statveil.protect.options import AdjustArguments, Method, Options, method_of
from statveil.protect.problem import ProtectionProblem
from statveil.protect.singletons import keep_apart, undrawn_cost
from statveil.publish.release import Release
from statveil.risk.assess import check_rules
from statveil.risk.coalitions import opponents, still_told
from statveil.risk.hold import hold_totals
from statveil.risk.levels import still_standing_out, with_key
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table


class HidingTuning(NamedTuple):
    """Time for what follows the search. By judgement."""

    share: float = 0.15
    most_seconds: float = 20.0
    least_seconds: float = 4.0


HIDING = HidingTuning()
Specs = TableSpec | Sequence[TableSpec] | LinkedTables


@dataclass(frozen=True, kw_only=True)
class ReleasesTogether:
    """A release for each variable, and what became of their relations to one another.

    releases: by the names of the tables. together: correlations and slopes before and after.

    >>> import pyarrow as pa, statveil as sv
    >>> shops = pa.table({"area": list("ppqq"), "sales": [7, 3, 50, 20], "wages": [3, 2, 20, 9]})
    >>> specs = [sv.TableSpec(dimensions={"area": None}, measure=name, name=name) for name in ("sales", "wages")]
    >>> safe = {name: [sv.MinimumFrequency(2)] for name in ("sales", "wages")}
    >>> made = sv.protect_table(shops, specs, rules=safe, limits=sv.Limits(seconds=600))
    >>> list(made.releases), made.together.correlations[1].shape
    (['sales', 'wages'], (2, 2))
    """

    releases: Mapping[str, Release]
    together: Together


@overload
def protect_table(
    data: Any,
    spec: Specs | Sensitivity,
    *,
    rules: Sequence[Rule] = ...,
    options: Options | None = ...,
    keep: Keep | None = ...,
    method: str | Method = ...,
    limits: Limits | None = ...,
    on_progress: OnProgress | None = ...,
) -> Release: ...


@overload
def protect_table(
    data: Any,
    spec: Sequence[TableSpec],
    *,
    rules: Mapping[str, Sequence[Rule]],
    options: Options | None = ...,
    keep: Keep | None = ...,
    method: str | Method = ...,
    limits: Limits | None = ...,
    on_progress: OnProgress | None = ...,
) -> ReleasesTogether: ...


def protect_table(
    data: Any,
    spec: Specs | Sensitivity,
    *,
    rules: Sequence[Rule] | Mapping[str, Sequence[Rule]] = (),
    options: Options | None = None,
    keep: Keep | None = None,
    method: str | Method = "auto",
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> Release | ReleasesTogether:
    """Records to an audited release: tabulate, assess, adjust, audit.

    data: a `Microdata` or anything that `read_microdata` takes; or a `Table`.
    spec: the table. Several are linked and protected together: a cell that adds up the same records of the same measure in several of
        them is one cell; a `LinkedTables` says what else links them. For a `Table`, its `Sensitivity`, as `sv.rules.assess` finds it.
    rules: what makes a cell sensitive. By the name of each table: then each is a variable by the same dimensions with rules and a
        release of its own, and their means, covariances, correlations and regressions are kept (`ReleasesTogether`).
    options: how to protect: variant, norm, weights, bounds, cap, totals to hold, and what may give where no safe table exists.
    keep: statistics to keep, over rows and levels by the codes of the dimensions.
    method: how to look for the table, by name or as a `Method` with settings and seed.
    limits: when to stop.
    on_progress: called with a `Progress` now and then.

    >>> import pyarrow as pa, statveil as sv
    >>> shops = pa.table({"area": list("ppqqq"), "trade": list("uvuvv"), "sales": [7, 3, 1, 50, 20]})
    >>> spec = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")
    >>> release = sv.protect_table(shops, spec, rules=[sv.MinimumFrequency(2)], limits=sv.Limits(seconds=60))
    >>> release.audit.passed, int(release.sensitivity.sensitive.sum())
    (True, 3)
    """
    how = settled(options, keep, method, limits, on_progress)
    if isinstance(spec, Sensitivity):
        check_kind("data", data, Table)
        if rules:
            raise RuleError("The sensitive cells are known already.", hint="Give rules, or what `sv.rules.assess` made of them.")
        options = replace(how.options, floors=AS_GIVEN)
        return protect_assessed(data, hold_totals(data, spec, options.hold, options.hold_within), replace(how, options=options))
    if isinstance(rules, Mapping):
        return _protect_variables(data, LinkedTables(tables=spec).specs if not isinstance(spec, LinkedTables) else spec.specs, rules, how)
    release = protect_records(data, spec if isinstance(spec, LinkedTables) else LinkedTables(tables=spec), rules, how)
    how.tell_of(release, last=True)
    return release


@dataclass(frozen=True, kw_only=True)
class ProtectionSettings:
    """How a table is protected, with all defaults filled in."""

    options: Options
    keep: Keep | None
    method: Method
    limits: Limits
    on_progress: OnProgress | None
    reserved: float = 0.0
    """Seconds of the limit that the search leaves to what comes after it."""
    began: float = field(default_factory=time.monotonic)
    """When the run began: reading and adding up count in its limit."""

    @property
    def run(self) -> AdjustArguments:
        chosen, within = self.method, self.limits.left(self.began, reserved=self.reserved)
        run: AdjustArguments = {"method": chosen.name, "settings": chosen.settings, "seed": chosen.seed}
        return run | {"limits": within, "on_progress": self.on_progress}

    @property
    def for_hiding(self) -> float:
        """Seconds for what follows the search: single respondents kept apart, the cost of drawn levels."""
        return min(HIDING.share * self.limits.seconds, HIDING.most_seconds)

    def tell(self, stage: str) -> None:
        stages(self.on_progress, self.limits)(stage)

    def tell_of(self, release: Release, *, last: bool = False) -> None:
        """What is told at the end is what the release holds, whatever was heard before."""
        if isinstance(self.on_progress, RunClock):
            self.on_progress.found("released" if last else "audited", release.adjustment.objective, release.adjustment.bound, last=last)

    def as_json(self) -> dict[str, Any]:
        """All of it, as the provenance has it."""
        run = run_as_json(self.options, self.limits, self.method)
        return {**run, **repair_as_json(self.options.repair), **keep_as_json(self.keep)}


def settled(
    options: Options | None,
    keep: Keep | None = None,
    method: str | Method = "auto",
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> ProtectionSettings:
    """Settings with their defaults filled in, refused now rather than after the records are read."""
    options = Options() if options is None else options
    limits = Limits() if limits is None else limits
    check_kind("options", options, Options)
    check_kind("limits", limits, Limits)
    if keep is not None:
        check_kind("keep", keep, Keep)
        if options.repair is not None:
            raise InputError("Statistics are kept in safe tables, not in repaired ones.", hint="Ask for keep or for repair, not for both.")
    method = method_of(method)
    if method.start is not None:
        raise InputError("Senses to start with belong to a linear system.", hint="Leave out the start of the method.")
    return ProtectionSettings(options=options, keep=keep, method=method, limits=limits, on_progress=clocked(on_progress, limits))


def require_rules(rules: Sequence[Rule]) -> None:
    check_rules(rules)
    if not rules:
        raise RuleError(
            "No rules are given, so nothing would be protected and the true values would be released.",
            hint="Rules are required: even a table with nothing to protect needs one that says so, such as MinimumFrequency(3).",
        )


def records_of(data: Any) -> Microdata:
    return data if isinstance(data, Microdata) else read_microdata(data)


def keyed(how: ProtectionSettings, *, make: bool = True) -> ProtectionSettings:
    """The settings with the key that levels are drawn by."""
    return replace(how, options=replace(how.options, floors=with_key(how.options.floors, make=make)))


def protect_records(
    data: Any,
    linked: LinkedTables,
    rules: Sequence[Rule],
    how: ProtectionSettings,
    *,
    job: Mapping[str, Any] | None = None,
    on_table: Callable[[Table], object] | None = None,
) -> Release:
    """Records to an audited release; `job` repeats it. `on_table` sees the table before the search, and may refuse it."""
    require_rules(rules)
    how = keyed(how)
    table, found = assess_records(records_of(data), linked, rules, tell=how.tell)
    if on_table is not None:
        on_table(table)
    sensitivity = settle_levels(table, found, rules, how.options)
    asked = {"tables": as_json(linked.tables), "rules": as_json(rules), **links_as_json(linked)}
    release = protect_assessed(table, sensitivity, how, found=found, rules=rules, asked=asked, job=job)
    how.tell_of(release)
    return release


def protect_assessed(
    table: Table,
    sensitivity: Sensitivity,
    how: ProtectionSettings,
    *,
    found: Sensitivity | None = None,
    rules: Sequence[Rule] = (),
    asked: Mapping[str, Any] | None = None,
    job: Mapping[str, Any] | None = None,
) -> Release:
    """A table whose sensitive cells are known to an audited release: adjust (and repair, if asked and needed), audit.

    `found`: what the rules found before levels were raised, where they were: single respondents are then kept apart as well.
    """
    problem = build_problem(table, sensitivity, how.options)
    with in_labels(problem, table):
        adjustment, needed = _adjusted(
            table, sensitivity, problem, how if found is None else replace(how, reserved=how.reserved + how.for_hiding)
        )
    if found is not None:
        adjustment = _hidden(table, found, problem, adjustment, rules, how)
    parameters = {**(asked or {}), **how.as_json(), **widened_as_json(adjustment)}
    return release_of(table, sensitivity, problem, adjustment, options=needed, parameters=parameters, keep=how.keep, job=job)


def _hidden(
    table: Table, found: Sensitivity, problem: ProtectionProblem, adjustment: Adjustment, rules: Sequence[Rule], how: ProtectionSettings
) -> Adjustment:
    """The adjustment with single respondents kept apart, and what it would cost at the rules' own levels."""
    plain, floors = how.keep is None and how.options.repair is None, how.options.floors
    seconds = max(how.for_hiding / 2, HIDING.least_seconds)
    if plain and floors.scheme == "drawn" and adjustment.objective > 0:
        exact = replace(how.options, floors=replace(floors, scheme="exact"))
        undrawn = build_problem(table, settle_levels(table, found, rules, exact), how.options)
        cost = undrawn_cost(problem, undrawn, adjustment, seconds=seconds)
        adjustment = replace(adjustment, drawing_cost=adjustment.objective / cost - 1 if cost else None)
    if plain and floors.coalitions:
        further = partial(_further, table, found, problem, rules, tiny=floors.tiny)
        adjustment = keep_apart(problem, adjustment, singletons_of(table, found, rules), seconds=seconds, further=further)
    return adjustment


def _further(
    table: Table, found: Sensitivity, problem: ProtectionProblem, rules: Sequence[Rule], deviation: IntArray, *, tiny: bool
) -> tuple[IntArray, IntArray]:
    """How far cells must fall or rise that still stand out or still tell a coalition, in published units."""
    unit = 10 ** (table.scale - table.decimals)
    released = (problem.value + deviation) * unit
    fall, rise = still_told(table, found, *opponents(rules), released)
    if tiny:
        rise = np.maximum(rise, still_standing_out(table, found, released))
    down, up = problem.value - (table.value - fall) // unit, -(-(table.value + rise) // unit) - problem.value
    return np.where(fall > 0, down, 0), np.where(rise > 0, up, 0)


def _adjusted(table: Table, sensitivity: Sensitivity, problem: ProtectionProblem, how: ProtectionSettings) -> tuple[Adjustment, Options]:
    """The adjustment, and the options with what had to be widened."""
    options = how.options
    if how.keep is not None:
        return keep_statistics(table, sensitivity, problem, options, keep_of(how.keep, table, sensitivity.sensitive), how.run)
    if options.repair is None:
        return adjust_problem(problem, **how.run), options
    return adjust_or_repair(problem, repair_of(options.repair, table), kept=kept_of(sensitivity), **how.run), options


def _protect_variables(
    data: Any, specs: Sequence[TableSpec], rules: Mapping[str, Sequence[Rule]], how: ProtectionSettings
) -> ReleasesTogether:
    """Several variables of the same records by the same dimensions, each to its own release, their relations to one another kept."""
    names = [spec.name for spec in specs]
    if len(set(names)) < max(len(names), 2):
        raise InputError("Several variables are several tables, each with a name of its own.")
    if how.options.repair is not None or how.method.settings:
        raise InputError("Several variables are protected without repairs and settings of the method.")
    keep, data, judged = KEPT if how.keep is None else how.keep, records_of(data), {}
    how = keyed(how)
    for spec in specs:
        require_rules(rules.get(spec.name, ()))
        table, found = assess_records(data, LinkedTables(tables=spec), rules[spec.name], tell=how.tell)
        judged[spec.name] = table, settle_levels(table, found, rules[spec.name], how.options)
    problems = {name: build_problem(table, sensitivity, how.options) for name, (table, sensitivity) in judged.items()}
    together = adjust_together(
        problems,
        keep=keep_of(keep, judged[names[0]][0]),
        method=how.method.name,
        limits=how.limits,
        seed=how.method.seed,
        on_progress=how.on_progress,
    )
    asked = {"together": names, **run_as_json(how.options, how.limits, how.method), **keep_as_json(keep)}
    releases = {}
    for spec in specs:
        (table, sensitivity), problem, adjustment = judged[spec.name], problems[spec.name], together.adjustments[spec.name]
        parameters = {"tables": as_json(spec), "rules": as_json(rules[spec.name]), **asked}
        releases[spec.name] = release_of(table, sensitivity, problem, adjustment, options=how.options, parameters=parameters, keep=keep)
    return ReleasesTogether(releases=releases, together=together)


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
