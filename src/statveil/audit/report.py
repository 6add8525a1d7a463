"""What was checked, how often, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, kw_only=True)
class AuditReport:
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
