"""What a table is added up from: records as integers, leaf cells, contributions of respondents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import InputError
from statveil.data.engines import Engine, Session, column, scalar_row
from statveil.data.queries.columns import is_true, product, text_of

LARGEST_SUM = 2**62


class CodeKeys(NamedTuple):
    """A dimension of a table: its column, and what each code adds to the key of a cell."""

    column: str
    codes: Sequence[str]
    keys: Sequence[int]


class ResponseUnits(NamedTuple):
    """A response in whole units: what is published, and what the rules look at."""

    measure: str
    rule: str


class RecordFlag(NamedTuple):
    """What a column of true and false adds to the flags of a record; without a column it is false."""

    column: str | None
    if_true: int
    if_false: int


@dataclass(frozen=True, kw_only=True)
class CodedRecords:
    """What the records are coded as. `weight` is None where all weigh one; `one` is a weight of one where a record stands for as many
    respondents as it weighs."""

    tables: Sequence[Sequence[CodeKeys]]
    holding: str | None
    weight: str | None
    responses: Sequence[ResponseUnits]
    flags: Sequence[RecordFlag]
    one: int | None


def keep_coded_records(session: Session, engine: Engine, coded: CodedRecords, *, read_once: bool = False) -> None:
    """Keep the table `coded`, or make a view of it that is `read_once`: key0, key1, ... of the leaf cell in each table, holding, weight,
    copies, flags.

    And value0, amount0, mass0, value1, ... of each response: weight x measure, what the rules add up per respondent, and what it adds to
    the cell's magnitude. They are NULL where they do not fit.
    """
    joins, keys = _lookups(session, engine, coded.tables)
    holding = "0"
    if coded.holding:
        holding, join = _holding(session, text_of(engine, coded.holding))
        joins += join
    numbers = [f"{coded.weight} AS weight"] if coded.weight else []
    for place, each in enumerate(coded.responses):
        numbers += [f"{each.measure} AS measure{place}", *([f"{each.rule} AS rule{place}"] if each.rule != each.measure else [])]
    holdings = [f"{holding} AS holding"] if coded.holding else []
    flags = [f"{_flags(engine, coded.flags)} AS flags"] if any(each.column for each in coded.flags) else []
    selected = f"SELECT {', '.join([*keys, *holdings, *numbers, *flags])} FROM records {' '.join(joins)}"
    if read_once:
        session.view("coded", _with_products(selected, engine, coded))
    elif coded.weight:
        session.keep("coded", _with_products(selected, engine, coded))
    else:  # what is the same in all records, or follows from a number beside it, is not stored
        session.keep("coded_numbers", selected)
        session.view("coded", _with_products("SELECT * FROM coded_numbers", engine, coded))


def _holding(session: Session, identifier: str) -> tuple[str, list[str]]:
    """What queries group by for the holding, and the join that finds it: its number, or the identifier itself where none are numbered.

    `holdings` holds each of them with its name, a number that depends on its identifier alone.
    """
    name = "digest_low(digest(concat('statveil holding ', {}))) AS name"
    if not session.in_process:
        session.view("holdings", f"SELECT holding, {name.format('holding')} FROM (SELECT DISTINCT {identifier} AS holding FROM records)")
        return identifier, []
    number = "CAST(row_number() OVER () - 1 AS INTEGER) AS holding"
    distinct = f"SELECT DISTINCT {identifier} AS identifier FROM records"
    session.keep("holdings", f"SELECT identifier, {number}, {name.format('identifier')} FROM ({distinct})")
    return "holdings.holding", [f"JOIN holdings ON holdings.identifier = {identifier}"]


def _lookups(session: Session, engine: Engine, tables: Sequence[Sequence[CodeKeys]]) -> tuple[list[str], list[str]]:
    joins, keys = [], []
    for table, dimensions in enumerate(tables):
        names = [f"codes_{table}_{axis}" for axis in range(len(dimensions))]
        for name, each in zip(names, dimensions, strict=True):
            session.lend(name, pa.table({"code": pa.array(each.codes, pa.string()), "key": pa.array(each.keys, pa.int64())}))
            joins.append(f"JOIN {name} ON {name}.code = {text_of(engine, each.column)}")
        keys.append(f"{' + '.join(f'{name}.key' for name in names)} AS key{table}")
    return joins, keys


def _flags(engine: Engine, flags: Sequence[RecordFlag]) -> str:
    terms = [
        f"CASE WHEN {is_true(engine, each.column)} THEN {each.if_true} ELSE {each.if_false} END" if each.column else str(each.if_false)
        for each in flags
    ]
    return f"CAST({' + '.join(terms)} AS TINYINT)"


def _with_products(source: str, engine: Engine, coded: CodedRecords) -> str:
    repeats = coded.one is not None
    keys = [f"key{table}" for table in range(len(coded.tables))]
    holding = "holding" if coded.holding else "0 AS holding"
    weight = "weight" if coded.weight else "CAST(1 AS BIGINT) AS weight"
    products = [f"CAST({f'greatest(weight, {coded.one})' if repeats else '1'} AS BIGINT) AS copies"]
    for place, each in enumerate(coded.responses):
        measure = f"measure{place}"
        rule = measure if each.rule == each.measure else f"rule{place}"
        products += _weighted(place, measure, rule, repeats) if coded.weight else _unweighted(place, measure, rule)
    flags = "flags" if any(each.column for each in coded.flags) else f"{_flags(engine, coded.flags)} AS flags"
    return f"SELECT {', '.join([*keys, holding, weight, *products, flags])} FROM ({source})"


def _weighted(place: int, measure: str, rule: str, repeats: bool) -> list[str]:
    weighted = f"CAST(weight AS DECIMAL(19, 0)) * CAST({rule} AS DECIMAL(19, 0))"
    return [
        f"{product('weight', measure)} AS value{place}",
        f"TRY_CAST({rule if repeats else weighted} AS BIGINT) AS amount{place}",
        f"TRY_CAST(abs({weighted}) AS BIGINT) AS mass{place}",
    ]


def _unweighted(place: int, measure: str, rule: str) -> list[str]:
    """The lowest whole number of 64 bits has no absolute value: it is NULL, as what does not fit."""
    mass = f"CASE WHEN {rule} >= -9223372036854775807 THEN abs({rule}) END AS mass{place}"
    return [f"{measure} AS value{place}", f"{rule} AS amount{place}", mass]


def refuse_large_sums(session: Session, responses: int) -> None:
    """Refuse what cannot be added up: a number of `coded` that did not fit, or a sum that may not. Every sum fits if the sum of absolute
    values does; doubles will do for it, as there is a factor of two to spare."""
    values, amounts, masses = ([f"{name}{place}" for place in range(responses)] for name in ("value", "amount", "mass"))
    sums = ("weight", "copies", *values, *masses, *(f"{amount} * CAST(copies AS DOUBLE)" for amount in amounts))
    lost = [f"count(*) - count({name}) AS lost_{name}" for name in ("weight", *values, *amounts, *masses)]
    large = [f"coalesce(sum(abs(CAST({name} AS DOUBLE))), 0) >= {LARGEST_SUM} AS large_{index}" for index, name in enumerate(sums)]
    if any(scalar_row(session.query(f"SELECT {', '.join(lost + large)} FROM coded")).values()):
        raise _too_large(session)


def _too_large(session: Session) -> InputError:
    return InputError(
        f"{session.origin}: the numbers are too large to be added up exactly with their decimals.",
        hint="Use fewer decimals in measure and weight, or larger units (thousands).",
    )


def leaf_sums(session: Session, table: int, response: int) -> pa.Table:
    """Sums per leaf cell of `coded` that holds a record, by ascending key."""
    columns = {"value": f"value{response}", "weight": "weight", "mass": f"mass{response}"}
    sums = ", ".join(f"CAST(sum({column}) AS BIGINT) AS {name}" for name, column in columns.items())
    return session.query(f"SELECT key{table} AS key, count(*) AS records, {sums} FROM coded GROUP BY key{table} ORDER BY key{table}")


def leaf_prints(session: Session, table: int, tables: int) -> pa.Table:
    """Fingerprints of the sets of records of the same leaf cells, in the same order.

    Records whose leaf cells are the same in all tables are never apart: a set of records is told by the joint keys that it holds. The
    fingerprint of a joint key is 120 bits of its MD5; a set's is the exclusive or of its keys'.
    """
    keys = [f"key{each}" for each in range(tables)]
    joint_key = ", ' ', ".join(f"CAST({key} AS STRING)" for key in keys)
    print_ = f"md5(concat('statveil records ', {joint_key}))"
    halves = {"low_print": f"hex_number(substr({print_}, 1, 15))", "high_print": f"hex_number(substr({print_}, 16, 15))"}
    prints = ", ".join(f"bit_xor({half}) AS {name}" for name, half in halves.items())
    joint = f"SELECT DISTINCT {', '.join(keys)} FROM coded"
    return session.query(f"SELECT key{table} AS key, {prints} FROM ({joint}) GROUP BY key{table} ORDER BY key{table}")


def coded_batches(session: Session, table: int, response: int, *, plain: bool, rows: int) -> Iterator[dict[str, AnyArray]]:
    """All records of `coded`, some at a time: key, value, flags; and weight, mass, amount, copies where these are not plain.

    At the end it refuses, as `refuse_large_sums` does, what may not have been added up.
    """
    columns = [f"key{table} AS key", f"value{response} AS value", "flags"]
    columns += [] if plain else ["weight", f"mass{response} AS mass", f"amount{response} AS amount", "copies"]
    sums: AnyArray = np.zeros(1)
    for batch in session.batches(f"SELECT {', '.join(columns)} FROM coded", rows=rows):
        if any(column.null_count for column in batch.columns):
            raise _too_large(session)
        found = {name: batch.column(name).to_numpy() for name in batch.schema.names}
        sums = sums + _sizes(found)
        yield found
    if np.any(sums >= LARGEST_SUM):
        raise _too_large(session)


def _sizes(found: dict[str, AnyArray]) -> AnyArray:
    """The sums of absolute values that must fit."""
    numbers = [found[name].astype(float) for name in ("value", "weight", "mass", "copies") if name in found]
    given = [found["amount"] * found["copies"].astype(float)] if "amount" in found else []
    return np.array([np.abs(each).sum() for each in numbers + given])


def holding_parts(session: Session, table: int, response: int, parts: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """What each holding gives to each leaf cell, some holdings at a time, by holding; and those holdings' names in the same order.

    Records of one holding and cell are added up where they would have to travel; in this process whoever ranks them does that.
    """
    given = f"SELECT key{table} AS key, holding, amount{response} AS amount, flags FROM coded"
    if not session.in_process:
        sums = f"CAST(sum(amount{response}) AS BIGINT) AS amount, bit_or(flags) AS flags"
        given = f"SELECT key{table} AS key, holding, {sums} FROM coded GROUP BY key{table}, holding"
    names = session.dealt("SELECT holding, name FROM holdings", "holding", parts)
    yield from zip(session.dealt(given, "holding", parts), names, strict=True)


def amounts_in(session: Session, table: int, response: int, keys: IntArray, *, holdings: bool) -> pa.Table:
    """What each respondent gives to these leaf cells: key, holding (or the number of the record), amount, copies, flags."""
    session.lend("asked_keys", pa.table({"asked": pa.array(keys, pa.int64())}))
    inside = f"FROM coded JOIN asked_keys ON asked_keys.asked = coded.key{table}"
    if not holdings:
        found = session.query(f"SELECT key{table} AS key, amount{response} AS amount, copies, flags {inside}")
        return found.append_column("holding", pa.array(np.arange(found.num_rows)))
    sums = f"CAST(sum(amount{response}) AS BIGINT) AS amount, bit_or(flags) AS flags"
    found = session.query(f"SELECT key{table} AS key, holding, {sums} {inside} GROUP BY key{table}, holding")
    number = found["holding"].combine_chunks().dictionary_encode().indices
    found = found.set_column(found.column_names.index("holding"), "holding", number.cast(pa.int64()))
    return found.append_column("copies", pa.array(np.ones(found.num_rows, dtype=np.int64)))


def largest_record_amounts(session: Session, table: int, response: int, top: int, *, repeats: bool) -> pa.Table:
    """The same for the `top` largest records of each leaf cell and kind of flags only: no more rows than cells, however many records.

    Amounts come without their signs, and without copies where no record `repeats`.
    """
    amount = f"abs(amount{response})"
    if not repeats:
        return session.largest("coded", [f"key{table}", "flags"], amount, top).rename_columns(["key", "flags", "amount"])
    place = f"row_number() OVER (PARTITION BY key{table}, flags ORDER BY {amount} DESC) AS place"
    ranked = f"SELECT key{table} AS key, {amount} AS amount, copies, flags, {place} FROM coded"
    return session.query(f"SELECT key, amount, copies, flags FROM ({ranked}) WHERE place <= {top}")


def read_coded(
    session: Session, engine: Engine, codes: Sequence[str], amounts: Sequence[str], *, owner: str | None, order: Sequence[str] = ()
) -> pa.Table:
    """Every record: code0, code1, ..., amount0, amount1, ... in units, and its owner, or its number where no column names one."""
    owner = text_of(engine, owner) if owner else "CAST(row_number() OVER () AS STRING)"
    sorting = f" ORDER BY {', '.join(column(engine, name) for name in order)}" if order else ""
    return session.query(f"SELECT {_codes_and_amounts(engine, codes, amounts)}, {owner} AS owner FROM records{sorting}")


def read_units(
    session: Session, engine: Engine, codes: Sequence[str], amounts: Sequence[str], *, unit: Sequence[str], holding: str | None, rows: int
) -> Iterator[pa.RecordBatch]:
    """Every record with its unit, the id that these columns make together: unit, holding (or the unit), code0, ..., amount0, ..., in
    no order, about so many `rows` at a time."""
    texts = [text_of(engine, name) for name in unit]
    id_ = " || ".join(f"length({text}) || ':' || {text}" for text in texts)
    owner = text_of(engine, holding) if holding else id_
    yield from session.batches(
        f"SELECT {id_} AS unit, {owner} AS holding, {_codes_and_amounts(engine, codes, amounts)} FROM records", rows=rows
    )


def _codes_and_amounts(engine: Engine, codes: Sequence[str], amounts: Sequence[str]) -> str:
    texts = [f"{text_of(engine, name)} AS code{place}" for place, name in enumerate(codes)]
    return ", ".join([*texts, *(f"{amount} AS amount{place}" for place, amount in enumerate(amounts))])


def read_all(session: Session, engine: Engine) -> pa.Table:
    """All records with all columns, under the names that the user gave them."""
    return session.query("SELECT * FROM records").rename_columns(list(engine.columns))
