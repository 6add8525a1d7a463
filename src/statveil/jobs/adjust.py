"""The verb for problems: a problem, several variables, or a linear system from a file to an audited solution file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from statveil.audit.report import AuditReport
from statveil.audit.systems import audit_solution
from statveil.core.arrays import IntArray
from statveil.core.atomic import check_targets, written_together
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import Limits, OnProgress, check_kind, clocked, stages
from statveil.formats.certificate import write_certificate
from statveil.formats.rcta import Solution, read_directions, read_may_give, write_repairs, write_solution
from statveil.formats.system import LinearSystem
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment, released_values
from statveil.protect.options import AdjustArguments, Method, Repair, method_of
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import SystemOptions, problem_of
from statveil.publish.utility import system_utility
from statveil.solve.processes import peak_mb

if TYPE_CHECKING:
    from statveil.protect.keep.variables import Together
    from statveil.protect.keep.wishes import Keep


def summary_of(problem: ProtectionProblem, options: SystemOptions, adjustment: Adjustment, audit: AuditReport) -> dict[str, Any]:
    """What was asked, found and audited; infinite figures are None."""
    return {
        "cells": problem.size,
        "sensitive": int(problem.sensitive.sum()),
        "relations": int(problem.rhs.size),
        "method": adjustment.method,
        "norm": options.norm,
        "weights": options.weights,
        "variant": options.variant,
        "objective": finite(adjustment.objective),
        **bound_figures(adjustment),
        "seconds": round(adjustment.seconds, 3),
        "peak_mb": peak_mb(),
        "seed": adjustment.seed,
        "trace": [[round(point.seconds, 3), finite(point.objective), finite(point.bound)] for point in adjustment.trace],
        "audit": {
            "passed": audit.passed,
            "findings": [
                *(f"{check.name}: {finding}" for check in audit.checks for finding in check.findings),
                *(f"repair: {words}" for words in _repairs(adjustment)),
            ],
            "checked": sum(check.checked for check in audit.checks),
        },
        **quality_figures(adjustment),
    }


def bound_figures(adjustment: Adjustment) -> dict[str, Any]:
    """How good the table is known to be, and by whom; infinite figures are None."""
    return {
        "bound": finite(adjustment.bound),
        "bound_by": adjustment.bound_by,
        "certified_bound": finite(adjustment.certified_bound),
        "gap": finite(adjustment.gap),
        "certified_gap": finite(adjustment.certified_gap),
        "ending": str(adjustment.ending),
    }


def _repairs(adjustment: Adjustment) -> list[str]:
    if not adjustment.relaxations:
        return []
    from statveil.audit.repairs import in_words

    return list(in_words(adjustment.relaxations))


def utility_of(problem: ProtectionProblem, released: IntArray, decimals: int) -> dict[str, Any]:
    """Statistics before and after, over all cells and over the sensitive ones."""
    found = system_utility(problem.value, released, problem.sensitive, decimals=decimals)
    return {"utility": {each.subset.name.split()[0]: each.figures() for each in found}}


def json_lines(figures: Mapping[str, Any]) -> str:
    """JSON with a line for each key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(content, allow_nan=False)}" for key, content in figures.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def quality_figures(adjustment: Adjustment) -> dict[str, Any]:
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
    told = {name: getattr(quality, name) for name in ("found_by", "price", "cap", "without_programs", "failed")}
    front = {} if quality.front is None else {"front": quality.front._asdict()}
    return {"quality": {**told, **front, "sets": sets, "measures": measures}}


def finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


@dataclass(frozen=True)
class SystemFiles:
    """A linear system's files: what is read, how it is taken, and what is written.

    system: a JJ file. options: how to take it.
    solution: the solution to write; else beside the system with the ending .sol.
    summary: a file for what was asked, found and audited, in JSON.
    certificate: a file for the certificate of the bound, which `statveil check` works out again. It is confidential.
    repairs: a file for the list of what gave; else beside the solution with the ending .repairs.json.
    may_give: a file that narrows a repair down to single cells and relations (as RCTA's).
    start: a direction file to begin with.

    >>> SystemFiles("table.jj", options=SystemOptions(weights="unit"), summary="table.json").solution is None
    True
    """

    system: str | Path
    _: KW_ONLY
    options: SystemOptions = field(default_factory=SystemOptions)
    solution: str | Path | None = None
    summary: str | Path | None = None
    certificate: str | Path | None = None
    repairs: str | Path | None = None
    may_give: str | Path | None = None
    start: str | Path | None = None

    def __post_init__(self) -> None:
        check_kind("options", self.options, SystemOptions)

    def read(self) -> tuple[LinearSystem, ProtectionProblem]:
        asked = self.options
        system = asked.read(self.system)
        return system, problem_of(system, weights=asked.weights, variant=asked.variant, norm=asked.norm)

    def targets(self, *, may_loosen: bool) -> dict[str, Path]:
        """The files to write, by what they hold."""
        targets = {"solution": Path(self.solution or Path(self.system).with_suffix(".sol"))}
        targets |= {name: Path(path) for name in ("summary", "certificate", "repairs") if (path := getattr(self, name))}
        if may_loosen:
            targets.setdefault("repairs", targets["solution"].with_suffix(".repairs.json"))
        check_targets(list(targets.values()), sources=[Path(each) for each in (self.system, self.start, self.may_give) if each])
        return targets

    def audit(self, files: Mapping[str, Path]) -> AuditReport:
        """The written solution against the system, both read anew."""
        report = audit_solution(
            self.system,
            files["solution"],
            variant=self.options.variant,
            non_additive=self.options.non_additive,
            negative_levels=self.options.negative_levels,
            decimals=self.options.decimals,
            repairs=files.get("repairs"),
        )
        if not report.passed:
            raise AuditFailed("The independent audit found faults; nothing is written.", hint=str(report))
        return report


@dataclass(frozen=True, kw_only=True)
class AdjustedSystem:
    """What `adjust` made of a file; what a repair gave is in the adjustment.

    adjustment: the table found. audit: the independent audit of what was written. summary: what the summary file holds.
    solution: where the solution lies.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> found = adjust(SystemFiles(path), limits=Limits(seconds=600))
    >>> found.solution.name, found.audit.passed, found.adjustment.objective
    ('table.sol', True, 10.0)
    """

    adjustment: Adjustment
    audit: AuditReport
    summary: Mapping[str, Any]
    solution: Path


@overload
def adjust(
    source: ProtectionProblem | LinearSystem,
    *,
    method: str | Method = ...,
    repair: Repair | None = ...,
    keep: Keep | None = ...,
    limits: Limits | None = ...,
    on_progress: OnProgress | None = ...,
) -> Adjustment: ...


@overload
def adjust(
    source: str | Path | SystemFiles,
    *,
    method: str | Method = ...,
    repair: Repair | None = ...,
    keep: Keep | None = ...,
    limits: Limits | None = ...,
    on_progress: OnProgress | None = ...,
) -> AdjustedSystem: ...


@overload
def adjust(
    source: Mapping[str, ProtectionProblem],
    *,
    method: str | Method = ...,
    repair: None = ...,
    keep: Keep | None = ...,
    limits: Limits | None = ...,
    on_progress: OnProgress | None = ...,
) -> Together: ...


def adjust(
    source: ProtectionProblem | LinearSystem | str | Path | SystemFiles | Mapping[str, ProtectionProblem],
    *,
    method: str | Method = "auto",
    repair: Repair | None = None,
    keep: Keep | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> Adjustment | AdjustedSystem | Together:
    """The best safe table that the method finds within the limits, with a lower bound on the best possible.

    source: a problem or a linear system (`Adjustment`); a JJ file by its path, or `SystemFiles` that say more (`AdjustedSystem`: the
        solution is audited as written, and nothing is written unless it passes); or several variables on the same cells by their names,
        whose statistics and relations to one another are kept (`Together`).
    method: how to look for the table, by name or as a `Method` with settings, start and seed.
    repair: what may give where no safe table exists; what gave is in the adjustment's `relaxations`.
    keep: statistics to keep; the method's table is then where the search for one that keeps them begins.
    limits: when to stop. Ctrl-C ends the work early; the best table so far is returned.
    on_progress: called with a `Progress` now and then.

    >>> import numpy as np, statveil as sv
    >>> from scipy.sparse import csr_matrix
    >>> levels = {"lower_level": np.array([5, 0, 0]), "upper_level": np.array([5, 0, 0])}
    >>> bounds = {"lower": np.zeros(3, dtype=int), "upper": np.full(3, 1000)}
    >>> problem = sv.ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=np.array([True, False, False]), **bounds, **levels)
    >>> sv.adjust(problem, limits=sv.Limits(seconds=60)).objective
    10.0
    """
    chosen, limits = method_of(method), Limits() if limits is None else limits
    check_kind("limits", limits, Limits)
    if repair is not None:
        check_kind("repair", repair, Repair)
    if keep is not None:
        from statveil.protect.keep.wishes import Keep

        check_kind("keep", keep, Keep)
    if isinstance(source, str | Path | SystemFiles):
        files = source if isinstance(source, SystemFiles) else SystemFiles(source)
        return _adjust_files(files, chosen, _Wishes(repair, keep), limits, on_progress)
    if isinstance(source, Mapping):
        return _adjust_variables(source, chosen, _Wishes(repair, keep), limits, on_progress)
    problem = problem_of(source) if isinstance(source, LinearSystem) else source
    check_kind("source", problem, ProtectionProblem)
    return _Wishes(repair, keep).adjusted(problem, _run(chosen, limits, on_progress))


class _Wishes(NamedTuple):
    """What is asked beyond a safe table."""

    repair: Repair | None
    keep: Keep | None

    @property
    def may_loosen(self) -> bool:
        """Whether something asked may not be kept, and is then listed."""
        return self.repair is not None or (self.keep is not None and bool(self.keep.widen))

    def adjusted(self, problem: ProtectionProblem, run: AdjustArguments) -> Adjustment:
        """The adjustment as asked, with what it does not keep of the problem."""
        if self.keep is not None and self.repair is not None:
            raise InputError("Statistics are kept in safe tables, not in repaired ones.", hint="Ask for keep or for repair, not for both.")
        if self.keep is not None:
            from statveil.protect.infeasible.repair import relaxations_of
            from statveil.protect.keep.adjust_keeping import adjust_keeping

            found = adjust_keeping(problem, self.keep, **run)
            return replace(found, relaxations=tuple(relaxations_of(problem, found.deviation))) if self.keep.widen else found
        if self.repair is None:
            return adjust_problem(problem, **run)
        from statveil.protect.infeasible.repair import adjust_or_repair

        return adjust_or_repair(problem, self.repair, **run)

    def refuse_contradictions(self, files: SystemFiles) -> None:
        if self.keep is not None and (self.repair is not None or files.certificate):
            raise InputError(
                "Statistics are kept without repairs and certificates.", hint="Leave out --repair and --certificate, or --keep."
            )
        if not self.may_loosen and (files.repairs or files.may_give):
            raise InputError("What may give, and the list of repairs, belong to a repair.", hint="Ask for one: --repair.")
        if self.repair is not None and files.certificate:
            raise InputError("There is no certificate of a repaired table.", hint="Run without --certificate, or without --repair.")


def _run(method: Method, limits: Limits, on_progress: OnProgress | None) -> AdjustArguments:
    run: AdjustArguments = {"method": method.name, "start": method.start, "settings": method.settings, "seed": method.seed}
    return run | {"limits": limits, "on_progress": on_progress}


def _adjust_variables(
    problems: Mapping[str, ProtectionProblem], method: Method, asked: _Wishes, limits: Limits, on_progress: OnProgress | None
) -> Together:
    if asked.repair is not None or method.settings or method.start is not None:
        raise InputError("Several variables are adjusted without repairs, and by a method without settings and start.")
    from statveil.protect.keep.variables import KEPT, adjust_together

    keep = KEPT if asked.keep is None else asked.keep
    return adjust_together(problems, keep=keep, method=method.name, limits=limits, seed=method.seed, on_progress=on_progress)


def _adjust_files(
    asked_files: SystemFiles, method: Method, asked: _Wishes, limits: Limits, on_progress: OnProgress | None
) -> AdjustedSystem:
    """A JJ file to an audited solution file; nothing is written unless the audit passes."""
    asked.refuse_contradictions(asked_files)
    targets = asked_files.targets(may_loosen=asked.may_loosen)
    began, clock = time.monotonic(), clocked(on_progress, limits)
    tell = stages(clock)
    tell("reading")
    system, problem = asked_files.read()
    if asked_files.start:
        method = replace(method, start=read_directions(asked_files.start, problem.sensitive))
    if asked_files.may_give and asked.repair is not None:
        allowed = read_may_give(asked_files.may_give, cells=problem.size, relations=problem.rhs.size)
        asked = asked._replace(repair=replace(asked.repair, may_give=allowed))
    adjustment = asked.adjusted(problem, _run(method, limits.left(began), clock))
    with written_together(list(targets.values())) as places:
        tell("auditing")
        files = dict(zip(targets, places, strict=True))
        audit, figures = _write(asked_files, asked, problem, adjustment, files, decimals=system.decimals)
    if clock is not None:
        clock.enter("written", last=True)
    return AdjustedSystem(adjustment=adjustment, audit=audit, summary=figures, solution=targets["solution"])


def _write(
    asked_files: SystemFiles,
    asked: _Wishes,
    problem: ProtectionProblem,
    adjustment: Adjustment,
    files: Mapping[str, Path],
    *,
    decimals: int,
) -> tuple[AuditReport, dict[str, Any]]:
    """Write the files, the solution first: its audit, and the figures of the summary."""
    released = released_values(problem, adjustment)
    write_solution(Solution(value=problem.value, released=released, sensitive=problem.sensitive, decimals=decimals), files["solution"])
    if asked.may_loosen:
        order = asked.repair.order if asked.repair is not None else ("cap",)
        write_repairs(adjustment.relaxations, order, files["repairs"], decimals=decimals)
    audit = asked_files.audit(files)
    if asked.keep is not None:
        from statveil.jobs.tables.released import require_kept

        audit = AuditReport(checks=(*audit.checks, *require_kept(problem, asked.keep, adjustment)))
    figures = summary_of(problem, asked_files.options, adjustment, audit) | {"decimals": decimals} | utility_of(problem, released, decimals)
    if "summary" in files:
        files["summary"].write_text(json_lines(figures), encoding="utf-8", newline="\n")
    if "certificate" in files:
        _write_certificate(adjustment, files["certificate"])
    return audit, figures


def _write_certificate(adjustment: Adjustment, place: Path) -> None:
    if adjustment.certificate is None:
        raise AuditFailed("The bound could not be certified; nothing is written.", hint="Run without --certificate.")
    write_certificate(adjustment.certificate, place, compressed=place.suffix == ".gz")
