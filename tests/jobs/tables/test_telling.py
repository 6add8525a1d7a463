"""What is told while the work goes on."""

from __future__ import annotations

import statveil as sv
from tests.jobs.tables.stories import FIVE, protect, table


def test_progress_is_told_stage_by_stage() -> None:
    stages: list[str] = []
    protect(FIVE, table("area", "trade"), sv.PPercent(10), on_progress=lambda progress: stages.append(progress.stage))
    assert stages[:2] == ["tabulating", "assessing"]
    assert stages[-1] == "audited"
