"""A plan as frames, field by field: confidential."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from statveil.core.show import CONFIDENTIAL, FrameExports
from statveil.core.show.frames import marked

if TYPE_CHECKING:
    from statveil.records.plan import FilePlan


class InternalPlan(FrameExports):
    """What a plan does to each value of each field. Confidential."""

    def __init__(self, plan: FilePlan) -> None:
        self._plan = plan

    def __repr__(self) -> str:
        return f"InternalPlan (confidential): recoding, values and blanks of {len(self._plan.keys.names)} fields"

    def to_arrow(self) -> pa.Table:
        """A row a field: its recoding, how many different values it has and will have, and blanks. Confidential."""
        plan = self._plan
        rows = [
            {
                "field": name,
                "recoding": plan.recoding[name],
                "values": len(plan.coded.values[place]),
                "values_after": plan.coded.levels[place][level].size,
                "blanks": int(plan.suppression.blanks.get(name, 0)),
            }
            for place, (name, level) in enumerate(zip(plan.keys.names, plan.levels, strict=True))
        ]
        return marked(pa.Table.from_pylist(rows), CONFIDENTIAL)
