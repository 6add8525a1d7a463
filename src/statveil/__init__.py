"""statveil protects statistical data before it is published.

import statveil as sv

The public names load on first use, so that `import statveil` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from statveil.version import VERSION as __version__

_HOMES = {
    "statveil.jobs.convert": ("Conversion", "convert"),
    "statveil.jobs.batch.run": ("BatchResult", "BatchSettings", "run_batch"),
    "statveil.jobs.records.explore": ("RecodingExplorer", "explore_recoding"),
    "statveil.records.keys": ("EditRule", "KeyVariables"),
    "statveil.records.plan": ("FilePlan", "plan_recoding"),
    "statveil.records.recode.recodings": ("Extremes", "Intervals", "Menu", "Recoding"),
    "statveil.records.suppress.cheapest": ("suppress",),
    "statveil.records.suppress.blanks": ("Suppression",),
    "statveil.records.unsafe": ("UnsafeCombinations", "find_unsafe"),
    "statveil.audit.report": ("AuditReport", "Check"),
    "statveil.audit.systems": ("audit_solution", "audit_system"),
    "statveil.data.hierarchy": ("Hierarchy",),
    "statveil.data.microdata": ("Microdata",),
    "statveil.data.readers": ("read_microdata",),
    "statveil.core.errors": (
        "AuditFailed",
        "BackendError",
        "BackendMissing",
        "DisclosureRefused",
        "EngineFailed",
        "FormatError",
        "HierarchyError",
        "InfeasibleProblem",
        "InputError",
        "OutOfTime",
        "RuleError",
        "SolverFailed",
        "StatveilError",
        "TableNotAdditive",
        "UnknownColumn",
    ),
    "statveil.publish.file_release": ("FileRelease", "apply_plan"),
    "statveil.protect.adjustment": ("Adjustment",),
    "statveil.protect.build": ("build_problem",),
    "statveil.protect.adjust": ("adjust",),
    "statveil.protect.infeasible.explain": ("Explanation", "explain"),
    "statveil.protect.options": ("Bounds", "Limits", "Options", "Progress"),
    "statveil.protect.problem": ("ProtectionProblem",),
    "statveil.protect.keep.wishes": ("Cells", "Coefficients", "Keep"),
    "statveil.protect.keep.tabu.measures": ("Measure", "chi_square", "cramers_v"),
    "statveil.protect.keep.result": ("Quality",),
    "statveil.core.statistics": ("Statistics", "statistics_of"),
    "statveil.protect.keep.variables": ("Together", "adjust_together"),
    "statveil.protect.infeasible.repair": ("Repair", "Repaired", "adjust_or_repair"),
    "statveil.protect.system": ("SystemOptions", "read_jj", "write_jj"),
    "statveil.protect.infeasible.table_repair": ("GivingCells", "TableRepair"),
    "statveil.publish.release": ("Release",),
    "statveil.risk.assess": ("assess",),
    "statveil.risk.rules.all": ("Dominance", "Manual", "MinimumFrequency", "PPercent", "PriorPosterior", "Request", "Waiver", "ZeroRule"),
    "statveil.risk.sensitivity": ("Sensitivity",),
    "statveil.formats.system_files": ("read_system",),
    "statveil.formats.system": ("LinearSystem",),
    "statveil.formats.repairs": ("MayGive", "Relaxation"),
    "statveil.formats.solution": ("Solution", "read_directions", "read_solution", "write_directions", "write_solution"),
    "statveil.tables.table": ("ProtectedTable", "Table"),
    "statveil.tables.linked": ("CellSet", "Equation"),
    "statveil.tables.from_cells": ("table_from_cells",),
    "statveil.tables.relations": ("relations",),
    "statveil.tables.spec": ("TableSpec",),
    "statveil.tables.tabulate.tabulate": ("tabulate",),
    "statveil.publish.report.utility": ("SubsetUtility", "utility"),
    "statveil.jobs.tradeoff.tables": ("TableTradeoff", "tradeoff_table"),
    "statveil.jobs.tradeoff.tradeoff": ("FrontPoint", "Tradeoff", "tradeoff"),
    "statveil.jobs.systems": ("AdjustedSystem", "adjust_system"),
    "statveil.jobs.tables.protect": ("protect_assessed", "protect_table"),
    "statveil.jobs.tables.variables": ("ReleasesTogether", "protect_variables"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604

if TYPE_CHECKING:
    from statveil.audit.report import AuditReport, Check
    from statveil.audit.systems import audit_solution, audit_system
    from statveil.core.errors import (
        AuditFailed,
        BackendError,
        BackendMissing,
        DisclosureRefused,
        EngineFailed,
        FormatError,
        HierarchyError,
        InfeasibleProblem,
        InputError,
        OutOfTime,
        RuleError,
        SolverFailed,
        StatveilError,
        TableNotAdditive,
        UnknownColumn,
    )
    from statveil.core.limits import Limits, Progress
    from statveil.core.statistics import Statistics, statistics_of
    from statveil.data.hierarchy import Hierarchy
    from statveil.data.microdata import Microdata
    from statveil.data.readers import read_microdata
    from statveil.formats.repairs import MayGive, Relaxation
    from statveil.formats.solution import Solution, read_directions, read_solution, write_directions, write_solution
    from statveil.formats.system import LinearSystem
    from statveil.formats.system_files import read_system
    from statveil.jobs.batch.run import BatchResult, BatchSettings, run_batch
    from statveil.jobs.convert import Conversion, convert
    from statveil.jobs.records.explore import RecodingExplorer, explore_recoding
    from statveil.jobs.systems import AdjustedSystem, adjust_system
    from statveil.jobs.tables.protect import protect_assessed, protect_table
    from statveil.jobs.tables.variables import ReleasesTogether, protect_variables
    from statveil.jobs.tradeoff.tables import TableTradeoff, tradeoff_table
    from statveil.jobs.tradeoff.tradeoff import FrontPoint, Tradeoff, tradeoff
    from statveil.protect.adjust import adjust
    from statveil.protect.adjustment import Adjustment
    from statveil.protect.build import build_problem
    from statveil.protect.infeasible.explain import Explanation, explain
    from statveil.protect.infeasible.repair import Repair, Repaired, adjust_or_repair
    from statveil.protect.infeasible.table_repair import GivingCells, TableRepair
    from statveil.protect.keep.result import Quality
    from statveil.protect.keep.tabu.measures import Measure, chi_square, cramers_v
    from statveil.protect.keep.variables import Together, adjust_together
    from statveil.protect.keep.wishes import Cells, Coefficients, Keep
    from statveil.protect.options import Bounds, Options
    from statveil.protect.problem import ProtectionProblem
    from statveil.protect.system import SystemOptions, read_jj, write_jj
    from statveil.publish.file_release import FileRelease, apply_plan
    from statveil.publish.release import Release
    from statveil.publish.report.utility import SubsetUtility, utility
    from statveil.records.keys import EditRule, KeyVariables
    from statveil.records.plan import FilePlan, plan_recoding
    from statveil.records.recode.recodings import Extremes, Intervals, Menu, Recoding
    from statveil.records.suppress.blanks import Suppression
    from statveil.records.suppress.cheapest import suppress
    from statveil.records.unsafe import UnsafeCombinations, find_unsafe
    from statveil.risk.assess import assess
    from statveil.risk.rules.all import Dominance, Manual, MinimumFrequency, PPercent, PriorPosterior, Request, Waiver, ZeroRule
    from statveil.risk.sensitivity import Sensitivity
    from statveil.tables.from_cells import table_from_cells
    from statveil.tables.linked import CellSet, Equation
    from statveil.tables.relations import relations
    from statveil.tables.spec import TableSpec
    from statveil.tables.table import ProtectedTable, Table
    from statveil.tables.tabulate.tabulate import tabulate


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"statveil has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
