"""Text as tau-ARGUS users have it: UTF-8 or Latin-1, line ends of any kind, tabs and quotes; every complaint names file and line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from statveil.core.errors import FormatError, InputError

_LINE_END = re.compile(r"\r*\n|\r")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_END_OF_FILE = "\x1a"  # DOS closed its text files with it


class ArgusFileTuning(NamedTuple):
    """What is refused as no such file. By judgement."""

    longest_line: int = 1 << 20
    largest_file: int = 1 << 26
    """Metadata, trees and tables beyond 64 MB are none."""


TUNING = ArgusFileTuning()


class ArgusLine(NamedTuple):
    """One line of a file, without its end."""

    file: str
    number: int
    text: str

    def fault(self, words: str, *, hint: str = "") -> FormatError:
        return FormatError(f"{self.file}, line {self.number}: {words}.", hint=hint)


def read_lines(path: Path) -> list[ArgusLine]:
    """All lines that are not blank, of a file that fits in memory."""
    if require(path).stat().st_size > TUNING.largest_file:
        raise FormatError(f"{path.name}, line 1: the file is larger than {TUNING.largest_file >> 20} MB.", hint="Is it the right file?")
    return list(lines_of(path.name, decoded(path.read_bytes())))


def lines_of(name: str, text: str, *, first: int = 1) -> Iterator[ArgusLine]:
    """The lines of a text that are not blank, numbered from `first`."""
    for number, content in enumerate(_LINE_END.split(text), start=first):
        line = ArgusLine(file=name, number=number, text=content.rstrip(_END_OF_FILE))
        check_text(line)
        if line.text.strip():
            yield line


def check_text(line: ArgusLine) -> None:
    if _CONTROL.search(line.text):
        raise line.fault("a byte that belongs in no text file", hint="Is the file damaged, or not a text file?")
    if len(line.text) > TUNING.longest_line:
        raise line.fault("the line is longer than a million characters", hint="Is the file damaged, or not a text file?")


def fits_line(text: str) -> bool:
    """Whether a text can stand in a line of a file that we read back."""
    return not _CONTROL.search(text) and not _LINE_END.search(text)


def decoded(content: bytes) -> str:
    """UTF-8, with or without its mark; else Latin-1 with the curly quotes of Windows."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:  # an editor may have put the mark of UTF-8 before a file that is none
        content = content.removeprefix(codecs.BOM_UTF8)
        return content.decode(single_byte(content))


def single_byte(content: bytes) -> str:
    """Of the encodings with one byte a character, the one that has all these."""
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


class Quoted(str):
    """A word that stood in quotation marks: never a tag, whatever it begins with."""

    __slots__ = ()


def words_of(line: ArgusLine) -> list[str]:
    """Words between blanks; quotation marks hold a word together, and are left out of it."""
    found: list[str] = []
    rest = line.text.replace("\t", " ").strip()
    while rest and not rest.startswith("//"):
        if rest.startswith('"'):
            word, closed, rest = rest[1:].partition('"')
            if not closed:
                raise line.fault("a quotation mark is not closed")
            word = Quoted(word)
        else:
            word, _, rest = rest.partition(" ")
        found.append(word)
        rest = rest.strip()
    return found


def whole(line: ArgusLine, word: str, what: str, *, least: int = 0, most: int = 10**6) -> int:
    """A whole number, digits only."""
    if not re.fullmatch(r"[0-9]{1,9}", word) or not least <= int(word) <= most:
        raise line.fault(f"{what} must be a whole number from {least} to {most}, not {word[:40]!r}")
    return int(word)


def require(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.", hint="Check the path.")
    return path


def find_file(written: str, folders: list[Path]) -> Path | None:
    """The file that a name in another file means: as it is written, else its last part in one of the folders, in whatever case."""
    if not written.strip() or "\0" in written:
        return None
    name = base_name(written)
    for folder in folders:
        for candidate in (folder / written, folder / written.replace("\\", "/"), folder / name):
            if _is_file(candidate):
                return candidate
        same = [entry for entry in _entries(folder) if entry.name.casefold() == name.casefold() and entry.is_file()]
        if len(same) == 1:
            return same[0]
    return None


def base_name(written: str) -> str:
    """The last part of a path of Windows or of another system."""
    return PureWindowsPath(written).name or written


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
