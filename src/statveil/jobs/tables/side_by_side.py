"""Two release folders of the same table on one confidential page."""

from __future__ import annotations

from pathlib import Path

from statveil.jobs.attack_targets import read_release
from statveil.publish.report.internal.side_by_side import write_side_by_side


def compare_folders(one: Path, other: Path, page: Path) -> Path:
    """Tabulate the records anew, read both folders' public numbers, and write the page."""
    return write_side_by_side(read_release(one), read_release(other), page)
