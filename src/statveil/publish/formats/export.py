"""A release as data files, one per view. Same release, same bytes: no clock and no machine name gets in.

The external edition holds codes, labels and released numbers only. A structural zero is an empty field; an empty position is a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.errors import BackendMissing, InputError
from statveil.publish.audited import AuditedTable, Edition
from statveil.publish.formats import json_stat, pc_axis
from statveil.publish.formats.files import csv_field, paths_of, write_bytes, write_whole
from statveil.publish.formats.frames import Column, Number, Text, distinct_names, frame
from statveil.publish.formats.numbers import decimal_array, decimal_text, grouped
from statveil.publish.formats.sdmx import SdmxCsvVersion, message_text, require_sdmx, sdmx_columns
from statveil.tables.table import View

ROWS_PER_SHEET = 1_000_000
EXACT_IN_EXCEL = 10**15
LONGEST_IN_EXCEL = 32_767
FIXED_DATE = datetime(2000, 1, 1)


def require_excel() -> None:
    if find_spec("xlsxwriter") is None:
        raise BackendMissing("Excel files need xlsxwriter, which is not installed.", hint="Run: pip install 'statveil[excel]'")


def write_workbook(columns: list[Column], path: Path, name: str, notes: Sequence[str] = ()) -> None:
    """A table longer than a sheet goes on in further sheets; notes have a sheet of their own, the last."""
    import xlsxwriter

    _refuse_words(columns)
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"title": name, "created": FIXED_DATE})
    bold = book.add_format({"bold": True, "bottom": 1})
    formats = [book.add_format({"num_format": _number_format(column)}) if isinstance(column, Number) else None for column in columns]
    for number, (start, stop) in enumerate(_stretches(_length(columns)), start=1):
        sheet = book.add_worksheet(f"Table {number}")
        _write_sheet(sheet, columns, range(start, stop), bold, formats)
    if notes:
        _write_notes(book.add_worksheet("Notes"), [name, *notes], bold)
    book.close()


def _write_notes(sheet: Any, lines: Sequence[str], bold: Any) -> None:
    sheet.set_column(0, 0, 120)
    for place, line in enumerate(lines):
        sheet.write_string(place, 0, line, None if place else bold)


def _refuse_words(columns: list[Column]) -> None:
    """A cell would cut a word that is too long, and take one that looks like formatted text for that: both are lost without a word."""
    words = [word for column in columns for word in (column.name, *(column.words if isinstance(column, Text) else ()))]
    if any(len(word.encode("utf-16-le")) > 2 * LONGEST_IN_EXCEL or (word.startswith("<r>") and word.endswith("</r>")) for word in words):
        raise InputError(
            f"A code or label is longer than the {LONGEST_IN_EXCEL:,} letters that Excel keeps, or looks like formatted text to it.",
            hint="Rename it, or leave excel out of the formats.",
        )


def _length(columns: list[Column]) -> int:
    first = columns[0]
    return int(first.index.size if isinstance(first, Text) else first.units.size)


def _stretches(rows: int) -> Iterator[tuple[int, int]]:
    for start in range(0, max(rows, 1), ROWS_PER_SHEET):
        yield start, min(rows, start + ROWS_PER_SHEET)


def _number_format(column: Number) -> str:
    return "#,##0" + ("." + "0" * column.decimals if column.decimals > 0 else "")


def _write_sheet(sheet: Any, columns: list[Column], rows: range, bold: Any, formats: list[Any]) -> None:
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, max(len(rows), 1), len(columns) - 1)
    for place, column in enumerate(columns):
        sheet.set_column(place, place, 24 if isinstance(column, Text) else 16)
        sheet.write_string(0, place, column.name, bold)
    for line, fields in enumerate(zip(*(_fields(column, rows) for column in columns), strict=True), start=1):
        for place, field in enumerate(fields):
            if isinstance(field, str):
                sheet.write_string(line, place, field)
            elif field is not None:
                sheet.write_number(line, place, field, formats[place])


def _fields(column: Column, rows: range) -> Iterator[str | int | Decimal | None]:
    stretch = slice(rows.start, rows.stop)
    if isinstance(column, Text):
        return (column.words[place] for place in column.index[stretch].tolist())
    numbers = zip(column.units[stretch].tolist(), column.missing[stretch].tolist(), strict=True)
    return ((column.instead or None) if missing else _number(units, column.decimals) for units, missing in numbers)


def _number(units: int, decimals: int) -> int | Decimal | str:
    """A number as it is published, not as the double next to it; of more digits than Excel keeps, as text rather than rounded."""
    if abs(units) * 10 ** max(-decimals, 0) >= EXACT_IN_EXCEL:
        return grouped(units, decimals).replace(",", "")
    return Decimal(units).scaleb(-decimals) if decimals > 0 else units * int(10**-decimals)


def write_csv(release: AuditedTable, path: Path, *, edition: Edition = "external") -> list[Path]:
    """Comma separated, UTF-8, decimal point, constant decimals; text that looks like a formula is guarded."""
    return _each_view(release, path, lambda view: csv_bytes(frame(release, view, edition)))


def write_json_stat(release: AuditedTable, path: Path) -> list[Path]:
    """JSON-stat 2.0 datasets with the hierarchies; external edition only."""
    return _each_view(release, path, lambda view: json_stat.dataset_text(release, view).encode())


def write_sdmx_csv(release: AuditedTable, path: Path, *, version: SdmxCsvVersion = "2.0") -> list[Path]:
    """SDMX-CSV 2.0 (or 1.0), every observation free for publication; external edition only."""
    return _each_view(release, path, lambda view: csv_bytes(sdmx_columns(release, view, version)))


def write_sdmx_ml(release: AuditedTable, path: Path) -> list[Path]:
    """SDMX-ML 2.1 generic data; external edition only. Needs the extra `sdmx`."""
    require_sdmx()
    return _each_view(release, path, lambda view: message_text(release, view).encode())


def write_pc_axis(release: AuditedTable, path: Path) -> list[Path]:
    """PC-Axis 2013 in UTF-8; external edition only."""
    return _each_view(release, path, lambda view: pc_axis.file_text(release, view).encode())


def write_parquet(release: AuditedTable, path: Path, *, edition: Edition = "external") -> list[Path]:
    """Text and exact decimals; the release's hash travels in the file's metadata."""

    def write(view: View, temporary: Path) -> None:
        metadata = {"statveil.release": release.provenance.release_hash}
        pq.write_table(arrow_table(frame(release, view, edition), metadata), temporary, compression="zstd")

    return _each_file(release, path, write)


def write_excel(release: AuditedTable, path: Path, *, edition: Edition = "external") -> list[Path]:
    """A workbook with filters; needs the extra `excel`."""
    require_excel()
    return _each_file(release, path, lambda view, temporary: write_workbook(frame(release, view, edition), temporary, view.name))


def _each_view(release: AuditedTable, path: Path, content: Callable[[View], bytes]) -> list[Path]:
    views = release.protected.views
    return [write_bytes(file, content(view)) for file, view in zip(paths_of(path, views), views, strict=True)]


def _each_file(release: AuditedTable, path: Path, write: Callable[[View, Path], None]) -> list[Path]:
    views = release.protected.views
    files = zip(paths_of(path, views), views, strict=True)
    return [write_whole(file, lambda temporary, view=view: write(view, temporary)) for file, view in files]  # type: ignore[misc]


def csv_bytes(columns: list[Column]) -> bytes:
    """The file is built column by column: the text buffer of the joined column is the file itself."""
    header = ",".join(csv_field(column.name) for column in columns) + "\n"
    fields = [_csv_column(column) for column in columns]
    lines = pc.binary_join_element_wise(*fields, pa.scalar(",", pa.large_string()), null_handling="replace", null_replacement="")
    ended = pc.binary_join_element_wise(lines, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    return header.encode() + (ended.buffers()[2].to_pybytes()[: pc.sum(pc.binary_length(ended)).as_py()] if len(ended) else b"")


def _csv_column(column: Column) -> Any:
    if isinstance(column, Text):
        return pa.array([csv_field(word) for word in column.words], pa.large_string()).take(pa.array(column.index))
    return pc.fill_null(decimal_text(column.units, column.decimals, column.missing), column.instead)


def arrow_table(columns: list[Column], metadata: dict[str, str]) -> Any:
    """What stands instead of a number has a column of its own: those of numbers hold no text."""
    statuses = [column for column in columns if isinstance(column, Number) and column.instead]
    arrays = [
        *map(_arrow_column, columns),
        *(pa.array([each.instead if gone else None for gone in each.missing], pa.string()) for each in statuses),
    ]
    names = distinct_names([*(column.name for column in columns), *(f"{each.name}_status" for each in statuses)])
    return pa.table(arrays, names=names).replace_schema_metadata(metadata)


def _arrow_column(column: Column) -> Any:
    if isinstance(column, Text):
        return pa.array(column.words, pa.string()).take(pa.array(column.index))
    return decimal_array(column.units, column.decimals, column.missing)
