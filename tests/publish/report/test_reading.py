"""Every chart of a report has words beside it that say how it is read."""

from __future__ import annotations

import re

from statveil.publish.report.page import HERE
from statveil.publish.report.reading import HOW_TO_READ, how_to_read

CHART = re.compile(r'\bchart\("(\w+)"')


def test_every_chart_that_a_page_draws_says_how_it_is_read_and_nothing_else_does() -> None:
    named = {name for page in (HERE / "templates").glob("*.html") for name in CHART.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert named == set(HOW_TO_READ) - {"field"}


def test_charts_of_single_fields_share_their_words() -> None:
    assert how_to_read("field3") == HOW_TO_READ["field"]
    assert how_to_read("nothing") == ""
