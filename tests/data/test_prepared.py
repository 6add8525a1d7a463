"""What became of the records is told in counts, line by line."""

from __future__ import annotations

from statveil.data.prepared import DerivedColumn, PreparationReport

REPORT = PreparationReport(
    read=1000,
    kept=990,
    missing={"age": 1, "job": 1200, "town": 0},
    derived=(DerivedColumn("band", "text", 0, 3), DerivedColumn("share", "number", 2, 0)),
    numbers=("income",),
)


def test_each_thing_that_was_done_has_a_line() -> None:
    assert REPORT.in_words() == [
        "age: 1 value was a missing word",
        "job: 1,200 values were missing words",
        "income: read as a number",
        "band: derived (text), 3 missing",
        "share: derived (number, 2 decimals), 0 missing",
        "990 of 1,000 records kept",
    ]
    assert "confidential" in repr(REPORT)


def test_words_that_occur_nowhere_and_nothing_dropped() -> None:
    quiet = PreparationReport(read=5, kept=5, missing={"age": 0}, derived=(), numbers=())
    assert quiet.in_words() == ["No value is one of the missing words."]
