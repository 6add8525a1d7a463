"""Pages stand alone: data inside a script element cannot leave it, and nothing points to a file elsewhere."""

from __future__ import annotations

import json

import pytest
from jinja2 import UndefinedError

from statveil.core.limits import Ending
from statveil.publish.report.page import ENDINGS, VEGA, asset, json_for_page, render


def test_nothing_in_the_data_closes_the_script_element() -> None:
    content = {"code": "</script><script>alert(1)</script>", "mark": "\u2028&"}
    text = str(json_for_page(content))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == content


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_for_page([float("nan")])


def test_every_ending_has_its_words() -> None:
    assert set(ENDINGS) == set(Ending)


@pytest.mark.parametrize("name", VEGA)
def test_scripts_point_to_no_source_map(name: str) -> None:
    assert "sourceMappingURL" not in asset(f"static/{name}")


def test_a_page_that_lacks_a_value_is_not_written() -> None:
    with pytest.raises(UndefinedError):
        render("tradeoff.html", {})
