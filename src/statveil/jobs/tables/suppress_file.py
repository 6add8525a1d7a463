"""`statveil suppress FILE`: the suppressed cells of a table in a file, found, written, read back and audited."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, frozen_array
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import Limits, OnProgress
from statveil.formats.argus.cells import ArgusStatus, CellTable
from statveil.formats.argus.outputs import write_sbs
from statveil.formats.argus.sbs import read_sbs
from statveil.formats.argus.tab import read_cells, write_cells
from statveil.formats.system import read_system, write_system
from statveil.jobs.tables.pattern_check import PatternQuestion, check_pattern, pattern_of_cells
from statveil.suppress.cells.build import problem_of_system, sizes, whole_costs
from statveil.suppress.cells.methods.shape import shape_of
from statveil.suppress.cells.options import BY_TABLES, EXACT_ONLY, SuppressionOptions
from statveil.suppress.cells.pattern import CellSuppression
from statveil.suppress.cells.problem import SuppressionProblem
from statveil.suppress.cells.suppress import suppress_cells

SYSTEMS = (".jj", ".npz")
ENDINGS = {".jj": SYSTEMS, ".npz": SYSTEMS, ".tab": (".tab", ".sbs"), ".sbs": (".sbs",)}
"""What can be written of what is read."""


@dataclass(frozen=True, kw_only=True)
class SuppressionWish:
    """How a file is suppressed. question: what the file does not say of levels and of what readers know."""

    method: str = "auto"
    options: SuppressionOptions = field(default_factory=SuppressionOptions)
    limits: Limits = field(default_factory=Limits)
    question: PatternQuestion = field(default_factory=PatternQuestion)


def suppress_file(
    path: Path, out: Path, wish: SuppressionWish | None = None, *, on_progress: OnProgress | None = None
) -> tuple[CellSuppression, list[Path]]:
    """Suppress the table of a file and write it with its statuses; nothing is written unless what is written passes `statveil check`."""
    wish = wish or SuppressionWish()
    known = ENDINGS.get(path.suffix.lower())
    if known is None:
        raise InputError(f"{path.name} is no table with statuses.", hint=f"Known endings: {', '.join(ENDINGS)}.")
    if out.suffix.lower() not in known:
        raise InputError(f"A {path.suffix} file is written as {' or '.join(known)}, not as {out.suffix or 'a file without ending'}.")
    found, write = (_system if known is SYSTEMS else _cells)(path, wish, on_progress)
    question = replace(wish.question, exact_only=wish.question.exact_only or wish.method in EXACT_ONLY)
    return found, _written(out, write, question)


def figures_of(found: CellSuppression) -> dict[str, Any]:
    """What may be told of a pattern: counts, cost and bound."""
    return {
        "cells": found.problem.size,
        "primary": int(found.primary.sum()),
        "secondary": int(found.secondary.sum()),
        "cost": found.cost,
        "certified_bound": found.certified_bound,
        "gap": None if np.isinf(found.gap) else found.gap,
        "ending": str(found.ending),
        "method": found.method,
        "promise": found.promise,
        "by_its_own_rules": found.by_rules,
        "seed": found.seed,
        "seconds": round(found.seconds, 3),
        "audit": {"passed": found.audit.passed, "repairs": found.repairs},
    }


def _system(path: Path, wish: SuppressionWish, on_progress: OnProgress | None) -> tuple[CellSuppression, Any]:
    system = read_system(path, decimals="all", negative_levels=True)
    if wish.question.known_within is not None:
        raise InputError("A linear system says itself what readers know of each cell.", hint="Leave --known-within out.")
    problem = problem_of_system(system, wish.options)
    found = suppress_cells(problem, None, wish.method, options=wish.options, limits=wish.limits, on_progress=on_progress)
    status = np.where(found.secondary, "m", system.status)
    return found, lambda file: write_system(replace(system, status=status), file)


def _cells(path: Path, wish: SuppressionWish, on_progress: OnProgress | None) -> tuple[CellSuppression, Any]:
    """Secondary statuses in the file are forgotten; cells of status protected stay published."""
    cells = read_sbs(path) if path.suffix.lower() == ".sbs" else read_cells(path, wish.question.metadata)
    problem = problem_of_cells(cells, wish)
    found = suppress_cells(problem, None, wish.method, options=wish.options, limits=wish.limits, on_progress=on_progress)
    marked = replace(cells, status=frozen_array(_statuses(cells, found.secondary)))

    def write(file: Path) -> None:
        if path.suffix.lower() == ".sbs":
            _reflag(path, file, cells, found.secondary)
        elif file.suffix.lower() == ".sbs":
            write_sbs(marked, file, levels=True)
        else:
            write_cells(marked, file)

    return found, write


def problem_of_cells(cells: CellTable, wish: SuppressionWish) -> SuppressionProblem:
    """The suppression of a table of cells with codes: its unsafe statuses are primary, its protected ones are published."""
    pattern = pattern_of_cells(cells, wish.question).pattern
    pattern = pattern if wish.question.known_within is None else pattern.known_within(wish.question.known_within)
    value, nothing = pattern.value, np.zeros(pattern.value.size, dtype=np.bool_)
    single = nothing if pattern.singleton is None or not wish.options.singletons else pattern.singleton
    lower_level = np.where(value >= 0, np.minimum(pattern.lower_level, value), pattern.lower_level)
    return SuppressionProblem(
        relations=pattern.relations,
        value=value,
        lower=pattern.lower,
        upper=pattern.upper,
        primary=pattern.primary,
        candidate=~pattern.primary & (value != 0) & (cells.status != ArgusStatus.PROTECTED),
        hidden=nothing,
        single=single & ~(value == 0),
        lower_level=np.where(pattern.primary, lower_level, 0),
        upper_level=np.where(pattern.primary, pattern.upper_level, 0),
        cost=whole_costs(_amounts(cells, wish.options)),
        shapes=(shape_of(cells.dimensions, cells.coordinates, np.arange(cells.size)),) if wish.method in BY_TABLES else (),
        respondents=cells.frequency,
    )


def _amounts(cells: CellTable, options: SuppressionOptions) -> Any:
    if options.cost != "frequency":
        return sizes(np.abs(cells.value.units) * 10.0**-cells.value.decimals, options)
    if cells.frequency is None:
        raise InputError("The table has no frequencies.", hint="Choose another cost: unit, value or log.")
    return np.maximum(cells.frequency.astype(np.float64), 1.0)


def _statuses(cells: CellTable, secondary: BoolArray) -> Any:
    status = np.array([int(ArgusStatus.SAFE) if ArgusStatus(int(each)).secondary else int(each) for each in cells.status], dtype=np.int64)
    manual = status == ArgusStatus.SAFE_MANUAL
    return np.where(secondary, np.where(manual, int(ArgusStatus.SECONDARY_MANUAL), int(ArgusStatus.SECONDARY)), status)


def _reflag(path: Path, file: Path, cells: CellTable, secondary: BoolArray) -> None:
    """The same SBS lines with other flags: V and D are the last thing on theirs, so that all else stays as it was."""
    old = np.array([ArgusStatus(int(each)).secondary for each in cells.status], dtype=np.bool_)
    lines, row = path.read_bytes().splitlines(keepends=True), 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if secondary[row] != old[row]:
            text = line.rstrip()
            lines[at] = text[:-1] + (b"D" if secondary[row] else b"V") + line[len(text) :]
        row += 1
    file.write_bytes(b"".join(lines))


def _written(out: Path, write: Any, question: PatternQuestion) -> list[Path]:
    """All files that belong to it, moved to their place once the check of what is written has passed."""
    with tempfile.TemporaryDirectory(dir=out.parent) as place:
        file = Path(place) / out.name
        write(file)
        report, _ = check_pattern(file, replace(question, metadata=None))
        if not report.passed:
            raise AuditFailed("What was written did not pass the check. Nothing is released.")
        names = sorted(Path(place).iterdir(), key=lambda each: (each != file, each.name))
        return [each.replace(out.parent / each.name) for each in names]
