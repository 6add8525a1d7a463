"""One call per job. The command line, the server and the page call this and nothing deeper."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.atomic import check_targets, written_together
from statveil.audit.means import check_means
from statveil.audit.repairs import in_words
from statveil.audit.report import AuditReport
from statveil.audit.systems import audit_solution
from statveil.audit.table_repairs import Named, RepairAsked
from statveil.audit.tables import Requirements, release_hash
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.errors import AuditFailed, InfeasibleProblem, InputError, RuleError
from statveil.protect.adjustment import Adjustment
from statveil.protect.build import build_problem
from statveil.protect.cta import adjust
from statveil.protect.explain import Explanation
from statveil.protect.names import Labels
from statveil.protect.options import Limits, OnProgress, Options, Progress, check_kind, check_seed
from statveil.protect.problem import ProtectionProblem
from statveil.protect.quality.keep import Keep, targets_of
from statveil.protect.quality.pursue import adjust_keeping
from statveil.protect.quality.tables import keep_of
from statveil.protect.quality.variables import KEPT, Together, adjust_together
from statveil.protect.repair import Repair, adjust_or_repair, relaxations_of
from statveil.protect.system import SystemOptions, problem_of
from statveil.protect.table_repair import TableRepair, kept_of, repair_of
from statveil.provenance import Provenance
from statveil.publish.utility import system_utility
from statveil.release import Release
from statveil.risk.assess import check_rules
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.risk.unions import Links, judge
from statveil.solve.isolate import dismiss_idle
from statveil.table.exchange.certificate import write_certificate
from statveil.table.exchange.files import read_system
from statveil.table.exchange.repairs import Relaxation, read_may_give, write_repairs
from statveil.table.exchange.solution import Solution, read_directions, write_solution
from statveil.table.linked import CellSet, Equation
from statveil.table.protected import ProtectedTable
from statveil.table.spec import TableSpec
from statveil.table.table import Table
from statveil.table.tabulate import listed_specs

UNKNOWN = float("inf")


def protect_table(
    data: Any,
    spec: TableSpec | Sequence[TableSpec],
    *,
    rules: Sequence[Rule],
    options: Options | None = None,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    job: Mapping[str, Any] | None = None,
    equations: Sequence[Equation] = (),
    sets: Sequence[CellSet] = (),
    search_sets: bool = False,
    repair: TableRepair | None = None,
    keep: Keep | None = None,
) -> Release:
    """Records to an audited release: tabulate, assess, adjust, audit.

    `data` is a `Microdata` or anything that `read_microdata` takes. Several specs are linked tables, protected together: a cell that
    adds up the same records of the same measure in several of them is one cell, and `equations` between measures are kept.
    `sets` of cells are judged as if they were cells; `search_sets` also looks for those that one holding dominates.
    `repair` says what may give where no safe table exists; the release then lists all that gave.
    `keep` names statistics to keep, over rows and levels by the codes of the dimensions.
    """
    options, limits = _settled(options, limits, seed, repair, keep)
    specs = listed_specs(spec)
    _require_rules(rules)
    tell = _stages(on_progress, limits)
    links = Links(equations=equations, sets=sets, search_sets=search_sets)
    microdata = data if isinstance(data, Microdata) else read_microdata(data)
    table, sensitivity = judge(microdata, specs, rules, links, tell=tell)
    release = protect_assessed(
        table,
        sensitivity,
        options=options,
        method=method,
        limits=limits,
        seed=seed,
        on_progress=on_progress,
        job=job,
        asked={"tables": as_json(spec), "rules": as_json(rules), **links_as_json(links)},
        repair=repair,
        keep=keep,
    )
    tell("audited")
    return release


def protect_assessed(
    table: Table,
    sensitivity: Sensitivity,
    *,
    options: Options | None = None,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    job: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
    repair: TableRepair | None = None,
    keep: Keep | None = None,
) -> Release:
    """A table whose sensitive cells are known to an audited release: adjust (and repair, if asked and needed), audit."""
    options, limits = _settled(options, limits, seed, repair, keep)
    problem = build_problem(table, sensitivity, options)
    run: dict[str, Any] = {"method": method, "limits": limits, "seed": seed, "on_progress": on_progress}
    relaxations: tuple[Relaxation, ...] = ()
    needed = options
    with _in_labels(problem, table):
        if keep is not None:
            adjustment, needed = _keeping(table, sensitivity, problem, options, keep_of(keep, table), run)
        elif repair is None:
            adjustment = adjust(problem, **run)
        else:
            repaired = adjust_or_repair(problem, repair_of(repair, table), kept=kept_of(sensitivity), **run)
            adjustment, relaxations = repaired.adjustment, repaired.relaxations
    protected = ProtectedTable(views=table.views, value=_released(problem.value, adjustment), decimals=table.decimals)
    parameters = {**(asked or {}), "options": as_json(options), "limits": as_json(limits), "method": method, "seed": as_json(seed)}
    parameters |= repair_as_json(repair) | keep_as_json(keep)
    provenance = Provenance(parameters=parameters, input_hash=table.input_hash, release_hash=release_hash(protected))
    return Release(
        protected=protected,
        adjustment=adjustment,
        provenance=provenance,
        table=table,
        sensitivity=sensitivity,
        requirements=requirements_of(needed, repair),
        job=job or {},
        relaxations=relaxations,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleasesTogether:
    """A release for each variable, by the name of its table, and what became of their relations to one another."""

    releases: Mapping[str, Release]
    together: Together


def protect_variables(
    data: Any,
    specs: Sequence[TableSpec],
    *,
    rules: Sequence[Rule] | Mapping[str, Sequence[Rule]],
    options: Options | None = None,
    keep: Keep = KEPT,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ReleasesTogether:
    """Several variables of the same records by the same dimensions, protected together: each by its own rules and levels (`rules` by the
    name of the table, or the same for all), each audited on its own, their means, covariances, correlations and regressions kept.
    """
    options, limits = _settled(options, limits, seed, None, keep)
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InputError("Each of several variables needs a table name of its own.")
    own = rules if isinstance(rules, Mapping) else dict.fromkeys(names, rules)
    microdata = data if isinstance(data, Microdata) else read_microdata(data)
    judged = {}
    for spec in specs:
        _require_rules(own.get(spec.name, ()))
        judged[spec.name] = judge(microdata, [spec], own[spec.name], Links(), tell=_stages(on_progress, limits))
    problems = {name: build_problem(table, sensitivity, options) for name, (table, sensitivity) in judged.items()}
    together = adjust_together(
        problems, keep=keep_of(keep, judged[names[0]][0]), method=method, limits=limits, seed=seed, on_progress=on_progress
    )
    asked = {"options": as_json(options), "limits": as_json(limits), "method": method, "seed": as_json(seed), **keep_as_json(keep)}
    releases = {}
    for spec in specs:
        (table, sensitivity), adjustment = judged[spec.name], together.adjustments[spec.name]
        _require_means(problems[spec.name], keep_of(keep, table), adjustment)
        protected = ProtectedTable(views=table.views, value=_released(problems[spec.name].value, adjustment), decimals=table.decimals)
        parameters = {"tables": as_json(spec), "rules": as_json(own[spec.name]), "together": names, **asked}
        releases[spec.name] = Release(
            protected=protected,
            adjustment=adjustment,
            provenance=Provenance(parameters=parameters, input_hash=table.input_hash, release_hash=release_hash(protected)),
            table=table,
            sensitivity=sensitivity,
            requirements=requirements_of(options),
        )
    return ReleasesTogether(releases=releases, together=together)


def links_as_json(links: Links) -> dict[str, Any]:
    """The links that were asked for; none, nothing."""
    return {field.name: as_json(asked) for field in dataclasses.fields(links) if (asked := getattr(links, field.name))}


def repair_as_json(repair: TableRepair | None) -> dict[str, Any]:
    """What may give; where nothing may, nothing."""
    return {} if repair is None else {"repair": as_json(repair)}


def keep_as_json(keep: Keep | None) -> dict[str, Any]:
    """The statistics to keep, measures by their names; where none are, nothing."""
    if keep is None:
        return {}
    names = [getattr(each, "name", str(each)) for each in keep.measures]
    return {"keep": as_json(dataclasses.replace(keep, measures=())) | {"measures": names} if keep.asked else {"measures": names}}


def _keeping(
    table: Table, sensitivity: Sensitivity, problem: ProtectionProblem, options: Options, keep: Keep, run: Mapping[str, Any]
) -> tuple[Adjustment, Options]:
    """A table whose statistics are kept, its means checked in exact integers; and the options with what had to be widened."""

    def widened(cap: float) -> Options:
        return dataclasses.replace(options, variant="at-least", cap=cap)

    if keep.widen and options.variant == "at-least" and (options.cap is None or min(keep.widen) <= options.cap):
        raise InputError("Keep: widen lists caps wider than that of the options.", hint="Give the options a cap, and wider ones here.")
    adjustment = adjust_keeping(problem, keep, wider=lambda cap: build_problem(table, sensitivity, widened(cap)), **run)
    _require_means(problem, keep, adjustment)
    quality = adjustment.quality
    return adjustment, options if quality is None or quality.cap is None else widened(quality.cap)


def widest_options(options: Options, keep: Keep | None) -> Options:
    """The options with the widest cap that may have been needed to keep the statistics."""
    return options if keep is None or not keep.widen else dataclasses.replace(options, variant="at-least", cap=max(keep.widen))


def _require_means(problem: ProtectionProblem, keep: Keep, adjustment: Adjustment) -> AuditReport:
    sets = [(target.words, target.cells) for target in targets_of(keep, problem) if target.mean]
    report = AuditReport(checks=(check_means(problem.value, _released(problem.value, adjustment), sets),))
    if not report.passed:
        raise AuditFailed("A mean that was to be kept is not; nothing is released.", hint=str(report))
    return report


@contextmanager
def _in_labels(problem: ProtectionProblem, table: Table) -> Iterator[None]:
    """Say what clashes in the table's own words."""
    try:
        yield
    except InfeasibleProblem as error:
        if not isinstance(error.explanation, Explanation):
            raise
        words = error.explanation.public(Labels(problem, table))
        raise InfeasibleProblem(error.message, hint=words, explanation=error.explanation) from None


def _settled(
    options: Options | None, limits: Limits | None, seed: int, repair: TableRepair | None = None, keep: Keep | None = None
) -> tuple[Options, Limits]:
    """The settings with the defaults filled in, refused now rather than after the records are read."""
    options = Options() if options is None else options
    limits = Limits() if limits is None else limits
    check_kind("options", options, Options)
    check_kind("limits", limits, Limits)
    if repair is not None:
        check_kind("repair", repair, TableRepair)
    if keep is not None:
        check_kind("keep", keep, Keep)
    if keep is not None and repair is not None:
        raise InputError("Statistics are kept in safe tables, not in repaired ones.", hint="Ask for keep or for repair, not for both.")
    check_seed(seed)
    return options, limits


def _require_rules(rules: Sequence[Rule]) -> None:
    check_rules(rules)
    if not rules:
        raise RuleError(
            "No rules are given, so nothing would be protected and the true values would be released.",
            hint="Rules are required: even a table with nothing to protect needs one that says so, such as MinimumFrequency(3).",
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdjustedSystem:
    """What `adjust_system` made. `summary` is what the summary file holds."""

    adjustment: Adjustment
    audit: AuditReport
    summary: Mapping[str, Any]
    solution: Path
    relaxations: tuple[Relaxation, ...] = ()
    """What a repair gave; empty if nothing had to give."""


def adjust_system(
    path: str | Path,
    *,
    out: str | Path | None = None,
    summary: str | Path | None = None,
    certificate: str | Path | None = None,
    repairs: str | Path | None = None,
    options: SystemOptions | None = None,
    repair: Repair | None = None,
    may_give: str | Path | None = None,
    keep: Keep | None = None,
    method: str = "auto",
    start: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> AdjustedSystem:
    """A JJ file to an audited solution file (`out`, else beside it with the ending .sol) and, if asked, a summary in JSON.

    `certificate` names a file for the certificate of the bound, which `check_certificate` works out again. It is confidential.
    `repair` says what may give where no safe table exists, `may_give` is a file that narrows it down to single cells and relations (as
    RCTA's); `repairs` names a file for the list of what was given (else beside the solution with the ending .repairs.json).
    `keep` names statistics to keep; where its caps had to be widened, what that let go further is listed as repairs are.
    `start` is a direction file. The audit reads the JJ file and the solution anew; nothing is written unless it passes.
    """
    options, limits = SystemOptions() if options is None else options, Limits() if limits is None else limits
    check_kind("options", options, SystemOptions)
    check_kind("limits", limits, Limits)
    check_seed(seed)
    path = Path(path)
    if keep is not None and (repair is not None or certificate):
        raise InputError("Statistics are kept without repairs and certificates.", hint="Leave out --repair and --certificate, or --keep.")
    listed = repair is not None or (keep is not None and bool(keep.widen))
    if not listed and (repairs or may_give):
        raise InputError("What may give, and the list of repairs, belong to a repair.", hint="Ask for one: --repair.")
    if repair is not None and certificate:
        raise InputError("There is no certificate of a repaired table.", hint="Run without --certificate, or without --repair.")
    targets = [Path(each) for each in (out or path.with_suffix(".sol"), summary, certificate) if each]
    if listed:
        targets.append(Path(repairs or targets[0].with_suffix(".repairs.json")))
    check_targets(targets, sources=[path, *(Path(each) for each in (start, may_give) if each)])
    tell = _stages(on_progress)
    tell("reading")
    system = read_system(path, non_additive=options.non_additive, negative_levels=options.negative_levels)
    problem = problem_of(system, weights=options.weights, variant=options.variant, norm=options.norm)
    senses = read_directions(start, problem.sensitive) if start else None
    run: dict[str, Any] = {
        "method": method,
        "start": senses,
        "settings": settings,
        "limits": limits,
        "seed": seed,
        "on_progress": on_progress,
    }
    adjustment, relaxations = _adjusted(problem, keep, repair, may_give, run)
    released = _released(problem.value, adjustment)
    with written_together(targets) as places:
        tell("auditing")
        write_solution(Solution(value=problem.value, released=released, sensitive=problem.sensitive, decimals=system.decimals), places[0])
        if listed:
            order = repair.order if repair is not None else ("cap",)
            write_repairs(relaxations, order, places[-1], decimals=system.decimals)
        audit = _audit_written(path, places[0], options, places[-1] if listed else None)
        if keep is not None:
            audit = AuditReport(checks=(*audit.checks, *_require_means(problem, keep, adjustment).checks))
        figures = _summary(problem, options, adjustment, audit, relaxations) | _utility(problem, released, system.decimals)
        if summary:
            places[1].write_text(_json_lines(figures), encoding="utf-8", newline="\n")
        if certificate:
            _write_certificate(adjustment, places[-1], compressed=targets[-1].suffix == ".gz")
    return AdjustedSystem(adjustment=adjustment, audit=audit, summary=figures, solution=targets[0], relaxations=relaxations)


def _adjusted(
    problem: ProtectionProblem, keep: Keep | None, repair: Repair | None, may_give: str | Path | None, run: Mapping[str, Any]
) -> tuple[Adjustment, tuple[Relaxation, ...]]:
    """The adjustment as asked, and what it does not keep of the problem."""
    if keep is not None:
        adjustment = adjust(problem, keep=keep, **run)
        return adjustment, tuple(relaxations_of(problem, adjustment.deviation))
    if repair is None:
        return adjust(problem, **run), ()
    allowed = read_may_give(may_give, cells=problem.size, relations=problem.rhs.size) if may_give else repair.may_give
    repaired = adjust_or_repair(problem, dataclasses.replace(repair, may_give=allowed), **run)
    return repaired.adjustment, repaired.relaxations


def _write_certificate(adjustment: Adjustment, place: Path, *, compressed: bool) -> None:
    if adjustment.certificate is None:
        raise AuditFailed("The bound could not be certified; nothing is written.", hint="Run without --certificate.")
    write_certificate(adjustment.certificate, place, compressed=compressed)


def _audit_written(path: Path, solution: Path, options: SystemOptions, repairs: Path | None) -> AuditReport:
    report = audit_solution(
        path,
        solution,
        variant=options.variant,
        non_additive=options.non_additive,
        negative_levels=options.negative_levels,
        repairs=repairs,
    )
    if not report.passed:
        raise AuditFailed("The independent audit found faults; nothing is written.", hint=str(report))
    return report


def _summary(
    problem: ProtectionProblem, options: SystemOptions, adjustment: Adjustment, audit: AuditReport, relaxations: Sequence[Relaxation]
) -> dict[str, Any]:
    """The figures of a run under their fixed names; infinite ones are None."""
    return {
        "cells": problem.size,
        "sensitive": int(problem.sensitive.sum()),
        "relations": int(problem.rhs.size),
        "method": adjustment.method,
        "norm": options.norm,
        "weights": options.weights,
        "variant": options.variant,
        "objective": _finite(adjustment.objective),
        "bound": _finite(adjustment.bound),
        "gap": _finite(adjustment.gap),
        "ending": str(adjustment.ending),
        "seconds": round(adjustment.seconds, 3),
        "peak_mb": _peak_mb(),
        "seed": adjustment.seed,
        "trace": [[round(point.seconds, 3), _finite(point.objective), _finite(point.bound)] for point in adjustment.trace],
        "audit": {
            "passed": audit.passed,
            "findings": [
                *(f"{check.name}: {finding}" for check in audit.checks for finding in check.findings),
                *(f"repair: {words}" for words in in_words(relaxations)),
            ],
            "checked": sum(check.checked for check in audit.checks),
        },
        **_quality(adjustment),
    }


def _quality(adjustment: Adjustment) -> dict[str, Any]:
    """What became of the statistics, where some were to be kept."""
    quality = adjustment.quality
    if quality is None:
        return {}
    names = ("words", "asked", "mean_off", "correlation", "slope", "variance_ratio")
    sets = [
        {name: getattr(after, name) for name in names} | {f"plain_{name}": getattr(before, name) for name in names[2:]}
        for before, after in zip(quality.plain, quality.kept, strict=True)
    ]
    measures = [{"name": name, "plain_loss": before, "loss": after} for name, before, after in quality.measures]
    return {"quality": {"found_by": quality.found_by, "price": quality.price, "cap": quality.cap, "sets": sets, "measures": measures}}


def _utility(problem: ProtectionProblem, released: IntArray, decimals: int) -> dict[str, Any]:
    """Statistics before and after, over all cells and over the sensitive ones."""
    found = system_utility(problem.value, released, problem.sensitive, decimals=decimals)
    return {"utility": {each.subset.name.split()[0]: each.figures() for each in found}}


def _json_lines(figures: Mapping[str, Any]) -> str:
    """JSON with a line for each key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(content, allow_nan=False)}" for key, content in figures.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _peak_mb() -> float | None:
    """Largest memory of this process plus that of its largest child, in megabytes; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    dismiss_idle()
    used = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(used / (2**20 if sys.platform == "darwin" else 2**10), 1)


def requirements_of(options: Options, repair: TableRepair | None = None) -> Requirements:
    """The user's wishes as the plain exact numbers that the audit compares with."""
    bounds = options.bounds
    return Requirements(
        exact=options.variant == "exact",
        percent_down=_exactly(bounds.percent_down),
        percent_up=_exactly(bounds.percent_up),
        minimum=_exactly(bounds.minimum),
        maximum=_exactly(bounds.maximum),
        cap=_exactly(options.cap),
        repair=None if repair is None else _repair_asked(repair),
    )


def _repair_asked(repair: TableRepair) -> RepairAsked:
    named = (Named(each.view, labels, each.protection) for each in repair.only for labels in each.cells)
    return RepairAsked(classes=frozenset(repair.order), only=tuple(named))


def _exactly(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def _released(value: IntArray, adjustment: Adjustment) -> IntArray:
    return frozen_array((value + adjustment.deviation).astype(np.int64))


def _stages(on_progress: OnProgress | None, limits: Limits | None = None) -> Callable[[str], None]:
    """Something to tell stages to; without limits they take as long as they take."""

    def tell(stage: str) -> None:
        if on_progress is not None:
            on_progress(Progress(stage, 0.0, UNKNOWN, 0.0, limits.seconds if limits else UNKNOWN))

    return tell


def as_json(thing: Any) -> Any:
    """A setting as JSON: what decides the numbers, in an order that does not depend on the run."""
    if isinstance(thing, Hierarchy):
        return {"total": thing.total, "parent": dict(thing.parent)}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: as_json(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
        return {"kind": type(thing).__name__, **fields}
    if isinstance(thing, Mapping):
        return {str(key): as_json(content) for key, content in thing.items()}
    if isinstance(thing, list | tuple):
        return [as_json(part) for part in thing]
    thing = thing.item() if isinstance(thing, np.generic) else thing
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, Decimal | Fraction):
        return str(thing)
    raise InputError(f"A setting of type {type(thing).__name__} cannot be written into the provenance.")
