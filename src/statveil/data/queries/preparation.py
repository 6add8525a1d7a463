"""Queries that make records ready: missing words blanked and counted, texts read as numbers, conditions counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from statveil.core.errors import InputError
from statveil.data.engines import Engine, Session, column, scalar_row
from statveil.data.microdata import DecimalMark, Microdata
from statveil.data.queries.columns import NumberColumn
from statveil.data.queries.expressions import MOST_DECIMALS, ReadNumber, quoted

_LARGEST_UNITS = 10**18
_NUMBER = "[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?"


class GivenTexts(Mapping[str, str]):
    """The text of each column, NULL where it is missing; asked of the engine when it is used, as engines refuse some types."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getitem__(self, name: str) -> str:
        return f"nullif({self._engine.text(name)}, '')"

    def __contains__(self, name: object) -> bool:
        return name in self._engine.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._engine.columns)

    def __len__(self) -> int:
        return len(self._engine.columns)


def is_word(engine: Engine, name: str, words: Sequence[str]) -> str:
    """Whether the value of a column is one of these words; blanks around it do not count."""
    return f"trimmed({engine.text(name)}) IN ({', '.join(quoted(word) for word in words)})"


def cleaned_column(engine: Engine, name: str, words: Sequence[str]) -> str:
    """The column with nothing where it holds one of the words."""
    return f"CASE WHEN {is_word(engine, name, words)} THEN NULL ELSE {column(engine, name)} END" if words else column(engine, name)


def missing_counts(session: Session, engine: Engine, words: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """By column, how many values are one of its missing words."""
    counts = count_conditions(session, [is_word(engine, name, each) for name, each in words.items()])
    return dict(zip(words, counts, strict=True))


def words_found(session: Session, engine: Engine, words: Sequence[str]) -> list[list[str]]:
    """Which of these words each column holds."""
    places = [(place, word) for place in range(len(engine.columns)) for word in words]
    counts = count_conditions(session, [is_word(engine, engine.columns[place], [word]) for place, word in places])
    return [
        [word for (at, word), count in zip(places, counts, strict=True) if at == place and count] for place in range(len(engine.columns))
    ]


def words_among_numbers(session: Session, engine: Engine, most: int) -> dict[str, list[str]]:
    """By column whose values are numbers for the greater part, the words that are none; columns with more than so many are left out."""
    texts = [f"trimmed({engine.text(name)})" for name in engine.columns]
    numbers = [f"whole_match({text}, '{_NUMBER}')" for text in texts]
    conditions = [each for text, number in zip(texts, numbers, strict=True) for each in (number, f"{text} <> '' AND NOT {number}")]
    counts = count_conditions(session, conditions)
    found = {}
    for place, name in enumerate(engine.columns):
        if counts[2 * place] > counts[2 * place + 1] > 0:
            rows = session.query(f"SELECT DISTINCT {texts[place]} AS word FROM records WHERE {conditions[2 * place + 1]} LIMIT {most + 1}")
            found[name] = sorted(rows["word"].to_pylist())
    return {name: words for name, words in found.items() if len(words) <= most}


def codes_below_zero(session: Session, engine: Engine, codes: Sequence[str]) -> list[list[str]]:
    """Which of these codes each column holds; none of a column with other values below zero, where they are amounts."""
    others = [f"trimmed({engine.text(name)}) LIKE '-_%' AND NOT {is_word(engine, name, codes)}" for name in engine.columns]
    amounts = count_conditions(session, others)
    found = words_found(session, engine, codes)
    return [[] if count else words for count, words in zip(amounts, found, strict=True)]


def count_conditions(session: Session, conditions: Sequence[str]) -> list[int]:
    """How many records meet each condition, in one pass."""
    if not conditions:
        return []
    counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS n{place}" for place, condition in enumerate(conditions))
    found = scalar_row(session.query(f"SELECT {counts} FROM records"))
    return [int(found[f"n{place}"]) for place in range(len(conditions))]


class ReadColumns:
    """Texts that expressions read as numbers, each looked at once; what is no number is refused."""

    def __init__(self, session: Session, data: Microdata) -> None:
        self._session, self._data = session, data
        self._found: dict[str, ReadNumber] = {}
        self.names: list[str] = []

    def number(self, text: str, name: str) -> ReadNumber:
        """How the text reads as a number; `name` is the column's, or where the expression stands."""
        if text not in self._found:
            self._found[text] = self._look(text, name)
            if name in self._data.columns:
                self.names.append(name)
        return self._found[text]

    def _look(self, text: str, name: str) -> ReadNumber:
        mark = self._data.decimal or self._mark(text, name)
        number = NumberColumn(name=name, identifier=f"({text})", mark=mark, given=text)
        largest = f"max(abs(TRY_CAST({number.text} AS DOUBLE))) FILTER (WHERE {number.is_number})"
        facts = f"count(*) FILTER (WHERE {number.is_word}) AS words, max({number.decimals_found}) AS decimals, {largest} AS largest"
        found = scalar_row(self._session.query(f"SELECT {facts} FROM records"))
        if found["words"]:
            self._refuse_words(number, found["words"])
        decimals, size = max(0, found["decimals"] or 0), found["largest"] or 0.0
        if decimals > MOST_DECIMALS or not size * 10**decimals < _LARGEST_UNITS:
            raise InputError(f"{self._data.origin}: {name!r} has numbers with too many digits to be exact.", hint="Round the column first.")
        return ReadNumber(number.units(decimals), decimals, int(size * 10**decimals * (1 + 1e-9)) + 1)

    def _mark(self, text: str, name: str) -> DecimalMark:
        commas, points = count_conditions(self._session, [f"contains({text}, ',')", f"contains({text}, '.')"])
        if commas and points:
            raise InputError(f"{self._data.origin}: {name!r} holds commas and points.", hint="Say which marks decimals: decimal = ','.")
        return "," if commas else "."

    def _refuse_words(self, number: NumberColumn, count: int) -> None:
        place = self._data.engine.place(self._session.first(number.is_word))
        found = (
            f"one value that is not a number, in {place}" if count == 1 else f"{count:,} values that are not numbers, the first in {place}"
        )
        raise InputError(
            f"{self._data.origin}: {number.name!r} is read as a number and has {found}.",
            hint='If they stand for missing values, say so: missing = ["NA", "."].',
        )
