"""Words among values, found and counted before they are blanked."""

from __future__ import annotations

import pyarrow as pa

import statveil as sv
from statveil.data.queries.preparation import (
    cleaned_column,
    codes_below_zero,
    count_conditions,
    missing_counts,
    words_among_numbers,
    words_found,
)

DATA = sv.read_microdata(
    pa.table(
        {
            "town": ["A", " NA ", "B", "NA"],
            "pay": ["10", "20,5", "-9", "k.A."],
            "profit": ["-9", "-3", "4", "5"],
        }
    )
)


def test_missing_words_are_counted_whatever_blanks_stand_around_them() -> None:
    with DATA.engine.session() as session:
        assert missing_counts(session, DATA.engine, {"town": ["NA", "n/a"], "pay": ["NA"]}) == {"town": 2, "pay": 0}
        assert words_found(session, DATA.engine, ["NA", "A"]) == [["NA", "A"], [], []]


def test_a_missing_word_leaves_nothing() -> None:
    with DATA.engine.session() as session:
        found = session.query(f"SELECT {cleaned_column(DATA.engine, 'town', ['NA'])} AS town FROM records")
    assert found["town"].to_pylist() == ["A", None, "B", None]


def test_words_that_stand_among_numbers() -> None:
    with DATA.engine.session() as session:
        assert words_among_numbers(session, DATA.engine, 5) == {"pay": ["k.A."]}
        assert words_among_numbers(session, DATA.engine, 0) == {}


def test_a_code_below_zero_is_doubtful_where_nothing_else_is_below_zero() -> None:
    with DATA.engine.session() as session:
        assert codes_below_zero(session, DATA.engine, ["-9"]) == [[], ["-9"], []]  # profits may be losses


def test_conditions_are_counted_in_one_pass() -> None:
    with DATA.engine.session() as session:
        assert count_conditions(session, ["true", "false"]) == [4, 0]
        assert count_conditions(session, []) == []
