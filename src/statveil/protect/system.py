"""Linear systems read from files as protection problems."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from statveil.protect.options import Norm, Variant, known
from statveil.protect.problem import ProtectionProblem
from statveil.table.exchange.jj import LinearSystem, read_system

SystemWeights = Literal["file", "unit", "value", "inverse"]


def read_jj(
    path: str | Path, *, weights: SystemWeights = "file", variant: Variant = "at-least", norm: Norm = "l1", non_additive: bool = False
) -> ProtectionProblem:
    """The problem that a JJ file describes."""
    return problem_of(read_system(path, non_additive=non_additive), weights=weights, variant=variant, norm=norm)


def problem_of(
    system: LinearSystem, *, weights: SystemWeights = "file", variant: Variant = "at-least", norm: Norm = "l1"
) -> ProtectionProblem:
    """Sensitive are the cells of status u with a level; a cell of status z stays as it is. Costs are per unit of the file's own amounts."""
    known("weights", weights, ("file", "unit", "value", "inverse"))
    unit = 10.0**-system.decimals
    size = np.maximum(np.abs(system.value) * unit, unit)
    cost = {"file": system.cost, "unit": np.ones(size.size), "value": size, "inverse": 1.0 / size}[weights]
    fixed = system.status == "z"
    return ProtectionProblem(
        relations=system.relations,
        rhs=system.rhs,
        value=system.value,
        weight=cost * (unit if norm == "l1" else unit * unit),
        lower=np.where(fixed, system.value, system.lower),
        upper=np.where(fixed, system.value, system.upper),
        sensitive=(system.status == "u") & (np.maximum(system.lower_level, system.upper_level) > 0),
        lower_level=system.lower_level,
        upper_level=system.upper_level,
        variant=variant,
        norm=norm,
    )
