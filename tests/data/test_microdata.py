"""Records behind an engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

from statveil.core.errors import UnknownColumn
from statveil.data.readers import read_microdata


def test_the_codes_of_a_column_are_distinct_texts_in_the_order_of_text() -> None:
    data = read_microdata(pa.table({"area": [10, 9, None, 10], "trade": ["b", "a", "b", None]}))
    assert data.codes("area") == ["10", "9"]
    assert data.codes("trade") == ["a", "b"]


def test_the_codes_of_a_column_that_is_not_there_are_refused() -> None:
    with pytest.raises(UnknownColumn, match="no column 'region'"):
        read_microdata(pa.table({"area": ["p"]})).codes("region")
