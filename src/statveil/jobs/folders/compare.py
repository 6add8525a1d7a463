"""A comparison as a folder, confidential and for its owner's eyes only: internal/compare.html, internal/compare.json, run.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from statveil.jobs.compare.compare import Comparison, compare
from statveil.jobs.compare.page import compare_html, compare_json
from statveil.jobs.staging import moved, staged, write_run, write_text
from statveil.jobs.table_job import TableJob
from statveil.version import VERSION


@dataclass(frozen=True, kw_only=True)
class FolderComparison:
    """A comparison and where its files are."""

    found: Comparison
    folder: Path
    files: Mapping[str, Path]


def compare_to_folder(job: TableJob, folder: Path, *, force: bool = False, **asked: Any) -> FolderComparison:
    """Compare, and write the page and the figures."""
    with staged(folder, force=force) as place:
        started = datetime.now(UTC)
        found = compare(job, **asked)
        (place / "internal").mkdir(mode=0o700)
        files = {
            "page": write_text(place / "internal" / "compare.html", compare_html(found)),
            "figures": write_text(place / "internal" / "compare.json", compare_json(found)),
        }
        files["run"] = write_run(place, started=started, seconds=found.seconds, software={"statveil": VERSION})
    return FolderComparison(found=found, folder=folder, files=moved(files, place, folder))
