"""Other methods on the same table, as they stand on a page: one chart, one table, one recommendation. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statveil.publish.report.charts import Spec

AttackRow = tuple[str, str, str, str]
"""Of one attack on one method: its code, its name, the verdict, what was found."""


@dataclass(frozen=True, kw_only=True)
class MethodsSection:
    """rows: the fields of each method in words, the recommended one marked. remarks, attacks: by method, in words."""

    reason: str
    headings: Sequence[str]
    rows: Sequence[tuple[bool, Sequence[str]]]
    remarks: Sequence[tuple[str, str]]
    attacks: Sequence[tuple[str, Sequence[AttackRow]]]
    chart: Spec
