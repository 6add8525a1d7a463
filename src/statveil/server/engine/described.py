"""What readers may know of a dataset before they ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from statveil.server.engine.dataset import ServedData


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a dimension: `codes` are the codes that a table at this level shows, without their totals."""

    id: str
    codes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DatasetDimension:
    """`parents[tree][code]`: one mapping for each alternative hierarchy. `levels`: from the highest to the lowest (the last one)."""

    id: str
    label: str
    total: str
    levels: tuple[Level, ...]
    codes: tuple[str, ...]
    labels: Mapping[str, str]
    parents: tuple[Mapping[str, str], ...]
    filter: bool
    population: bool = False


@dataclass(frozen=True, kw_only=True)
class DatasetMeasure:
    id: str
    label: str
    unit: str
    decimals: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What readers may know of a dataset before they ask. `cells`: positions, totals included, that one table may have."""

    id: str
    label: str
    version: str
    mode: str
    dimensions: tuple[DatasetDimension, ...]
    measures: tuple[DatasetMeasure, ...]
    cells: int


def described(data: ServedData, cells: int) -> Dataset:
    """A dataset as readers see it; a table may have so many `cells`."""
    dimensions = tuple(
        DatasetDimension(
            id=each.id,
            label=each.label,
            total=each.full.total,
            levels=tuple(Level(id=level.id, codes=level.codes) for level in each.levels),
            codes=each.full.codes,
            labels={code: each.full.label(code) for code in each.full.codes},
            parents=tuple(dict(tree.parent) for tree in each.full.trees),
            filter=each.filter,
            population=each.population,
        )
        for each in data.dimensions
    )
    measures = tuple(DatasetMeasure(id=each.id, label=each.label, unit=each.unit, decimals=each.decimals) for each in data.blocks.values())
    part = data.part
    return Dataset(
        id=part.id, label=part.label or part.id, version=data.version, mode=part.mode, dimensions=dimensions, measures=measures, cells=cells
    )
