"""Public PC-Axis files read back: keywords, then all numbers in the order of the codes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from statveil.publish.read_back.shown import Labelled, ShownTable, check_size, not_ours, nothing_shown, shown_grid
from statveil.tables.spec import Dimension
from statveil.tables.table import View

_ENTRY = re.compile(r'\s*([A-Z-]++)(?:\("([^"]*+)"\))?=((?:"[^"]*+"|[^";]++)*+);')
_WORD = re.compile(r'"([^"]*+)"')
_LIST = re.compile(r'\s*"[^"]*+"(?:\s*,\s*"[^"]*+")*+\s*')
_PLAIN = frozenset(["CHARSET", "AXIS-VERSION", "CODEPAGE", "LANGUAGE", "DECIMALS", "SHOWDECIMALS", "MATRIX", "SUBJECT-CODE", "SUBJECT-AREA",
                    "TITLE", "CONTENTS", "UNITS", "SOURCE", "STUB", "HEADING", "DATA"])  # fmt: skip
_OF_DIMENSION = frozenset(["VALUES", "CODES", "HIERARCHIES"])
_NOT_APPLICABLE = '"."'

Entries = Mapping[tuple[str, str], str]


def read_pc_axis(path: Path, view: View, decimals: int) -> ShownTable:
    """The file of a view: stub and heading are its dimensions, in their order."""
    entries = _entries(path)
    try:
        names = [*_words(entries.get(("STUB", ""), "")), *_words(entries["HEADING", ""])]
        if names != [_plain(dimension.name) for dimension in view.dimensions]:
            return nothing_shown(view, "the dimensions are not the table's")
        codes = [_codes(entries, dimension) for dimension in view.dimensions]
        numbers = entries["DATA", ""].split()
        if len(numbers) != math.prod(len(each) for each in codes):
            return nothing_shown(view, "it has not one number for each position")
        [source] = _words(entries["SOURCE", ""])
        return shown_grid(
            codes,
            [None if word == _NOT_APPLICABLE else word for word in numbers],
            labels=tuple(_called(entries, dimension, own) for dimension, own in zip(view.dimensions, codes, strict=True)),
            release=source,
            faults=tuple(_frame_faults(entries, view, decimals)),
        )
    except (KeyError, ValueError):
        raise not_ours(path, "a PC-Axis file") from None


def _entries(path: Path) -> Entries:
    """What each keyword says, by keyword and dimension; one that is there twice has two meanings, so it is refused."""
    try:
        text = check_size(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise not_ours(path, "a PC-Axis file") from None
    entries: dict[tuple[str, str], str] = {}
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _ENTRY.match(text, at)
        if found is None or (found[1], found[2] or "") in entries:
            raise not_ours(path, "a PC-Axis file")
        entries[found[1], found[2] or ""] = found[3]
        at = found.end()
    return entries


def _words(text: str) -> list[str]:
    if text and not _LIST.fullmatch(text):
        raise ValueError
    return _WORD.findall(text)


def _plain(word: str) -> str:
    """A text as such a file can hold it: quotation marks and breaks have no place in it."""
    return word.translate({ord('"'): "'", ord("\n"): " ", ord("\r"): " "})


def _codes(entries: Entries, dimension: Dimension) -> list[str]:
    """The codes listed: each is the dimension's own where it is written there as the file can write it."""
    listed = _words(entries["CODES", _plain(dimension.name)])
    own = dict(enumerate(dimension.codes))
    return [own[place] if place in own and word == _plain(own[place]) else word for place, word in enumerate(listed)]


def _called(entries: Entries, dimension: Dimension, codes: Sequence[str]) -> Labelled:
    """(code, label): a label that several codes share has its code behind it."""
    count = Counter(dimension.label(code) for code in dimension.codes)
    listed = _words(entries["VALUES", _plain(dimension.name)])
    pairs = []
    for code, word in zip(codes, listed, strict=True):
        label = dimension.label(code)
        written = _plain(label if count[label] == 1 else f"{label} ({code})")
        pairs.append((code, label if word == written else word))
    return frozenset(pairs)


def _frame_faults(entries: Entries, view: View, decimals: int) -> list[str]:
    places = str(max(decimals, 0))
    names = {_plain(dimension.name) for dimension in view.dimensions}
    known = {(key, "") for key in _PLAIN} | {(key, name) for key in _OF_DIMENSION for name in names}
    wrong = {
        "it tells other decimals": {entries["DECIMALS", ""], entries["SHOWDECIMALS", ""]} != {places},
        "it has another name": _words(entries["CONTENTS", ""]) != [_plain(view.name)],
        "it is written in other letters": _words(entries["CODEPAGE", ""]) != ["utf-8"],
        "it has keywords that a release does not write": not set(entries) <= known,
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]
