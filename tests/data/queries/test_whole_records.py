"""Records with all they hold, in an order that the file does not decide."""

from __future__ import annotations

import pyarrow as pa
import pytest

import statveil as sv
from statveil.data.queries.whole_records import NumberFacts, all_records, number_facts, records_by_content

ROWS = {"a": ["x", "y", "x"], "b": ["1", "2", "3"]}


def test_the_order_of_the_file_plays_no_part() -> None:
    found = []
    for places in ([0, 1, 2], [2, 0, 1]):
        data = sv.read_microdata(pa.table(ROWS).take(places))
        with data.engine.session() as session:
            records, digests = records_by_content(session, data)
        assert digests == sorted(digests)
        found.append((records.to_pylist(), digests))
    assert found[0] == found[1]


def test_all_records_in_the_order_of_the_file() -> None:
    data = sv.read_microdata(pa.table(ROWS), where="b <> '2'")
    assert all_records(data).to_pydict() == {"a": ["x", "x"], "b": ["1", "3"]}


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        (["1.25", "3", "", None, "nan"], NumberFacts(".", 2, 0, 0)),
        (["1,5", "2"], NumberFacts(".", 0, 1, 1)),  # a table in memory has its marks as they are
        (["7", "many", "few"], NumberFacts(".", 0, 2, 2)),
    ],
)
def test_what_a_column_of_numbers_holds(values: list[str | None], facts: NumberFacts) -> None:
    data = sv.read_microdata(pa.table({"n": pa.array(values, pa.string())}))
    with data.engine.session() as session:
        assert number_facts(session, data, "n") == facts
