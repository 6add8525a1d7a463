"""Linear systems read from files as protection problems, and problems written to files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray
from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.formats.system import Decimals, LinearSystem, check_decimals, read_system, write_system
from statveil.protect.options import Norm, Variant
from statveil.protect.problem import ProtectionProblem

SystemWeights = Literal["file", "unit", "value", "inverse"]


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """How to take a linear system.

    weights: cost of moving a cell by one: the `file`'s own, `unit`, the cell's `value`, or its `inverse`.
    variant: move sensitive cells by `at-least` their level, or by `exact`-ly it. norm: sum of absolute (`l1`) or squared (`l2`) changes.
    non_additive: accept relations that do not hold; they will hold in what is released.
    negative_levels: accept levels below zero: nothing is asked on that side, as with a level of zero.
    decimals: of what is released. None: those of the values; levels are rounded up to that. A number, or "all": those of the levels too.

    >>> SystemOptions(weights="unit", norm="l2").variant
    'at-least'
    """

    weights: SystemWeights = "file"
    variant: Variant = "at-least"
    norm: Norm = "l1"
    non_additive: bool = False
    negative_levels: bool = False
    decimals: Decimals = None

    def __post_init__(self) -> None:
        known("weights", self.weights, ("file", "unit", "value", "inverse"))
        known("variant", self.variant, ("at-least", "exact"))
        known("norm", self.norm, ("l1", "l2"))
        check_decimals(self.decimals)

    def read(self, path: str | Path) -> LinearSystem:
        """The system of a file, taken so."""
        return read_system(path, decimals=self.decimals, non_additive=self.non_additive, negative_levels=self.negative_levels)


def read_jj(
    path: str | Path,
    *,
    weights: SystemWeights = "file",
    variant: Variant = "at-least",
    norm: Norm = "l1",
    non_additive: bool = False,
    negative_levels: bool = False,
    decimals: Decimals = None,
) -> ProtectionProblem:
    """The problem that a JJ file describes.

    path: the file. weights, variant, norm, non_additive, negative_levels, decimals: as in `sv.systems.SystemOptions`.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> read_jj(path, weights="unit").sensitive.tolist()
    [False, True, False]
    """
    options = SystemOptions(
        weights=weights, variant=variant, norm=norm, non_additive=non_additive, negative_levels=negative_levels, decimals=decimals
    )
    return problem_of(options.read(path), weights=weights, variant=variant, norm=norm)


def write_jj(source: ProtectionProblem | LinearSystem, path: str | Path, *, decimals: int = 0) -> None:
    """Write a system, or a problem, as a JJ file. What such a file cannot tell, variant and norm, is given again when it is read.

    source: what to write. path: the file. decimals: the amounts of a problem are in units of 10**-decimals.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> write_jj(read_jj(path), path.with_name("again.jj"), decimals=1)
    >>> path.with_name("again.jj").read_text().splitlines()[3].split()[:2]
    ['1', '2.0']
    """
    write_system(source if isinstance(source, LinearSystem) else system_of(source, decimals=decimals), path)


def problem_of(
    system: LinearSystem, *, weights: SystemWeights = "file", variant: Variant = "at-least", norm: Norm = "l1"
) -> ProtectionProblem:
    """Sensitive are the cells of status u with a level; a cell of status z stays as it is. Costs are per unit of the file's own amounts.

    system: cells, relations, bounds and levels. weights, variant, norm: as in `sv.systems.SystemOptions`.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> problem_of(SystemOptions().read(path), weights="value").weight.tolist()
    [100.0, 20.0, 80.0]
    """
    known("weights", weights, ("file", "unit", "value", "inverse"))
    fixed = system.status == "z"
    return ProtectionProblem(
        relations=system.relations,
        rhs=system.rhs,
        value=system.value,
        weight=_costs(system, weights, fixed) * _unit_price(norm, system.decimals),
        lower=np.where(fixed, system.value, system.lower),
        upper=np.where(fixed, system.value, system.upper),
        sensitive=(system.status == "u") & (np.maximum(system.lower_level, system.upper_level) > 0),
        lower_level=system.lower_level,
        upper_level=system.upper_level,
        variant=variant,
        norm=norm,
    )


def system_of(problem: ProtectionProblem, *, decimals: int = 0) -> LinearSystem:
    """A problem as the system that reads back to it with the same variant and norm."""
    fixed = ~problem.sensitive & (problem.lower == problem.value) & (problem.upper == problem.value)
    status: AnyArray = np.where(problem.sensitive, "u", np.where(fixed, "z", "s"))
    return LinearSystem(
        relations=problem.relations,
        rhs=problem.rhs,
        value=problem.value,
        cost=problem.weight / _unit_price(problem.norm, decimals),
        status=status,
        lower=problem.lower,
        upper=problem.upper,
        lower_level=np.where(problem.sensitive, problem.lower_level, 0),
        upper_level=np.where(problem.sensitive, problem.upper_level, 0),
        decimals=decimals,
    )


def _unit_price(norm: Norm, decimals: int) -> float:
    """What moving by one unit costs where moving by one costs one."""
    unit = 10.0**-decimals
    return unit if norm == "l1" else unit * unit


def _costs(system: LinearSystem, weights: SystemWeights, fixed: BoolArray) -> FloatArray:
    """Cost per cell; a cell that never moves may have none."""
    unit = 10.0**-system.decimals
    size = np.maximum(np.abs(system.value) * unit, unit)
    if weights == "file":
        free = np.flatnonzero((system.cost == 0) & ~fixed)
        if free.size:
            raise InputError(
                f"Cell {free[0]} costs nothing to move ({free.size} such cells).", hint="Choose other weights than the file's."
            )
        return np.where(system.cost == 0, 1.0, system.cost)
    return {"unit": np.ones(size.size), "value": size, "inverse": 1.0 / size}[weights]
