"""The public report is read back: its data once, one number for each position, no table that no report has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError
from statveil.publish.read_back.report_page import ReportPage, read_report
from statveil.publish.report.report import report_html


@pytest.fixture
def page(village: Any) -> str:
    return report_html(village, "external")


def read(village: Any, page: str, folder: Path) -> ReportPage:
    (folder / "report.html").write_text(page, encoding="utf-8")
    return read_report(folder / "report.html", village.protected.views, village.protected.decimals)


def test_what_was_written_is_read(village: Any, page: str, tmp_path: Path) -> None:
    found = read(village, page, tmp_path)
    assert found.faults == ()
    assert [shown.faults for shown in found.shown] == [()]
    assert found.statistics


def test_a_page_that_holds_its_data_twice_or_not_at_all_is_none_of_ours(village: Any, page: str, tmp_path: Path) -> None:
    start = page.index('<script type="application/json"')
    data = page[start : page.index("</script>", start) + len("</script>")]
    for wrong in (page.replace(data, ""), page.replace(data, data + data)):
        with pytest.raises(FormatError):
            read(village, wrong, tmp_path)


def test_a_table_that_no_report_has_is_found(village: Any, page: str, tmp_path: Path) -> None:
    more = page.replace("</body>", "<table><tr><td>The vet of Urk</td><td>9</td></tr></table></body>")
    assert read(village, more, tmp_path).faults == ("it has a table that no report has",)


def test_another_name_of_a_view_is_found(village: Any, page: str, tmp_path: Path) -> None:
    name = village.protected.views[0].name
    (shown,) = read(
        village, page.replace(f'"name":"{name}"', '"name":"other"', 1).replace(f'"name": "{name}"', '"name": "other"', 1), tmp_path
    ).shown
    assert "another name" in shown.faults[0]
