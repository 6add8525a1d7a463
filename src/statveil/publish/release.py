"""Only a `Release` can be published: an audited table that writes its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from statveil.audit.attacks.verdict import SuiteReport
from statveil.core.show import CONFIDENTIAL, ViewFrameExports
from statveil.core.show.frames import whole_numbers
from statveil.publish.audited import AuditedTable, Edition
from statveil.publish.formats.export import (
    arrow_table,
    write_csv,
    write_excel,
    write_json_stat,
    write_parquet,
    write_pc_axis,
    write_sdmx_csv,
    write_sdmx_ml,
)
from statveil.publish.formats.frames import frame
from statveil.publish.formats.sdmx import SdmxCsvVersion
from statveil.publish.report.internal.methods import MethodsSection
from statveil.publish.report.notebook import NotebookChart, release_chart
from statveil.publish.report.report import write_report
from statveil.tables.shown.frames import choose_view


class InternalEdition(ViewFrameExports):
    """All that a release knows of its cells, as frames: originals, changes, statuses, reasons, levels. Confidential."""

    def __init__(self, release: AuditedTable) -> None:
        self._release = release

    def __repr__(self) -> str:
        return "InternalEdition (confidential): original, adjusted, change, status, reasons, levels and sense of every cell"

    def to_arrow(self, view: str | None = None) -> pa.Table:
        """The columns of the internal CSV file. Confidential."""
        chosen = choose_view(self._release.protected.views, view)
        return whole_numbers(arrow_table(frame(self._release, chosen, "internal"), CONFIDENTIAL))


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(AuditedTable):
    """A protected table with the proof that it is safe, ready to be published; it cannot be made unless its audit passes.

    Each `to_...` with a path writes one file a view; `to_pandas`, `to_polars` and `to_arrow` give the public numbers as a frame.
    The internal edition also holds originals, statuses and reasons: it stays in the office.
    protected: the numbers to publish. adjustment: how they were found. provenance: from what, by what.
    table, sensitivity, requirements, relaxations: what was protected, what in it is sensitive, what was asked, what gave. Confidential.
    job: the job that repeats it. `protect_table` makes one.

    >>> import pyarrow as pa, statveil as sv
    >>> spec = sv.TableSpec(dimensions={"area": None}, measure="sales")
    >>> release = sv.protect_table(pa.table({"area": list("ppq"), "sales": [7, 3, 50]}), spec, rules=[sv.MinimumFrequency(2)])
    >>> total, *parts = release.protected.value.tolist()
    >>> total == sum(parts)
    True
    """

    @property
    def internal(self) -> InternalEdition:
        """The internal edition, for `internal.to_pandas()` and the like. Confidential."""
        return InternalEdition(self)

    def chart(self, name: str = "values") -> NotebookChart:
        """A chart for a notebook: the public `values`; or confidential, and titled so, `changes`, `shares`, `levels`, `balance`,
        `amounts` (what the protection did to the cells) and `search` (how the table was found)."""
        return release_chart(self, name)

    def to_csv(self, path: str | Path, *, edition: Edition = "external") -> list[Path]:
        return write_csv(self, Path(path), edition=edition)

    def to_parquet(self, path: str | Path, *, edition: Edition = "external") -> list[Path]:
        return write_parquet(self, Path(path), edition=edition)

    def to_excel(self, path: str | Path, *, edition: Edition = "external") -> list[Path]:
        return write_excel(self, Path(path), edition=edition)

    def to_json_stat(self, path: str | Path) -> list[Path]:
        return write_json_stat(self, Path(path))

    def to_sdmx_csv(self, path: str | Path, *, version: SdmxCsvVersion = "2.0") -> list[Path]:
        return write_sdmx_csv(self, Path(path), version=version)

    def to_sdmx_ml(self, path: str | Path) -> list[Path]:
        return write_sdmx_ml(self, Path(path))

    def to_pc_axis(self, path: str | Path) -> list[Path]:
        return write_pc_axis(self, Path(path))

    def to_report(
        self,
        path: str | Path,
        *,
        edition: Edition = "external",
        attacks: SuiteReport | None = None,
        methods: MethodsSection | None = None,
    ) -> Path:
        return write_report(self, Path(path), edition=edition, attacks=attacks, methods=methods)
