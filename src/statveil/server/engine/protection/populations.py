"""Populations that filters make, against those published before (T07): what only one of two has must not be sensitive itself.

Both are answered by sums; where one holds all records of the other, subtracting the two answers gives a sum over the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, frozen_array
from statveil.core.secret import SecretKey
from statveil.risk.assess import assess
from statveil.server.engine.dataset import MeasureBlock, ServedData
from statveil.server.engine.layout import Layout
from statveil.server.engine.protection.stage_one import add_up, rules_table
from statveil.tables.levels import Grid


@dataclass(frozen=True, kw_only=True)
class PublishedPopulation:
    """The codes of a population, by dimension, and the other dimensions of its table."""

    codes: Mapping[str, tuple[str, ...]]
    shown: frozenset[str]

    @classmethod
    def of(cls, layout: Layout) -> PublishedPopulation:
        codes = layout.populations
        return cls(codes=codes, shown=frozenset(each.id for each in layout.dimensions if each.id not in codes))


def fact_name(key: SecretKey, block: MeasureBlock) -> str:
    """Where the store keeps the populations of a measure."""
    return "populations " + key.digest("populations", block.space, size=16).hex()


def read_populations(fact: str | None) -> list[PublishedPopulation]:
    return [
        PublishedPopulation(codes={name: tuple(codes) for name, codes in each["codes"].items()}, shown=frozenset(each["shown"]))
        for each in json.loads(fact or "[]")
    ]


def write_populations(found: Sequence[PublishedPopulation]) -> str:
    return json.dumps([{"codes": dict(each.codes), "shown": sorted(each.shown)} for each in found], sort_keys=True)


def sensitive_sliver(data: ServedData, block: MeasureBlock, layout: Layout, published: Sequence[PublishedPopulation]) -> bool:
    """Whether some published population and this one are nested, and what lies between them has a sensitive cell in both tables."""
    inside = _records(data, block, layout.populations)
    for other in published:
        theirs = _records(data, block, other.codes)
        sliver = inside ^ theirs
        nested = not (inside & ~theirs).any() or not (theirs & ~inside).any()
        if nested and sliver.any() and _is_sensitive(data, _only(block, sliver), layout, other.shown):
            return True
    return False


def _records(data: ServedData, block: MeasureBlock, codes: Mapping[str, tuple[str, ...]]) -> BoolArray:
    """The records of a population."""
    found = np.ones(block.value.size, dtype=np.bool_)
    for axis, dimension in enumerate(data.dimensions):
        if dimension.id in codes:
            members = frozenset[str]().union(*(dimension.members[code] for code in codes[dimension.id]))
            found &= np.array([leaf in members for leaf in dimension.full.trees[0].leaves])[block.leaf[axis]]
    return found


def _only(block: MeasureBlock, kept: BoolArray) -> MeasureBlock:
    """The block with these records alone."""
    size = np.add.reduceat(kept.astype(np.int64), block.start[:-1])
    owners = size > 0
    records: dict[str, Any] = {name: frozen_array(getattr(block, name)[kept]) for name in ("value", "reference", "low", "high")}
    holdings: dict[str, Any] = {name: frozen_array(getattr(block, name)[owners]) for name in ("floor", "sign", "tie")}
    start = frozen_array(np.concatenate([[0], np.cumsum(size[owners])]).astype(np.int64))
    return replace(block, **records, **holdings, start=start, leaf=frozen_array(block.leaf[:, kept]))


def _is_sensitive(data: ServedData, block: MeasureBlock, layout: Layout, common: frozenset[str]) -> bool:
    """Whether the records have a sensitive cell by the dimensions that both tables show; the totals of the others."""
    ids = [each.id for each in data.dimensions]
    kept = [place for place, each in enumerate(layout.dimensions) if each.id not in layout.populations]
    plain = replace(
        layout, dimensions=tuple(layout.dimensions[place] for place in kept), levels=tuple(layout.levels[place] for place in kept)
    )
    grid = Grid(dimensions=plain.cuts)
    sums, _, _ = add_up(block, plain, [ids.index(each.id) for each in plain.dimensions], grid)
    filled = np.flatnonzero(sums.count)
    coordinates = grid.coordinates(filled)
    for axis, dimension in enumerate(plain.dimensions):
        if dimension.id not in common:
            at_total = coordinates[:, axis] == plain.cuts[axis].position[plain.cuts[axis].total]
            filled, coordinates = filled[at_total], coordinates[at_total]
    return bool(assess(rules_table(block, sums, filled), block.rules).sensitive.any())
