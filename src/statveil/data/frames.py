"""Frames of pandas, polars, pyarrow and DuckDB as Arrow tables."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pyarrow as pa

from statveil.core.errors import FormatError, InputError


def arrow_of_frame(frame: Any) -> pa.Table:
    """Any frame as an Arrow table."""
    try:
        native = _understood(frame)
        eager = native.collect(backend="pyarrow") if isinstance(native, nw.LazyFrame) else native
        return eager.to_arrow()
    except InputError:
        raise
    except Exception as error:
        # Frame libraries put values into their messages, so only the kind of trouble is passed on.
        raise FormatError(
            f"The frame could not be turned into columns ({type(error).__name__}).",
            hint="Each column needs one name and one type: look for columns that mix text and numbers.",
        ) from None


def _understood(frame: Any) -> Any:
    try:
        return nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"Records cannot be read from {type(frame).__name__}.", hint="Give a path, or a pandas, polars, pyarrow or DuckDB frame."
        ) from None
