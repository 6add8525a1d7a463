"""Linear systems: cells, relations, bounds and levels without records, and their files."""

from __future__ import annotations

from statveil.audit.systems import audit_solution, audit_system
from statveil.formats.solution import Solution, read_directions, read_solution, write_directions, write_solution
from statveil.formats.system import LinearSystem
from statveil.formats.system_files import read_system, write_system
from statveil.jobs.systems import AdjustedSystem
from statveil.protect.build import build_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import SystemOptions, read_jj, write_jj
from statveil.tables.relations import relations

__all__ = [
    "AdjustedSystem",
    "LinearSystem",
    "ProtectionProblem",
    "Solution",
    "SystemOptions",
    "audit_solution",
    "audit_system",
    "build_problem",
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
