"""A linear system from a file to an audited solution file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from statveil.audit.repairs import in_words
from statveil.audit.report import AuditReport
from statveil.audit.systems import audit_solution
from statveil.core.arrays import IntArray
from statveil.core.atomic import check_targets, written_together
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import Limits, OnProgress, check_kind, check_seed
from statveil.formats.certificate import write_certificate
from statveil.formats.repairs import Relaxation, read_may_give, write_repairs
from statveil.formats.solution import Solution, read_directions, write_solution
from statveil.formats.system_files import read_system
from statveil.jobs.tables.keeping import require_means
from statveil.jobs.tables.released import released_values
from statveil.jobs.tables.telling import stages
from statveil.protect.adjust import adjust
from statveil.protect.adjustment import Adjustment
from statveil.protect.infeasible.repair import Repair, adjust_or_repair, relaxations_of
from statveil.protect.keep.wishes import Keep
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import SystemOptions, problem_of
from statveil.publish.report.utility import system_utility
from statveil.solve.memory import peak_mb


def summary_of(
    problem: ProtectionProblem, options: SystemOptions, adjustment: Adjustment, audit: AuditReport, relaxations: Sequence[Relaxation]
) -> dict[str, Any]:
    """What was asked, found and audited; infinite figures are None."""
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
        "peak_mb": peak_mb(),
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
        **quality_figures(adjustment),
    }


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


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


@dataclass(frozen=True, kw_only=True)
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
    asked = _Asked(Path(path), SystemOptions() if options is None else options, repair, may_give, keep)
    limits = Limits() if limits is None else limits
    check_kind("options", asked.options, SystemOptions)
    check_kind("limits", limits, Limits)
    check_seed(seed)
    asked.refuse_contradictions(repairs=repairs, certificate=certificate)
    targets = asked.targets(solution=out, summary=summary, certificate=certificate, repairs=repairs)
    check_targets(list(targets.values()), sources=[asked.path, *(Path(each) for each in (start, may_give) if each)])
    tell = stages(on_progress)
    tell("reading")
    system = read_system(asked.path, non_additive=asked.options.non_additive, negative_levels=asked.options.negative_levels)
    problem = problem_of(system, weights=asked.options.weights, variant=asked.options.variant, norm=asked.options.norm)
    senses = read_directions(start, problem.sensitive) if start else None
    run: dict[str, Any] = {"method": method, "start": senses, "settings": settings, "limits": limits, "seed": seed}
    adjustment, relaxations = _adjusted(problem, asked, {**run, "on_progress": on_progress})
    with written_together(list(targets.values())) as places:
        tell("auditing")
        files = dict(zip(targets, places, strict=True))
        audit, figures = _write(asked, problem, adjustment, relaxations, files, decimals=system.decimals)
    return AdjustedSystem(adjustment=adjustment, audit=audit, summary=figures, solution=targets["solution"], relaxations=relaxations)


@dataclass(frozen=True)
class _Asked:
    """What is asked of which file."""

    path: Path
    options: SystemOptions
    repair: Repair | None
    may_give: str | Path | None
    keep: Keep | None

    @property
    def may_loosen(self) -> bool:
        """Whether something asked may not be kept, and is then listed."""
        return self.repair is not None or (self.keep is not None and bool(self.keep.widen))

    def refuse_contradictions(self, *, repairs: str | Path | None, certificate: str | Path | None) -> None:
        if self.keep is not None and (self.repair is not None or certificate):
            raise InputError(
                "Statistics are kept without repairs and certificates.", hint="Leave out --repair and --certificate, or --keep."
            )
        if not self.may_loosen and (repairs or self.may_give):
            raise InputError("What may give, and the list of repairs, belong to a repair.", hint="Ask for one: --repair.")
        if self.repair is not None and certificate:
            raise InputError("There is no certificate of a repaired table.", hint="Run without --certificate, or without --repair.")

    def targets(self, *, solution: str | Path | None, **others: str | Path | None) -> dict[str, Path]:
        """The files to write, by what they hold."""
        targets = {"solution": Path(solution or self.path.with_suffix(".sol"))}
        targets |= {name: Path(path) for name, path in others.items() if path}
        if self.may_loosen:
            targets.setdefault("repairs", targets["solution"].with_suffix(".repairs.json"))
        return targets


def _adjusted(problem: ProtectionProblem, asked: _Asked, run: Mapping[str, Any]) -> tuple[Adjustment, tuple[Relaxation, ...]]:
    """The adjustment as asked, and what it does not keep of the problem."""
    if asked.keep is not None:
        adjustment = adjust(problem, keep=asked.keep, **run)
        return adjustment, tuple(relaxations_of(problem, adjustment.deviation))
    if asked.repair is None:
        return adjust(problem, **run), ()
    allowed = asked.repair.may_give
    if asked.may_give:
        allowed = read_may_give(asked.may_give, cells=problem.size, relations=problem.rhs.size)
    repaired = adjust_or_repair(problem, replace(asked.repair, may_give=allowed), **run)
    return repaired.adjustment, repaired.relaxations


def _write(
    asked: _Asked,
    problem: ProtectionProblem,
    adjustment: Adjustment,
    relaxations: tuple[Relaxation, ...],
    files: Mapping[str, Path],
    *,
    decimals: int,
) -> tuple[AuditReport, dict[str, Any]]:
    """Write the files, the solution first: its audit, and the figures of the summary."""
    released = released_values(problem, adjustment)
    write_solution(Solution(value=problem.value, released=released, sensitive=problem.sensitive, decimals=decimals), files["solution"])
    if asked.may_loosen:
        order = asked.repair.order if asked.repair is not None else ("cap",)
        write_repairs(relaxations, order, files["repairs"], decimals=decimals)
    audit = _audit_written(asked, files)
    if asked.keep is not None:
        audit = AuditReport(checks=(*audit.checks, *require_means(problem, asked.keep, adjustment).checks))
    figures = summary_of(problem, asked.options, adjustment, audit, relaxations) | utility_of(problem, released, decimals)
    if "summary" in files:
        files["summary"].write_text(json_lines(figures), encoding="utf-8", newline="\n")
    if "certificate" in files:
        _write_certificate(adjustment, files["certificate"])
    return audit, figures


def _audit_written(asked: _Asked, files: Mapping[str, Path]) -> AuditReport:
    report = audit_solution(
        asked.path,
        files["solution"],
        variant=asked.options.variant,
        non_additive=asked.options.non_additive,
        negative_levels=asked.options.negative_levels,
        repairs=files.get("repairs"),
    )
    if not report.passed:
        raise AuditFailed("The independent audit found faults; nothing is written.", hint=str(report))
    return report


def _write_certificate(adjustment: Adjustment, place: Path) -> None:
    if adjustment.certificate is None:
        raise AuditFailed("The bound could not be certified; nothing is written.", hint="Run without --certificate.")
    write_certificate(adjustment.certificate, place, compressed=place.suffix == ".gz")
