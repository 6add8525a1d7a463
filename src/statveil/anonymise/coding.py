"""Records as distinct keys: the one pass over the file after which only different keys are looked at.

The engine groups by the key fields; everything above sees each different key once, with the number of its records (and their weights).
Keys are sorted, so that no result depends on the order of the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.anonymise.keys import MISSING_LABEL, KeyVariables
from statveil.anonymise.recodings import Resolved, resolve
from statveil.arrays import FloatArray, IntArray
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import Microdata
from statveil.errors import FormatError, InputError
from statveil.table.columns import NumberColumn

UNKNOWN = -1
WEIGHT_DECIMALS = 6
WEIGHT_UNIT = 10**WEIGHT_DECIMALS


@dataclass(frozen=True, kw_only=True)
class Level:
    """One way to write a field: the new code of each old code."""

    name: str
    code: IntArray
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values)


@dataclass(frozen=True, kw_only=True, repr=False)
class CodedFile:
    """The different keys of a file. `codes[field, key]` is the place of a value in `values[field]`, or UNKNOWN."""

    keys: KeyVariables
    values: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[Level, ...], ...]
    codes: IntArray
    count: IntArray
    weight: IntArray
    """Sum of the weights in units of 10**-6; the count itself where there are no weights."""
    mass: FloatArray
    """What a blank of cost 1 costs in all records of the key."""
    households: Households | None

    @property
    def records(self) -> int:
        return int(self.count.sum())

    @property
    def size(self) -> int:
        return int(self.count.size)

    @property
    def amount(self) -> IntArray:
        """What is compared with the threshold."""
        return self.weight if self.keys.counting == "weights" else self.count

    @cached_property
    def tables(self) -> list[tuple[tuple[int, ...], int]]:
        """Combinations and thresholds in the unit of `amount`."""
        unit = WEIGHT_UNIT if self.keys.counting == "weights" else 1
        return [(places, threshold * unit) for places, threshold in self.keys.tables()]


@dataclass(frozen=True, kw_only=True, repr=False)
class Households:
    """The members of each household, one row a record: `key[i]` of household `home[i]`. Sorted by household, then key."""

    names: pa.Array
    home: IntArray
    key: IntArray


def code_file(data: Microdata, keys: KeyVariables) -> CodedFile:
    """Group the records by their key and turn values into numbers."""
    wanted = [*keys.names, *(name for name in (keys.weight, keys.record_cost, keys.household) if name)]
    data.require(wanted)
    data.require([name for group in keys.linked for name in group])
    with data.engine.session() as session:
        lend_missing(session, keys)
        _refuse_bad_numbers(session, data, [name for name in (keys.weight, keys.record_cost) if name])
        found = session.query(_grouped(data, keys))
        members = session.query(_members(data, keys)) if keys.household else None
    if not found.num_rows:
        raise InputError(f"{data.origin} has no records.", hint="There is nothing to protect.")
    values, levels, codes = _coded(found, keys)
    order = key_order(codes, [len(each) for each in values])
    count = _whole(found["records"])[order]
    weight = _whole(found["weight"])[order] if keys.weight else count
    mass = _whole(found["cost"])[order] / WEIGHT_UNIT if keys.record_cost else count.astype(np.float64)
    codes = np.ascontiguousarray(codes[:, order])
    households = None if members is None else _households(members, keys, values, codes)
    return CodedFile(keys=keys, values=values, levels=levels, codes=codes, count=count, weight=weight, mass=mass, households=households)


def key_text(data: Microdata, keys: KeyVariables, name: str) -> str:
    """A key field in a query: text, or NULL where it is missing. Codes that a user calls missing are."""
    identifier = f"CAST({column(data.engine, name)} AS VARCHAR)"
    text = f"NULLIF({identifier}, '')"
    if not keys.missing_codes.get(name):
        return text
    listed = f"SELECT code FROM missing_codes WHERE place = {keys.names.index(name)}"
    return f"CASE WHEN trim({identifier}) IN ({listed}) THEN NULL ELSE {text} END"


def lend_missing(session: Session, keys: KeyVariables) -> None:
    """The codes that mean missing, as a table: a user's words never enter a query."""
    rows = [(keys.names.index(name), code.strip()) for name, codes in keys.missing_codes.items() for code in codes]
    places, codes = pa.array([place for place, _ in rows], pa.int32()), pa.array([code for _, code in rows], pa.string())
    session.lend("missing_codes", pa.table({"place": places, "code": codes}))


def number_column(data: Microdata, name: str) -> NumberColumn:
    return NumberColumn(name=name, identifier=column(data.engine, name), mark=data.decimal or ".")


def _refuse_bad_numbers(session: Session, data: Microdata, names: Sequence[str]) -> None:
    for name in names:
        number = number_column(data, name)
        bad = f"NOT coalesce({number.is_number} AND NOT {number.is_negative}, false)"
        count = scalar_row(session.query(f"SELECT count(*) FILTER ({bad}) AS bad FROM records"))["bad"]
        if count:
            place = data.engine.place(session.first(bad))
            raise FormatError(
                f"{data.origin}: column {name!r} has {count:,} values that are no number of zero or more, the first in {place}.",
                hint="Weights and costs must be there for every record.",
            )


def _grouped(data: Microdata, keys: KeyVariables) -> str:
    raw = [column(data.engine, name) for name in keys.names]
    sums = ["count(*) AS records"]
    for label, name in (("weight", keys.weight), ("cost", keys.record_cost)):
        if name:
            sums.append(f"sum({number_column(data, name).units(WEIGHT_DECIMALS)}) AS {label}")
    inner = f"SELECT {', '.join(dict.fromkeys(raw))}, {', '.join(sums)} FROM records GROUP BY {', '.join(dict.fromkeys(raw))}"
    texts = [f"{key_text(data, keys, name)} AS k{place}" for place, name in enumerate(keys.names)]
    names = [f"k{place}" for place in range(len(keys.names))]
    totals = [f"CAST(sum({label}) AS BIGINT) AS {label}" for label in ("records", *_extra(keys))]
    outer = f"SELECT {', '.join(texts)}, records{''.join(f', {label}' for label in _extra(keys))} FROM ({inner})"
    return f"SELECT {', '.join(names)}, {', '.join(totals)} FROM ({outer}) GROUP BY {', '.join(names)}"


def _extra(keys: KeyVariables) -> list[str]:
    return [label for label, name in (("weight", keys.weight), ("cost", keys.record_cost)) if name]


def _members(data: Microdata, keys: KeyVariables) -> str:
    texts = [f"{key_text(data, keys, name)} AS k{place}" for place, name in enumerate(keys.names)]
    home = f"coalesce(CAST({column(data.engine, keys.household or '')} AS VARCHAR), '') AS home"
    names = ["home", *(f"k{place}" for place in range(len(keys.names)))]
    return (
        f"SELECT {', '.join(names)}, count(*) AS records FROM (SELECT {home}, {', '.join(texts)} FROM records) GROUP BY {', '.join(names)}"
    )


def _whole(column_: pa.ChunkedArray) -> IntArray:
    return np.asarray(column_.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)


def _coded(found: pa.Table, keys: KeyVariables) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[Level, ...], ...], IntArray]:
    values, levels, rows = [], [], []
    for place, name in enumerate(keys.names):
        text = found[f"k{place}"].combine_chunks()
        distinct = sorted(str(value) for value in pc.unique(text).drop_null().to_pylist())
        code = pc.index_in(text, value_set=pa.array(distinct, pa.string())).fill_null(UNKNOWN).to_numpy(zero_copy_only=False)
        category = keys.missing == "category" and text.null_count > 0
        if category and MISSING_LABEL in distinct:
            raise InputError(
                f"Column {name!r} has missing values and also the code {MISSING_LABEL!r}.", hint="Use missing='unknown', or recode it."
            )
        rows.append(np.where(code < 0, len(distinct) if category else UNKNOWN, code).astype(np.int32))
        levels.append(tuple(_level(each, category=category) for each in resolve(keys.menu(name), distinct, column=name)))
        values.append((*distinct, MISSING_LABEL) if category else tuple(distinct))
    return tuple(values), tuple(levels), np.stack(rows)


def _level(resolved: Resolved, *, category: bool) -> Level:
    """A missing value that counts as a category keeps its own code whatever the recoding."""
    codes = [*resolved.code, len(resolved.values)] if category else resolved.code
    names = (*resolved.values, MISSING_LABEL) if category else tuple(resolved.values)
    return Level(name=resolved.name, code=np.asarray(codes, dtype=np.int32), values=names)


def key_order(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """The order of keys by their codes."""
    span = np.prod([float(size + 1) for size in sizes])
    if span < 2.0**62:
        return np.argsort(mixed(codes, sizes), kind="stable")
    return np.lexsort(codes[::-1])


def mixed(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """A key as one number: each code a digit of its own base."""
    index = np.zeros(codes.shape[1], dtype=np.int64)
    for row, size in zip(codes, sizes, strict=True):
        index = index * (size + 1) + (row + 1)
    return index


def _households(members: pa.Table, keys: KeyVariables, values: Sequence[Sequence[str]], codes: IntArray) -> Households:
    found = np.stack([codes_of(members[f"k{place}"].combine_chunks(), values[place], keys) for place in range(len(keys.names))])
    key = key_places(codes, found)
    names = pa.array(sorted(pc.unique(members["home"]).to_pylist()), pa.string())
    home = pc.index_in(members["home"].combine_chunks(), value_set=names).to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((key, home))
    times = _whole(members["records"])[order]
    return Households(names=names, home=np.repeat(home[order], times), key=np.repeat(key[order], times))


def codes_of(text: pa.Array, values: Sequence[str], keys: KeyVariables) -> IntArray:
    category = keys.missing == "category" and len(values) > 0 and values[-1] == MISSING_LABEL and text.null_count > 0
    listed = values[:-1] if category else values
    code = pc.index_in(text, value_set=pa.array(list(listed), pa.string())).fill_null(UNKNOWN).to_numpy(zero_copy_only=False)
    return np.where(code < 0, len(values) - 1 if category else UNKNOWN, code).astype(np.int32)


def key_places(codes: IntArray, wanted: IntArray) -> IntArray:
    """Where each wanted key stands among the sorted keys."""
    both = np.concatenate([codes, wanted], axis=1)
    _, inverse = np.unique(both, axis=1, return_inverse=True)
    inverse = inverse.ravel()
    place = np.empty(inverse.max() + 1, dtype=np.int64)
    place[inverse[: codes.shape[1]]] = np.arange(codes.shape[1])
    return np.asarray(place[inverse[codes.shape[1] :]], dtype=np.int64)


def finest(coded: CodedFile) -> tuple[int, ...]:
    return (0,) * len(coded.values)


def level_of(coded: CodedFile, chosen: Mapping[str, str]) -> tuple[int, ...]:
    """The levels by name; fields not named stay as they are."""
    found = []
    for place, name in enumerate(coded.keys.names):
        names = [level.name for level in coded.levels[place]]
        wanted = chosen.get(name, names[0])
        if wanted not in names:
            raise InputError(f"{name!r} has no recoding {wanted!r}.", hint=f"Known: {', '.join(names)}.")
        found.append(names.index(wanted))
    strange = [name for name in chosen if name not in coded.keys.names]
    if strange:
        raise InputError(f"{strange[0]!r} is not a key field.", hint=f"Key fields: {', '.join(coded.keys.names)}.")
    return tuple(found)
