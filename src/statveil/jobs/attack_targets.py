"""Release folders, and linear systems with their solutions, as targets of the attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from statveil.audit.attacks.attacker import Answered, Attacker, AttackJournal, Effort
from statveil.audit.attacks.case import Case, ReverseProblem, ReverseSolver, SystemCase, SystemOriginals, Truth, read_records
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, ReleasedSystem, RequestAxis, TableRequest
from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import Limits
from statveil.formats.rcta import read_solution
from statveil.formats.system import read_system
from statveil.jobs.recheck import read_protected, read_run
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.folder import JOB_FILE
from statveil.protect.adjust import adjust_problem
from statveil.protect.options import NO_LIMIT, Options
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import problem_of
from statveil.risk.rules import PPercent, Rule
from statveil.risk.rules.base import RespondentRule
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.table import ProtectedTable, View
from statveil.tables.tabulate import tabulate


def reverse_by_adjustment(*, seconds: float = 30.0, method: str = "anneal", seed: int = 0) -> ReverseSolver:
    """Adjust with weights 1/x; a table that no adjustment is found for gives None."""

    def solve(task: ReverseProblem) -> IntArray | None:
        try:
            found = adjust_problem(_problem(task), method=method, limits=Limits(seconds=seconds), seed=seed)
        except StatveilError:
            return None
        return np.asarray(task.published.released + found.deviation, dtype=np.int64)

    return solve


def _problem(task: ReverseProblem) -> ProtectionProblem:
    published = task.published
    return ProtectionProblem(
        relations=published.relations,
        rhs=published.rhs,
        value=published.released,
        weight=1.0 / np.maximum(np.abs(published.released), 1),
        lower=np.minimum(_whole(np.floor(published.low)), published.released),
        upper=np.maximum(_whole(np.ceil(published.high)), published.released),
        sensitive=task.sensitive,
        lower_level=np.where(task.sensitive, task.lower, 0),
        upper_level=np.where(task.sensitive, task.upper, 0),
    )


def _whole(bound: FloatArray) -> IntArray:
    limited = np.clip(bound, -float(2**53), float(2**53))
    return np.where(np.isfinite(bound), limited, np.sign(bound) * NO_LIMIT).astype(np.int64)


NO_BOUND = 2.0**61
USUAL_CAP = 2.0


def system_case(original: Path, solution: Path, *, effort: Effort, reverse: ReverseSolver | None, cap: float = USUAL_CAP) -> SystemCase:
    """The bounds of the file are what the public knows of each true value."""
    system = read_system(original, non_additive=True, negative_levels=True)
    released = read_solution(solution, decimals=system.decimals).released
    if released.shape != system.value.shape:
        raise InputError(f"{solution.name} has {released.size} cells and {original.name} has {system.value.size}.")
    problem = problem_of(system)
    low, high = (bound.astype(np.float64) for bound in (problem.lower, problem.upper))
    low, high = np.where(low <= -NO_BOUND, -np.inf, low), np.where(high >= NO_BOUND, np.inf, high)
    public = ReleasedSystem(
        relations=system.relations,
        rhs=system.rhs,
        released=released,
        low=low,
        high=high,
        known_bounds=bool(np.isfinite(high[problem.sensitive]).any() or (low[problem.sensitive] > 0).any()),
    )
    secret = SystemOriginals(
        value=problem.value,
        sensitive=problem.sensitive,
        lower=np.where(problem.sensitive, problem.lower_level, 0),
        upper=np.where(problem.sensitive, problem.upper_level, 0),
    )
    return SystemCase(published=public, originals=secret, cap=cap, effort=effort, reverse=reverse)


USUAL_PERCENT, USUAL_CAP = 10.0, 2.0


@dataclass(frozen=True, kw_only=True)
class _ReadRelease:
    job: TableJob
    specs: list[TableSpec]
    protected: ProtectedTable


def folder_case(folders: Sequence[Path], *, effort: Effort, reverse: ReverseSolver | None) -> Case:
    """One or several releases of the same records: what an attacker who has them all can do."""
    releases = [_read(folder) for folder in folders]
    first = releases[0]
    _check_same(releases)
    dimensions = _dimensions(releases)
    measures = {spec.measure or "count": spec.measure for release in releases for spec in release.specs}
    register, values, decimals = read_records(first.job.microdata, dimensions, measures, holding=first.specs[0].holding)
    _check_units(releases, decimals)
    options, rules = first.job.options(), _plain_rules(first.job.rules())
    catalogue = Catalogue(
        dimensions=dimensions,
        measures=tuple(measures),
        counts="count" if None in measures.values() else None,
        percent=_percent(rules),
        cap=float(options.cap or USUAL_CAP),
        most_change=_most_change(options),
    )
    answers = [_answered(spec, view, release.protected) for release in releases for spec, view in _shown(release)]
    journal = AttackJournal(register, catalogue, answers=answers)
    truth = Truth(register, values, rules, zeros_count=True)
    return Case(attacker=Attacker(journal=journal, effort=effort), truth=truth, reverse=reverse)


def _read(folder: Path) -> _ReadRelease:
    run = read_run(folder)
    job = read_job(folder / JOB_FILE, base=folder.resolve() / run["paths_from"])
    linked = job.linked()
    for spec in linked.specs:
        if any((spec.weight, spec.shadow, spec.request, spec.waiver)):
            raise InputError(
                f"Table {spec.name!r} uses weights, a shadow variable, requests or waivers, which the attacks on records do not know.",
                hint="Write the system with `statveil protect` or `statveil convert` and attack its .jj and .sol files.",
            )
    table = tabulate(job.microdata, linked.specs, equations=linked.equations, sets=linked.sets)
    return _ReadRelease(job=job, specs=linked.specs, protected=read_protected(table, job, folder))


def _check_same(releases: Sequence[_ReadRelease]) -> None:
    files = {release.job.path(release.job.parts.data.file).resolve() for release in releases}
    holdings = {release.specs[0].holding for release in releases}
    if len(files) > 1 or len(holdings) > 1:
        raise InputError(
            "The releases are not of the same records.", hint="Attack together only releases of one file and one holding column."
        )


def _check_units(releases: Sequence[_ReadRelease], decimals: dict[str, int]) -> None:
    for release in releases:
        for spec in release.specs:
            if release.protected.decimals != decimals[spec.measure or "count"]:
                raise InputError(
                    f"Table {spec.name!r} is published with other decimals than its records have.",
                    hint="The attacks compare whole units; publish as many decimals as the records have.",
                )


def _dimensions(releases: Sequence[_ReadRelease]) -> tuple[Dimension, ...]:
    """All dimensions of all tables; the same name must mean the same tree."""
    found: dict[str, Dimension] = {}
    for release in releases:
        for view in release.protected.views:
            for dimension in view.dimensions:
                if found.setdefault(dimension.name, dimension) != dimension:
                    raise InputError(f"Dimension {dimension.name!r} has different trees in these releases.")
    return tuple(found.values())


def _shown(release: _ReadRelease) -> list[tuple[TableSpec, View]]:
    return list(zip(release.specs, release.protected.views, strict=True))


def _plain_rules(rules: Sequence[Rule]) -> list[Rule]:
    strangers = [rule for rule in rules if not isinstance(rule, RespondentRule)]
    if strangers:
        raise InputError("The job names cells by hand; the attacks on records know rules only.", hint="Attack its .jj and .sol files.")
    return list(rules)


def _percent(rules: Sequence[Rule]) -> float:
    return max((float(rule.p) for rule in rules if isinstance(rule, PPercent)), default=USUAL_PERCENT)


def _most_change(options: Options) -> float | None:
    percent = [options.bounds.percent_down, options.bounds.percent_up]
    return None if None in percent else max(float(each) for each in percent if each is not None) / 100


def _answered(spec: TableSpec, view: View, protected: ProtectedTable) -> Answered:
    """A view as an answer: positions that hold no record are empty zeros."""
    axes = tuple(AnswerAxis(id=dimension.name, codes=dimension.codes) for dimension in view.dimensions)
    values = np.zeros([len(axis.codes) for axis in axes], dtype=np.int64)
    values[tuple(view.coordinates.T)] = protected.value[view.cell]
    request = TableRequest(axes=tuple(RequestAxis(id=axis.id, codes=axis.codes) for axis in axes), measure=spec.measure or "count")
    table = AnswerTable(axes=axes, values=values, shown=np.ones(values.shape, dtype=np.bool_), decimals=protected.decimals)
    return Answered(request=request, table=table)
