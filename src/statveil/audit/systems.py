"""The independent check of a released linear system: exact integers, `==`, no tolerance, no solver.

It shares nothing with the code that made the release: what is sensitive, how far it must move and what may not move are
taken from the file's own columns, and the relations are added up here, in Python integers where 64 bits could overflow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from statveil.audit.report import FINDINGS_SHOWN, AuditReport, Check
from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.rcta import Relaxation, Solution, read_repairs, read_solution
from statveil.formats.system import Decimals, LinearSystem, in_decimals, read_system

_LARGEST = 2**62
"""Sums of two such amounts still fit 64 bits."""


def audit_system(
    system: LinearSystem, released: IntArray, *, variant: Literal["at-least", "exact"] = "at-least", repairs: Sequence[Relaxation] = ()
) -> AuditReport:
    """Every check of released numbers against the system they stand for, loosened by the repairs alone.

    system: the original. released: one number a cell, in the system's own units.
    variant: sensitive cells were moved by `at-least` their level, or by `exact`-ly it. repairs: what gave.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> system = read_system(path)
    >>> audit_system(system, np.array([100, 25, 75])).passed, audit_system(system, np.array([100, 24, 76])).passed
    (True, False)
    """
    if variant not in ("at-least", "exact"):
        raise InputError(f"Unknown variant {variant!r}. Known: at-least, exact.")
    shape = _shape(system, released)
    if not shape.passed:
        return AuditReport(checks=(shape,))
    if not repairs:
        return AuditReport(checks=(shape, *_requirements(system, system, released, exact=variant == "exact", further={})))
    from statveil.audit.repairs import check_repairs, eased_system, further

    checks = _requirements(system, eased_system(system, repairs), released, exact=variant == "exact", further=further(repairs))
    loosened = (dataclasses.replace(check, words=f"{check.words}, but for the repairs listed") for check in checks)
    return AuditReport(checks=(shape, *loosened, check_repairs(system, released, repairs)))


def _requirements(
    system: LinearSystem, eased: LinearSystem, released: IntArray, *, exact: bool, further: Mapping[int, int]
) -> tuple[Check, ...]:
    """Every requirement of the system, as far as repairs have eased it."""
    return (
        _additivity(eased, released),
        _protection(eased, released),
        _overshoot(system, released, exact=exact, by=further),
        _bounds(eased, released),
        _fixed(eased, released),
    )


def audit_solution(
    original: str | Path,
    solution: str | Path,
    *,
    variant: Literal["at-least", "exact"] = "at-least",
    non_additive: bool = False,
    negative_levels: bool = False,
    repairs: str | Path | None = None,
    decimals: Decimals = None,
) -> AuditReport:
    """The numbers written in a .sol file against the JJ file they came from, both read anew; so is the list of repairs, if any.

    original, solution, repairs: the files. variant: as in `sv.systems.audit_system`.
    non_additive, negative_levels: as in `sv.systems.SystemOptions`.
    decimals: as the solution was made with; more than that many are refused. Levels and bounds that have more decimals than are
    released are checked twice: as they were rounded, and as the file writes them.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> _ = path.with_suffix(".sol").write_text("0 100 100 0\\n1 20 25 1\\n2 80 75 0\\n")
    >>> audit_solution(path, path.with_suffix(".sol")).passed
    True
    """
    fine = read_system(original, decimals="all", non_additive=non_additive, negative_levels=negative_levels)
    if isinstance(decimals, int) and decimals > fine.decimals:
        fine = read_system(original, decimals=decimals, non_additive=non_additive, negative_levels=negative_levels)
    system = in_decimals(fine, decimals, file=Path(original).name)
    written = read_solution(solution, decimals=system.decimals)
    given = () if repairs is None else read_repairs(repairs, decimals=system.decimals)
    report = audit_system(system, written.released, variant=variant, repairs=given)
    if not report.checks[0].passed:
        return report
    as_written = (_as_written(fine, system, written.released, given),) if fine.decimals > system.decimals else ()
    return AuditReport(checks=(*report.checks, *as_written, _columns(system, written)))


def _shape(system: LinearSystem, released: AnyArray) -> Check:
    same_size, whole = released.shape == system.value.shape, released.dtype == np.int64
    wrong = [
        (not same_size, "the number of cells differs"),
        (not whole, "released values are not whole numbers of units"),
        (bool(whole and ((released >= _LARGEST) | (released <= -_LARGEST)).any()), "a released value is too large"),
    ]
    findings = tuple(words for fault, words in wrong if fault)
    words = "The release has the system's own cells, in whole units"
    return Check(name="shape", words=words, checked=len(wrong), faults=len(findings), findings=findings)


def _additivity(system: LinearSystem, released: IntArray) -> Check:
    matrix = system.relations
    rows = np.repeat(np.arange(system.rhs.size), np.diff(matrix.indptr))
    factors, amounts = matrix.data.astype(np.int64), released[matrix.indices]
    sums = np.zeros(system.rhs.size, dtype=np.int64)
    np.add.at(sums, rows, factors * amounts)
    sizes = np.zeros(system.rhs.size)
    np.add.at(sizes, rows, np.abs(factors.astype(np.float64) * amounts.astype(np.float64)))
    wrong = sums != system.rhs
    for row in np.flatnonzero(sizes >= _LARGEST / 2).tolist():  # the products may have overflowed: add up again, without end
        wrong[row] = _exact_sum(system, released, row) != int(system.rhs[row])
    return _check("additivity", "Every relation holds", "relation", np.arange(system.rhs.size), wrong)


def _exact_sum(system: LinearSystem, released: IntArray, row: int) -> int:
    part = slice(system.relations.indptr[row], system.relations.indptr[row + 1])
    terms = zip(system.relations.data[part], system.relations.indices[part], strict=True)
    return sum(int(factor) * int(released[cell]) for factor, cell in terms)


def _sensitive(system: LinearSystem) -> IntArray:
    """Cells marked u that a level is asked for on at least one side."""
    return np.flatnonzero((system.status == "u") & ((system.lower_level > 0) | (system.upper_level > 0)))


def _protection(system: LinearSystem, released: IntArray) -> Check:
    where = _sensitive(system)
    moved = (released - system.value)[where]
    wrong = (moved > -system.lower_level[where]) & (moved < system.upper_level[where])
    return _check("protection", "Every sensitive cell is moved by its protection level or more", "cell", where, wrong)


def _overshoot(system: LinearSystem, released: IntArray, *, exact: bool, by: Mapping[int, int]) -> Check:
    where = _sensitive(system) if exact else np.zeros(0, dtype=np.int64)
    moved, more = (released - system.value)[where], np.array([by.get(cell, 0) for cell in where.tolist()], dtype=np.int64)
    wrong = (moved < -system.lower_level[where] - more) | (moved > system.upper_level[where] + more)
    return _check("overshoot", "No sensitive cell moves further than asked", "cell", where, wrong)


def _bounds(system: LinearSystem, released: IntArray) -> Check:
    where = np.flatnonzero(system.status != "z")
    wrong = (released[where] < system.lower[where]) | (released[where] > system.upper[where])
    return _check("bounds", "Every cell stays within its bounds", "cell", where, wrong)


def _fixed(system: LinearSystem, released: IntArray) -> Check:
    where = np.flatnonzero(system.status == "z")
    return _check("fixed", "Every fixed cell is released as it was", "cell", where, released[where] != system.value[where])


def _as_written(fine: LinearSystem, system: LinearSystem, released: IntArray, repairs: Sequence[Relaxation]) -> Check:
    """Protection and bounds in units as fine as the file's own levels."""
    unit = 10 ** (fine.decimals - system.decimals)
    eased = fine
    if repairs:
        from statveil.audit.repairs import eased_system

        eased = eased_system(fine, [each._replace(by=each.by * unit) for each in repairs])
    exact = np.clip(released, -(_LARGEST // unit), _LARGEST // unit) * unit
    both = (_protection(eased, exact), _bounds(eased, exact))
    return Check(
        name="written",
        words="Levels and bounds hold as the file writes them",
        checked=sum(check.checked for check in both),
        faults=sum(check.faults for check in both),
        findings=tuple(finding for check in both for finding in check.findings)[:FINDINGS_SHOWN],
    )


def _columns(system: LinearSystem, written: Solution) -> Check:
    marks = np.zeros(system.value.size, dtype=np.bool_)
    marks[_sensitive(system)] = True
    wrong = (written.value != system.value) | (written.sensitive != marks)
    return _check("file", "The file shows the original values and marks the sensitive cells", "cell", np.arange(marks.size), wrong)


def _check(name: str, words: str, kind: str, where: IntArray, wrong: AnyArray) -> Check:
    found = where[wrong]
    findings = tuple(f"{kind} {place}" for place in found[:FINDINGS_SHOWN])
    return Check(name=name, words=words, checked=int(where.size), faults=int(found.size), findings=findings)
