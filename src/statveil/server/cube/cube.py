"""The cube that is served: released leaf cells, of which every answer is a sum.

Any number of answers tells no more than these leaf cells do; sums agree with their parts, a cell has one number for ever, and nothing
has to be refused for protection's sake.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen_array
from statveil.core.errors import FormatError
from statveil.server.cube.depth import Depth
from statveil.server.cube.memory import CubeMemory
from statveil.server.dataset.dataset import AccuracyClass
from statveil.server.dataset.layout import Layout
from statveil.tables.spec import Dimension

_MARK = b"statveil cube 1\n"


@dataclass(frozen=True, kw_only=True)
class CubeAccuracy:
    """Safe cells: all of them, by dimensions shown (`at_least` is 0), and by both dimensions and size."""

    every: AccuracyClass
    by_dimensions: tuple[AccuracyClass, ...]
    classes: tuple[AccuracyClass, ...]
    grand_total_percent: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Cube:
    """Publishable but for `memory` and `small`. `places[j, d]`: a leaf of the full dimension d that stands for leaf cell j.

    `small`: counts below the smallest that is published, which a zero would prove; they are shown as less than it.
    """

    measure: str
    dimensions: tuple[str, ...]
    depth: Depth
    places: IntArray
    released: IntArray
    small: BoolArray | None
    accuracy: CubeAccuracy
    memory: CubeMemory = field(default_factory=CubeMemory)

    def values(self, layout: Layout) -> IntArray:
        """The released numbers in the shape of the layout, all totals filled; refused where it is deeper than the officer allows."""
        return self._added(layout, self.released)

    def suppressed(self, layout: Layout) -> BoolArray:
        """Where a zero is to be shown as less than the smallest count: there are records, and too few."""
        if self.small is None:
            return np.zeros(layout.shape, np.bool_)
        found: BoolArray = (self._added(layout, self.small.astype(np.int64)) > 0) & (self.values(layout) == 0)
        return found

    def _added(self, layout: Layout, of_leaves: IntArray) -> IntArray:
        self.depth.check(layout)
        axes = [self.dimensions.index(dimension.id) for dimension in layout.dimensions]
        key = np.zeros(of_leaves.size, np.int64)
        for axis, level in zip(axes, layout.levels, strict=True):
            key = key * len(level.cut.codes) + level.position[self.places[:, axis]]
        found = np.zeros(prod(layout.shape), np.int64)
        np.add.at(found, key, of_leaves)
        found = found.reshape(layout.shape)
        for axis, cut in enumerate(layout.cuts):
            _fill_totals(np.moveaxis(found, axis, 0), cut)
        return found

    def to_bytes(self) -> bytes:
        """All of it but the memory, the same bytes for the same cube."""
        accuracy = [vars(each) for each in (self.accuracy.every, *self.accuracy.by_dimensions, *self.accuracy.classes)]
        head = {
            "measure": self.measure,
            "dimensions": self.dimensions,
            "depth": self.depth.dimensions,
            "leaves": self.released.size,
            "counts": self.small is not None,
            "by_dimensions": len(self.accuracy.by_dimensions),
            "accuracy": accuracy,
            "grand_total": self.accuracy.grand_total_percent,
        }
        text = json.dumps(head, sort_keys=True).encode()
        small = b"" if self.small is None else self.small.astype("<i1").tobytes()
        body = zlib.compress(self.places.T.astype("<i4").tobytes() + self.released.astype("<i8").tobytes() + small, 6)
        content = len(text).to_bytes(8, "little") + text + body
        return _MARK + sha256(content).digest() + content

    @classmethod
    def from_bytes(cls, content: bytes, memory: CubeMemory | None = None) -> Cube:
        at = len(_MARK) + 32
        if not content.startswith(_MARK) or sha256(content[at:]).digest() != content[len(_MARK) : at]:
            raise FormatError("A stored cube is damaged or of another version.", hint="Restore the store, or prepare the cube anew.")
        end = at + 8 + int.from_bytes(content[at : at + 8], "little")
        head, body = json.loads(content[at + 8 : end]), zlib.decompress(content[end:])
        leaves, axes = head["leaves"], len(head["dimensions"])
        places = np.frombuffer(body, "<i4", leaves * axes).reshape(axes, leaves).T.astype(np.int64)
        released = np.frombuffer(body, "<i8", leaves, 4 * leaves * axes).astype(np.int64)
        small = np.frombuffer(body, "<i1", leaves, (4 * axes + 8) * leaves).astype(np.bool_) if head["counts"] else None
        every, *others = (AccuracyClass(**each) for each in head["accuracy"])
        split = head["by_dimensions"]
        return cls(
            measure=head["measure"],
            dimensions=tuple(head["dimensions"]),
            depth=Depth(dimensions=head["depth"]),
            places=frozen_array(places),
            released=frozen_array(released),
            small=small,
            accuracy=CubeAccuracy(
                every=every, by_dimensions=tuple(others[:split]), classes=tuple(others[split:]), grand_total_percent=head["grand_total"]
            ),
            memory=memory or CubeMemory(),
        )


def _fill_totals(by_code: AnyArray, dimension: Dimension) -> None:
    """Totals of every tree along the first axis, from the lowest up."""
    for tree in dimension.trees:
        for code in sorted(tree.children, key=lambda code: -tree.depth[code]):
            by_code[dimension.position[code]] = by_code[[dimension.position[part] for part in tree.children[code]]].sum(axis=0)


def accuracy_of(
    error: FloatArray, moved: IntArray, released: IntArray, shown: IntArray, safe: BoolArray, *, fewest: int = 10
) -> CubeAccuracy:
    """`error`: relative change of each row, in percent; `shown`: dimensions. Classes of fewer than `fewest` cells are not told."""
    moved = np.abs(moved)
    size = np.abs(released)
    digits = np.floor(np.log10(np.maximum(size, 1))).astype(np.int64)
    by_dimensions, classes = [], []
    for number in np.unique(shown[safe]).tolist():
        of_number = safe & (shown == number)
        by_dimensions.append(_class(error[of_number], moved[of_number], number, 0))
        for power in np.unique(digits[of_number]).tolist():
            chosen = of_number & (digits == power)
            if int(chosen.sum()) >= fewest:
                classes.append(_class(error[chosen], moved[chosen], number, 10**power))
    grand = error[shown == 0]
    return CubeAccuracy(
        every=_class(error[safe], moved[safe], -1, 0),
        by_dimensions=tuple(by_dimensions),
        classes=tuple(classes),
        grand_total_percent=_tidy(float(grand[0])) if grand.size else 0.0,
    )


def _class(error: FloatArray, moved: IntArray, dimensions: int, at_least: int) -> AccuracyClass:
    told: Sequence[float] = (0.0, 0.0, 0.0)
    if error.size:
        told = (float(error.mean()), float(np.median(error)), float(np.quantile(error, 0.9)))
    mean, median, within = (_tidy(each) for each in told)
    return AccuracyClass(
        dimensions=dimensions,
        at_least=at_least,
        cells=int(error.size),
        mean_percent=mean,
        median_percent=median,
        within_percent=within,
        within=int(np.ceil(_tidy(float(np.quantile(moved, 0.9))))) if moved.size else 0,
    )


def _tidy(percent: float) -> float:
    """Two digits are enough, rounded up: more would tell about single cells."""
    if percent <= 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(percent)) - 1)
    return float(f"{np.ceil(percent / unit) * unit:.6g}")
