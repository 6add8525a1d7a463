"""Changes cell by cell: whole units, the sensitive ones first, no digit lost in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.report import changes
from statveil.publish.report.changes import measure
from statveil.publish.report.report import key_figures, report_html
from tests.publish.report.reports import page_data
from tests.publish.stories import MakeRelease


@pytest.mark.parametrize(("scale", "decimals", "total"), [(2, 1, "2"), (0, 0, "18"), (0, -3, "18,000")])
def test_total_change_is_in_whole_units(make_release: MakeRelease, scale: int, decimals: int, total: str) -> None:
    values, changes = {("a",): 50000, ("b",): 70000}, {("a",): 9, ("b",): -9}
    release = make_release({"r": Hierarchy.flat("ab")}, values, changes=changes, scale=scale, decimals=decimals)
    assert ("Changed", "2") in [figure[:2] for figure in key_figures(release, measure(release))]
    assert ("Total change", total) in [figure[:2] for figure in key_figures(release, measure(release))]


def test_long_comparisons_are_cut_with_sensitive_cells_first(village: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "TUNING", changes.TUNING._replace(rows=1))
    html = report_html(village, "internal")
    assert [row[6] for row in page_data(html)["compared"]["rows"]] == ["sensitive"]
    assert "The first 1 of 4 cells" in html


def test_numbers_a_browser_would_round_are_sent_as_text(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {("a",): 2**53 + 1})
    assert page_data(report_html(release, "external"))["slices"][0]["released"] == [str(2**53 + 1)] * 2
