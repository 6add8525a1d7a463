"""Columns of records as numbers or codes, and perturbed numbers written as the column writes its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import LARGEST_EXACT, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.data.microdata import Microdata
from statveil.data.queries.whole_records import number_facts

MOST_DECIMALS = 9


class Numbers(NamedTuple):
    """A column of numbers: missing is not a number. `decimals` are those of the data."""

    values: FloatArray
    decimals: int
    mark: str

    def written(self, values: FloatArray, kind: pa.DataType, decimals: int) -> pa.Array:
        """These numbers as the column writes its own, rounded; missing stays missing."""
        rounded, missing = np.round(values, decimals) + 0.0, np.isnan(values)
        if _is_text(kind):
            texts = [
                None if gone else f"{value:.{decimals}f}".replace(".", self.mark) for value, gone in zip(rounded, missing, strict=True)
            ]
            return pa.array(texts, kind)
        if pa.types.is_floating(kind):
            return pa.array(rounded, mask=missing).cast(kind)
        return pa.array([None if gone else f"{value:.{decimals}f}" for value, gone in zip(rounded, missing, strict=True)]).cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def read_numbers(data: Microdata, name: str, values: pa.ChunkedArray) -> Numbers:
    """The numbers of a column whose `values` were read already; words among them are refused, and where the first stands is told."""
    with data.engine.session() as session:
        told = number_facts(session, data, name)
    if told.words:
        words = "value is" if told.words == 1 else "values are"
        raise InputError(
            f"Column {name!r}: {told.words:,} {words} no number, the first at {data.engine.place(told.first)}.",
            hint="Make it empty where it is missing, or use 'pram', which takes codes.",
        )
    found = as_numbers(values, told.mark)
    if np.nanmax(np.abs(found), initial=0) > LARGEST_EXACT:
        raise InputError(f"Column {name!r} holds numbers that are too large to perturb.", hint="Is it an identifier? Drop it.")
    return Numbers(found, min(told.decimals, MOST_DECIMALS), told.mark)


def as_numbers(values: pa.ChunkedArray, mark: str) -> FloatArray:
    """Values that are numbers or missing, with this decimal mark where they are text."""
    if _is_text(values.type):
        trimmed = pc.utf8_trim_whitespace(values.cast(pa.string()))
        plain = pc.replace_substring(trimmed, ",", ".") if mark == "," else trimmed
        plain = pc.replace_substring_regex(plain, "^\\+", "")
        values = pc.if_else(pc.equal(plain, ""), None, plain)
    return np.asarray(pc.fill_null(values.cast(pa.float64(), safe=False), np.nan).to_numpy(), dtype=np.float64)


class Codes(NamedTuple):
    """A column of codes: the place of each record's code among the different ones, -1 where it is missing, and a record that holds each."""

    code: IntArray
    holder: IntArray


def read_codes(values: pa.ChunkedArray) -> Codes:
    texts = values.cast(pa.string()).combine_chunks()
    coded = pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()
    code = np.asarray(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    places = np.flatnonzero(code >= 0)
    _, first = np.unique(code[places], return_index=True)
    return Codes(code, places[first])
