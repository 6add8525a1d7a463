"""Results show themselves in ten lines at most, and safely in HTML."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from statveil.core.show import MOST_LINES, OnlyWhatIsSet, Preview, ShortDisplay, counted


class Long(ShortDisplay):
    def _headline(self) -> str:
        return "Long <b>"

    def _facts(self) -> list[str]:
        return [f"fact {place}" for place in range(30)]

    def _preview(self) -> Preview:
        return Preview(["a&b"], [["<script>"]], 3)


class Bare(ShortDisplay):
    def _headline(self) -> str:
        return "Bare"


def test_ten_lines_at_most() -> None:
    lines = repr(Long()).splitlines()
    assert len(lines) == MOST_LINES == 10
    assert lines[-1] == "  and 22 more lines"


def test_words_of_the_data_are_no_html() -> None:
    page = Long()._repr_html_()
    assert "Long &lt;b&gt;" in page
    assert "<td>&lt;script&gt;</td>" in page
    assert "<th>a&amp;b</th>" in page
    assert "and 2 rows more" in page


def test_nothing_to_tell_is_a_line() -> None:
    assert repr(Bare()) == "Bare"
    assert Bare()._repr_html_() == "<div><strong>Bare</strong></div>"
    with pytest.raises(NotImplementedError):
        repr(ShortDisplay())


def test_one_is_no_plural() -> None:
    assert (counted(1, "cell"), counted(0, "cell"), counted(1234, "cell")) == ("1 cell", "0 cells", "1,234 cells")


@dataclass(repr=False)
class Settings(OnlyWhatIsSet):
    name: str
    size: int = 3
    words: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False)


def test_settings_show_what_was_set() -> None:
    assert repr(Settings("a")) == "Settings(name='a')"
    assert repr(Settings("a", size=4, words=["b"], secret="c")) == "Settings(name='a', size=4, words=['b'])"
