"""Tables small enough to audit by hand: one row with its total, and releases of it that are right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.audit.report import AuditReport, Check
from statveil.audit.tables import Requirements, audit_table, release_hash
from statveil.core.provenance import Provenance
from statveil.risk.sensitivity import UNBOUNDED
from statveil.tables.tabulate import tabulate

TOTAL, A, B, C = range(4)
"""Cells of a row, in the order of the table."""

Levels = Mapping[int, "int | tuple[int, int]"]


def row(*numbers: int | str, decimals: int = 0, published: int | None = None) -> sv.Table:
    """Total, A, B, C: what is given has `decimals`, what is released `published` ones."""
    codes = "ABCDEFGH"[: len(numbers)]
    table = sv.table_from_cells(
        {"area": sv.Hierarchy.flat(codes)}, dict(zip(((c,) for c in codes), numbers, strict=True)), decimals=decimals
    )
    return replace(table, decimals=decimals if published is None else published)


def with_a_set() -> sv.Table:
    """Total 200, A 60, B 40, C 100, and the sum of A and B, 100, that no table shows."""
    frame = pa.table({"area": list("AABBCC"), "sales": [40, 20, 25, 15, 50, 50]})
    both = sv.CellSet(cells=[{"area": "A"}, {"area": "B"}])
    return tabulate(sv.read_microdata(frame), sv.TableSpec(dimensions={"area": None}, measure="sales"), sets=[both])


def sensitivity_of(
    table: sv.Table,
    levels: Levels | None = None,
    *,
    frozen: Sequence[int] = (),
    minimum: Mapping[int, int] | None = None,
    maximum: Mapping[int, int] | None = None,
    weight: Mapping[int, float] | None = None,
) -> sv.rules.Sensitivity:
    """Levels (one, or lower and upper), frozen cells, bounds and costs of single cells, in the table's units."""
    pairs = {cell: level if isinstance(level, tuple) else (level, level) for cell, level in (levels or {}).items()}
    return sv.rules.Sensitivity(
        sensitive=_laid(table, False, dict.fromkeys(pairs, True)),
        lower_level=_laid(table, 0, {cell: lower for cell, (lower, _) in pairs.items()}),
        upper_level=_laid(table, 0, {cell: upper for cell, (_, upper) in pairs.items()}),
        frozen=_laid(table, False, dict.fromkeys(frozen, True)),
        weight=_laid(table, float("nan"), weight or {}),
        minimum=_laid(table, -UNBOUNDED, minimum or {}),
        maximum=_laid(table, UNBOUNDED, maximum or {}),
    )


def _laid(table: sv.Table, usual: Any, given: Mapping[int, Any]) -> np.ndarray:
    array = np.full(table.size, usual)
    for cell, content in given.items():
        array[cell] = content
    return array


def protected(table: sv.Table, value: Sequence[int] | np.ndarray) -> sv.ProtectedTable:
    return sv.ProtectedTable(views=table.views, value=np.array(value, dtype=np.int64), decimals=table.decimals)


def provenance_of(table: sv.Table, released: sv.ProtectedTable) -> Provenance:
    """What an honest run writes, or someone who tampers with all of it."""
    return Provenance(parameters={}, input_hash=table.input_hash, release_hash=release_hash(released))


def audit(
    table: sv.Table, value: Sequence[int] | np.ndarray, sensitivity: sv.rules.Sensitivity | None = None, asked: Requirements | None = None
) -> AuditReport:
    """The audit of these released numbers, with hashes that fit them."""
    released = protected(table, value)
    return audit_table(table, sensitivity or sensitivity_of(table), asked or Requirements(), released, provenance_of(table, released))


def failed(report: AuditReport) -> set[str]:
    """The names of the checks that found a fault."""
    return {check.name for check in report.checks if not check.passed}


def named(report: AuditReport, name: str) -> Check:
    return next(check for check in report.checks if check.name == name)
