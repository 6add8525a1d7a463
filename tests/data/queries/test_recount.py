"""The audit's own counts of a safe file, on a few keys."""

from __future__ import annotations

import pyarrow as pa

import statveil as sv
from statveil.data.engines.duck import counting_session
from statveil.data.queries.recount import (
    content_sums,
    count_differing_blanks,
    doubtful_cells,
    keep_cells,
    keep_others,
    still_doubtful,
    unsafe_keys,
)

BEFORE = pa.table({"id": [0, 1, 2], "w0": ["a", "a", "b"], "w1": ["x", "y", "x"], "amount": [4, 1, 2]})
AFTER = pa.table({"id": [0, 1, 2], "w0": ["a", None, "b"], "w1": ["x", "y", "x"], "amount": [4, 1, 2], "records": [4, 1, 2]})


def test_a_combination_that_is_rare_and_shown_is_unsafe() -> None:
    with counting_session() as session:
        session.lend("coded_before", BEFORE)
        session.lend("coded_after", AFTER)
        assert unsafe_keys(session, ["w0", "w1"], 3, counted="coded_before").tolist() == [2]  # (a, y) is blank by now
        assert unsafe_keys(session, ["w0"], 3, counted="coded_before").tolist() == [2]
        assert sorted(unsafe_keys(session, ["w1"], 3, counted="coded_after").tolist()) == [1]


def test_a_blank_may_be_anything_that_others_show() -> None:
    """Of (blank, y) there is one record; (a, y) has four and could be it."""
    after = pa.table({"id": [0, 1], "w0": ["a", None], "w1": ["y", "y"], "records": [4, 1]})
    with counting_session() as session:
        session.lend("coded_after", after)
        patterns = {each["blank"]: each["records"] for each in keep_cells(session, ["w0", "w1"]).to_pylist()}
        assert patterns == {0: 4, 1: 1}
        doubtful = doubtful_cells(session, 3)
        assert doubtful["w1"].to_pylist() == ["y"]
        keep_others(session, ["w0", "w1"], 1)
        assert still_doubtful(session, ["w0", "w1"], 5, doubtful, [1]).num_rows == 0  # four and one are five
        assert still_doubtful(session, ["w0", "w1"], 6, doubtful, [1])["total"].to_pylist() == [5]


def test_the_content_has_no_order_but_every_letter_counts() -> None:
    one, turned = ({"a": ["x", "y"], "b": [1, 2]}, {"a": ["y", "x"], "b": [2, 1]})
    sums = [content_sums(sv.read_microdata(pa.table(each))) for each in (one, turned, {"a": ["x", "y"], "b": [2, 1]})]
    assert sums[0] == sums[1] != sums[2]
    assert sums[0][0] == 2


def test_releases_are_joined_by_what_is_no_field() -> None:
    one = sv.read_microdata(pa.table({"age": ["30", None, "40"], "pay": ["1", "2", "3"]}))
    other = sv.read_microdata(pa.table({"age": [None, None, "40"], "pay": ["2.0", "1", "4"]}))
    assert count_differing_blanks(one, other, ["pay"], ["age"]) == (2, [1])
