"""statveil protects statistical data before it is published.

import statveil as sv

The public names load on first use, so that `import statveil` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from statveil.version import VERSION as __version__

_HOMES = {
    "statveil.argus.convert": ("Conversion", "convert"),
    "statveil.argus.run": ("BatchResult", "BatchSettings", "run_batch"),
    "statveil.files.explore": ("RecodingExplorer", "explore_recoding"),
    "statveil.anonymise.keys": ("EditRule", "KeyVariables"),
    "statveil.anonymise.plan": ("FilePlan", "plan_recoding"),
    "statveil.anonymise.recodings": ("Extremes", "Intervals", "Menu", "Recoding"),
    "statveil.anonymise.suppress": ("suppress",),
    "statveil.anonymise.suppression": ("Suppression",),
    "statveil.anonymise.unsafe": ("UnsafeCombinations", "find_unsafe"),
    "statveil.audit.report": ("AuditReport", "Check"),
    "statveil.audit.systems": ("audit_solution", "audit_system"),
    "statveil.data.hierarchy": ("Hierarchy",),
    "statveil.data.microdata": ("Microdata",),
    "statveil.data.readers": ("read_microdata",),
    "statveil.errors": (
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
    "statveil.files.release": ("FileRelease", "apply_plan"),
    "statveil.protect.adjustment": ("Adjustment",),
    "statveil.protect.build": ("build_problem",),
    "statveil.protect.cta": ("adjust",),
    "statveil.protect.explain": ("Explanation", "explain"),
    "statveil.protect.options": ("Bounds", "Limits", "Options", "Progress"),
    "statveil.protect.problem": ("ProtectionProblem",),
    "statveil.protect.quality.keep": ("Cells", "Coefficients", "Keep"),
    "statveil.protect.quality.measures": ("Measure", "chi_square", "cramers_v"),
    "statveil.protect.quality.result": ("Quality",),
    "statveil.protect.quality.statistics": ("Statistics", "statistics_of"),
    "statveil.protect.quality.variables": ("Together", "adjust_together"),
    "statveil.protect.repair": ("Repair", "Repaired", "adjust_or_repair"),
    "statveil.protect.system": ("SystemOptions", "read_jj", "write_jj"),
    "statveil.protect.table_repair": ("GivingCells", "TableRepair"),
    "statveil.release": ("Release",),
    "statveil.risk.assess": ("assess",),
    "statveil.risk.rules": ("Dominance", "Manual", "MinimumFrequency", "PPercent", "PriorPosterior", "Request", "Waiver", "ZeroRule"),
    "statveil.risk.sensitivity": ("Sensitivity",),
    "statveil.table.exchange.files": ("read_system",),
    "statveil.table.exchange.linear": ("LinearSystem",),
    "statveil.table.exchange.repairs": ("MayGive", "Relaxation"),
    "statveil.table.exchange.solution": ("Solution", "read_directions", "read_solution", "write_directions", "write_solution"),
    "statveil.table.protected": ("ProtectedTable",),
    "statveil.table.linked": ("CellSet", "Equation"),
    "statveil.table.ready": ("table_from_cells",),
    "statveil.table.relations": ("relations",),
    "statveil.table.spec": ("TableSpec",),
    "statveil.table.table": ("Table",),
    "statveil.table.tabulate": ("tabulate",),
    "statveil.publish.utility": ("SubsetUtility", "utility"),
    "statveil.tradeoffs.tables": ("TableTradeoff", "tradeoff_table"),
    "statveil.tradeoffs.verb": ("FrontPoint", "Tradeoff", "tradeoff"),
    "statveil.workflow.systems": ("AdjustedSystem", "adjust_system"),
    "statveil.workflow.tables": ("protect_assessed", "protect_table"),
    "statveil.workflow.variables": ("ReleasesTogether", "protect_variables"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604

if TYPE_CHECKING:
    from statveil.anonymise.keys import EditRule, KeyVariables
    from statveil.anonymise.plan import FilePlan, plan_recoding
    from statveil.anonymise.recodings import Extremes, Intervals, Menu, Recoding
    from statveil.anonymise.suppress import suppress
    from statveil.anonymise.suppression import Suppression
    from statveil.anonymise.unsafe import UnsafeCombinations, find_unsafe
    from statveil.argus.convert import Conversion, convert
    from statveil.argus.run import BatchResult, BatchSettings, run_batch
    from statveil.audit.report import AuditReport, Check
    from statveil.audit.systems import audit_solution, audit_system
    from statveil.data.hierarchy import Hierarchy
    from statveil.data.microdata import Microdata
    from statveil.data.readers import read_microdata
    from statveil.errors import (
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
    from statveil.files.explore import RecodingExplorer, explore_recoding
    from statveil.files.release import FileRelease, apply_plan
    from statveil.protect.adjustment import Adjustment
    from statveil.protect.build import build_problem
    from statveil.protect.cta import adjust
    from statveil.protect.explain import Explanation, explain
    from statveil.protect.options import Bounds, Limits, Options, Progress
    from statveil.protect.problem import ProtectionProblem
    from statveil.protect.quality.keep import Cells, Coefficients, Keep
    from statveil.protect.quality.measures import Measure, chi_square, cramers_v
    from statveil.protect.quality.result import Quality
    from statveil.protect.quality.statistics import Statistics, statistics_of
    from statveil.protect.quality.variables import Together, adjust_together
    from statveil.protect.repair import Repair, Repaired, adjust_or_repair
    from statveil.protect.system import SystemOptions, read_jj, write_jj
    from statveil.protect.table_repair import GivingCells, TableRepair
    from statveil.publish.utility import SubsetUtility, utility
    from statveil.release import Release
    from statveil.risk.assess import assess
    from statveil.risk.rules import Dominance, Manual, MinimumFrequency, PPercent, PriorPosterior, Request, Waiver, ZeroRule
    from statveil.risk.sensitivity import Sensitivity
    from statveil.table.exchange.files import read_system
    from statveil.table.exchange.linear import LinearSystem
    from statveil.table.exchange.repairs import MayGive, Relaxation
    from statveil.table.exchange.solution import Solution, read_directions, read_solution, write_directions, write_solution
    from statveil.table.linked import CellSet, Equation
    from statveil.table.protected import ProtectedTable
    from statveil.table.ready import table_from_cells
    from statveil.table.relations import relations
    from statveil.table.spec import TableSpec
    from statveil.table.table import Table
    from statveil.table.tabulate import tabulate
    from statveil.tradeoffs.tables import TableTradeoff, tradeoff_table
    from statveil.tradeoffs.verb import FrontPoint, Tradeoff, tradeoff
    from statveil.workflow.systems import AdjustedSystem, adjust_system
    from statveil.workflow.tables import protect_assessed, protect_table
    from statveil.workflow.variables import ReleasesTogether, protect_variables


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"statveil has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
