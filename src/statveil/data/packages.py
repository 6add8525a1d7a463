"""Records from files of statistical packages (SPSS, Stata, SAS) and of spreadsheets, each by a package that is an extra."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.errors import BackendMissing, FormatError

STATS_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATS_ENDINGS = frozenset(STATS_READERS)
EXCEL_ENDINGS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
ZIPPED_ENDINGS = frozenset({".xlsx", ".xlsm", ".xlsb", ".ods"})
LARGEST_UNPACKED, MOST_SQUEEZED = 200 << 20, 100
"""Bytes that a workbook may unpack to, and how many times its own size where that is more than a few."""
_FEW, _CHUNK = 10 << 20, 1 << 20
PIECE_VALUES = 8_000_000
"""Values (records times columns) that are read at a time."""
_LARGEST_WHOLE = 2.0**53


def read_stats(path: Path) -> pa.Table:
    """A file of SPSS, Stata or SAS. Values declared missing are missing; whole numbers become whole, so that the code 1 is "1"."""
    package = _required("pyreadstat", extra="stats", what=f"A file ending in {path.suffix}")
    read = getattr(package, STATS_READERS[path.suffix.lower()])
    _, facts = _or_refuse(path, lambda: read(str(path), metadataonly=True))
    rows = max(1, PIECE_VALUES // max(1, len(facts.column_names)))
    pieces = _pieces(lambda start: read(str(path), output_format="dict", row_offset=start, row_limit=rows)[0], rows)
    whole: pa.Table = _or_refuse(path, lambda: pa.concat_tables(pieces, promote_options="permissive"))  # whole only if so in all pieces
    texts = {name for name, kind in facts.readstat_variable_types.items() if kind == "string"}
    empty = {name: pa.string() if name in texts else pa.int64() for name in whole.column_names}
    return whole.cast(pa.schema([(each.name, empty[each.name] if pa.types.is_null(each.type) else each.type) for each in whole.schema]))


def _pieces(read_from: Callable[[int], dict[str, Any]], rows: int) -> Iterator[pa.Table]:
    """Piece by piece, because the values of a piece are Python objects, many times as large as they need be."""
    start, more = 0, True
    while more:
        piece = pa.table({name: _column(values) for name, values in read_from(start).items()})
        yield piece
        start, more = start + rows, piece.num_rows == rows


def _column(values: Sequence[Any]) -> pa.Array:
    found = pa.array(values, from_pandas=True)  # not a number: missing
    if pa.types.is_floating(found.type):
        return _whole_if_possible(found)
    if pa.types.is_integer(found.type) or pa.types.is_null(found.type):
        return found
    if not pa.types.is_string(found.type):  # a day or a time
        found = pa.array([None if value is None else str(value) for value in values], pa.string())
    return pc.if_else(pc.equal(found, ""), None, found)


def _whole_if_possible(found: pa.Array) -> pa.Array:
    largest = pc.max(pc.abs(found)).as_py()
    if largest is None or (largest < _LARGEST_WHOLE and pc.all(pc.equal(found, pc.trunc(found))).as_py()):
        return found.cast(pa.int64())
    return found


def read_sheet(path: Path, sheet: str | int = 0) -> pa.Table:
    """A sheet of a workbook (the first by default), its first row the names of the columns; everything as text."""
    package = _required("fastexcel", extra="excel", what=f"A file ending in {path.suffix}")
    if path.suffix.lower() in ZIPPED_ENDINGS:
        _check_unpacked(path)
    table: pa.Table = _or_refuse(path, lambda: pa.table(package.read_excel(str(path)).load_sheet(sheet, dtypes="string").to_arrow()))
    unnamed = [place for place, name in enumerate(table.column_names, start=1) if name.startswith("__UNNAMED__")]
    if unnamed:
        raise FormatError(f"{path}, line 1: column {unnamed[0]} has no name.", hint="The first row must name every column.")
    return table


def _check_unpacked(path: Path) -> None:
    """A small file that unpacks to a huge one is refused before a reader makes room for it; the sizes it declares may lie."""
    largest = min(LARGEST_UNPACKED, max(_FEW, MOST_SQUEEZED * path.stat().st_size))
    size = _or_refuse(path, lambda: _unpacked(path, largest))
    if size > largest:
        raise FormatError(f"{path} unpacks to more than {largest >> 20:,} MiB.", hint="Save the records as CSV or Parquet.")


def _unpacked(path: Path, enough: int) -> int:
    """The bytes that a zip file unpacks to; counting stops soon after `enough`."""
    size = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                while size <= enough and (chunk := file.read(_CHUNK)):
                    size += len(chunk)
    return size


def _required(package: str, *, extra: str, what: str) -> Any:
    if find_spec(package) is None:
        raise BackendMissing(f"{what} needs the package {package}, which is not installed.", hint=f"Run: pip install 'statveil[{extra}]'")
    return import_module(package)


def _or_refuse(path: Path, read: Callable[[], Any]) -> Any:
    """Packages put contents of the file into their messages, so only the kind of trouble is passed on."""
    try:
        return read()
    except Exception as error:
        raise FormatError(
            f"{path} cannot be read as a {path.suffix} file ({type(error).__name__}).", hint="Is it damaged, or has it the wrong ending?"
        ) from None
