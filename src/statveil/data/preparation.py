"""Records as they come, made ready before anything is added up: missing words, derived columns, the records to keep.

Whatever is unclear is refused here, with the remedy: a word where a number is needed, a condition on a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from statveil.core.errors import InputError
from statveil.data.engines import RecordView, Session
from statveil.data.expressions.parser import parse_expression
from statveil.data.expressions.tree import Expression, columns_in
from statveil.data.microdata import Microdata
from statveil.data.prepared import DerivedColumn, MissingWords, PreparationReport, PreparedWishes
from statveil.data.queries.expressions import Meaning, Translator, as_column, within
from statveil.data.queries.preparation import (
    GivenTexts,
    ReadColumns,
    cleaned_column,
    codes_below_zero,
    count_conditions,
    missing_counts,
    words_among_numbers,
    words_found,
)

EVERY_COLUMN = "*"
"""In `missing`, stands for all columns that are not named."""
USUAL_WORDS = ("NA", "N/A", "NaN", "nan", "NULL", "null", ".", "?", "-")
"""Words that mean a missing value wherever they stand among numbers."""
USUAL_CODES = ("-9", "-99", "-999")
"""Codes that often mean a missing value where nothing else is below zero."""
FEW_WORDS = 5
"""Different words among numbers up to which they are told. By judgement."""


def prepare_records(data: Microdata, wishes: PreparedWishes) -> Microdata:
    """The records as asked, with the report on what became of them."""
    words = _missing_words(data, wishes.missing)
    cleaned = tuple(cleaned_column(data.engine, name, words[name]) for name in data.columns)
    engine = data.engine.viewed(data.columns, RecordView(cleaned=cleaned))
    with data.engine.session() as session:
        counts = missing_counts(session, data.engine, {name: each for name, each in words.items() if each})
    with engine.session() as session:
        plan = _Plan.of(session, replace(data, engine=engine), wishes)
        report = plan.report(session, counts)
    view = RecordView(cleaned=cleaned, derived=tuple(as_column(each, plan.mark) for each in plan.derived.values()), kept=plan.kept)
    viewed = data.engine.viewed((*data.columns, *plan.derived), view)
    return replace(data, engine=viewed, wishes=wishes, prepared=report)


def usual_words(data: Microdata) -> dict[str, list[str]]:
    """By column, which of the usual words for a missing value it holds."""
    with data.engine.session() as session:
        found = words_found(session, data.engine, USUAL_WORDS)
    return {name: words for name, words in zip(data.columns, found, strict=True) if words}


def doubtful_words(data: Microdata) -> dict[str, list[str]]:
    """By column, what may mean that a value is missing: usual words, the few words among numbers, codes below zero. A person decides."""
    with data.engine.session() as session:
        usual = words_found(session, data.engine, USUAL_WORDS)
        among = words_among_numbers(session, data.engine, FEW_WORDS)
        codes = codes_below_zero(session, data.engine, USUAL_CODES)
    found = {name: list(dict.fromkeys([*usual[at], *among.get(name, []), *codes[at]])) for at, name in enumerate(data.columns)}
    return {name: words for name, words in found.items() if words}


def _missing_words(data: Microdata, asked: MissingWords) -> dict[str, tuple[str, ...]]:
    """By column, the words that mean that its value is missing."""
    by_column = dict(asked) if isinstance(asked, Mapping) else {EVERY_COLUMN: asked}
    for name, words in by_column.items():
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise InputError(f"missing: {name!r} needs a list of texts.", hint='Example: missing = ["NA", "-9"].')
    data.require(name for name in by_column if name != EVERY_COLUMN)
    everywhere = tuple(by_column.get(EVERY_COLUMN, ()))
    return {name: tuple(dict.fromkeys(word.strip() for word in by_column.get(name, everywhere))) for name in data.columns}


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The view that was asked for, in the engine's words."""

    data: Microdata
    derived: Mapping[str, Meaning]
    kept: str
    mark: str
    numbers: tuple[str, ...]
    condition: Expression | None

    @classmethod
    def of(cls, session: Session, data: Microdata, wishes: PreparedWishes) -> _Plan:
        readers = ReadColumns(session, data)
        translator = Translator(columns=GivenTexts(data.engine), derived={}, read=readers.number)
        derived: dict[str, Meaning] = {}
        for name, text in wishes.derive.items():
            _check_name(name, (*data.columns, *derived))
            key = f"derive.{name}"
            derived[name] = within(translator, key, derived).of(parse_expression(text, key=key))
        kept, condition = "true", None
        if wishes.where is not None:
            condition = parse_expression(wishes.where, key="where")
            kept = within(translator, "where", derived).condition(condition)
        return cls(data=data, derived=derived, kept=kept, mark=data.decimal or ".", numbers=tuple(readers.names), condition=condition)

    def report(self, session: Session, missing: Mapping[str, int]) -> PreparationReport:
        """Count what the view does; a condition that is neither true nor false is refused."""
        empty = [f"({self.kept}) AND ({each.query}) IS NULL" for each in self.derived.values()]
        read, kept, unclear, *blanks = count_conditions(session, ["true", self.kept, f"({self.kept}) IS NULL", *empty])
        if unclear:
            self._refuse_unclear(session, unclear)
        derived = tuple(
            DerivedColumn(name, each.kind, each.decimals, blank) for (name, each), blank in zip(self.derived.items(), blanks, strict=True)
        )
        return PreparationReport(read=read, kept=kept, missing=missing, derived=derived, numbers=self.numbers)

    def _refuse_unclear(self, session: Session, unclear: int) -> None:
        assert self.condition is not None
        place = self.data.engine.place(session.first(f"({self.kept}) IS NULL"))
        names = columns_in(self.condition)
        raise InputError(
            f"{self.data.origin}: where is neither true nor false for {unclear:,} record{'s' if unclear > 1 else ''} with missing values, "
            f"the first in {place}.",
            hint=f"Say what becomes of them: add `and {names[0]} is not missing` to leave them out, or `or {names[0]} is missing`.",
        )


def _check_name(name: str, taken: Sequence[str]) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InputError("derive: a new column needs a name.")
    if name in taken:
        raise InputError(f"derive: there is a column {name!r} already.", hint="Give the new one another name.")
