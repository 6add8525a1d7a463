"""Numbers and codes as a column writes them: decimals, marks, missing values, types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from statveil.records.perturb.columns import Numbers, as_numbers, read_codes


def chunked(*values: object, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(values), kind)])


def test_text_is_read_with_its_decimal_mark_and_blanks_are_missing() -> None:
    found = as_numbers(chunked(" 1,50", "+2", "", None, "-3"), ",")
    assert np.array_equal(found, [1.5, 2.0, np.nan, np.nan, -3.0], equal_nan=True)
    assert as_numbers(chunked("1.50"), ".").tolist() == [1.5]
    assert as_numbers(chunked(1, None), ".").tolist()[0] == 1.0


@pytest.mark.parametrize(
    ("kind", "decimals", "written"),
    [
        (pa.string(), 1, ["1,2", None, "0,0"]),
        (pa.float64(), 1, [1.2, None, 0.0]),
        (pa.int64(), 0, [1, None, 0]),
        (pa.decimal128(10, 1), 1, ["1.2", None, "0.0"]),
    ],
)
def test_numbers_are_written_as_the_column_writes_its_own(kind: pa.DataType, decimals: int, written: list[object]) -> None:
    values = np.array([1.24, np.nan, -0.04])
    found = Numbers(values, decimals, ",").written(values, kind, decimals)
    assert found.type == kind
    assert [str(each) if pa.types.is_decimal(kind) and each is not None else each for each in found.to_pylist()] == written


def test_codes_are_numbered_and_each_has_a_record_that_holds_it() -> None:
    codes = ["b", "", "a", None, "b"]
    found = read_codes(chunked(*codes))
    assert found.code[[1, 3]].tolist() == [-1, -1]
    assert found.code[0] == found.code[4] != found.code[2]
    assert sorted(codes[each] or "" for each in found.holder.tolist()) == ["a", "b"]
    assert [int(found.code[each]) for each in found.holder.tolist()] == [0, 1]
