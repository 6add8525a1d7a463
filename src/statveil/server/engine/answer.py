"""The answer to a request: published numbers with their labels, and nothing else (T20)."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.provenance import sha256


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

    `filters` are the slices taken, as asked, `slices` the same in words. `missing` marks positions that hold no number.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_array(self.values))
        object.__setattr__(self, "missing", frozen_array(self.missing))

    def to_bytes(self) -> bytes:
        """The whole answer, labels and all: `from_bytes` reads it."""
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

    @classmethod
    def from_bytes(cls, body: bytes) -> AnsweredTable:
        labels, values, missing = unpack(body)
        dimensions = tuple(
            AnsweredDimension(**{**each, **{name: tuple(each[name]) for name in ("codes", "labels", "parents")}})
            for each in labels.pop("dimensions")
        )
        filters, slices = (tuple((name, tuple(codes)) for name, codes in labels.pop(kind)) for kind in ("filters", "slices"))
        return cls(**labels, dimensions=dimensions, filters=filters, slices=slices, values=values, missing=missing)


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
