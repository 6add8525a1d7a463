"""The part of a protected table that a request is answered with."""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import IntArray
from statveil.server.engine.answer import AnsweredDimension, AnsweredTable
from statveil.server.engine.dataset import ServedData
from statveil.server.engine.layout import Layout, shown_codes
from statveil.server.engine.query import TableQuery


def slice_of(data: ServedData, layout: Layout, asked: TableQuery, hash_: str, values: IntArray) -> AnsweredTable:
    """What was asked for: codes picked, filters taken at their code, other dimensions in their order."""
    choices = {choice.id: choice for choice in asked.dimensions}
    dimensions: list[AnsweredDimension] = []
    axis = 0
    for dimension, level in zip(layout.dimensions, layout.levels, strict=True):
        if dimension.id in asked.filters:
            values = np.asarray(values.take(level.place_of(asked.filters[dimension.id]), axis=axis))
            continue
        codes = shown_codes(choices[dimension.id], level, totals=asked.totals)
        values = values.take([level.cut.position[code] for code in codes], axis=axis)
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
    block = data.block(asked.measure)
    return AnsweredTable(
        hash=hash_,
        dataset=asked.dataset,
        measure=block.id,
        measure_label=block.label,
        unit=block.unit,
        decimals=block.decimals,
        dimensions=tuple(dimensions),
        filters=tuple(asked.filters.items()),
        slices=tuple(
            (each.label, tuple(each.full.label(code) for code in asked.filters[each.id]))
            for each in layout.dimensions
            if each.id in asked.filters
        ),
        values=values,
        missing=np.zeros(values.shape, np.bool_),
    )
