"""The columns a table uses, checked at the door: numbers, weights, flags, codes.

Everything is read as text, so that codes keep their zeros and numbers become exact integers: units of 10**-decimals.
Messages give counts, columns and the first place, never a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from statveil.core.errors import InputError
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import DecimalMark, Microdata
from statveil.tables.spec import TableSpec

MEASURE_DECIMALS = 9
WEIGHT_DECIMALS = 6
ROUNDED_WEIGHT_DECIMALS = 18
"""Decimals that a weight may have when the spec says to round it."""
_TRUE, _FALSE = "('true', '1', 'yes')", "('false', '0', 'no')"
_LOW_BITS = "18446744073709551615::UHUGEINT"


@dataclass(frozen=True, kw_only=True)
class NumberColumn:
    """A column of numbers: how queries call it, its decimal mark and its decimals."""

    name: str
    identifier: str
    mark: DecimalMark
    decimals: int = 0

    @property
    def _trimmed(self) -> str:
        return f"lower(trim(CAST({self.identifier} AS VARCHAR)))"

    @property
    def _text(self) -> str:
        return f"replace({self._trimmed}, ',', '.')" if self.mark == "," else self._trimmed

    @property
    def is_number(self) -> str:
        return f"regexp_full_match({self._trimmed}, '[+-]?([0-9]+[{self.mark}]?[0-9]*|[{self.mark}][0-9]+)(e[+-]?[0-9]+)?')"

    @property
    def decimals_found(self) -> str:
        """Digits behind the mark without closing zeros, less the exponent; an absurd exponent counts as too many digits."""
        digits = f"length(rtrim(split_part(split_part({self._text}, 'e', 1), '.', 2), '0'))"
        exponent = (
            f"CASE WHEN contains({self._text}, 'e') THEN coalesce(TRY_CAST(split_part({self._text}, 'e', 2) AS INTEGER), -999) ELSE 0 END"
        )
        return f"CASE WHEN {self.is_number} THEN {digits} - ({exponent}) END"

    @property
    def is_negative(self) -> str:
        return f"TRY_CAST({self._text} AS DOUBLE) < 0"

    def units(self, decimals: int) -> str:
        """The number as an integer in units of 10**-decimals; NULL when it does not fit."""
        return f"TRY_CAST(TRY_CAST({self._text} AS DECIMAL(19, {decimals})) * CAST({10**decimals} AS DECIMAL(10, 0)) AS BIGINT)"

    def rounded_units(self, decimals: int) -> str:
        """The same for a number that is not negative and has more decimals, a half rounded to the even neighbour."""
        step = 10 ** (ROUNDED_WEIGHT_DECIMALS - decimals)
        exact = f"CAST(replace(CAST(TRY_CAST({self._text} AS DECIMAL(38, {ROUNDED_WEIGHT_DECIMALS})) AS VARCHAR), '.', '') AS HUGEINT)"
        whole, rest = f"({exact} // {step})", f"({exact} % {step})"
        up = f"CASE WHEN 2 * {rest} > {step} OR (2 * {rest} = {step} AND {whole} % 2 = 1) THEN 1 ELSE 0 END"
        return f"TRY_CAST({whole} + {up} AS BIGINT)"


@dataclass(frozen=True, kw_only=True)
class CheckedColumns:
    """What the door let in: the numbers with their decimals, the size and the hash of the input."""

    records: int
    numbers: Mapping[str, NumberColumn]
    input_hash: str

    def number(self, name: str | None) -> NumberColumn | None:
        return None if name is None else self.numbers[name]

    def decimals(self, name: str | None) -> int:
        return 0 if name is None else self.numbers[name].decimals


def check_columns(session: Session, data: Microdata, specs: Sequence[TableSpec]) -> CheckedColumns:
    """Refuse missing values, words where numbers belong, negative weights, too many decimals."""
    spec = specs[0]
    used = used_columns(specs)
    data.require(used)
    numbers = _number_columns(session, data, specs)
    doubts = [*_missing(data, used), *_words(numbers.values()), *_unclear(data, spec), *_negative(numbers.get(spec.weight or ""))]
    facts = _facts(session, data, used, [*_counts(doubts), *_decimals(numbers.values())])
    _refuse_doubtful(session, data, doubts, facts)
    found = {name: _with_decimals(data, spec, number, facts) for name, number in numbers.items()}
    return CheckedColumns(
        records=facts["records"],
        numbers=found,
        input_hash=_input_hash(used, facts),
    )


def used_columns(specs: Sequence[TableSpec]) -> list[str]:
    single = [name for spec in specs for name in (spec.measure, spec.shadow, spec.weight, spec.holding, spec.request, spec.waiver)]
    return sorted({name for each in specs for name in each.dimensions} | {name for name in single if name})


def flag(identifier: str) -> str:
    return f"lower(trim(CAST({identifier} AS VARCHAR))) IN {_TRUE}"


def _number_columns(session: Session, data: Microdata, specs: Sequence[TableSpec]) -> dict[str, NumberColumn]:
    names = [name for name in dict.fromkeys(name for spec in specs for name in (spec.measure, spec.shadow, spec.weight)) if name]
    marks = _marks(session, data, names)
    return {name: NumberColumn(name=name, identifier=column(data.engine, name), mark=marks[name]) for name in names}


def _marks(session: Session, data: Microdata, names: Sequence[str]) -> dict[str, DecimalMark]:
    if data.decimal or not names:
        return dict.fromkeys(names, data.decimal or ".")
    counts = [
        f"count(*) FILTER (contains(CAST({identifier} AS VARCHAR), '{mark}')) AS {label}_{identifier}"
        for identifier in (column(data.engine, name) for name in names)
        for label, mark in (("commas", ","), ("points", "."))
    ]
    found = scalar_row(session.query(f"SELECT {', '.join(counts)} FROM records"))
    return {name: _mark(session, data, name, found) for name in names}


def _mark(session: Session, data: Microdata, name: str, found: Mapping[str, int]) -> DecimalMark:
    identifier = column(data.engine, name)
    commas, points = found[f"commas_{identifier}"], found[f"points_{identifier}"]
    if commas and points:
        rarer = "," if commas <= points else "."
        doubt = _Doubt(
            name,
            f"contains(CAST({identifier} AS VARCHAR), '{rarer}')",
            "number with another decimal mark than the rest",
            "numbers with another decimal mark than the rest",
            "Use one mark, and none for thousands.",
        )
        raise _refusal(session, data, doubt, min(commas, points))
    return "," if commas else "."


class _Doubt(NamedTuple):
    """What may be wrong with a record: the condition that finds it, and what one and several are called."""

    column: str
    condition: str
    one: str
    many: str
    hint: str


def _missing(data: Microdata, used: Iterable[str]) -> Iterator[_Doubt]:
    for name in used:
        identifier = column(data.engine, name)
        yield _Doubt(
            name,
            f"({identifier} IS NULL OR CAST({identifier} AS VARCHAR) = '')",
            "missing value",
            "missing values",
            "Drop these records, impute them, or give them a code of their own such as 'unknown'.",
        )


def _words(numbers: Iterable[NumberColumn]) -> Iterator[_Doubt]:
    for number in numbers:
        yield _Doubt(
            number.name,
            f"NOT {number.is_number}",
            "value that is not a number",
            "values that are not numbers",
            "Look for words, NaN, signs for thousands, or another decimal mark (give decimal=',').",
        )


def _unclear(data: Microdata, spec: TableSpec) -> Iterator[_Doubt]:
    for name in dict.fromkeys(name for name in (spec.request, spec.waiver) if name):
        text = f"lower(trim(CAST({column(data.engine, name)} AS VARCHAR)))"
        yield _Doubt(
            name,
            f"({text} NOT IN {_TRUE} AND {text} NOT IN {_FALSE})",
            "value that is neither true nor false",
            "values that are neither true nor false",
            "Known: true, false, 1, 0, yes, no.",
        )


def _negative(weight: NumberColumn | None) -> Iterator[_Doubt]:
    if weight:
        hint = "A weight says how many units a record stands for."
        yield _Doubt(weight.name, weight.is_negative, "negative weight", "negative weights", hint)


def _counts(doubts: Iterable[_Doubt]) -> Iterator[str]:
    return (f"count(*) FILTER ({doubt.condition}) AS doubt_{number}" for number, doubt in enumerate(doubts))


def _decimals(numbers: Iterable[NumberColumn]) -> Iterator[str]:
    return (f"max({number.decimals_found}) AS decimals_{number.identifier}" for number in numbers)


def _facts(session: Session, data: Microdata, used: Sequence[str], further: Sequence[str]) -> Mapping[str, Any]:
    """One pass over the records that counts everything that can be wrong with them."""
    identifiers = [column(data.engine, name) for name in used]
    digests = ["sum((digest >> 64)::UBIGINT) AS high_digest", f"sum((digest & {_LOW_BITS})::UBIGINT) AS low_digest"]
    digest = f"md5_number(concat({', '.join(_fenced(identifier) for identifier in identifiers)}))"
    wanted = ", ".join(["count(*) AS records", *digests, *further])
    return scalar_row(session.query(f"SELECT {wanted} FROM (SELECT *, {digest} AS digest FROM records)"))


def _fenced(identifier: str) -> str:
    """The text with its length before it, so that ('a', 'bc') and ('ab', 'c') differ."""
    return f"length(CAST({identifier} AS VARCHAR)), ':', CAST({identifier} AS VARCHAR)"


def _input_hash(used: Sequence[str], facts: Mapping[str, Any]) -> str:
    """A sum over records does not know their order."""
    sums = [str(facts[name] or 0) for name in ("records", "high_digest", "low_digest")]
    return hashlib.sha256(json.dumps([list(used), sums]).encode()).hexdigest()


def _refuse_doubtful(session: Session, data: Microdata, doubts: Sequence[_Doubt], facts: Mapping[str, Any]) -> None:
    for number, doubt in enumerate(doubts):
        if facts[f"doubt_{number}"]:
            raise _refusal(session, data, doubt, facts[f"doubt_{number}"])


def _refusal(session: Session, data: Microdata, doubt: _Doubt, count: int) -> InputError:
    place = data.engine.place(session.first(doubt.condition))
    found = f"one {doubt.one}, in {place}" if count == 1 else f"{count} {doubt.many}, the first in {place}"
    return InputError(f"{data.origin}: column {doubt.column!r} has {found}.", hint=doubt.hint)


def _with_decimals(data: Microdata, spec: TableSpec, number: NumberColumn, facts: Mapping[str, Any]) -> NumberColumn:
    decimals = max(0, facts[f"decimals_{number.identifier}"] or 0)
    limit = MEASURE_DECIMALS
    if number.name == spec.weight:
        limit = WEIGHT_DECIMALS if spec.weight_decimals is None else ROUNDED_WEIGHT_DECIMALS
    if decimals > limit:
        what = "give weight_decimals, and the weights are rounded to that" if number.name == spec.weight else "round the column first"
        raise InputError(
            f"{data.origin}: column {number.name!r} has numbers with more than {limit} decimals.", hint=f"To add up exactly, {what}."
        )
    return NumberColumn(name=number.name, identifier=number.identifier, mark=number.mark, decimals=decimals)
