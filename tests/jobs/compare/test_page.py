"""All methods on one page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from statveil.jobs.compare import methods
from statveil.jobs.compare.compare import Comparison
from statveil.jobs.compare.page import LABEL_GAP, PERCENT_HIGH, methods_chart
from statveil.jobs.folders.compare import compare_to_folder
from tests.jobs.compare.stories import row, village


@pytest.mark.slow
def test_all_methods_end_up_on_one_page(tmp_path: Path) -> None:
    outcome = compare_to_folder(village(tmp_path), tmp_path / "out")
    assert [each.name for each in outcome.found.rows] == list(methods.COMPARED)
    adjustment = outcome.found["adjustment"]
    assert adjustment.safe
    assert outcome.found.recommended in ("adjustment", "keep", "suppression")
    page = (tmp_path / "out" / "internal" / "compare.html").read_text(encoding="utf-8")
    assert outcome.found.reason in page.replace("&#39;", "'")
    assert "CONFIDENTIAL" in page
    figures = json.loads((tmp_path / "out" / "internal" / "compare.json").read_text(encoding="utf-8"))
    assert figures["recommended"] == outcome.found.recommended


def test_names_in_the_chart_lie_at_heights_of_their_own() -> None:
    """Three of the methods disclose nothing, one half of the cells, one all."""
    rows = (row("one", 0.05), row("two", 0.06), row("three", 0.4), row("four", 0.1, close=1), row("five", 0.1, close=2))
    found = Comparison(title="t", cells=9, sensitive=2, rows=rows, recommended="one", reason="", seconds=1.0, seed=0)
    points, *names = methods_chart(found)["layer"]
    assert points["mark"]["type"] == "point"
    shown = [each["data"]["values"][0] for each in names]
    heights = sorted(value["disclosed"] * PERCENT_HIGH - each["mark"]["dy"] for value, each in zip(shown, names, strict=True))
    assert [value["method"] for value in shown] == ["one", "two", "three", "four", "five"]
    assert min(np.diff(heights)) >= LABEL_GAP
