"""Released records beside the originals that they come from."""

from __future__ import annotations

import pyarrow as pa

from statveil.audit.attacks.file_trace import trace

ONE, TWO = "0" * 15 + "1" + "f" * 16, "0" * 15 + "2" + "f" * 16


def file(*records: tuple[str | None, str | None, str, int]) -> pa.Table:
    columns = list(zip(*records, strict=True))
    return pa.table(
        {"w0": pa.array(columns[0], pa.string()), "w1": pa.array(columns[1], pa.string()), "rest": columns[2], "amount": columns[3]}
    )


def test_a_blank_is_traced_by_what_the_record_still_shows() -> None:
    before = file(("a", "x", ONE, 1), ("a", "y", TWO, 2), ("b", "x", ONE, 3))
    found = trace(before, file(("b", "x", ONE, 3), (None, "y", TWO, 2), ("a", "x", ONE, 1)), 2)
    assert found.values == (("a", "b"), ("x", "y"))
    assert found.place.tolist() == [2, 1, 0]
    assert found.released.tolist() == [[1, -1, 0], [0, 1, 0]]
    assert found.truth.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.amount.tolist() == [3, 2, 1]


def test_of_equal_originals_none_is_certain_and_each_is_taken_once() -> None:
    before = file(("a", "x", ONE, 1), ("a", "x", ONE, 1))
    found = trace(before, file(("a", "x", ONE, 1), ("a", None, ONE, 1)), 2)
    assert found.truth.tolist() == [[0, 0], [0, 0]]
    assert found.place.tolist() == [-1, 1]  # once the first is taken, one is left for the other


def test_a_record_that_comes_from_nowhere_is_not_known() -> None:
    found = trace(file(("a", "x", ONE, 1)), file(("a", "x", TWO, 5)), 2)
    assert found.truth.tolist() == [[-1], [-1]]
    assert (found.place.tolist(), found.amount.tolist()) == ([-1], [5])
