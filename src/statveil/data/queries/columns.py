"""Columns as the records have them: missing values, words, flags, numbers and their decimals.

Everything is read as text, so that codes keep their zeros and numbers become exact integers: units of 10**-decimals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.data.engines import Engine, Session, column, scalar_row
from statveil.data.microdata import DecimalMark, Microdata

ROUNDED_DECIMALS = 18
"""Decimals that a number may have which is rounded to fewer."""
_TRUE, _FALSE = "('true', '1', 'yes')", "('false', '0', 'no')"


@dataclass(frozen=True, kw_only=True)
class NumberColumn:
    """A column of numbers: how queries call it, its decimal mark and its decimals."""

    name: str
    identifier: str
    mark: DecimalMark
    decimals: int = 0
    given: str | None = None
    """Its text as the engine writes it; None casts the identifier."""
    whole: str = "false"
    """A condition that the engine settles before it reads: whether the type is one of whole numbers, whose text need not be looked at."""

    @classmethod
    def of(cls, data: Microdata, name: str, mark: DecimalMark | None = None) -> NumberColumn:
        return cls(
            name=name,
            identifier=column(data.engine, name),
            mark=mark or data.decimal or ".",
            given=text_of(data.engine, name),
            whole=data.engine.holds_whole_numbers(name),
        )

    @property
    def _trimmed(self) -> str:
        given = self.given or f"CAST({self.identifier} AS STRING)"
        return f"lower(trimmed({given}))"

    @property
    def text(self) -> str:
        """As the engine reads numbers: trimmed, in lower case, with a point."""
        return f"replace({self._trimmed}, ',', '.')" if self.mark == "," else self._trimmed

    @property
    def is_number(self) -> str:
        pattern = f"[+-]?([0-9]+[{self.mark}]?[0-9]*|[{self.mark}][0-9]+)(e[+-]?[0-9]+)?"
        return self._if_whole(f"nullif({self.identifier} IS NOT NULL, false)", f"whole_match({self._trimmed}, '{pattern}')")

    def _if_whole(self, then: str, otherwise: str) -> str:
        return otherwise if self.whole == "false" else f"CASE WHEN {self.whole} THEN {then} ELSE {otherwise} END"

    @property
    def is_word(self) -> str:
        return f"NOT {self.is_number}"

    @property
    def decimals_found(self) -> str:
        """Digits behind the mark without closing zeros, less the exponent; an absurd exponent counts as too many digits."""
        digits = f"length(trim(TRAILING '0' FROM split_part(split_part({self.text}, 'e', 1), '.', 2)))"
        exponent = (
            f"CASE WHEN contains({self.text}, 'e') THEN coalesce(TRY_CAST(split_part({self.text}, 'e', 2) AS INTEGER), -999) ELSE 0 END"
        )
        return self._if_whole("0", f"CASE WHEN {self.is_number} THEN {digits} - ({exponent}) END")

    @property
    def is_negative(self) -> str:
        return f"TRY_CAST({self.text} AS DOUBLE) < 0"

    def units(self, decimals: int) -> str:
        """The number as an integer in units of 10**-decimals; NULL when it does not fit."""
        scaled = "TRY_CAST(TRY_CAST({} AS DECIMAL(19, {})) * CAST({} AS DECIMAL(10, 0)) AS BIGINT)"
        whole = f"TRY_CAST({self.identifier} AS BIGINT)" if not decimals else scaled.format(self.identifier, decimals, 10**decimals)
        return self._if_whole(whole, scaled.format(self.text, decimals, 10**decimals))

    def rounded_units(self, decimals: int) -> str:
        """The same for a number that is not negative and has more decimals, a half rounded to the even neighbour."""
        cut = ROUNDED_DECIMALS - decimals
        digits = f"replace(CAST(TRY_CAST({self.text} AS DECIMAL(38, {ROUNDED_DECIMALS})) AS STRING), '.', '')"
        whole, rest = f"CAST(left({digits}, length({digits}) - {cut}) AS DECIMAL(30, 0))", f"CAST(right({digits}, {cut}) AS BIGINT)"
        step = 10**cut
        up = f"CASE WHEN 2 * {rest} > {step} OR (2 * {rest} = {step} AND {whole} % 2 = 1) THEN 1 ELSE 0 END"
        return f"TRY_CAST({whole} + {up} AS BIGINT)"


def product(one: str, other: str) -> str:
    """The product of two whole numbers; NULL when it does not fit."""
    return f"TRY_CAST(CAST({one} AS DECIMAL(19, 0)) * CAST({other} AS DECIMAL(19, 0)) AS BIGINT)"


def units_or_one(number: NumberColumn | None, decimals: int) -> str:
    """A number in units of 10**-decimals, or a one in them where there is no column."""
    return number.units(decimals) if number else f"CAST({10**decimals} AS BIGINT)"


def text_of(engine: Engine, name: str) -> str:
    return engine.text(name)


def is_missing(engine: Engine, name: str) -> str:
    return f"({column(engine, name)} IS NULL OR (NOT {engine.holds_whole_numbers(name)} AND {text_of(engine, name)} = ''))"


def is_true(engine: Engine, name: str) -> str:
    return f"lower(trimmed({text_of(engine, name)})) IN {_TRUE}"


def is_no_flag(engine: Engine, name: str) -> str:
    """Neither true nor false."""
    text = f"lower(trimmed({text_of(engine, name)}))"
    return f"({text} NOT IN {_TRUE} AND {text} NOT IN {_FALSE})"


def has_mark(engine: Engine, name: str, mark: DecimalMark) -> str:
    """Whether a value that has digits has this mark: the points of a word such as k.A. are none."""
    text = text_of(engine, name)
    return f"(contains({text}, '{mark}') AND whole_match({text}, '.*[0-9].*'))"


def count_marks(session: Session, engine: Engine, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many values of each column hold a comma, and how many a point."""
    places = [(place, name) for place, name in enumerate(names)]
    commas = [f"count(*) FILTER (WHERE {has_mark(engine, name, ',')}) AS commas{place}" for place, name in places]
    points = [f"count(*) FILTER (WHERE {has_mark(engine, name, '.')}) AS points{place}" for place, name in places]
    found = scalar_row(session.query(f"SELECT {', '.join(commas + points)} FROM records"))
    return {name: (found[f"commas{place}"], found[f"points{place}"]) for place, name in places}


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """Records, the sum of the digests of what they hold, how many meet each condition, and the most decimals of each number."""

    records: int
    digest: tuple[int, int]
    counts: Sequence[int]
    decimals: Mapping[str, int]


def column_facts(
    session: Session, engine: Engine, used: Sequence[str], conditions: Sequence[str], numbers: Sequence[NumberColumn]
) -> ColumnFacts:
    """One pass over the records that counts everything that can be wrong with them. A sum over records does not know their order."""
    digests = ["sum(digest_high(digest)) AS high_digest", "sum(digest_low(digest)) AS low_digest"]
    digest = f"digest(concat({', '.join(fenced(engine, name) for name in used)}))"
    wanted = ", ".join(["count(*) AS records", *digests, *_counts(conditions), *_decimals(numbers)])
    found: Mapping[str, Any] = scalar_row(session.query(f"SELECT {wanted} FROM (SELECT *, {digest} AS digest FROM records)"))
    return ColumnFacts(
        records=found["records"],
        digest=(int(found["high_digest"] or 0), int(found["low_digest"] or 0)),
        counts=[found[f"doubt_{place}"] for place in range(len(conditions))],
        decimals={number.name: max(0, found[f"decimals_{number.identifier}"] or 0) for number in numbers},
    )


def fenced(engine: Engine, name: str) -> str:
    """The text with its length before it, so that ('a', 'bc') and ('ab', 'c') differ; a missing one has neither."""
    text = text_of(engine, name)
    return f"coalesce(CAST(length({text}) AS STRING), ''), ':', coalesce({text}, '')"


def _counts(conditions: Sequence[str]) -> Iterator[str]:
    return (f"count(*) FILTER (WHERE {condition}) AS doubt_{place}" for place, condition in enumerate(conditions))


def _decimals(numbers: Sequence[NumberColumn]) -> Iterator[str]:
    return (f"max({number.decimals_found}) AS decimals_{number.identifier}" for number in numbers)


def distinct_codes(session: Session, engine: Engine, name: str) -> list[str]:
    """The distinct codes of a column without missing values, as text, in order."""
    found = session.query(f"SELECT DISTINCT {text_of(engine, name)} AS code FROM records")
    return sorted(found["code"].to_pylist())
