"""Records from files of statistical packages (SPSS, Stata, SAS) and of spreadsheets, each by a package that is an extra."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from statveil.arrays import AnyArray
from statveil.errors import BackendMissing, FormatError

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
_LARGEST_WHOLE = 2.0**53


def read_stats(path: Path) -> pa.Table:
    """A file of SPSS, Stata or SAS. Values declared missing are missing; whole numbers become whole, so that the code 1 is "1"."""
    package = _required("pyreadstat", extra="stats", what=f"A file ending in {path.suffix}")
    columns, _ = _or_refuse(path, lambda: getattr(package, STATS_READERS[path.suffix.lower()])(str(path), output_format="dict"))
    return pa.table({name: _column(np.asarray(values)) for name, values in columns.items()})


def _column(values: AnyArray) -> pa.Array:
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        whole = np.where(missing, 0.0, values)
        if (whole == np.trunc(whole)).all() and (np.abs(whole) < _LARGEST_WHOLE).all():
            return pa.array(whole.astype(np.int64), mask=missing)
        return pa.array(values, mask=missing)
    if values.dtype.kind != "O":
        return pa.array(values)
    return pa.array([None if _is_missing(value) else str(value) for value in values.tolist()], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124 - only NaN differs from itself


def read_sheet(path: Path, sheet: str | int = 0) -> pa.Table:
    """A sheet of a workbook (the first by default), its first row the names of the columns; everything as text."""
    package = _required("fastexcel", extra="excel", what=f"A file ending in {path.suffix}")
    table: pa.Table = _or_refuse(path, lambda: pa.table(package.read_excel(str(path)).load_sheet(sheet, dtypes="string").to_arrow()))
    unnamed = [place for place, name in enumerate(table.column_names, start=1) if name.startswith("__UNNAMED__")]
    if unnamed:
        raise FormatError(f"{path}, line 1: column {unnamed[0]} has no name.", hint="The first row must name every column.")
    return table


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
