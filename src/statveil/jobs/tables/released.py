"""An adjustment as a release: the values to publish, what the audit requires (the statistics kept among it), and what was asked as JSON.

What was asked goes into the provenance: what decides the numbers, in an order that does not depend on the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.audit.kept import KeptStatistic, check_kept
from statveil.audit.repairs import NamedCell, RepairAsked
from statveil.audit.report import AuditReport, Check
from statveil.audit.tables import Requirements, release_hash
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import Limits
from statveil.core.provenance import Provenance
from statveil.core.secret import SecretKey
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.tables.assess import LinkedTables
from statveil.protect.adjustment import Adjustment, released_values
from statveil.protect.build import build_problem
from statveil.protect.keep.adjust_keeping import adjust_keeping
from statveil.protect.keep.result import promised
from statveil.protect.keep.wishes import Keep, keep_of, targets_of
from statveil.protect.options import AdjustArguments, Method, Options, TableRepair
from statveil.protect.problem import ProtectionProblem
from statveil.publish.release import Release
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import ProtectedTable, Table

WIDENED = "widened"
"""The cap that had to be widened, in the provenance."""


def requirements_of(options: Options, kept: tuple[KeptStatistic, ...] = ()) -> Requirements:
    """What the audit holds a release to: the options it is made by, and the statistics it promises to keep."""
    bounds, repair = options.bounds, options.repair
    return Requirements(
        exact=options.variant == "exact",
        percent_down=_exactly(bounds.percent_down),
        percent_up=_exactly(bounds.percent_up),
        minimum=_exactly(bounds.minimum),
        maximum=_exactly(bounds.maximum),
        cap=_exactly(options.cap),
        repair=None if repair is None else _repair_asked(repair),
        kept=kept,
    )


def promises_of(keep: Keep | None, table: Table, sensitivity: Sensitivity, problem: ProtectionProblem) -> tuple[KeptStatistic, ...]:
    """The statistics that a release of the table promises to keep, over its own cells."""
    return () if keep is None else promised(keep, targets_of(keep_of(keep, table, sensitivity.sensitive), problem))


def _repair_asked(repair: TableRepair) -> RepairAsked:
    named = (NamedCell(each.view, labels, each.protection) for each in repair.only for labels in each.cells)
    return RepairAsked(classes=frozenset(repair.order), only=tuple(named))


def _exactly(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def release_of(
    table: Table,
    sensitivity: Sensitivity,
    problem: ProtectionProblem,
    adjustment: Adjustment,
    *,
    options: Options,
    parameters: Mapping[str, Any],
    keep: Keep | None = None,
    job: Mapping[str, Any] | None = None,
) -> Release:
    """The adjusted table with all that its audit and its provenance need; it is audited as it is made, with all it promises to keep."""
    protected = ProtectedTable(views=table.views, value=released_values(problem, adjustment), decimals=table.decimals)
    return Release(
        protected=protected,
        adjustment=adjustment,
        provenance=Provenance(parameters=parameters, input_hash=table.input_hash, release_hash=release_hash(protected)),
        table=table,
        sensitivity=sensitivity,
        requirements=requirements_of(options, promises_of(keep, table, sensitivity, problem)),
        job=job or {},
        relaxations=adjustment.relaxations,
    )


def keep_statistics(
    table: Table, sensitivity: Sensitivity, problem: ProtectionProblem, options: Options, keep: Keep, run: AdjustArguments
) -> tuple[Adjustment, Options]:
    """A table whose statistics are kept; and the options with what had to be widened. The release's audit checks what is promised."""
    if keep.widen and options.variant == "at-least" and (options.cap is None or min(keep.widen) <= options.cap):
        raise InputError("Keep: widen lists caps wider than that of the options.", hint="Give the options a cap, and wider ones here.")
    adjustment = adjust_keeping(problem, keep, wider=lambda cap: build_problem(table, sensitivity, _widened(options, cap)), **run)
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


def require_kept(problem: ProtectionProblem, keep: Keep, adjustment: Adjustment) -> tuple[Check, ...]:
    """What a linear system's solution promises to keep, checked; refused where it does not hold."""
    promises = promised(keep, targets_of(keep, problem))
    checks = check_kept(promises, problem.value, released_values(problem, adjustment))
    if not all(check.passed for check in checks):
        raise AuditFailed("A statistic that was to be kept is not; nothing is released.", hint=str(AuditReport(checks=checks)))
    return checks


def as_json(thing: Any) -> Any:
    """A setting as JSON."""
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
    if isinstance(thing, Decimal | Fraction | SecretKey):
        return thing.fingerprint if isinstance(thing, SecretKey) else str(thing)
    raise InputError(f"A setting of type {type(thing).__name__} cannot be written into the provenance.")


def options_as_json(options: Options) -> dict[str, Any]:
    """The options but for the repair, which has its own place; totals to hold where there are any."""
    left_out = ("repair",) if options.hold else ("repair", "hold", "hold_within")
    return {name: part for name, part in as_json(options).items() if name not in left_out}


def run_as_json(options: Options, limits: Limits, method: Method) -> dict[str, Any]:
    own = {"settings": as_json(method.settings)} if method.settings else {}
    return {"options": options_as_json(options), "limits": as_json(limits), "method": method.name, "seed": as_json(method.seed), **own}


def links_as_json(linked: LinkedTables) -> dict[str, Any]:
    """The links that were asked for; none, nothing."""
    return {name: as_json(asked) for name in ("equations", "sets", "search_sets") if (asked := getattr(linked, name))}


def repair_as_json(repair: TableRepair | None) -> dict[str, Any]:
    """What may give; where nothing may, nothing."""
    return {} if repair is None else {"repair": as_json(repair)}


def keep_as_json(keep: Keep | None) -> dict[str, Any]:
    """The statistics to keep, measures by their names; where none are, nothing."""
    if keep is None:
        return {}
    names = [getattr(each, "name", str(each)) for each in keep.measures]
    return {"keep": as_json(dataclasses.replace(keep, measures=())) | {"measures": names} if keep.asked else {"measures": names}}


def widened_as_json(adjustment: Adjustment) -> dict[str, Any]:
    """The cap that had to be widened so that statistics are kept: the audit is against it; where none was, nothing."""
    quality = adjustment.quality
    return {} if quality is None or quality.cap is None else {WIDENED: quality.cap}
