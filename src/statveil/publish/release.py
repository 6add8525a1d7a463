"""Only a `Release` can be published: an audited table that writes its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from statveil.audit.attacks.verdict import SuiteReport
from statveil.publish.audited import AuditedTable, Edition
from statveil.publish.formats.export import (
    write_csv,
    write_excel,
    write_json_stat,
    write_parquet,
    write_pc_axis,
    write_sdmx_csv,
    write_sdmx_ml,
)
from statveil.publish.formats.sdmx import SdmxCsvVersion
from statveil.publish.report.report import write_report


@dataclass(frozen=True, kw_only=True)
class Release(AuditedTable):
    """A protected table with the proof that it is safe, ready to be published; it cannot be made unless its audit passes.

    Each `to_...` writes one file a view. The internal edition also holds originals, statuses and reasons: it stays in the office.
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

    def to_report(self, path: str | Path, *, edition: Edition = "external", attacks: SuiteReport | None = None) -> Path:
        return write_report(self, Path(path), edition=edition, attacks=attacks)
