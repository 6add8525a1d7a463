"""The public report read back: the table that its script draws, and the tables that it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from statveil.publish.read_back.shown import Digits, ShownTable, check_size, exact_json, in_decimals, not_ours, nothing_shown, shown_grid
from statveil.tables.spec import Dimension
from statveil.tables.table import View

Printed = tuple[tuple[str, ...], ...]
_SLICE = {"name", "decimals", "dimensions", "rows", "columns", "released"}
_DIMENSION = {"name", "codes", "labels", "depth", "all"}
_HASH = "Hash of the released numbers"


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """What the page shows of each view, and the tables of statistics that it prints, row by row."""

    shown: tuple[ShownTable, ...]
    statistics: tuple[Printed, ...]
    faults: tuple[str, ...]


def read_report(path: Path, views: Sequence[View], decimals: int) -> ReportPage:
    """The page's data and its printed tables; one that holds its data twice, or not at all, is none of ours."""
    page = _Page()
    try:
        page.feed(check_size(path).read_bytes().decode("utf-8"))
        page.close()
        [data] = page.data
        slices = exact_json(data, path)["slices"]
        shown = tuple(_shown(each, view, decimals, page) for each, view in zip(slices, views, strict=True))
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
        raise not_ours(path, "a report") from None
    return ReportPage(shown=shown, statistics=tuple(page.statistics), faults=page.faults())


class _Page(HTMLParser):
    """The scripts that hold data, the notes, and every table with the section that it stands in."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.data: list[str] = []
        self.notes: list[str] = []
        self.statistics: list[Printed] = []
        self.others: list[tuple[str, Printed]] = []
        self._section, self._table_id = "", ""
        self._table: list[list[str]] = []
        self._words: dict[str, list[str]] = {}
        """What is being heard, by the tag that will end it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "section":
            self._section = told.get("id", "")
        elif tag == "table":
            self._table, self._table_id = [], told.get("id", "")
        elif tag == "tr":
            self._table.append([])
        elif tag in ("td", "th") or (tag, told.get("id")) == ("script", "page-data") or (tag, told.get("class")) == ("p", "note"):
            self._words[tag] = []

    def handle_data(self, data: str) -> None:
        for words in self._words.values():
            words.append(data)

    def handle_endtag(self, tag: str) -> None:
        heard = self._words.pop(tag, None)
        words = "" if heard is None else "".join(heard)
        if tag in ("td", "th") and self._table:
            self._table[-1].append(words.strip())
        elif tag == "script" and heard is not None:
            self.data.append(words)
        elif tag == "p" and heard is not None:
            self.notes.append(words.strip())
        elif tag == "section":
            self._section = ""
        elif tag == "table":
            self._end_table(tuple(tuple(row) for row in self._table))

    def _end_table(self, rows: Printed) -> None:
        if self._section == "statistics":
            self.statistics.append(rows)
        else:
            self.others.append((self._table_id, rows))

    @property
    def release(self) -> str:
        """The hash that the page prints."""
        return next((row[1] for _, rows in self.others for row in rows if row[:1] == (_HASH,) and len(row) == 2), "")

    def faults(self) -> tuple[str, ...]:
        """The table that a script draws is empty in the file, and beside the statistics only the provenance is printed as one."""
        drawn = [rows for name, rows in self.others if name == "map-table"]
        return () if drawn == [()] and len(self.others) == 2 else ("it has a table that no report has",)


def _shown(content: Mapping[str, Any], view: View, decimals: int, page: _Page) -> ShownTable:
    parts: Sequence[Mapping[str, Any]] = content["dimensions"]
    wrong = [set(content) != _SLICE, content["name"] != view.name, content["decimals"] != str(decimals)]
    if any(wrong) or [part["name"] for part in parts] != [dimension.name for dimension in view.dimensions]:
        return nothing_shown(view, f"{view.name}: another name, other decimals or other dimensions than the table's")
    codes = [[str(code) for code in part["codes"]] for part in parts]
    number = [_number(each, decimals) for each in content["released"]]
    if len(number) != np.prod([len(each) for each in codes], dtype=object):
        return nothing_shown(view, f"{view.name}: not one number for each position")
    faults = [fault for part, dimension in zip(parts, view.dimensions, strict=True) for fault in _part_faults(part, dimension, view, page)]
    return shown_grid(
        codes,
        number,
        labels=tuple(frozenset(zip(part["codes"], part["labels"], strict=True)) for part in parts),
        release=page.release,
        faults=tuple(faults),
        part=any(len(own) < len(dimension.codes) for own, dimension in zip(codes, view.dimensions, strict=True)),
    )


def _number(content: Any, decimals: int) -> str | None:
    """Whole units, as a number or, where a browser could not hold it, as text."""
    return None if content is None else in_decimals(int(content), decimals) if isinstance(content, Digits | str) else "?"


def _part_faults(part: Mapping[str, Any], dimension: Dimension, view: View, page: _Page) -> list[str]:
    """Codes stand in their order; where some are left out, the page says how many."""
    codes, size = part["codes"], len(dimension.codes)
    order = [dimension.position.get(code, -1) for code in codes]
    note = f"{view.name}: {len(codes)} of the {size:,} codes of {dimension.name} are shown,"
    wrong = {
        "other keys than a report has": set(part) != _DIMENSION,
        "codes in another order": order != sorted(order),
        "another number of codes in all": part["all"] != str(size),
        "codes are left out, and it does not say so": len(codes) < size and not any(each.startswith(note) for each in page.notes),
    }
    return [f"{view.name}, {dimension.name}: {words}" for words, is_wrong in wrong.items() if is_wrong]
