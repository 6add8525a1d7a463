"""An adjustment as the values to publish, and as a release."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.audit.repairs import NamedCell, RepairAsked
from statveil.audit.tables import Requirements, release_hash
from statveil.core.arrays import IntArray, frozen_array
from statveil.core.provenance import Provenance
from statveil.formats.repairs import Relaxation
from statveil.protect.adjustment import Adjustment
from statveil.protect.infeasible.table_repair import TableRepair
from statveil.protect.options import Options
from statveil.protect.problem import ProtectionProblem
from statveil.publish.release import Release
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import ProtectedTable, Table


def requirements_of(options: Options, repair: TableRepair | None = None) -> Requirements:
    bounds = options.bounds
    return Requirements(
        exact=options.variant == "exact",
        percent_down=_exactly(bounds.percent_down),
        percent_up=_exactly(bounds.percent_up),
        minimum=_exactly(bounds.minimum),
        maximum=_exactly(bounds.maximum),
        cap=_exactly(options.cap),
        repair=None if repair is None else _repair_asked(repair),
    )


def _repair_asked(repair: TableRepair) -> RepairAsked:
    named = (NamedCell(each.view, labels, each.protection) for each in repair.only for labels in each.cells)
    return RepairAsked(classes=frozenset(repair.order), only=tuple(named))


def _exactly(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def released_values(problem: ProtectionProblem, adjustment: Adjustment) -> IntArray:
    return frozen_array((problem.value + adjustment.deviation).astype(np.int64))


def release_of(
    table: Table,
    sensitivity: Sensitivity,
    problem: ProtectionProblem,
    adjustment: Adjustment,
    *,
    parameters: Mapping[str, Any],
    requirements: Requirements,
    job: Mapping[str, Any] | None = None,
    relaxations: tuple[Relaxation, ...] = (),
) -> Release:
    """The adjusted table with all that its audit and its provenance need; it is audited as it is made."""
    protected = ProtectedTable(views=table.views, value=released_values(problem, adjustment), decimals=table.decimals)
    return Release(
        protected=protected,
        adjustment=adjustment,
        provenance=Provenance(parameters=parameters, input_hash=table.input_hash, release_hash=release_hash(protected)),
        table=table,
        sensitivity=sensitivity,
        requirements=requirements,
        job=job or {},
        relaxations=relaxations,
    )
