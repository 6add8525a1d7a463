"""`statveil check FILE.sbs|.tab|.jj`: the suppressed cells of a file audited as a reader would see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from statveil.audit.patterns.audit import audit_pattern
from statveil.audit.patterns.pattern import FAULTS, NO_BOUND, Disclosure, PatternAudit, PatternFinding, SuppressionPattern
from statveil.audit.patterns.tree_sums import tree_sums
from statveil.audit.report import FINDINGS_SHOWN, AuditReport, Check
from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.formats.argus.cells import ArgusStatus, CellTable, ExactColumn
from statveil.formats.argus.sbs import read_sbs
from statveil.formats.argus.tab import read_cells
from statveil.formats.system import read_system

_WORDS = {
    Disclosure.PUBLISHED: "Every sensitive cell is suppressed",
    Disclosure.EXACT: "No sensitive cell follows from the published ones",
    Disclosure.INFERENTIAL: "The interval of every sensitive cell holds its protection interval",
    Disclosure.UNPROVED: "What protects a sensitive cell could be checked in whole numbers",
    Disclosure.SINGLETON: "No respondent who is alone in a cell recovers another sensitive one",
}
NO_LEVELS = "No code is below another but the total. If codes are totals too, the file lacks its levels: write it with HL+"
_OF_INTERVALS = (Disclosure.INFERENTIAL, Disclosure.UNPROVED)


@dataclass(frozen=True, kw_only=True)
class PatternQuestion:
    """What the file does not say: metadata of a .tab file, the level of sensitive cells without one, what readers know beforehand.

    level: in percent of the value. known_within: every value to within that percentage; None: as the file says, else zero or more.
    exact_only asks whether a sensitive cell can be worked out exactly, and nothing of how closely it can be bounded.
    """

    metadata: Path | None = None
    level: int = 20
    known_within: int | None = None
    all_intervals: bool = False
    exact_only: bool = False


@dataclass(frozen=True, kw_only=True)
class LabelledPattern:
    pattern: SuppressionPattern
    labels: tuple[str, ...]
    doubt: str = ""
    """What may be wrong with the sums, where they do not hold."""


def read_pattern(path: Path, question: PatternQuestion | None = None) -> LabelledPattern:
    """The pattern in a file, by its ending: .jj and .npz, .sbs, .tab."""
    question, ending = question or PatternQuestion(), path.suffix.lower()
    if ending in (".jj", ".npz"):
        found = _of_system(path)
    else:
        cells = read_sbs(path) if ending == ".sbs" else read_cells(path, question.metadata)
        found = pattern_of_cells(cells, question)
        if ending == ".sbs" and all(set(tree.parent.values()) == {tree.total} for each in cells.dimensions for tree in each.trees):
            found = replace(found, doubt=NO_LEVELS)
    if not found.pattern.primary.any() and not found.pattern.suppressed.any():
        raise InputError(f"{path.name} has no suppressed cell.", hint="There is nothing to check: no status says unsafe or secondary.")
    within = question.known_within
    return found if within is None else replace(found, pattern=found.pattern.known_within(within))


def check_pattern(path: Path, question: PatternQuestion | None = None) -> tuple[AuditReport, PatternAudit]:
    """The findings by labels, never by values, and the audit behind them."""
    question = question or PatternQuestion()
    found = read_pattern(path, question)
    if question.exact_only:
        none = frozen_array(np.zeros_like(found.pattern.value))
        found = replace(found, pattern=replace(found.pattern, lower_level=none, upper_level=none))
    audit = audit_pattern(found.pattern, all_intervals=question.all_intervals)
    asked = [kind for kind in _WORDS if not (question.exact_only and kind in _OF_INTERVALS)]
    checks = [_sums(found, audit), *(_check(kind, found, audit) for kind in asked)]
    return AuditReport(checks=tuple(checks)), audit


def _of_system(path: Path) -> LabelledPattern:
    system = read_system(path, decimals="all", non_additive=True, negative_levels=True)
    primary = system.status == "u"
    pattern = SuppressionPattern(
        relations=system.relations.astype(np.int64),
        rhs=system.rhs,
        value=system.value,
        suppressed=primary | (system.status == "m"),
        primary=primary,
        lower_level=system.lower_level,
        upper_level=system.upper_level,
        lower=np.minimum(system.lower, system.value),
        upper=np.maximum(system.upper, system.value),
    )
    return LabelledPattern(pattern=pattern, labels=tuple(f"cell {cell}" for cell in range(system.value.size)))


def pattern_of_cells(cells: CellTable, question: PatternQuestion) -> LabelledPattern:
    """Cells with their statuses as a pattern, by sums worked out from the labels."""
    status = [ArgusStatus(int(each)) for each in cells.status]
    primary = np.array([each.unsafe for each in status], dtype=np.bool_)
    decimals = max(column.decimals for column in (cells.value, cells.lower, cells.upper) if column)
    value, rows = _in_units(cells.value, decimals), tree_sums(cells.dimensions, cells.coordinates)
    level = np.maximum(-(-np.abs(value) * question.level // 100), 1)
    pattern = SuppressionPattern(
        relations=rows,
        rhs=np.zeros(rows.shape[0], dtype=np.int64),
        value=value,
        suppressed=primary | np.array([each.secondary for each in status], dtype=np.bool_),
        primary=primary,
        lower_level=_levels(cells.lower, level, decimals),
        upper_level=_levels(cells.upper, level, decimals),
        lower=np.minimum(value, 0 if (value >= 0).all() else -NO_BOUND),
        upper=np.full(value.size, NO_BOUND),
        singleton=None if cells.frequency is None else cells.frequency == 1,
    )
    return LabelledPattern(pattern=pattern, labels=tuple(", ".join(cells.codes(row)) for row in range(cells.size)))


def _in_units(column: ExactColumn, decimals: int) -> IntArray:
    return np.asarray(np.where(column.missing, 0, column.units) * 10 ** (decimals - column.decimals))


def _levels(column: ExactColumn | None, default: IntArray, decimals: int) -> IntArray:
    if column is None:
        return default
    return np.where(column.missing | (column.units == 0), default, _in_units(column, decimals))


def _sums(found: LabelledPattern, audit: PatternAudit) -> Check:
    relations = found.pattern.relations
    doubt = (found.doubt,) if found.doubt and audit.broken else ()
    first = [relations.indices[relations.indptr[row]] for row in audit.broken[:FINDINGS_SHOWN]]
    return Check(
        name="sums",
        words="Every total is the sum of its parts",
        checked=relations.shape[0],
        faults=len(audit.broken),
        findings=(*doubt, *(f"{found.labels[cell]}: a sum with this cell does not hold" for cell in first)),
    )


def _check(kind: Disclosure, found: LabelledPattern, audit: PatternAudit) -> Check:
    wrong = [each for each in audit.findings if each.kind is kind and kind in FAULTS]
    return Check(
        name=kind.value,
        words=_WORDS[kind],
        checked=int(np.count_nonzero(found.pattern.primary)),
        faults=len(wrong),
        findings=tuple(_finding(each, found.labels) for each in wrong[:FINDINGS_SHOWN]),
    )


def _finding(each: PatternFinding, labels: tuple[str, ...]) -> str:
    beside = f" (by {'; '.join(labels[other] for other in each.others[:3])})" if each.others else ""
    return f"{labels[each.cell]}: {each.kind.value}{beside}"
