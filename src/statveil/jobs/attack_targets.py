"""Release folders, and linear systems with their solutions, as targets of the attacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from statveil.audit.attacks.attacker import Answered, Attacker, AttackJournal, Effort
from statveil.audit.attacks.case import (
    Case,
    JudgedCells,
    ReverseSolver,
    SystemCase,
    SystemOriginals,
    TabulatedTruth,
    read_records,
)
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, Register, ReleasedSystem, RequestAxis, TableRequest
from statveil.audit.attacks.suite import THREAT_BY_ID, attack_all, attack_system, check_names
from statveil.audit.attacks.verdict import Number, SuiteReport, Verdict, VerdictStatus, not_applicable
from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.formats.rcta import read_solution
from statveil.formats.system import Decimals, read_system
from statveil.jobs.folders.tables import JOB_FILE
from statveil.jobs.recheck import read_protected, read_run
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import LinkedTables, assess_records
from statveil.jobs.tables.own_attacks import ReleaseOrigin, most_change, percent_of, release_case
from statveil.protect.system import problem_of
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.table import ProtectedTable, Table, View

NO_BOUND = 2.0**61
USUAL_CAP = 2.0


def system_case(
    original: Path, solution: Path, *, effort: Effort, reverse: ReverseSolver | None, cap: float = USUAL_CAP, decimals: Decimals = None
) -> SystemCase:
    """The bounds of the file are what the public knows of each true value. decimals: those that the solution was made with."""
    system = read_system(original, decimals=decimals, non_additive=True, negative_levels=True)
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
    return SystemCase(published=public, originals=secret, cap=cap, effort=effort, reverse=reverse, decimals=system.decimals)


ONE_TABLE = ("T01", "T08", "T11", "T12", "T13", "T14", "T18", "T19", "T27")
"""Attacks that look at the distinct cells of one release; T08 of several looks at all of them together."""
MOST_POSITIONS = 20_000_000
"""Of a table with more, empty ones too, the attacks that compare tables are not made. By judgement."""
TOO_LARGE = f"The table has more than {MOST_POSITIONS:,} positions."


@dataclass(frozen=True, kw_only=True)
class ReadRelease:
    """A release folder as an attack sees it: what the records add up to, what is sensitive in it, and the public numbers."""

    name: str
    job: TableJob
    origin: ReleaseOrigin
    table: Table
    sensitivity: Sensitivity
    protected: ProtectedTable

    @property
    def specs(self) -> list[TableSpec]:
        return self.origin.linked.specs

    @property
    def finest(self) -> int:
        """Decimals of the units in which true and public numbers are whole."""
        return max(self.table.scale, self.protected.decimals)

    @property
    def positions(self) -> int:
        return max(math.prod(len(dimension.codes) for dimension in view.dimensions) for view in self.table.views)


def attack_folders(
    folders: Sequence[Path],
    *,
    effort: Effort,
    reverse: ReverseSolver | None,
    only: Sequence[str] = (),
    on_progress: Callable[[str], object] | None = None,
) -> SuiteReport:
    """Attack releases of the same records, together and each by itself."""
    check_names(only)
    releases = [read_release(folder) for folder in folders]
    alone = [name for name in ONE_TABLE if (not only or name in only) and (name != "T08" or len(releases) == 1)]
    others = [name for name in THREAT_BY_ID if (not only or name in only) and name not in alone]
    own = [_attack_one(release, alone, effort, reverse, on_progress) for release in releases] if alone else []
    found = {name: _worst([(report.target, report[name]) for report in own]) for name in alone}
    facts: Mapping[str, Number] = own[0].facts if len(own) == 1 else {"seed": effort.seed}
    if others:
        together = _attack_together(releases, others, effort, reverse, on_progress)
        found |= {verdict.threat.id: verdict for verdict in together.verdicts}
        facts = {**together.facts, **facts}
    name = ", ".join(release.name for release in releases)
    return SuiteReport(target=name, verdicts=tuple(found[each] for each in THREAT_BY_ID if each in found), facts=facts)


def _attack_one(
    release: ReadRelease,
    names: Sequence[str],
    effort: Effort,
    reverse: ReverseSolver | None,
    on_progress: Callable[[str], object] | None,
) -> SuiteReport:
    case = release_case(release.table, release.protected, release.origin, effort=effort, reverse=reverse)
    return attack_system(case, target=release.name, only=names, on_progress=on_progress)


def _attack_together(
    releases: Sequence[ReadRelease],
    names: Sequence[str],
    effort: Effort,
    reverse: ReverseSolver | None,
    on_progress: Callable[[str], object] | None,
) -> SuiteReport:
    if max(release.positions for release in releases) > MOST_POSITIONS:
        return SuiteReport(target="", verdicts=tuple(not_applicable(THREAT_BY_ID[name], TOO_LARGE) for name in names), facts={})
    return attack_all(releases_case(releases, effort=effort, reverse=reverse), target="", only=names, on_progress=on_progress)


def _worst(found: Sequence[tuple[str, Verdict]]) -> Verdict:
    """One verdict on all releases: broken if one of them is."""
    if len(found) == 1:
        return found[0][1]
    statuses = [verdict.status for _, verdict in found]
    order = (VerdictStatus.FAILED, VerdictStatus.PASSED, VerdictStatus.NOT_APPLICABLE)
    status = next(each for each in order if each in statuses)
    figures = {f"{name}: {words}": number for name, verdict in found for words, number in verdict.figures.items()}
    told = "; ".join(f"{name}: {verdict.reason or verdict.number}" for name, verdict in found)
    if status is VerdictStatus.NOT_APPLICABLE:
        return not_applicable(found[0][1].threat, told, figures)
    return replace(found[0][1], status=status, number=told, figures=figures, reason="")


def releases_case(releases: Sequence[ReadRelease], *, effort: Effort, reverse: ReverseSolver | None) -> Case:
    """One or several releases of the same records: what an attacker who has them all can do."""
    first = releases[0]
    _check_same(releases)
    dimensions = _dimensions(releases)
    measures = {spec.measure or "count": spec.measure for release in releases for spec in release.specs}
    finest = max(release.finest for release in releases)
    register, values = _records(first, dimensions, measures, finest)
    options = first.origin.options
    catalogue = Catalogue(
        dimensions=dimensions,
        measures=tuple(measures),
        counts="count" if None in measures.values() else None,
        percent=percent_of(first.origin.rules),
        cap=float(options.cap or USUAL_CAP),
        most_change=most_change(options),
    )
    answers = [_answered(spec, view, release.protected, finest) for release in releases for spec, view in _shown(release)]
    tables = [answered.table for answered in answers]
    truth = TabulatedTruth(
        register,
        values,
        list(_judged(releases, tables, finest)),
        by_record=lambda: list(_judged([_by_record(release) for release in releases], tables, finest)),
    )
    journal = AttackJournal(register, catalogue, answers=answers)
    return Case(attacker=Attacker(journal=journal, effort=effort), truth=truth, reverse=reverse)


def read_release(folder: Path) -> ReadRelease:
    """The folder's job, its records tabulated and judged anew, and its public numbers."""
    run = read_run(folder)
    job = read_job(folder / JOB_FILE, base=folder.resolve() / run["paths_from"])
    origin = ReleaseOrigin(data=job.microdata, linked=job.linked(), rules=job.rules(), options=job.options())
    table, sensitivity = assess_records(origin.data, origin.linked, origin.rules)
    protected = read_protected(table, job, folder)
    name = folder.name or str(folder)
    return ReadRelease(name=name, job=job, origin=origin, table=table, sensitivity=sensitivity, protected=protected)


def _by_record(release: ReadRelease) -> ReadRelease:
    """The same as one judges it who does not know the holdings."""
    linked = release.origin.linked
    specs = [replace(spec, holding=None) for spec in linked.specs]
    apart = LinkedTables(tables=specs, equations=linked.equations, sets=linked.sets)
    table, sensitivity = assess_records(release.origin.data, apart, release.origin.rules)
    return replace(release, table=table, sensitivity=sensitivity)


def _check_same(releases: Sequence[ReadRelease]) -> None:
    files = {release.job.path(release.job.parts.data.file).resolve() for release in releases}
    columns = {(release.specs[0].holding, release.specs[0].weight, release.specs[0].weight_decimals) for release in releases}
    if len(files) > 1 or len(columns) > 1:
        raise InputError(
            "The releases are not of the same records.",
            hint="Attack together only releases of one file with one holding column and one weight column.",
        )


def _dimensions(releases: Sequence[ReadRelease]) -> tuple[Dimension, ...]:
    """All dimensions of all tables; the same name must mean the same tree."""
    found: dict[str, Dimension] = {}
    for release in releases:
        for view in release.protected.views:
            for dimension in view.dimensions:
                if found.setdefault(dimension.name, dimension) != dimension:
                    raise InputError(f"Dimension {dimension.name!r} has different trees in these releases.")
    return tuple(found.values())


def _records(
    release: ReadRelease, dimensions: tuple[Dimension, ...], measures: Mapping[str, str | None], finest: int
) -> tuple[Register, dict[str, IntArray]]:
    """Who is where, and what each record adds to a cell: its value, times its weight where the table has weights."""
    trees = {dimension.name: list(dimension.trees) for dimension in dimensions}
    specs = [
        replace(release.specs[0], dimensions=trees, structural_zeros=(), measure=column, name=name) for name, column in measures.items()
    ]
    register, values, decimals = read_records(release.origin.data, dimensions, specs)
    return register, {name: values[name] * 10 ** (finest - decimals[name]) for name in measures}


def _shown(release: ReadRelease) -> list[tuple[TableSpec, View]]:
    return list(zip(release.specs, release.protected.views, strict=True))


def _answered(spec: TableSpec, view: View, protected: ProtectedTable, finest: int) -> Answered:
    """A view as an answer: positions that hold no record are empty zeros."""
    axes = tuple(AnswerAxis(id=dimension.name, codes=dimension.codes) for dimension in view.dimensions)
    values = _placed(view, protected.value * 10 ** (finest - protected.decimals))
    values = values.reshape([len(axis.codes) for axis in axes])
    request = TableRequest(axes=tuple(RequestAxis(id=axis.id, codes=axis.codes) for axis in axes), measure=spec.measure or "count")
    table = AnswerTable(axes=axes, values=values, shown=np.ones(values.shape, dtype=np.bool_), decimals=finest)
    return Answered(request=request, table=table)


def _judged(releases: Sequence[ReadRelease], tables: Sequence[AnswerTable], finest: int) -> Iterator[tuple[AnswerTable, JudgedCells]]:
    """The truth of each answer, in its shape."""
    views = [(release, view) for release in releases for view in release.table.views]
    for (release, view), answer in zip(views, tables, strict=True):
        step, found = 10 ** (finest - release.table.scale), release.sensitivity
        yield (
            answer,
            JudgedCells(
                value=_placed(view, release.table.value * step),
                respondents=_placed(view, release.table.respondents),
                sensitive=_placed(view, found.sensitive.astype(np.int64)) > 0,
                lower=_placed(view, found.lower_level * step),
                upper=_placed(view, found.upper_level * step),
            ),
        )


def _placed(view: View, of_cell: IntArray) -> IntArray:
    """A number for every position of a view, flat; zero where nobody is."""
    placed = np.zeros([len(dimension.codes) for dimension in view.dimensions], dtype=np.int64)
    placed[tuple(view.coordinates.T)] = of_cell[view.cell]
    return placed.reshape(-1)
