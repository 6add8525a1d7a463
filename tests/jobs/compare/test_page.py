"""The chart of the methods."""

from __future__ import annotations

import numpy as np

from statveil.jobs.compare.compare import Comparison
from statveil.jobs.compare.page import LABEL_GAP, PERCENT_HIGH, methods_chart
from tests.jobs.compare.stories import row


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
