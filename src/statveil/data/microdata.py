"""Records, confidential: where they are and how their numbers are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, Literal, NamedTuple

from statveil.core.errors import UnknownColumn
from statveil.core.show import ShortDisplay, counted
from statveil.data.engines import Engine, column
from statveil.data.prepared import PreparationReport, PreparedWishes

Look = Literal["number", "code", "identifier", "empty"]


class ProfileTuning(NamedTuple):
    """All by judgement: suggestions are there to be edited."""

    numbers: float = 0.99
    """Share of a column's values that must read as numbers."""
    few: int = 20
    """A column of whole numbers with no more different ones is taken for codes; so is one of the same width throughout."""
    shown: int = 100
    """Characters of the names of columns that `repr` shows."""
    identifying: float = 0.98
    """Share of different values from which a column of codes is taken for an identifier."""
    words: int = 5
    """So many different words may stand among numbers, which then mean a missing value, most likely."""
    worded: float = 0.8
    """Share of numbers that a column with such words has at least."""
    codes: int = 6
    """Most frequent codes that are told of a column."""


TUNING = ProfileTuning()


class AmountSpread(NamedTuple):
    """Where the amounts of a column lie, and which part of their sum the largest is: long tails are what protection is about."""

    least: float
    median: float
    high: float
    """Ninety-nine in a hundred are not larger."""
    largest: float
    largest_share: float


class ColumnProfile(NamedTuple):
    name: str
    look: Look
    distinct: int
    missing: int
    span: float | None = None
    """From the smallest to the largest, where all values are numbers."""
    spread: AmountSpread | None = None
    """Of a column of amounts. Confidential."""
    width: int = 0
    """Of codes that are all as long."""
    heads: int = 0
    """How many different first characters there are."""


def profile(data: Microdata) -> list[ColumnProfile]:
    """The look of every column, in the order of the file; one pass."""
    facts = ", ".join(_facts(data, place) for place in range(len(data.columns)))
    with data.engine.session() as session:
        row = session.query(f"SELECT count(*) AS records, {facts} FROM records").to_pylist()[0]
    return [_column(name, place, row) for place, name in enumerate(data.columns)]


def _facts(data: Microdata, place: int) -> str:
    text = f"trim(CAST({column(data.engine, data.columns[place])} AS STRING))"
    number = f"regexp_full_match({text}, '[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?')"
    amount = f"CASE WHEN {number} THEN CAST(replace({text}, ',', '.') AS DOUBLE) END"
    return (
        f"count(DISTINCT nullif({text}, '')) AS distinct{place}, count(nullif({text}, '')) AS given{place}, "
        f"count(*) FILTER (WHERE {number}) AS numbers{place}, count(DISTINCT length(nullif({text}, ''))) AS widths{place}, "
        f"coalesce(max({amount}) - min({amount}), 0) AS span{place}, coalesce(max(length({text})), 0) AS width{place}, "
        f"count(DISTINCT left(nullif({text}, ''), 1)) AS heads{place}, "
        f"count(DISTINCT nullif({text}, '')) FILTER (WHERE NOT {number}) AS words{place}, "
        f"quantile_disc({amount}, [0, 0.5, 0.99, 1]) AS spread{place}, max(abs({amount})) / nullif(sum(abs({amount})), 0) AS share{place}, "
        f"count(*) FILTER (WHERE {number} AND regexp_matches({text}, '[.,]')) AS broken{place}"
    )


def _column(name: str, place: int, row: dict[str, Any]) -> ColumnProfile:
    facts = {fact: row[f"{fact}{place}"] for fact in ("distinct", "given", "numbers", "broken", "widths", "span", "words")}
    span = facts["span"] if facts["given"] and facts["numbers"] == facts["given"] else None
    look = _look(**facts)
    spread = AmountSpread._make([*row[f"spread{place}"], row[f"share{place}"] or 0.0]) if look == "number" else None
    width = row[f"width{place}"] if facts["widths"] == 1 else 0
    return ColumnProfile(name, look, facts["distinct"], row["records"] - facts["given"], span, spread, width, row[f"heads{place}"])


def _look(*, distinct: int, given: int, numbers: int, broken: int, widths: int, span: float, words: int) -> Look:
    if not given:
        return "empty"
    serial = distinct == given and span < 2 * given
    amounts = widths > 1 and (broken or (distinct > TUNING.few and not serial))
    least = TUNING.worded if words <= TUNING.words else TUNING.numbers
    if amounts and numbers >= least * given:
        return "number"
    return "identifier" if distinct > TUNING.few and distinct >= TUNING.identifying * given else "code"


@dataclass(frozen=True, kw_only=True)
class FileLabels:
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


DecimalMark = Literal[".", ","]


@dataclass(frozen=True, kw_only=True, repr=False)
class Microdata(ShortDisplay):
    """Records behind an engine, read when a table asks for them.

    `decimal` is the mark in numbers written as text; None takes a comma in columns that use commas and no points. `delimiter` and
    `encoding` are those that a user named for a text file, and None where they were found.
    engine: what holds the records. origin: the file, or what else they came from.
    wishes, prepared: what was asked of the records before they are used (missing words, a condition, new columns), and what came of it.

    >>> import pyarrow as pa, statveil as sv
    >>> sv.read_microdata(pa.table({"region": ["A", "B"], "turnover": [10, 20]})).columns
    ('region', 'turnover')
    """

    engine: Engine
    origin: str
    decimal: DecimalMark | None = "."
    delimiter: str | None = None
    encoding: str | None = None
    wishes: PreparedWishes | None = None
    prepared: PreparationReport | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return self.engine.columns

    def require(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self.columns]
        if missing:
            known = ", ".join(repr(name) for name in self.columns)
            raise UnknownColumn(f"{self.origin} has no column {missing[0]!r}.", hint=f"Its columns: {known}.")

    def codes(self, name: str) -> list[str]:
        """The distinct codes of a column, as text, in order."""
        self.require([name])
        place = column(self.engine, name)
        with self.engine.session() as session:
            found = session.query(f"SELECT DISTINCT {self.engine.text(name)} AS code FROM records WHERE {place} IS NOT NULL ORDER BY code")
        return [str(code) for code in found["code"].to_pylist()]

    def frequent_codes(self, names: Iterable[str]) -> dict[str, list[str]]:
        """By column, its most frequent codes; the first ones in the order of text where they are equally frequent."""
        found = {}
        with self.engine.session() as session:
            for name in names:
                codes = f"SELECT {self.engine.text(name)} AS code FROM records WHERE {column(self.engine, name)} IS NOT NULL"
                rows = session.query(f"SELECT code FROM ({codes}) GROUP BY code ORDER BY count(*) DESC, code LIMIT {TUNING.codes}")
                found[name] = [str(code) for code in rows["code"].to_pylist()]
        return found

    def _headline(self) -> str:
        return f"Microdata (confidential): {self.origin}, {counted(len(self.columns), 'column')}"

    def _facts(self) -> list[str]:
        names = shorten(", ".join(self.columns), TUNING.shown, placeholder=" ...")
        return [f"columns: {names}", *(self.prepared.in_words() if self.prepared else ())]
