"""All records with all they hold, in an order that only their content decides."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from statveil.data.engines import Session
from statveil.data.microdata import DecimalMark, Microdata
from statveil.data.queries.columns import NumberColumn, column_facts, count_marks, fenced, is_missing, text_of


def records_by_content(session: Session, data: Microdata) -> tuple[pa.Table, list[str]]:
    """The records, in the order of digests of what they hold, and these digests: the order of the file plays no part."""
    digest = f"md5(concat({', '.join(fenced(data.engine, name) for name in data.columns)}))"
    found = session.query(f"SELECT *, {digest} AS digest FROM records ORDER BY digest")
    return found.drop_columns(["digest"]).rename_columns(list(data.columns)), found["digest"].to_pylist()


def all_records(data: Microdata) -> pa.Table:
    """The records in the order of the file, under the names of their columns."""
    with data.engine.session() as session:
        found = session.query("SELECT * EXCLUDE (kept, number) FROM numbered WHERE kept ORDER BY number")
    return found.rename_columns(list(data.columns))


class NumberFacts(NamedTuple):
    """A column of numbers: its decimal mark and decimals, how many values are none (`words`), and the record of the first of them."""

    mark: DecimalMark
    decimals: int
    words: int
    first: int


def number_facts(session: Session, data: Microdata, name: str) -> NumberFacts:
    """What a column that should hold numbers holds; empty texts and NaN are missing."""
    commas, points = count_marks(session, data.engine, [name])[name]
    mark: DecimalMark = data.decimal or ("," if commas and not points else ".")
    number = NumberColumn.of(data, name, mark)
    missing = f"({is_missing(data.engine, name)} OR lower(trim({text_of(data.engine, name)})) IN ('', 'nan'))"
    word = f"(NOT {missing} AND NOT coalesce({number.is_number}, false))"
    facts = column_facts(session, data.engine, [name], [word], [number])
    return NumberFacts(mark, facts.decimals[name], facts.counts[0], session.first(word) if facts.counts[0] else 0)
