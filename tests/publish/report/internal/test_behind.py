"""From a figure to the cells behind it, in the data of the page and in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from statveil.audit.attacks.verdict import SuiteReport, Threat, judged
from statveil.data.hierarchy import Hierarchy
from statveil.publish.report.attacks import write_attack_report
from statveil.publish.report.changes import measure
from statveil.publish.report.internal import behind
from statveil.publish.report.internal.behind import cells_behind
from statveil.publish.report.report import report_html
from statveil.publish.utility import utility
from tests.desk.conftest import BROKEN_NUMBERS

OVERLAPS = """() => [...document.querySelectorAll('.chart .role-axis-label')].flatMap(group => {
  const shown = [...group.querySelectorAll('text')].filter(each => each.getAttribute('opacity') !== '0');
  const boxes = shown.map(each => [each.textContent, each.getBoundingClientRect()]);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  return boxes.flatMap(([one, a], place) =>
    boxes.slice(place + 1).filter(([, b]) => !apart(a, b)).map(([other]) => one + ' on ' + other)); })"""
"""Labels of an axis that lie on one another."""
ON_EACH_OTHER = """() => [...document.querySelectorAll('.pair')].flatMap(pair => {
  const boxes = [...pair.querySelectorAll(':scope > figure > table')].map(each => each.getBoundingClientRect());
  return boxes.flatMap((a, place) => boxes.slice(place + 1)
    .filter(b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(b => `${a.right} on ${b.left}`)); })"""
"""Tables side by side of which one lies on the other."""
CUT = """() => [...document.querySelectorAll('#chart-sizes, #chart-measures')].flatMap(chart => {
  const frame = chart.querySelector('.background').getBoundingClientRect();
  return [...chart.querySelectorAll('.role-mark .mark-symbol path, .mark-symbol.role-mark path')].map(each => each.getBoundingClientRect())
    .filter(dot => dot.top < frame.top || dot.bottom > frame.bottom || dot.left < frame.left || dot.right > frame.right)
    .map(dot => `${chart.id}: ${dot.left - frame.left} ${dot.top - frame.top}`); })"""
"""Points that the edge of their chart cuts."""
BEYOND = """() => [...document.querySelectorAll('.chart')].flatMap(chart => [...chart.querySelectorAll('.role-legend-label text')]
  .filter(each => each.getBoundingClientRect().right > chart.getBoundingClientRect().right + 1).map(each => each.textContent))"""
"""Words of legends that are wider than their chart."""
SPILLED = """() => [...document.querySelectorAll('.figures dd')].filter(each => each.scrollWidth > each.clientWidth + 1)
  .map(each => each.textContent)"""
"""Figures of the summary that are wider than their place."""


def test_every_row_of_statistics_has_its_cells(village: Any) -> None:
    found = cells_behind(village, measure(village), utility(village))
    assert found["columns"] == ["region", "trade"]
    (cell,) = found["sets"]["sensitive cells"]["cells"]
    assert found["cells"][cell] == ["Urk", "vet", "777,123", "999,000", "+221,877", "28.6%", "sensitive"]
    assert found["sets"]["fewer than 3 respondents"] == {"all": 1, "cells": [cell]}
    assert found["sets"]["all cells"]["all"] == 9
    assert found["sets"]["adjusted to keep totals"]["all"] == 3


def test_of_many_cells_those_that_moved_most_are_shown(village: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "TUNING", behind.BehindTuning(cells=2))
    shown = cells_behind(village, measure(village), utility(village))["sets"]["all cells"]
    assert shown["all"] == 9
    assert len(shown["cells"]) == 2


def test_no_cell_is_behind_the_external_edition(village: Any) -> None:
    assert "data-behind=" not in report_html(village, "external")
    assert 'data-behind="sensitive cells"' in report_html(village, "internal")


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "pieces"), [(1, 3), (1_000, 4)])
def test_a_click_opens_the_cells_and_nothing_is_clipped_on_paper(make_release: Any, tmp_path: Path, unit: int, pieces: int) -> None:
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("no chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    codes = [f"place {number:02}" for number in range(30)]
    trees = {"place": Hierarchy.flat(codes), "other": Hierarchy.flat([f"part {code}" for code in codes])}
    values = {(code, f"part {other}"): (1_000_000 + 37 * number) * unit for number, code in enumerate(codes) for other in codes}
    release = make_release(trees, values, changes={(codes[0], f"part {codes[0]}"): 50_000 * unit}, sensitive=(1_000_000 * unit,))
    page_file = tmp_path / "report.html"
    page_file.write_text(report_html(release, "internal"), encoding="utf-8")
    attacks = tmp_path / "attacks.html"
    long_name = "sums over codes of a filter inside the interval of their records"
    verdict = judged(Threat(id="T01", name="one", does="Reads.", mark="0"), passed=True, number="0", figures={long_name: 110_625})
    write_attack_report(SuiteReport(target="village", verdicts=(verdict,), facts={}), attacks)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"], timeout=300_000)
        page = browser.new_page(viewport={"width": 1009, "height": 700})  # the text width of a landscape sheet
        page.set_default_timeout(300_000)
        page.goto(page_file.as_uri())
        page.wait_for_selector("#chart-distribution svg")
        assert page.evaluate(OVERLAPS) == []
        assert page.locator("#chart-sizes .mark-symbol path").count() > 30
        assert page.evaluate(CUT) == []
        assert page.locator("details.how").count() == page.locator(".chart").count(), "each chart says how it is read"
        page.locator('tr[data-behind="sensitive cells"] .opener').first.press("Enter")
        assert page.locator("tr.behind tbody tr").count() == 30
        page.set_viewport_size({"width": 1000, "height": 700})
        page.locator('.pair tr[data-behind="sensitive"] .opener').first.press("Enter")
        assert page.evaluate(ON_EACH_OTHER) == []
        page.locator('.pair tr[data-behind="sensitive"] .opener').first.press("Enter")
        page.set_viewport_size({"width": 1009, "height": 700})
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.locator("table.grid").count() == pieces
        beyond = "() => [...document.querySelectorAll('table')].filter(each => each.getBoundingClientRect().right > innerWidth + 1).length"
        assert page.evaluate(beyond) == 0
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.locator("table.grid").count() == 1
        page.set_viewport_size({"width": 390, "height": 860})
        page.goto(page_file.as_uri())
        page.wait_for_selector("#chart-sizes svg")
        assert [*page.evaluate(OVERLAPS), *page.evaluate(CUT), *page.evaluate(BEYOND)] == []
        for address in (page_file, attacks):
            page.goto(address.as_uri())
            for width, media in ((1280, "screen"), (390, "screen"), (718, "print"), (1009, "print")):
                page.emulate_media(media=media)
                page.set_viewport_size({"width": width, "height": 860})
                assert page.evaluate(BROKEN_NUMBERS) == [], (address.name, width, media)
                assert page.evaluate(SPILLED) == [], (address.name, width, media)
        browser.close()
