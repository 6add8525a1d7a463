"""Linear systems: cells, relations, bounds and levels without records, and their files."""

from __future__ import annotations

from statveil.audit.systems import audit_solution, audit_system
from statveil.formats.rcta import Solution, read_directions, read_solution, write_directions, write_solution
from statveil.formats.system import LinearSystem, read_system, write_system
from statveil.jobs.adjust import AdjustedSystem, SystemFiles
from statveil.protect.build import build_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import SystemOptions, problem_of, read_jj, write_jj
from statveil.tables.relations import relations

__all__ = [
    "AdjustedSystem",
    "LinearSystem",
    "ProtectionProblem",
    "Solution",
    "SystemFiles",
    "SystemOptions",
    "audit_solution",
    "audit_system",
    "build_problem",
    "problem_of",
    "read_directions",
    "read_jj",
    "read_solution",
    "read_system",
    "relations",
    "write_directions",
    "write_jj",
    "write_solution",
    "write_system",
]
