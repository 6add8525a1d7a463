"""The engine's own messages quote records and queries; ours do not. Letters that it turns into others are those that all engines turn."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import statveil as sv
from statveil.core.errors import EngineFailed, FormatError, InputError, StatveilError
from statveil.data.engines import duck

SECRET = "Dr Miller, 4711"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (duckdb.InvalidInputException(f"CSV Error on Line: 7\nOriginal Line: {SECRET}"), FormatError, "line 7"),
        (duckdb.InvalidInputException(f"Error when sniffing file: CSV dialect of {SECRET}"), FormatError, "not a regular CSV file"),
        (duckdb.IOException(f"Could not open {SECRET}"), InputError, "cannot be read"),
        (duckdb.ConversionException(f"Could not convert {SECRET}"), EngineFailed, "ConversionException"),
    ],
)
def test_a_message_of_ours_holds_no_record(error: duckdb.Error, kind: type[StatveilError], words: str) -> None:
    with pytest.raises(kind, match=words) as raised, duck._in_our_words("people.csv"):
        raise error
    assert "Miller" not in f"{raised.value} {raised.value.hint}"
    assert raised.value.__cause__ is None


def test_letters_in_another_case() -> None:
    letters, lower = duck.other_case("lower")
    turned = dict(zip(letters, lower, strict=True))
    assert (turned["A"], turned["É"]) == ("a", "é")
    assert "a" not in turned


def test_what_is_kept_ends_with_the_session(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a\n1\n2\n", encoding="utf-8")
    data = sv.read_microdata(tmp_path / "r.csv")
    with data.engine.session() as session:
        session.keep("twos", "SELECT * FROM records WHERE c0 = '2'")
        assert session.query("SELECT count(*) AS n FROM twos")["n"].to_pylist() == [1]
    with data.engine.session() as session, pytest.raises(StatveilError):
        session.query("SELECT * FROM twos")
