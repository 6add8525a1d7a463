"""What was checked, how often, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from statveil.core.show import FrameExports, Preview, ShortDisplay, counted

if TYPE_CHECKING:
    import pyarrow as pa

FINDINGS_SHOWN = 10
"""Findings written out per check; all are counted."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One kind of check: `checked` times done, `findings` in words (labels, never confidential values).

    name: one word for it. words: what must hold. faults: how often it does not.

    >>> Check(name="sums", words="Every total is the sum of its parts", checked=4, faults=1, findings=("region = A",)).passed
    False
    """

    name: str
    words: str
    checked: int
    faults: int
    findings: tuple[str, ...] = ()
    """The first few faults; `faults` counts them all."""

    @property
    def passed(self) -> bool:
        return self.faults == 0


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditReport(ShortDisplay, FrameExports):
    """Everything that was checked, and whether all of it is as it must be.

    checks: one of each kind.

    >>> AuditReport(checks=(Check(name="sums", words="Every total is the sum of its parts", checked=4, faults=0),)).passed
    True
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    def __str__(self) -> str:
        lines = [
            f"{'passed' if check.passed else 'FAILED'}  {check.words}: {check.checked} checked, {check.faults} faults"
            for check in self.checks
        ]
        return "\n".join(lines)

    def to_arrow(self) -> pa.Table:
        """A row a check: name, words, checked, faults and the first findings in words."""
        import pyarrow as pa

        columns = {name: [getattr(check, name) for check in self.checks] for name in ("name", "words", "passed", "checked", "faults")}
        return pa.table({**columns, "findings": pa.array(["; ".join(check.findings) for check in self.checks], pa.string())})

    def _headline(self) -> str:
        done, faults = sum(check.checked for check in self.checks), sum(check.faults for check in self.checks)
        found = counted(faults, "fault") if faults else "no faults"
        verdict = "passed" if self.passed else "FAILED"
        return f"AuditReport: {verdict}, {counted(len(self.checks), 'check')}, {done:,} times done, {found}"

    def _facts(self) -> Iterator[str]:
        yield from (f"FAILED {check.words}: {counted(check.faults, 'fault')}" for check in self.checks if not check.passed)

    def _preview(self) -> Preview:
        rows = [["passed" if each.passed else "FAILED", each.words, f"{each.checked:,}", f"{each.faults:,}"] for each in self.checks]
        return Preview(["", "what must hold", "checked", "faults"], rows, len(rows))
