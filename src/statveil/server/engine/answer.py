"""The answer to a request, a slice of a protected table: published numbers with their labels, and nothing else (T20)."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.provenance import sha256
from statveil.server.dataset.dataset import AccuracyClass, ServedData
from statveil.server.dataset.layout import Layout, shown_codes
from statveil.server.dataset.query import TUNING, TableQuery


@dataclass(frozen=True, kw_only=True)
class AnsweredDimension:
    """One axis of an answer. `parents[i]` is the code that `codes[i]` is a part of, None where that is not shown."""

    id: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True)
class AnsweredTable:
    """A protected table. `values` are whole numbers of units of 10**-decimals in the shape of the dimensions.

    `filters` are the slices taken, as asked, `slices` the same in words. `missing` marks positions that hold no number: counts that
    are only told to be below `smallest`. `accuracy` is for what is said about the numbers, and is no part of them.
    """

    hash: str
    dataset: str
    measure: str
    measure_label: str
    unit: str
    decimals: int
    dimensions: tuple[AnsweredDimension, ...]
    filters: tuple[tuple[str, tuple[str, ...]], ...]
    slices: tuple[tuple[str, tuple[str, ...]], ...]
    values: IntArray = field(repr=False)
    missing: BoolArray = field(repr=False)
    counts: bool = False
    smallest: int = 1
    accuracy: tuple[AccuracyClass, ...] = ()

    @property
    def withheld(self) -> str:
        """What stands where there is no number."""
        return f"<{self.smallest}" if self.smallest > 1 else ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_array(self.values))
        object.__setattr__(self, "missing", frozen_array(self.missing))

    def to_bytes(self) -> bytes:
        """The whole answer, labels and all."""
        return pack(self._labels(), self.values, self.missing)

    def digest(self) -> str:
        """Of what is published for ever: numbers, and the codes they stand at. Labels, which may be corrected, are not in it."""
        dimensions = [[each.id, each.codes, each.parents] for each in self.dimensions]
        codes = [self.hash, self.dataset, self.measure, self.decimals, self.filters, dimensions]
        text = json.dumps(codes, ensure_ascii=True, separators=(",", ":")).encode()
        return sha256(text, self.values.astype("<i8").tobytes(), np.packbits(self.missing.ravel()).tobytes())

    def _labels(self) -> dict[str, Any]:
        dimensions = [
            {"id": each.id, "label": each.label, "codes": each.codes, "labels": each.labels, "parents": each.parents}
            for each in self.dimensions
        ]
        plain = ("hash", "dataset", "measure", "measure_label", "unit", "decimals", "filters", "slices")
        return {**{name: getattr(self, name) for name in plain}, "dimensions": dimensions}


class WholeTable(NamedTuple):
    """All numbers of a layout, totals included, and where a count is too small to be told (its value is then zero)."""

    values: IntArray
    missing: BoolArray


def pack(labels: dict[str, Any], values: IntArray, missing: BoolArray) -> bytes:
    """Labels as JSON, numbers as little-endian 64-bit integers, all compressed at a fixed level."""
    text = json.dumps({**labels, "shape": values.shape}, sort_keys=True, ensure_ascii=True).encode()
    head = len(text).to_bytes(8, "little")
    return zlib.compress(head + text + values.astype("<i8").tobytes() + np.packbits(missing.ravel()).tobytes(), 1)


def unpack(body: bytes) -> tuple[dict[str, Any], IntArray, BoolArray]:
    plain = zlib.decompress(body)
    start = 8 + int.from_bytes(plain[:8], "little")
    labels = json.loads(plain[8:start])
    shape = tuple(labels.pop("shape"))
    size = int(np.prod(shape, dtype=np.int64))
    values = np.frombuffer(plain, dtype="<i8", count=size, offset=start).astype(np.int64).reshape(shape)
    bits = np.frombuffer(plain, dtype=np.uint8, offset=start + 8 * size)
    return labels, values, np.unpackbits(bits, count=size).astype(np.bool_).reshape(shape)


def slice_of(
    data: ServedData, layout: Layout, asked: TableQuery, hash_: str, table: WholeTable, accuracy: tuple[AccuracyClass, ...] = ()
) -> AnsweredTable:
    """What was asked for: codes picked, codes of filters added up, other dimensions in their order."""
    values, missing = table
    choices = {choice.id: choice for choice in asked.dimensions}
    dimensions: list[AnsweredDimension] = []
    axis = 0
    for dimension, level in zip(layout.dimensions, layout.levels, strict=True):
        if dimension.id in asked.filters:
            places = [level.cut.position[code] for code in asked.filters[dimension.id]]
            values = np.asarray(values.take(places, axis=axis).sum(axis=axis))
            missing = np.asarray(missing.take(places, axis=axis).any(axis=axis))
            continue
        codes = shown_codes(choices[dimension.id], level, totals=asked.totals)
        places = [level.cut.position[code] for code in codes]
        values, missing = values.take(places, axis=axis), missing.take(places, axis=axis)
        shown = set(codes)
        dimensions.append(
            AnsweredDimension(
                id=dimension.id,
                label=dimension.label,
                codes=codes,
                labels=tuple(dimension.full.label(code) for code in codes),
                parents=tuple(dimension.parent_of(code, shown) for code in codes),
            )
        )
        axis += 1
    measure = data.measure(asked.measure)
    return AnsweredTable(
        hash=hash_,
        dataset=asked.dataset,
        measure=measure.id,
        measure_label=measure.label,
        unit=measure.unit,
        decimals=measure.decimals,
        dimensions=tuple(dimensions),
        filters=tuple(asked.filters.items()),
        slices=tuple(
            (each.label, tuple(each.full.label(code) for code in asked.filters[each.id]))
            for each in layout.dimensions
            if each.id in asked.filters
        ),
        values=values,
        missing=missing & (values == 0),
        counts=measure.counts,
        smallest=measure.smallest,
        accuracy=accuracy,
    )


def title(answer: AnsweredTable) -> str:
    """What the numbers are: the measure with its unit, by what, and the slice taken of it."""
    slices = [f"{name}: {', '.join(codes) if len(codes) <= TUNING.most_named else f'{len(codes)} codes'}" for name, codes in answer.slices]
    return "; ".join([measure_words(answer), *slices])


def measure_words(answer: AnsweredTable) -> str:
    """The measure with its unit, where that says more."""
    label = answer.measure_label or answer.measure
    return f"{label} ({answer.unit})" if answer.unit and answer.unit.casefold() != label.casefold() else label


def full_title(answer: AnsweredTable) -> str:
    """The title for people: with the dimensions, which files name in columns of their own."""
    first, *slices = title(answer).split("; ", maxsplit=1)
    names = [dimension.label for dimension in answer.dimensions]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return "; ".join([f"{first} by {listed}", *slices])
