"""An adjustment as the values to publish, and as a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.audit.tables import Requirements, release_hash
from statveil.protect.adjustment import Adjustment
from statveil.protect.problem import ProtectionProblem
from statveil.provenance import Provenance
from statveil.release import Release
from statveil.risk.sensitivity import Sensitivity
from statveil.table.exchange.repairs import Relaxation
from statveil.table.protected import ProtectedTable
from statveil.table.table import Table


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
