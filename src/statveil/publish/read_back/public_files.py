"""All public files of a release beside each other: one of them is the table that is audited, every other must show the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from statveil.audit.report import Check
from statveil.audit.tables import release_hash
from statveil.core.errors import InputError
from statveil.publish.read_back.compare import ANOTHER, ELSEWHERE, Findings, differences, table_shown
from statveil.publish.read_back.csv_file import read_csv, read_sdmx_csv
from statveil.publish.read_back.json_stat_file import read_json_stat_file
from statveil.publish.read_back.parquet_file import read_parquet
from statveil.publish.read_back.pc_axis_file import read_pc_axis
from statveil.publish.read_back.report_page import read_report
from statveil.publish.read_back.report_statistics import statistics_faults
from statveil.publish.read_back.sdmx_ml_file import read_sdmx_ml
from statveil.publish.read_back.shown import ShownTable
from statveil.publish.read_back.workbook import read_workbook
from statveil.tables.table import ProtectedTable, Table, View

Reader = Callable[[Path, View, int], ShownTable]
READERS: Mapping[str, tuple[Reader, str]] = {
    "csv": (read_csv, ".csv"),
    "parquet": (read_parquet, ".parquet"),
    "json-stat": (read_json_stat_file, ".json"),
    "sdmx-csv": (read_sdmx_csv, ".sdmx.csv"),
    "sdmx-ml": (read_sdmx_ml, ".xml"),
    "pc-axis": (read_pc_axis, ".px"),
    "excel": (read_workbook, ".xlsx"),
}
"""What reads a format back, and how its files end."""
NAMES = {
    "csv": "CSV",
    "parquet": "Parquet",
    "json-stat": "JSON-stat",
    "sdmx-csv": "SDMX-CSV",
    "sdmx-ml": "SDMX-ML",
    "pc-axis": "PC-Axis",
    "excel": "Excel",
}
REPORT = "report"


def audited_table(table: Table, written: Mapping[str, Sequence[Path]], report: Path) -> tuple[ProtectedTable, str]:
    """The table that the public files show, and the format that it is read from: CSV or, without it, the first that was written.

    `written`: the files of each format, one for each view. Where there are none, the report is all there is.
    """
    base = "csv" if "csv" in written else next(iter(written), REPORT)
    if base == REPORT:
        return table_shown(table, _whole(read_report(report, table.views, table.decimals).shown)), base
    return table_shown(table, read_format(base, written[base], table.views, table.decimals)), base


def read_released(table: Table, written: Mapping[str, Sequence[Path]], report: Path) -> tuple[ProtectedTable, tuple[Check, ...]]:
    """The table that the public files show, and a check of each format against it."""
    protected, base = audited_table(table, written, report)
    first = {base: written[base]} if base != REPORT else {}
    checks = [_check_format(name, files, protected, is_base=name == base) for name, files in {**first, **written}.items()]
    return protected, (*checks, _check_report(report, protected))


def _whole(shown: Sequence[ShownTable]) -> Sequence[ShownTable]:
    if any(each.part for each in shown):
        raise InputError("The report shows a part of the table only, and there is no other file.", hint="Add csv to output.formats.")
    return shown


def read_format(name: str, files: Sequence[Path], views: Sequence[View], decimals: int) -> tuple[ShownTable, ...]:
    """The files of one format, one for each view."""
    read, _ = READERS[name]
    return tuple(read(file, view, decimals) for file, view in zip(files, views, strict=True))


def _check_format(name: str, files: Sequence[Path], protected: ProtectedTable, *, is_base: bool) -> Check:
    """The files of one format beside the table; those that it was read from are compared with themselves, place by place."""
    called = NAMES.get(name, name)
    words = f"The {called} files show the table audited, cell by cell"
    if is_base:
        words = f"Every number of the {called} files has its place, once, and is the same wherever its cell is shown"
    if name not in READERS:
        return Check(name=name, words=words, checked=0, faults=1, findings=("there is no reader for this format, so it was not checked",))
    try:
        shown = read_format(name, files, protected.views, protected.decimals)
    except InputError as error:
        return Check(name=name, words=words, checked=0, faults=1, findings=(error.message,))
    release, found, rows = release_hash(protected), Findings(), 0
    for file, view, each in zip(files, protected.views, shown, strict=True):
        other = ELSEWHERE if is_base else ANOTHER
        found.include(file.name, differences(view, each, protected, release=release, other=other))
        rows += len(each.index)
    return Check(name=name, words=words, checked=rows, faults=found.count, findings=tuple(found.first))


def _check_report(report: Path, protected: ProtectedTable) -> Check:
    words = "The report shows the table audited, cell by cell, and statistics of it"
    try:
        page = read_report(report, protected.views, protected.decimals)
    except InputError as error:
        return Check(name=REPORT, words=words, checked=0, faults=1, findings=(error.message,))
    release, found = release_hash(protected), Findings()
    for view, each in zip(protected.views, page.shown, strict=True):
        found.include(view.name, differences(view, each, protected, release=release))
    found.add([*page.faults, *statistics_faults(protected, page.statistics)])
    fields = sum(len(row) for rows in page.statistics for row in rows)
    checked = fields + sum(len(each.index) for each in page.shown)
    return Check(name=REPORT, words=words, checked=checked, faults=found.count, findings=tuple(found.first))
