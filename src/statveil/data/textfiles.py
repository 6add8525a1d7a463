"""What a text file does not say about itself: its encoding and its delimiter."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from statveil.core.errors import FormatError, InputError

DELIMITERS = (";", ",", "\t", "|")


class TextFileTuning(NamedTuple):
    """How a text file is looked through. By judgement."""

    sample: int = 50
    """Records by which the delimiter is told."""
    piece: int = 1 << 22
    """Bytes or characters at a time."""


TUNING = TextFileTuning()


def require_file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.", hint="Check the path.")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty.", hint="It needs at least one line with the names of the columns.")
    return path


def settle_encoding(path: Path, given: str | None = None) -> str:
    """The encoding asked for, or the first that fits every byte: UTF-8, else cp1252 (Latin-1 and its curly quotes)."""
    candidates = [_known_encoding(given)] if given else _likely_encodings(path)
    for encoding in candidates:
        fault = _first_fault(path, encoding)
        if fault is None:
            return encoding
    raise FormatError(f"{path}, byte {fault}: not text in {encoding}.", hint="Name the right encoding, or save the file as UTF-8.")


def _known_encoding(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except LookupError:
        raise InputError(
            f"Unknown encoding {name!r}.", hint="Known: 'utf-8', 'latin-1', 'cp1252' and whatever else Python knows."
        ) from None
    return "utf-8-sig" if known == "utf-8" else known


def _likely_encodings(path: Path) -> list[str]:
    with path.open("rb") as file:
        mark = file.read(2)
    return ["utf-16"] if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ["utf-8-sig", "cp1252"]


def _first_fault(path: Path, encoding: str) -> int | None:
    """Where the bytes stop making sense in that encoding (to within a chunk's decoding), or None."""
    decoder = codecs.getincrementaldecoder(encoding)()
    read = 0
    with path.open("rb") as file:
        while chunk := file.read(TUNING.piece):
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return read + error.start
            if "\0" in text:
                return read + text.index("\0")
            read += len(chunk)
    return None if _ends_whole(decoder) else read


def _ends_whole(decoder: codecs.IncrementalDecoder) -> bool:
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def transcode(path: Path, encoding: str, target: IO[bytes]) -> None:
    """Copy the file as UTF-8, line ends untouched."""
    with path.open("r", encoding=encoding, newline="") as source:
        while chunk := source.read(TUNING.piece):
            target.write(chunk.encode("utf-8"))
    target.flush()


def sniff_delimiter(path: Path, encoding: str) -> str:
    """The delimiter that cuts all of the first records into equally many fields, and into most of them."""
    return max(DELIMITERS, key=lambda delimiter: _agreement(path, encoding, delimiter))


def _agreement(path: Path, encoding: str, delimiter: str) -> tuple[bool, int]:
    widths = [len(fields) for _, fields in islice(records_of(path, encoding, delimiter), TUNING.sample)]
    header = widths[0] if widths else 1
    return header > 1 and len(set(widths)) == 1, header


def records_of(path: Path, encoding: str, delimiter: str, *, blank: bool = False) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, fields) of every record; of a blank line only if asked."""
    with path.open("r", encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            line = 1
            for fields in reader:
                if fields or blank:
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error:
            raise FormatError(
                f"{path}, line {reader.line_num}: not a record of a CSV file.", hint="Look for a stray quotation mark."
            ) from None
