"""What a report says of repairs: all of it, loudly, to the office; to readers the same words whether anything gave or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from statveil.audit.report import AuditReport
from statveil.publish.formats.numbers import grouped

if TYPE_CHECKING:
    from statveil.publish.release import Release

MOST_ROWS = 200
"""Repairs that the report shows; the file has them all."""
_PUBLIC_WORDS = {
    "protection": "Every cell that could tell too much about a respondent is moved as far as the office decided",
    "overshoot": "No such cell is moved further than the office decided",
    "bounds": "Every cell stays within the limits that the office decided",
    "frozen": "Every number that the office decided to keep is kept",
}
"""True with repairs and without, so that nothing tells which it was: what gives, and in which order, is the office's decision too."""


def public_checks(report: AuditReport) -> list[str]:
    """What was checked, in words that are the same for every release."""
    return [_PUBLIC_WORDS.get(check.name, check.words) for check in report.checks if check.name != "repairs"]


def repair_section(release: Release) -> dict[str, Any]:
    """What gave, by how much; confidential."""
    decimals = release.protected.decimals
    words = release.repairs_in_words()
    rows = [(where, grouped(each.by, decimals)) for where, each in zip(words, release.relaxations[:MOST_ROWS], strict=False)]
    return {"rows": rows, "all": len(words), "weakened": release.protection_weakened}
