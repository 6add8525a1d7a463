"""The gate for files: an audited file exists only if the independent audit of the written file passed. The report is in report/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from statveil.audit.attacks.file_attacks import FileAttack
from statveil.audit.report import AuditReport
from statveil.core.errors import AuditFailed
from statveil.core.show import ShortDisplay, counted
from statveil.data.microdata import Microdata
from statveil.records.perturb.perturb import PerturbedRecords
from statveil.records.plan import FilePlan


@dataclass(frozen=True)
class EarlierReleases:
    """Safe files of the same records that are out already.

    files: where they lie. waiver: why a value may all the same be blank in one and open in the other; it is written into the certificate.

    >>> EarlierReleases(["people-2025.csv"]).waiver is None
    True
    """

    files: Sequence[str | Path]
    waiver: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditedFile(ShortDisplay):
    """A safe file that lies at `path`, with the audit that it passed. The plan is confidential and never shows up in `repr`."""

    path: Path
    file_hash: str
    audit: AuditReport
    unsafe: Mapping[str, int | None]
    """Records of the released file in unsafe combinations under each of the three meanings of a blank; each record once."""
    attacks: tuple[FileAttack, ...] = field(repr=False)
    """What somebody who knows the method could still find out, in figures with their limits (M03 to M05)."""
    plan: FilePlan = field(repr=False)
    data: Microdata = field(repr=False)
    dropped: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    """Columns whose diversity within classes the report tells."""
    earlier: Sequence[str] = ()
    """Releases of the same records that this one was compared with."""
    waiver: str | None = None
    key: str | None = field(default=None, repr=False)
    """The secret of the shuffle, as it was given."""
    perturbed: PerturbedRecords | None = field(default=None, repr=False)
    """The records with perturbed columns, where some were; `data` are then those."""
    job: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.audit.passed:
            raise AuditFailed("The independent audit found faults; nothing is released.", hint=str(self.audit))

    def _headline(self) -> str:
        return f"{type(self).__name__}: {self.path.name}, audit passed ({counted(len(self.audit.checks), 'check')})"

    def _facts(self) -> list[str]:
        """Only what a reader of the file can see, and where the rest is."""
        blanks = ", ".join(f"{name} {number:,}" for name, number in self.plan.suppression.blanks.items() if number) or "none"
        return [
            f"{counted(self.plan.coded.records, 'record')}, blanks: {blanks}",
            f"SHA-256 {self.file_hash[:12]}",
            "confidential: plan, data, attacks, key, internal, certificate(), to_mapping and to_report",
        ]
