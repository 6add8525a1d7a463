"""Public workbooks read back from their XML: words, and numbers as the cells hold and show them."""

from __future__ import annotations

import math
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from statveil.core.errors import FormatError
from statveil.publish.read_back.shown import TUNING, Column, ShownTable, check_size, expected_header, is_labelled, not_ours, shown_rows
from statveil.publish.read_back.xml_events import XmlListener, read_xml
from statveil.tables.table import View

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main "
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships "
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships "
_BUILT_IN = {"0": "General", "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00"}
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_PLACE = re.compile("([A-Z]{1,3})([0-9]{1,7})")
HELD = 15
"""Digits that a cell's number keeps, whatever they are; a longer one must be text."""


class Cell(NamedTuple):
    """A cell as it is stored: its words or digits, of what kind, and the form in which it is shown."""

    words: str
    kind: str
    form: str


def read_workbook(path: Path, view: View, decimals: int) -> ShownTable:
    """The rows of all sheets, each of which begins with the names of the columns."""
    check_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            book = _Book(archive, path.name)
            rows = _TableRows(view, decimals)
            for sheet in book.sheets:
                book.read_sheet(sheet, rows.new_sheet())
            return rows.shown()
    # All that a damaged, encrypted or strangely packed archive makes zipfile raise: none of it is a workbook of ours.
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError, OSError):
        raise not_ours(path, "a workbook") from None


class _Book:
    """The parts of a workbook that say what its sheets mean."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self._left = TUNING.largest_file
        self.sheets = self._sheets()
        self._forms = self._number_forms()
        self._shared = self._shared_words()

    def _read(self, part: str, listener: XmlListener, most: int) -> None:
        if self._archive.namelist().count(part) != 1:
            raise KeyError(part)
        with self._archive.open(part) as stream:
            read_xml(stream, listener, name=self._name, most=min(most, self._left))
        self._left -= self._archive.getinfo(part).file_size

    def _sheets(self) -> list[str]:
        """The parts that hold the sheets, in the order of the workbook."""
        targets: dict[str, str] = {}
        order: list[str] = []

        def related(name: str, attributes: Mapping[str, str]) -> None:
            if name == f"{_PACKAGE}Relationship":
                targets[attributes["Id"]] = posixpath.normpath(posixpath.join("/xl", attributes["Target"])).lstrip("/")

        def listed(name: str, attributes: Mapping[str, str]) -> None:
            if name == f"{_MAIN}sheet":
                order.append(attributes[f"{_RELATIONS}id"])

        self._read("xl/_rels/workbook.xml.rels", XmlListener(start=related), TUNING.most_words)
        self._read("xl/workbook.xml", XmlListener(start=listed), TUNING.most_words)
        return [targets[each] for each in order]

    def _number_forms(self) -> list[str]:
        """How each style shows a number."""
        own = dict(_BUILT_IN)
        styles: list[str] = []
        inside: list[str] = []

        def start(name: str, attributes: Mapping[str, str]) -> None:
            if name == f"{_MAIN}numFmt":
                own[attributes["numFmtId"]] = attributes["formatCode"]
            elif name == f"{_MAIN}xf" and inside[-1:] == [f"{_MAIN}cellXfs"]:
                styles.append(attributes.get("numFmtId", "0"))
            inside.append(name)

        def end(_: str) -> None:
            inside.pop()

        self._read("xl/styles.xml", XmlListener(start=start, end=end), TUNING.most_words)
        return [own.get(each, "") for each in styles]

    def _shared_words(self) -> list[str]:
        if "xl/sharedStrings.xml" not in self._archive.namelist():
            return []
        words: list[list[str]] = []

        def start(name: str, _: Mapping[str, str]) -> None:
            if name == f"{_MAIN}si":
                words.append([])

        def text(part: str) -> None:
            if words:
                words[-1].append(part)

        self._read("xl/sharedStrings.xml", XmlListener(start=start, text=text), TUNING.most_words)
        return ["".join(each) for each in words]

    def read_sheet(self, part: str, take: Callable[[dict[int, Cell]], None]) -> None:
        """Hand on every row that has cells, by the numbers of their columns."""
        heard = _Sheet(self._forms, self._shared, take)
        self._read(part, XmlListener(start=heard.start, end=heard.end, text=heard.text), TUNING.largest_file)


class _Sheet:
    """A row while it is heard."""

    def __init__(self, forms: list[str], shared: list[str], take: Callable[[dict[int, Cell]], None]) -> None:
        self._forms, self._shared, self._take = forms, shared, take
        self._row: dict[int, Cell] = {}
        self._at, self._kind, self._style = 0, "n", 0
        self._words: list[str] = []
        self._hearing = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == f"{_MAIN}row":
            self._row = {}
        elif name == f"{_MAIN}c":
            self._at, self._kind, self._style = _column(attributes.get("r", "")), attributes.get("t", "n"), int(attributes.get("s", "0"))
            self._words = []
        elif name == f"{_MAIN}f":
            self._kind = "formula"
        self._hearing = name in (f"{_MAIN}v", f"{_MAIN}t")

    def text(self, words: str) -> None:
        if self._hearing:
            self._words.append(words)

    def end(self, name: str) -> None:
        self._hearing = False
        if name == f"{_MAIN}c" and self._words:
            self._row[self._at if self._at not in self._row else -1] = self._cell()
        elif name == f"{_MAIN}row" and self._row:
            self._take(self._row)

    def _cell(self) -> Cell:
        words = "".join(self._words)
        form = self._forms[self._style] if self._style < len(self._forms) else ""
        if self._kind == "s":
            return Cell(_unescaped(self._shared[int(words)]) if int(words) < len(self._shared) else "", "text", form)
        return Cell(_unescaped(words), "text", form) if self._kind in ("inlineStr", "str") else Cell(words, self._kind, form)


def _column(place: str) -> int:
    """The number of a column, from 0; B7 is 1."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return -1
    number = 0
    for letter in found[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _unescaped(words: str) -> str:
    """Letters that XML cannot hold are written by their numbers, _x0007_, and so is the beginning of what only looks so."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), words)


class _TableRows:
    """The rows of all sheets, as codes, labels and numbers of a view."""

    def __init__(self, view: View, decimals: int) -> None:
        self._view, self._decimals = view, decimals
        self._header = expected_header(view, "value")
        self._most = math.prod(len(dimension.codes) for dimension in view.dimensions)
        self._form = "#,##0" + ("." + "0" * decimals if decimals > 0 else "")
        self._codes = [Column() for _ in view.dimensions]
        self._labels = [Column() if is_labelled(dimension) else None for dimension in view.dimensions]
        self._numbers: list[str | None] = []
        self._faults: dict[str, None] = {}

    def new_sheet(self) -> Callable[[dict[int, Cell]], None]:
        """What takes the rows of the next sheet, the first of which names the columns."""
        waiting = [True]

        def take(row: dict[int, Cell]) -> None:
            if waiting[0]:
                waiting[0] = False
                if [row[place].words for place in sorted(row)] != self._header or sorted(row) != list(range(len(self._header))):
                    raise FormatError("The columns of the workbook are not the table's dimensions.", hint="Take it from the release again.")
            else:
                self._add(row)

        return take

    def _add(self, row: dict[int, Cell]) -> None:
        if len(self._numbers) >= self._most:
            raise FormatError("The workbook has more rows than the table has positions.", hint="Take it from the release again.")
        fields = self._fields(row)
        for code, label in zip(self._codes, self._labels, strict=True):
            code.add(next(fields))
            if label is not None:
                label.add(next(fields))
        at = len(self._header) - 1
        self._numbers.append(self._number(row[at]) if at in row else None)
        if not set(row) <= set(range(at + 1)):
            self._faults["it has cells beside the table"] = None

    def _fields(self, row: dict[int, Cell]) -> Iterator[str]:
        for place in range(len(self._header) - 1):
            cell = row.get(place, Cell("", "text", ""))
            if cell.kind != "text":
                self._faults["it has codes or labels that are not text"] = None
            yield cell.words

    def _number(self, cell: Cell) -> str:
        """The number that a reader sees and computes with, written out as it is published; something else where these differ."""
        if cell.kind == "text":
            return cell.words if sum(letter.isdigit() for letter in cell.words) > HELD else "?"
        if cell.kind != "n" or cell.form != self._form:
            return "?"
        return self._written(cell.words)

    def _written(self, words: str) -> str:
        """The shortest decimal that means the same double: what any reader takes the cell for."""
        try:
            held = Decimal(repr(float(words)))
            places = Decimal(1).scaleb(-max(self._decimals, 0))
            return format(held.quantize(places), "f") if held == held.quantize(places) else format(held, "f")
        except (ValueError, ArithmeticError):
            return "?"

    def shown(self) -> ShownTable:
        return shown_rows(self._codes, self._labels, self._numbers, faults=tuple(self._faults))
