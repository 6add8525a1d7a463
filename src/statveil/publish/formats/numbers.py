"""Exact decimal numbers from integers: in text, as Arrow decimals, and grouped for people. Floats never take part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.tables.shown.frames import amounts

MOST_DECIMALS = 17


def decimal_text(units: IntArray, decimals: int, missing: BoolArray | None = None) -> Any:
    """Each `units * 10**-decimals` as text with exactly that many decimals; null where missing. Vectorised."""
    _check(decimals)
    text = _with_point(np.abs(units), decimals) if decimals > 0 else _with_zeros(np.abs(units), -decimals)
    sign = pc.if_else(pa.array(units < 0), "-", "").cast(pa.large_string())
    signed = pc.binary_join_element_wise(sign, text, _word(""))
    return signed if missing is None else pc.if_else(pa.array(missing), pa.scalar(None, pa.large_string()), signed)


def _check(decimals: int) -> None:
    if abs(decimals) > MOST_DECIMALS:
        raise InputError(f"{decimals} decimals cannot be written.", hint=f"Choose from -{MOST_DECIMALS} to {MOST_DECIMALS}.")


def _word(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def _digits(units: IntArray) -> Any:
    return pa.array(units).cast(pa.large_string())


def _with_point(size: IntArray, decimals: int) -> Any:
    one = 10**decimals
    fraction = pc.utf8_lpad(_digits(size % one), width=decimals, padding="0")
    return pc.binary_join_element_wise(_digits(size // one), fraction, _word("."))


def _with_zeros(size: IntArray, zeros: int) -> Any:
    tail = pc.if_else(pa.array(size == 0), "", "0" * zeros).cast(pa.large_string())
    return pc.binary_join_element_wise(_digits(size), tail, _word(""))


def decimal_array(units: IntArray, decimals: int, missing: BoolArray | None = None) -> Any:
    """The same numbers as an Arrow decimal128 column; negative decimals become whole numbers."""
    _check(decimals)
    return amounts(units, decimals, np.zeros(units.size, dtype=bool) if missing is None else missing)


def grouped(units: int, decimals: int) -> str:
    """One number for people: 1234567 with 2 decimals is 12,345.67."""
    sign = "-" if units < 0 else ""
    if decimals <= 0:
        return f"{sign}{abs(units) * 10**-decimals:,}"
    whole, fraction = divmod(abs(units), 10**decimals)
    return f"{sign}{whole:,}.{fraction:0{decimals}d}"


def percent(share: float) -> str:
    """A share in percent with about three digits: 0.00123 is 0.123%."""
    if not np.isfinite(share):
        return "not known"
    size = abs(share) * 100
    digits = 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{share * 100:,.{digits}f}%"
