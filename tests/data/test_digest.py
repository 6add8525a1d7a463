"""What orders safe files is known to anybody with MD5 and the secret; no engine's own hash has a say in it."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.data.digest import keyed_digest
from statveil.data.engines import engine_over_arrow

TEXTS = st.one_of(st.none(), st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=5))


def by_hand(secret: int, texts: list[str | None]) -> str:
    fenced = "".join("-" if text is None else f"{len(text)}:{text}" for text in texts)
    return hashlib.md5(f"statveil order {secret} {fenced}".encode()).hexdigest()


def digests(secret: int, rows: list[tuple[str | None, str | None]]) -> list[str]:
    table = pa.table({name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(("a", "b"))})
    with engine_over_arrow(table, origin="test").session() as session:
        found = session.query(f"SELECT c0, c1, {keyed_digest(secret, ['c0', 'c1'])} AS digest FROM records")
    told = {(row["c0"], row["c1"]): row["digest"] for row in found.to_pylist()}
    return [told[row] for row in rows]


@pytest.mark.slow
@given(st.integers(0, 2**63), st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_it_is_the_md5_of_the_secret_and_the_fenced_texts(secret: int, rows: list[tuple[str | None, str | None]]) -> None:
    assert digests(secret, rows) == [by_hand(secret, list(row)) for row in rows]


@pytest.mark.parametrize("other", [("ab", "c"), ("abc", ""), ("a", None), (None, "abc"), ("a", "bC")])
def test_records_that_differ_have_other_digests(other: tuple[str | None, str | None]) -> None:
    one, two = digests(7, [("a", "bc"), other])
    assert one != two


def test_another_secret_is_another_order() -> None:
    rows = [(str(number), "x") for number in range(8)]
    orders = {tuple(sorted(rows, key=lambda row, secret=secret: by_hand(secret, list(row)))) for secret in range(5)}
    assert len(orders) == 5


def test_numbers_and_texts_of_the_same_look_are_the_same() -> None:
    with engine_over_arrow(pa.table({"a": [17]}), origin="test").session() as session:
        (row,) = session.query(f"SELECT {keyed_digest(1, ['CAST(c0 AS STRING)'])} AS digest FROM records").to_pylist()
    assert row["digest"] == by_hand(1, ["17"])
