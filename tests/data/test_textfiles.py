"""Encodings and delimiters that a file does not tell."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest

from statveil.core.errors import FormatError, InputError
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter, transcode


def written(folder: Path, content: bytes) -> Path:
    path = folder / "x.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("à;b\n".encode(), "utf-8-sig"),
        (codecs.BOM_UTF8 + b"a;b\n", "utf-8-sig"),
        ("à;€\n".encode("cp1252"), "cp1252"),
        ("a;b\n".encode("utf-16"), "utf-16"),
    ],
)
def test_the_encoding_that_fits_every_byte(tmp_path: Path, content: bytes, encoding: str) -> None:
    assert settle_encoding(written(tmp_path, content)) == encoding


@pytest.mark.parametrize(("content", "place"), [(b"a;b\nc;\0d\n", 6), (b"abc\xe2\x82", 5)])
def test_an_encoding_that_does_not_fit_is_refused_with_the_byte(tmp_path: Path, content: bytes, place: int) -> None:
    with pytest.raises(FormatError, match=f"byte {place}: not text in utf-8"):
        settle_encoding(written(tmp_path, content), "utf-8")


def test_an_encoding_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown encoding 'ebcdic-9'"):
        settle_encoding(written(tmp_path, b"a\n"), "ebcdic-9")


def test_no_file_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        require_file(tmp_path / "none.csv")
    with pytest.raises(FormatError, match="is empty"):
        require_file(written(tmp_path, b""))


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_the_delimiter_cuts_all_records_alike(tmp_path: Path, delimiter: str) -> None:
    text = "name|v,w;x".replace("|", delimiter) if delimiter == "|" else f"name{delimiter}v"
    rows = "\n".join([text, *(f'"a{delimiter}b"{delimiter}{number}' for number in range(3))])
    assert sniff_delimiter(written(tmp_path, rows.encode()), "utf-8-sig") == delimiter


def test_records_are_told_by_their_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, b'a,b\n"1\n2",3\n\n4,5\n')
    assert list(records_of(path, "utf-8", ",")) == [(1, ["a", "b"]), (2, ["1\n2", "3"]), (5, ["4", "5"])]
    assert (4, []) in list(records_of(path, "utf-8", ",", blank=True))


def test_a_copy_is_utf_8_with_the_same_line_ends(tmp_path: Path) -> None:
    target = io.BytesIO()
    transcode(written(tmp_path, "à\r\nb\n".encode("cp1252")), "cp1252", target)
    assert target.getvalue() == "à\r\nb\n".encode()
