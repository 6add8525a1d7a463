"""Records as distinct keys: the one pass over the file after which only different keys are looked at.

The engine groups by the key fields; everything above sees each different key once, with the number of its records (and their weights).
Where it matters which of its records are blanked, those of different cost or weight are told apart as keys of their own: whatever is
then said of a part of a key is exact. Keys are sorted, so that no result depends on the order of the records.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import FormatError, InputError
from statveil.data.engines import Session
from statveil.data.microdata import Microdata
from statveil.data.queries.keys import (
    WEIGHT_DECIMALS,
    RecordKey,
    count_keys,
    count_members,
    count_values,
    count_where,
    no_amount,
    total_units,
)
from statveil.records.keys import KeyVariables
from statveil.records.models import IndividualRisk, ModelJudge, SensitiveColumn, necessary_models
from statveil.records.recode.recodings import Resolved, number_of, resolve


class CodingTuning(NamedTuple):
    most_told: int = 50_000
    """Different keys up to which they are told apart by what risk models look at: by judgement."""


TUNING = CodingTuning()
UNKNOWN = -1
MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "n.a.", "nan", "null", "nil", "none", "missing", "?", ".", "-", "--", "*"})
"""Texts, in small letters and without blanks around them, that often mean a missing value."""
WEIGHT_UNIT = 10**WEIGHT_DECIMALS
LARGEST_TOTAL = 9 * 10**12
"""Of the weights, so that their sums in units of 10**-6 are whole numbers of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class RecodingLevel:
    """One way to write a field: the new code of each old code."""

    name: str
    code: IntArray
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values)


class ToldApart(NamedTuple):
    """Columns by which equal keys are told apart: costs and weights as numbers, and what risk models are about as texts."""

    numbers: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class CodedFile:
    """The different keys of a file. `codes[field, key]` is the place of a value in `values[field]`, or UNKNOWN."""

    keys: KeyVariables
    values: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[RecodingLevel, ...], ...]
    codes: IntArray
    count: IntArray
    weight: IntArray
    """Sum of the weights in units of 10**-6; the count itself where there are no weights."""
    mass: FloatArray
    """What a blank of cost 1 costs in all records of the key."""
    missing_as: tuple[str | None, ...]
    """Of each field, the word that stands for a missing value, which is the last of its `values`; None where missing is no category."""
    told: ToldApart
    numbers: IntArray
    """One row for each of `told.numbers`: what one record of a key has, in units of 10**-6,"""
    texts: Sequence[pa.Array]
    """and for each of `told.values`: the text of each key."""
    households: Households | None
    sensitive: Mapping[str, SensitiveColumn]
    """What the keys hold of the columns that risk models are about."""

    @cached_property
    def judge(self) -> ModelJudge | None:
        """Of the risk models, where there are any."""
        if not self.keys.judged:
            return None
        unit = WEIGHT_UNIT if self.keys.weight else 1
        return ModelJudge(models=self.keys.judged, count=self.count, weight=self.weight, unit=unit, columns=self.sensitive)

    @property
    def judged_apart(self) -> bool:
        """Whether all records of a key are alike in what risk models look at."""
        return set(self.keys.sensitive) <= set(self.told.values)

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

    @property
    def unit(self) -> int:
        """What `amount` counts for one record, or for a weight of 1."""
        return WEIGHT_UNIT if self.keys.counting == "weights" else 1

    @cached_property
    def tables(self) -> list[tuple[tuple[int, ...], int]]:
        """Combinations and thresholds in the unit of `amount`."""
        return [(places, threshold * self.unit) for places, threshold in self.keys.tables()]


@dataclass(frozen=True, kw_only=True, repr=False)
class Households:
    """The members of each household, one row a record: `key[i]` of household `home[i]`. Sorted by household, then key.

    Records without a household are each one of their own, with an empty name.
    """

    names: pa.Array
    home: IntArray
    key: IntArray


def distinguishing_columns(keys: KeyVariables, *, judged: bool = True) -> ToldApart:
    """Columns by which equal keys are told apart: where a key's records may be blanked in different ways.

    Rule `original` alone blanks all records of a key alike, and needs no more than their sums. Under `recount` it matters to risk models
    (`judged`) which record of a key is blanked.
    """
    moved = keys.rule != "original" or bool(keys.caps) or keys.candidates > 0
    judged = judged and keys.rule == "recount" and bool(keys.judged)
    cost = [keys.record_cost] if keys.record_cost and (moved or keys.household) else []
    risky = judged and any(isinstance(model, IndividualRisk) for model in keys.judged)
    weight = [keys.weight] if keys.weight and ((keys.counting == "weights" and moved) or risky) else []
    return ToldApart(tuple(dict.fromkeys([*cost, *weight])), keys.sensitive if judged else ())


def code_file(data: Microdata, keys: KeyVariables, *, distinguish: bool = True) -> CodedFile:
    """Group the records by their key, and `distinguish` by what `distinguishing_columns` names, and turn values into numbers."""
    wanted = [*keys.names, *(name for name in (keys.weight, keys.record_cost, keys.household) if name)]
    data.require(wanted)
    data.require([*(name for group in keys.linked for name in group), *keys.sensitive])
    with data.engine.session() as session:
        told = distinguishing_columns(keys) if distinguish else ToldApart()
        _refuse_bad_numbers(session, data, [name for name in (keys.weight, keys.record_cost) if name])
        found = count_keys(session, record_key(data, keys, told))
        fewer = distinguishing_columns(keys, judged=False)
        if found.num_rows > TUNING.most_told and told not in (fewer, ToldApart()):
            found, told = _less_apart(found, told, fewer), fewer
        key = record_key(data, keys, told)
        members = count_members(session, key) if keys.household else None
        held = {name: count_values(session, key, name) for name in keys.sensitive}
    if not found.num_rows:
        raise InputError(f"{data.origin} has no records.", hint="There is nothing to protect.")
    values, levels, missing_as, codes = _coded(found, keys)
    numbers, texts = _numbers(found, told), [found[f"v{place}"].combine_chunks() for place in range(len(told.values))]
    ranks = [np.asarray(pc.rank(text, tiebreaker="dense"), dtype=np.int64) for text in texts]
    order = np.lexsort((*ranks, *numbers[::-1], *codes[::-1])) if any(told) else key_order(codes, [len(each) for each in values])
    count = _whole(found["records"])[order]
    weight = _whole(found["weight"])[order] if keys.weight else count
    mass = _whole(found["cost"])[order] / WEIGHT_UNIT if keys.record_cost else count.astype(np.float64)
    codes, numbers = np.ascontiguousarray(codes[:, order]), numbers[:, order]
    texts = [text.take(pa.array(order)) for text in texts]
    coded = CodedFile(keys=keys, values=values, levels=levels, codes=codes, count=count, weight=weight, mass=mass, missing_as=missing_as,
                      told=told, numbers=numbers, texts=texts, households=None, sensitive={})  # fmt: skip
    homes = None if members is None else _households(members, coded)
    return replace(coded, households=homes, sensitive={name: _sensitive_column(found, coded) for name, found in held.items()})


def _less_apart(found: pa.Table, told: ToldApart, fewer: ToldApart) -> pa.Table:
    """The same keys told apart by fewer columns, what was counted added up."""
    kept = {name: name for name in found.column_names if name.startswith("k")}
    kept |= {f"n{told.numbers.index(name)}": f"n{place}" for place, name in enumerate(fewer.numbers)}
    kept |= {f"v{told.values.index(name)}": f"v{place}" for place, name in enumerate(fewer.values)}
    sums = [(name, "sum") for name in ("records", "weight", "cost") if name in found.column_names]
    added = found.group_by(list(kept)).aggregate(sums)
    return added.rename_columns([kept.get(name, name.removesuffix("_sum")) for name in added.column_names])


def record_key(data: Microdata, keys: KeyVariables, told: ToldApart = ToldApart()) -> RecordKey:  # noqa: B008 - a tuple
    """The key as queries read it, equal keys told apart by the columns `told`."""
    return RecordKey(
        data=data,
        fields=keys.names,
        missing=keys.missing_codes,
        numbers=told.numbers,
        values=told.values,
        weight=keys.weight,
        cost=keys.record_cost,
        household=keys.household,
    )


def _refuse_bad_numbers(session: Session, data: Microdata, names: Sequence[str]) -> None:
    for name in names:
        bad = no_amount(data, name)
        count = count_where(session, bad)
        if count:
            place = data.engine.place(session.first(bad))
            raise FormatError(
                f"{data.origin}: column {name!r} has {count:,} values that are no number of zero or more, the first in {place}.",
                hint="Weights and costs must be there for every record.",
            )
        total = total_units(session, data, name)
        if total is None or total > LARGEST_TOTAL * WEIGHT_UNIT:
            raise InputError(
                f"{data.origin}: the numbers of column {name!r} are too large: together they exceed {LARGEST_TOTAL:,}.",
                hint="Give weights and costs in larger units.",
            )


def _whole(column_: pa.ChunkedArray) -> IntArray:
    return np.asarray(column_.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)


def _numbers(found: pa.Table, told: ToldApart) -> IntArray:
    rows = [_whole(found[f"n{place}"]) for place in range(len(told.numbers))]
    return np.array(rows, dtype=np.int64).reshape(len(rows), found.num_rows)


def _coded(
    found: pa.Table, keys: KeyVariables
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[RecodingLevel, ...], ...], tuple[str | None, ...], IntArray]:
    """The values of each field, its levels, the word for a missing value, and the code of every key."""
    values, levels, missing_as, rows = list[tuple[str, ...]](), list[tuple[RecodingLevel, ...]](), list[str | None](), list[IntArray]()
    for place, name in enumerate(keys.names):
        text = found[f"k{place}"].combine_chunks()
        distinct = sorted(str(value) for value in pc.unique(text).drop_null().to_pylist())
        code = pc.index_in(text, value_set=pa.array(distinct, pa.string())).fill_null(UNKNOWN).to_numpy(zero_copy_only=False)
        _tell_missing_words(name, keys.missing_codes.get(name, ()), distinct, code, _whole(found["records"]))
        resolved = resolve(keys.menu(name), distinct, column=name)
        category = keys.missing == "category" and text.null_count > 0
        word = _free_word([*distinct, *(value for each in resolved for value in each.values)]) if category else None
        rows.append(np.where(code < 0, len(distinct) if category else UNKNOWN, code).astype(np.int32))
        levels.append(tuple(_level(each, word) for each in resolved))
        values.append((*distinct, word) if word is not None else tuple(distinct))
        missing_as.append(word)
    return tuple(values), tuple(levels), tuple(missing_as), np.stack(rows)


def _free_word(taken: Iterable[str]) -> str:
    """The word for a missing value: no word is reserved, so it is one that no value of the field has, as it is or recoded."""
    word, others = "missing", {value.strip() for value in taken}
    while word in others:
        word += "_"
    return word


def _tell_missing_words(name: str, listed: Sequence[str], distinct: Sequence[str], code: IntArray, records: IntArray) -> None:
    """Warn of values that often mean missing, and of missing codes that this column of texts writes as numbers with decimals."""
    decimals = {f"{each.strip()}.0" for each in listed}
    doubtful = [place for place, value in enumerate(distinct) if value.strip().lower() in MISSING_WORDS or value.strip() in decimals]
    if not doubtful:
        return
    counts = np.bincount(code[code >= 0], weights=records[code >= 0], minlength=len(distinct)).astype(np.int64)
    found = dict[str, int]()
    for place in sorted(doubtful, key=lambda place: -counts[place]):
        found[distinct[place].strip()] = found.get(distinct[place].strip(), 0) + int(counts[place])
    told = ", ".join(f"{word!r} ({number:,} record{'s' if number > 1 else ''})" for word, number in found.items())
    remedy = ", ".join(f'"{word}"' for word in found)
    warnings.warn(
        f"Column {name!r} holds {told}: taken as values like others. If they mean that a value is missing, name them in "
        f"missing_codes: {name} = [{remedy}].",
        stacklevel=5,
    )


def _level(resolved: Resolved, word: str | None) -> RecodingLevel:
    """A missing value that counts as a category keeps its own code whatever the recoding."""
    codes = resolved.code if word is None else [*resolved.code, len(resolved.values)]
    names = tuple(resolved.values) if word is None else (*resolved.values, word)
    return RecodingLevel(name=resolved.name, code=np.asarray(codes, dtype=np.int32), values=names)


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


def _households(members: pa.Table, coded: CodedFile) -> Households:
    key = _keys_of(members, coded)
    names = pa.array(sorted(pc.unique(members["home"]).to_pylist()), pa.string())
    home = pc.index_in(members["home"].combine_chunks(), value_set=names).to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((key, home))
    times = _whole(members["records"])[order]
    home, key = np.repeat(home[order], times), np.repeat(key[order], times)
    if names[0].as_py() == "":
        alone = int((home == 0).sum())
        home = np.where(home == 0, np.cumsum(home == 0) - 1, home + alone - 1)
        names = pa.concat_arrays([pa.array([""] * alone, pa.string()), names[1:]])
    return Households(names=names, home=home, key=key)


def _keys_of(found: pa.Table, coded: CodedFile) -> IntArray:
    """The key of each row of an answer."""
    codes = np.stack([codes_of(found[f"k{place}"].combine_chunks(), coded, place) for place in range(len(coded.values))])
    ours, theirs = [coded.codes, coded.numbers], [codes, _numbers(found, coded.told)]
    for place, text in enumerate(coded.texts):
        distinct = pc.unique(text)
        ours.append(pc.index_in(text, value_set=distinct).to_numpy()[None])
        theirs.append(pc.index_in(found[f"v{place}"].combine_chunks(), value_set=distinct).to_numpy()[None])
    return key_places(np.concatenate(ours), np.concatenate(theirs))


def _sensitive_column(found: pa.Table, coded: CodedFile) -> SensitiveColumn:
    text = found["value"].combine_chunks()
    distinct = [str(value) for value in pc.unique(text).to_pylist()]
    place, ordered = value_order(distinct)
    value = place[pc.index_in(text, value_set=pa.array(distinct, pa.string())).to_numpy(zero_copy_only=False)]
    return SensitiveColumn(key=_keys_of(found, coded), value=value, records=_whole(found["records"]), ordered=ordered)


def value_order(distinct: Sequence[str]) -> tuple[IntArray, bool]:
    """The place of each value among all, and whether that is an order: it is of numbers, however they are written; missing comes first."""
    numbers = [None if value == "" else number_of(value) for value in distinct]
    ordered = any(number is not None for number in numbers)
    ordered = ordered and all(number is not None or value == "" for number, value in zip(numbers, distinct, strict=True))
    if not ordered:
        return np.argsort(np.argsort(np.array(distinct, dtype=object), kind="stable"), kind="stable"), False
    ranks = {number: rank for rank, number in enumerate(sorted({number for number in numbers if number is not None}), start="" in distinct)}
    return np.array([0 if number is None else ranks[number] for number in numbers], dtype=np.int64), True


def codes_of(text: pa.Array, coded: CodedFile, place: int) -> IntArray:
    """The codes of a field's texts as a query reads them; missing is NULL."""
    values, category = coded.values[place], coded.missing_as[place] is not None
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


def narrowed(coded: CodedFile, chosen: Mapping[str, str]) -> CodedFile:
    """The same file with no choice in the fields named: their menus hold that recoding and nothing else."""
    level_of(coded, chosen)
    levels = [
        tuple(level for level in menu if chosen.get(name, level.name) == level.name)
        for name, menu in zip(coded.keys.names, coded.levels, strict=True)
    ]
    return replace(coded, levels=tuple(levels))


def relaxed_models(coded: CodedFile) -> CodedFile:
    """The file with what its risk models imply whichever records join or leave a combination; itself where that is all they say."""
    models = necessary_models(coded.keys.models)
    return coded if models == tuple(coded.keys.models) else replace(coded, keys=replace(coded.keys, models=models))


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
