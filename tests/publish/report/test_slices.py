"""Views too large for a page are cut, and the page says so."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.report import slices
from statveil.publish.report.report import report_html
from tests.publish.report.reports import page_data
from tests.publish.stories import MakeRelease


def test_linked_views_are_named_in_the_comparison(village: Any) -> None:
    views = (village.protected.views[0], dataclasses.replace(village.protected.views[0], name="again"))
    village.protected = dataclasses.replace(village.protected, views=views)
    village.table = dataclasses.replace(village.table, views=views)
    data = page_data(report_html(village, "internal"))
    assert [view["name"] for view in data["slices"]] == ["turnover", "again"]
    assert data["compared"]["columns"] == ["table", "cell"]
    assert data["compared"]["rows"][0][:2] == ["turnover", "Urk · vet"]


def test_a_long_dimension_is_cut_and_the_report_says_so(make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "TUNING", slices.TUNING._replace(codes=3))
    release = make_release({"r": Hierarchy.flat("abcd")}, {("a",): 1, ("b",): 40, ("c",): 3, ("d",): 20})
    html = report_html(release, "external")
    assert page_data(html)["slices"][0]["dimensions"][0]["codes"] == ["Total", "b", "d"]
    assert page_data(html)["slices"][0]["released"] == [64, 40, 20]
    assert "3 of the 5 codes of r are shown" in html


def test_positions_are_capped_over_all_dimensions(make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "TUNING", slices.TUNING._replace(positions=10))
    release = make_release({"r": Hierarchy.flat("abcd"), "s": Hierarchy.flat("xyz")}, {("a", "x"): 1})
    assert len(slices.released_slice(release, release.protected.views[0])["released"]) <= 10
