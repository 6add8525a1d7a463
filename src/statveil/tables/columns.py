"""The columns a table uses, checked at the door: numbers, weights, flags, codes.

Messages give counts, columns and the first place, never a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from statveil.core.errors import InputError
from statveil.data.engines import Session
from statveil.data.microdata import DecimalMark, Microdata
from statveil.data.queries.columns import (
    ROUNDED_DECIMALS,
    ColumnFacts,
    NumberColumn,
    column_facts,
    count_marks,
    has_mark,
    is_missing,
    is_no_flag,
)
from statveil.tables.spec import TableSpec

MEASURE_DECIMALS = 9
WEIGHT_DECIMALS = 6


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
    facts = column_facts(session, data.engine, used, [doubt.condition for doubt in doubts], list(numbers.values()))
    _refuse_doubtful(session, data, doubts, facts)
    found = {name: _with_decimals(data, spec, number, facts.decimals[name]) for name, number in numbers.items()}
    return CheckedColumns(records=facts.records, numbers=found, input_hash=_input_hash(used, facts))


def used_columns(specs: Sequence[TableSpec]) -> list[str]:
    single = [name for spec in specs for name in (spec.measure, spec.shadow, spec.weight, spec.holding, spec.request, spec.waiver)]
    return sorted({name for each in specs for name in each.dimensions} | {name for name in single if name})


def _number_columns(session: Session, data: Microdata, specs: Sequence[TableSpec]) -> dict[str, NumberColumn]:
    names = [name for name in dict.fromkeys(name for spec in specs for name in (spec.measure, spec.shadow, spec.weight)) if name]
    marks = _marks(session, data, names)
    return {name: NumberColumn.of(data, name, marks[name]) for name in names}


def _marks(session: Session, data: Microdata, names: Sequence[str]) -> dict[str, DecimalMark]:
    if data.decimal or not names:
        return dict.fromkeys(names, data.decimal or ".")
    found = count_marks(session, data.engine, names)
    return {name: _mark(session, data, name, *found[name]) for name in names}


def _mark(session: Session, data: Microdata, name: str, commas: int, points: int) -> DecimalMark:
    if commas and points:
        doubt = _Doubt(
            name,
            has_mark(data.engine, name, "," if commas <= points else "."),
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
        yield _Doubt(
            name,
            is_missing(data.engine, name),
            "missing value",
            "missing values",
            f'Leave these records out (where = "{name} is not missing"), give them a value (derive = {{ new = "if_missing({name}, 0)" }}, '
            "or a code such as 'unknown'), or impute them.",
        )


def _words(numbers: Iterable[NumberColumn]) -> Iterator[_Doubt]:
    for number in numbers:
        yield _Doubt(
            number.name,
            number.is_word,
            "value that is not a number",
            "values that are not numbers",
            f'Words such as NA that stand for missing values are named: missing = {{ {number.name} = ["NA"] }}. '
            "Or look for NaN, signs for thousands, or another decimal mark (decimal = ',').",
        )


def _unclear(data: Microdata, spec: TableSpec) -> Iterator[_Doubt]:
    for name in dict.fromkeys(name for name in (spec.request, spec.waiver) if name):
        yield _Doubt(
            name,
            is_no_flag(data.engine, name),
            "value that is neither true nor false",
            "values that are neither true nor false",
            "Known: true, false, 1, 0, yes, no.",
        )


def _negative(weight: NumberColumn | None) -> Iterator[_Doubt]:
    if weight:
        hint = "A weight says how many units a record stands for."
        yield _Doubt(weight.name, weight.is_negative, "negative weight", "negative weights", hint)


def _input_hash(used: Sequence[str], facts: ColumnFacts) -> str:
    sums = [str(number) for number in (facts.records, *facts.digest)]
    return hashlib.sha256(json.dumps([list(used), sums]).encode()).hexdigest()


def _refuse_doubtful(session: Session, data: Microdata, doubts: Sequence[_Doubt], facts: ColumnFacts) -> None:
    for doubt, count in zip(doubts, facts.counts, strict=True):
        if count:
            raise _refusal(session, data, doubt, count)


def _refusal(session: Session, data: Microdata, doubt: _Doubt, count: int) -> InputError:
    place = data.engine.place(session.first(doubt.condition))
    found = f"one {doubt.one}, in {place}" if count == 1 else f"{count} {doubt.many}, the first in {place}"
    return InputError(f"{data.origin}: column {doubt.column!r} has {found}.", hint=doubt.hint)


def _with_decimals(data: Microdata, spec: TableSpec, number: NumberColumn, decimals: int) -> NumberColumn:
    limit = MEASURE_DECIMALS
    if number.name == spec.weight:
        limit = WEIGHT_DECIMALS if spec.weight_decimals is None else ROUNDED_DECIMALS
    if decimals > limit:
        what = "give weight_decimals, and the weights are rounded to that" if number.name == spec.weight else "round the column first"
        raise InputError(
            f"{data.origin}: column {number.name!r} has numbers with more than {limit} decimals.", hint=f"To add up exactly, {what}."
        )
    return replace(number, decimals=decimals)
