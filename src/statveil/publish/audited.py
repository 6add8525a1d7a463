"""The gate: an audited table exists only if the independent audit passed. What is written of it is in formats/ and report/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from statveil.audit.repairs import in_words, weakened
from statveil.audit.report import AuditReport
from statveil.audit.tables import Requirements, audit_table, cell_labels
from statveil.core.errors import AuditFailed
from statveil.core.provenance import Provenance
from statveil.core.show import Preview, ShortDisplay, ViewFrameExports, counted
from statveil.formats.rcta import Relaxation
from statveil.protect.adjustment import Adjustment
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.shown.frames import protected_frame, protected_preview
from statveil.tables.table import ProtectedTable, Table

Edition = Literal["external", "internal"]


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditedTable(ShortDisplay, ViewFrameExports):
    """A protected table with the proof that it is safe.

    The confidential parts (`table`, `sensitivity`, `requirements`) are kept for the internal files and report only and never
    show up in `repr`.
    """

    protected: ProtectedTable
    adjustment: Adjustment = field(repr=False)
    provenance: Provenance = field(repr=False)
    table: Table = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    requirements: Requirements = field(repr=False)
    job: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The job that repeats this release, as the TOML file holds it (may be empty for releases made in Python)."""
    relaxations: tuple[Relaxation, ...] = field(default=(), repr=False)
    """All that a repair gave, in published units; empty where all that was asked is kept. Confidential."""
    audit: AuditReport = field(init=False)

    def __post_init__(self) -> None:
        report = audit_table(self.table, self.sensitivity, self.requirements, self.protected, self.provenance, self.relaxations)
        if not report.passed:
            raise AuditFailed("The independent audit found faults; nothing is released.", hint=str(report))
        object.__setattr__(self, "audit", report)

    def to_arrow(self, view: str | None = None) -> pa.Table:
        """The public numbers of a table as an Arrow table, the columns of its CSV file; the release's hash goes with it."""
        return protected_frame(self.protected, view, {"statveil.release": self.provenance.release_hash})

    def _headline(self) -> str:
        names = ", ".join(view.name for view in self.protected.views)
        return f"{type(self).__name__}: {names}, audit passed ({counted(len(self.audit.checks), 'check')})"

    def _facts(self) -> list[str]:
        """Only what may be published, and where the rest is: nothing that tells what is sensitive or how far anything was moved."""
        views = self.protected.views
        shown = [view.in_words for view in views[:5]] + ([f"and {counted(len(views) - 5, 'table')} more"] if len(views) > 5 else [])
        return [
            *shown,
            f"published with {counted(self.protected.decimals, 'decimal')}, hash {self.provenance.release_hash[:12]}",
            "confidential: internal, and all that the numbers were made from",
        ]

    def _preview(self) -> Preview | None:
        return protected_preview(self.protected)

    @property
    def gap(self) -> float:
        return self.adjustment.gap

    @property
    def protection_weakened(self) -> bool:
        return weakened(self.relaxations)

    def repairs_in_words(self) -> list[str]:
        """What gave, by labels and without amounts: for the one who ran the job, not for publication."""
        return in_words(self.relaxations, lambda cell: cell_labels(self.table, cell))
