"""Text as tau-ARGUS users have it: encodings, line ends, quotes, names of files from Windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import FormatError
from statveil.formats.argus.lines import ArgusLine, Quoted, base_name, decoded, find_file, fits_line, lines_of, read_lines, whole, words_of


def line(text: str) -> ArgusLine:
    return ArgusLine("x.arb", 1, text)


def test_line_ends_of_any_kind_and_the_end_mark_of_dos() -> None:
    assert [(each.number, each.text) for each in lines_of("x", "a\r\n\rb\r\r\nc\x1a")] == [(1, "a"), (3, "b"), (4, "c")]


@pytest.mark.parametrize(
    ("content", "text"),
    [("é".encode(), "é"), (b"\xef\xbb\xbf\xe9", "é"), (b"\x93a\x94", "“a”"), (b"\x81", "\x81")],
)
def test_utf_8_else_one_byte_a_character(content: bytes, text: str) -> None:
    assert decoded(content) == text


def test_words_between_blanks_and_in_quotation_marks() -> None:
    found = words_of(line('<A> "b c"\td // e'))
    assert found == ["<A>", "b c", "d"]
    assert isinstance(found[1], Quoted)
    with pytest.raises(FormatError, match=r"x\.arb, line 1: a quotation mark is not closed"):
        words_of(line('a "b'))


@pytest.mark.parametrize("word", ["", "-1", "1.0", "11", "1" * 12, "²"])
def test_whole_numbers_within_their_limits(word: str) -> None:
    assert whole(line(""), "10", "n", least=1, most=10) == 10
    with pytest.raises(FormatError, match="n must be a whole number from 1 to 10"):
        whole(line(""), word, "n", least=1, most=10)


def test_bytes_of_no_text_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.arb").write_bytes(b"a\n\0b\n")
    with pytest.raises(FormatError, match=r"x\.arb, line 2: a byte that belongs in no text file"):
        read_lines(tmp_path / "x.arb")
    assert not fits_line("a\nb")
    assert fits_line("a b")


def test_a_file_is_found_by_its_last_part_in_whatever_case(tmp_path: Path) -> None:
    (tmp_path / "Data.ASC").write_text("1")
    assert find_file(r"C:\work\data.asc", [tmp_path]) == tmp_path / "Data.ASC"
    assert find_file("other.asc", [tmp_path]) is None
    assert find_file(" ", [tmp_path]) is None
    (tmp_path / "DATA.asc").write_text("2")
    assert find_file("data.asc", [tmp_path]) is None  # two that it may mean
    assert base_name("a/b.rda") == "b.rda"
