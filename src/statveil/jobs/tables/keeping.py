"""Tables whose statistics are kept: the means checked in exact integers, and the caps that had to be widened."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from statveil.audit.report import AuditReport, Check
from statveil.audit.tables import check_means
from statveil.core.arrays import IntArray
from statveil.core.errors import AuditFailed, InputError
from statveil.jobs.tables.released import released_values
from statveil.protect.adjustment import Adjustment
from statveil.protect.build import build_problem
from statveil.protect.keep.adjust_keeping import adjust_keeping
from statveil.protect.keep.table_cells import keep_of
from statveil.protect.keep.wishes import Keep, targets_of
from statveil.protect.options import Options
from statveil.protect.problem import ProtectionProblem
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table


def keep_statistics(
    table: Table, sensitivity: Sensitivity, problem: ProtectionProblem, options: Options, keep: Keep, run: Mapping[str, Any]
) -> tuple[Adjustment, Options]:
    """A table whose statistics are kept, its means checked in exact integers; and the options with what had to be widened."""
    if keep.widen and options.variant == "at-least" and (options.cap is None or min(keep.widen) <= options.cap):
        raise InputError("Keep: widen lists caps wider than that of the options.", hint="Give the options a cap, and wider ones here.")
    adjustment = adjust_keeping(problem, keep, wider=lambda cap: build_problem(table, sensitivity, _widened(options, cap)), **run)
    require_means(problem, keep, adjustment)
    quality = adjustment.quality
    return adjustment, options if quality is None or quality.cap is None else _widened(options, quality.cap)


def options_with(options: Options, keep: Keep | None, cap: Any) -> Options:
    """The options that a release was made with: those asked, or with the cap it says it was widened to, if that was allowed."""
    if cap is None:
        return options
    if keep is None or cap not in keep.widen:
        raise AuditFailed("The release was made with a wider cap than its job allows.", hint="Take the folder from the release again.")
    return _widened(options, float(cap))


def _widened(options: Options, cap: float) -> Options:
    return dataclasses.replace(options, variant="at-least", cap=cap)


def recheck_means(table: Table, sensitivity: Sensitivity, options: Options, keep: Keep, released: IntArray) -> Check:
    """The means that a job asks for, added up again in released numbers of the table."""
    problem = build_problem(table, sensitivity, options)
    return _means(problem, keep_of(keep, table, sensitivity.sensitive), released)


def _means(problem: ProtectionProblem, keep: Keep, released: IntArray) -> Check:
    return check_means(problem.value, released, [(target.words, target.cells) for target in targets_of(keep, problem) if target.mean])


def require_means(problem: ProtectionProblem, keep: Keep, adjustment: Adjustment) -> AuditReport:
    report = AuditReport(checks=(_means(problem, keep, released_values(problem, adjustment)),))
    if not report.passed:
        raise AuditFailed("A mean that was to be kept is not; nothing is released.", hint=str(report))
    return report
