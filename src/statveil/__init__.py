"""statveil protects statistical data before it is published.

import statveil as sv

At the top: verbs, what goes in, what comes out, errors. The rest by room:

    sv.rules    rules that say which cells are sensitive
    sv.keep     statistics that a table keeps, and what keeping them costs
    sv.repair   where no safe table exists: what clashes, and what may give
    sv.systems  linear systems and their files
    sv.recode   how records are recoded and suppressed
    sv.perturb  columns that are no keys: noise, swapping, microaggregation, PRAM
    sv.classical  cell suppression, controlled rounding, cell key, and all methods side by side
    sv.argus    files and batches of tau-ARGUS
    sv.errors   all errors

The public names load on first use, so that `import statveil` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "statveil.audit.report": ("AuditReport", "Check"),
    "statveil.core.errors": (
        "AuditFailed",
        "InfeasibleProblem",
        "InputError",
        "NoTableFound",
        "OutOfTime",
        "StatveilError",
    ),
    "statveil.core.limits": ("Limits", "Progress"),
    "statveil.data.engines.settings": ("DuckDB",),
    "statveil.data.hierarchy": ("Hierarchy",),
    "statveil.data.microdata": ("Microdata",),
    "statveil.data.readers": ("read_microdata",),
    "statveil.jobs.adjust": ("adjust",),
    "statveil.jobs.tables.assess": ("LinkedTables",),
    "statveil.jobs.tables.protect": ("protect_table",),
    "statveil.protect.adjustment": ("Adjustment",),
    "statveil.protect.options": ("Bounds", "Method", "Options"),
    "statveil.protect.problem": ("ProtectionProblem",),
    "statveil.protect.system": ("read_jj",),
    "statveil.publish.file_release": ("FileRelease", "apply_plan"),
    "statveil.publish.release": ("Release",),
    "statveil.records.keys": ("KeyVariables",),
    "statveil.records.plan": ("FilePlan", "plan_recoding"),
    "statveil.records.risk": ("find_unsafe",),
    "statveil.risk.rules": ("MinimumFrequency", "PPercent"),
    "statveil.tables.from_cells": ("table_from_cells",),
    "statveil.tables.linked": ("CellSet", "Equation"),
    "statveil.tables.spec": ("TableSpec",),
    "statveil.tables.table": ("ProtectedTable", "Table"),
    "statveil.tables.tabulate": ("tabulate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = {
    **{name: f"statveil.{name}" for name in ("argus", "classical", "keep", "perturb", "recode", "repair", "rules", "systems")},
    "errors": "statveil.core.errors",
}

__all__ = ["__version__", *sorted(_HOME_OF), *sorted(_ROOMS)]  # noqa: PLE0604

if TYPE_CHECKING:
    from statveil import argus, classical, keep, perturb, recode, repair, rules, systems
    from statveil.audit.report import AuditReport, Check
    from statveil.core import errors
    from statveil.core.errors import (
        AuditFailed,
        InfeasibleProblem,
        InputError,
        NoTableFound,
        OutOfTime,
        StatveilError,
    )
    from statveil.core.limits import Limits, Progress
    from statveil.data.engines.settings import DuckDB
    from statveil.data.hierarchy import Hierarchy
    from statveil.data.microdata import Microdata
    from statveil.data.readers import read_microdata
    from statveil.jobs.adjust import adjust
    from statveil.jobs.tables.assess import LinkedTables
    from statveil.jobs.tables.protect import protect_table
    from statveil.protect.adjustment import Adjustment
    from statveil.protect.options import Bounds, Method, Options
    from statveil.protect.problem import ProtectionProblem
    from statveil.protect.system import read_jj
    from statveil.publish.file_release import FileRelease, apply_plan
    from statveil.publish.release import Release
    from statveil.records.keys import KeyVariables
    from statveil.records.plan import FilePlan, plan_recoding
    from statveil.records.risk import find_unsafe
    from statveil.risk.rules import MinimumFrequency, PPercent
    from statveil.tables.from_cells import table_from_cells
    from statveil.tables.linked import CellSet, Equation
    from statveil.tables.spec import TableSpec
    from statveil.tables.table import ProtectedTable, Table
    from statveil.tables.tabulate import tabulate


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from statveil.version import VERSION

        return VERSION
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name not in _HOME_OF:
        raise AttributeError(f"statveil has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
