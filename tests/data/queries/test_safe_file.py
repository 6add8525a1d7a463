"""Released records: recoded, blanked as planned, in an order that says nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import statveil as sv
from statveil.data.queries.keys import RecordKey
from statveil.data.queries.safe_file import ReleasedColumn, columns_beyond, lend_blanks, lend_recodings, released_records

PEOPLE = sv.read_microdata(pa.table({"age": ["31", "39", "52", "52", None], "sex": ["f", "f", "m", "m", "f"], "pay": [5, 6, 7, 8, 9]}))
KEY = RecordKey(data=PEOPLE, fields=["age", "sex"])
COLUMNS = [
    ReleasedColumn("age", as_text=True, blanked_by=1, recoded=True),
    ReleasedColumn("sex", as_text=True, missing_as="unknown"),
    ReleasedColumn("pay", as_text=False),
]


def blanks(*rows: tuple[str, str, bool, int, int], mask: Sequence[int] = (1,)) -> pa.Table:
    """Keys of which the age is blanked (mask 1): all their records, or those of some ranks."""
    keys = {f"k{place}": pa.array([row[place] for row in rows], pa.string()) for place in range(2)}
    more = {name: [row[place] for row in rows] for place, name in ((2, "split"), (3, "low"), (4, "high"))}
    return pa.table({**keys, "mask": list(mask), **more})


def released(table: pa.Table, *, secret: int = 1) -> list[tuple[object, ...]]:
    with PEOPLE.engine.session() as session:
        lend_recodings(session, {0: {"31": "30 to 39", "39": "30 to 39", "52": "50 to 59"}})
        lend_blanks(session, table)
        records = released_records(session, KEY, COLUMNS, secret=secret)
        assert records.schema().names == ["age", "sex", "pay"]
        shown = pa.Table.from_batches(records.shuffled((3, 4), rows=2))
        assert records.measured(["age"]) == (5, {"age": len("30 to 39")})
    return [tuple(each.values()) for each in shown.to_pylist()]


def test_a_key_is_recoded_and_another_blanked() -> None:
    found = released(blanks(("52", "m", False, 0, 0)))
    assert set(found) == {("30 to 39", "f", 5), ("30 to 39", "f", 6), (None, "m", 7), (None, "m", 8), (None, "f", 9)}


def test_of_a_key_blanked_in_part_so_many_records_are() -> None:
    found = released(blanks(("52", "m", True, 1, 1), ("52", "m", True, 2, 2), mask=(1, 0)))
    assert [each[0] for each in found if each[1] == "m"].count(None) == 1


def test_the_order_is_that_of_digests_and_not_of_the_file() -> None:
    once, again = (released(blanks(("31", "f", False, 0, 0))) for _ in range(2))
    assert once == again
    assert [each[2] for each in once] != [5, 6, 7, 8, 9]


def test_whole_numbers_beyond_a_limit() -> None:
    with PEOPLE.engine.session() as session:
        assert columns_beyond(session, PEOPLE, ["pay"], 8) == ["pay"]
        assert columns_beyond(session, PEOPLE, ["pay"], 9) == []
        assert columns_beyond(session, PEOPLE, [], 0) == []
