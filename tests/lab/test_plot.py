"""Charts: well-formed, labelled, with round ticks around the data, and names beside the plot."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil_lab.plot import _axis, line_chart

SVG = "{http://www.w3.org/2000/svg}"


def words_of(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_title_labels_names_and_round_ticks_are_written() -> None:
    words = words_of(line_chart({"a": [(4, 3.0), (25, 14.0)], "b": [(4, 1.0)]}, title="Title", x_label="across", y_label="up"))
    assert {"Title", "across", "up", "a", "b"} <= set(words)
    assert [word for word in words if word in ("0", "5", "10", "15")][:4] == ["0", "5", "10", "15"]


def test_names_stand_in_the_order_in_which_the_lines_end() -> None:
    words = words_of(line_chart({"low": [(0, 9), (1, 1)], "high": [(0, 1), (1, 9)]}, title="", x_label="", y_label=""))
    drawn = ElementTree.fromstring(line_chart({"low": [(0, 9), (1, 1)], "high": [(0, 1), (1, 9)]}, title="", x_label="", y_label=""))
    height = {element.text: float(element.attrib["y"]) for element in drawn.iter(f"{SVG}text") if element.text in ("low", "high")}
    assert {"low", "high"} <= set(words)
    assert height["high"] < height["low"]


def test_no_line_reaches_the_names() -> None:
    drawn = ElementTree.fromstring(line_chart({"one": [(0, 1), (10, 2)], "two": [(0, 3), (10, 1)]}, title="", x_label="", y_label=""))
    names = min(float(element.attrib["x"]) for element in drawn.iter(f"{SVG}text") if element.text in ("one", "two"))
    lines = [element.attrib["points"].split() for element in drawn.iter(f"{SVG}polyline")]
    assert max(float(point.split(",")[0]) for line in lines for point in line) < names


def test_names_are_escaped() -> None:
    assert "<b>" in words_of(line_chart({"<b>": [(1, 1)]}, title="a & b", x_label="", y_label=""))


def test_more_series_than_colours_still_differ() -> None:
    svg = line_chart({str(number): [(0, number), (1, number)] for number in range(14)}, title="", x_label="", y_label="", marks=False)
    lines = list(ElementTree.fromstring(svg).iter(f"{SVG}polyline"))
    looks = {(line.attrib["stroke"], line.attrib.get("stroke-dasharray")) for line in lines}
    assert len(looks) == 14


@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=5), st.booleans())
def test_ticks_are_few_rising_and_around_the_values(values: list[float], log: bool) -> None:
    axis = _axis(values, 0.0, 100.0, log=log, wanted=6)
    ticks = [tick for tick, _ in axis.ticks]
    assert 1 <= len(ticks) <= 10
    assert ticks == sorted(set(ticks))
    assert all(-1e-6 <= axis.place(value) <= 100 + 1e-6 for value in values)


def test_ticks_of_a_logarithmic_axis_are_one_two_and_five() -> None:
    assert [words for _, words in _axis([0.03, 1.2], 0, 1, log=True, wanted=6).ticks] == ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]


@pytest.mark.parametrize(
    ("series", "logarithmic", "words"),
    [
        ({}, False, "at least one point"),
        ({"a": []}, False, "at least one point"),
        ({"a": [(1.0, float("inf"))]}, False, "finite"),
        ({"a": [(1.0, 0.0)]}, True, "positive"),
    ],
)
def test_what_cannot_be_drawn_is_refused(series: dict[str, list[tuple[float, float]]], logarithmic: bool, words: str) -> None:
    with pytest.raises(InputError, match=words):
        line_chart(series, title="", x_label="", y_label="", log_y=logarithmic)
