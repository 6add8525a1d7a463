"""The protected cube measured: accuracy, counts, attacks, time and memory, on invented registers.

python benchmarks/cube.py [SHAPE ...] [--keys 5]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.secret import SecretKey
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.server_config import DatasetPart
from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.server.engine.dataset import DatasetMeasure, MeasureBlock, ServedData
from statveil.server.engine.keyed import factors, space_of, unit_prints
from statveil.server.engine.layout import served_dimension
from statveil.tables.spec import Dimension


class RegisterShape(NamedTuple):
    """Records, codes of each dimension with the branches above them (0: flat), how heavy the tail is, how uneven the codes are."""

    records: int
    codes: tuple[tuple[int, int], ...]
    tail: float = 2.0
    uneven: float = 0.8


SHAPES = {
    "a": RegisterShape(60_000, ((40, 8), (40, 10), (6, 0), (5, 0)), tail=3.0),
    "b": RegisterShape(300_000, ((40, 8), (40, 10), (6, 0), (5, 0)), tail=2.5),
    "c": RegisterShape(20_000, ((20, 5), (20, 0), (6, 0), (5, 0), (4, 0)), uneven=0.5),
    "d": RegisterShape(300_000, ((60, 10), (50, 10), (6, 0), (5, 0), (4, 0))),
    "ten": RegisterShape(60_000, ((6, 0),) * 10),
    "five million": RegisterShape(5_000_000, ((60, 10), (50, 10), (6, 0), (5, 0))),
    "held out": RegisterShape(120_000, ((30, 6), (60, 12), (8, 0), (4, 0)), tail=2.3, uneven=1.1),
}


class Register(NamedTuple):
    """Records as numbers: places in each dimension, holding, turnover, persons."""

    shape: RegisterShape
    places: IntArray
    holding: IntArray
    turnover: IntArray
    persons: IntArray


def register(shape: RegisterShape, seed: int) -> Register:
    """Heavy tails, codes of uneven size, larger firms in other size classes and with several establishments."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0.0, shape.tail, shape.records)
    places = []
    for axis, (codes, _) in enumerate(shape.codes):
        chance = (np.arange(codes) + 1.0) ** -shape.uneven
        rng.shuffle(chance)
        place = rng.choice(codes, shape.records, p=chance / chance.sum())
        if axis == 2:  # the size class, with some error
            rank = np.log(size) / shape.tail + rng.normal(0, 0.5, shape.records)
            place = np.searchsorted(np.quantile(rank, np.linspace(0, 1, codes + 1)[1:-1] ** 0.5), rank)
        places.append(place)
    holding = np.arange(shape.records)
    several = rng.random(shape.records) < 0.15
    holding[several] = rng.choice(shape.records // 20, int(several.sum()))
    turnover = np.maximum(np.rint(size * 300).astype(np.int64), 1)
    persons = np.maximum(np.rint(size**0.8 * rng.lognormal(1.5, 0.6, shape.records)).astype(np.int64), 1)
    return Register(shape, np.array(places, np.int64), holding.astype(np.int64), turnover, persons)


def next_edition(before: Register, seed: int, *, births: float = 0.05, still: float = 0.3) -> Register:
    """A year later: most firms change by some percent, some not at all, some leave and as many come."""
    rng = np.random.default_rng(seed)
    growth = np.where(rng.random(before.holding.size) < still, 1.0, rng.lognormal(0.0, 0.08, before.holding.size))
    new = rng.random(before.holding.size) < births
    other = register(before.shape, seed + 1)
    return Register(
        before.shape,
        np.where(new, other.places, before.places),
        np.where(new, before.holding.max() + 1 + np.arange(before.holding.size), before.holding),
        np.where(new, other.turnover, np.maximum(np.rint(before.turnover * growth).astype(np.int64), 1)),
        np.where(new, other.persons, before.persons),
    )


def served(found: Register, key: SecretKey, measures: Sequence[str] = ("turnover", "units")) -> ServedData:
    """The register as the server loads it, without a file."""
    names = [f"d{axis}" for axis in range(len(found.shape.codes))]
    part = DatasetPart.model_validate(
        {
            "id": "register",
            "file": "register.parquet",
            "unit": "unit",
            "dimensions": {name: {} for name in names},
            "measure": [{"id": each, "count": True} if each == "units" else {"id": each, "column": each} for each in measures],
            "rule": [{"type": "p-percent", "p": 10}, {"type": "minimum-frequency", "n": 3, "level": 10}],
        }
    )
    dimensions = tuple(
        served_dimension(name, name, Dimension(name=name, trees=(_tree(codes, branches),)), None, filter_=True)
        for name, (codes, branches) in zip(names, found.shape.codes, strict=True)
    )
    blocks = {name: _block(found, key, name) for name in measures}
    known = {name: DatasetMeasure(id=name, label=name, unit="", decimals=0, counts=blocks[name].counts) for name in measures}
    return ServedData(part=part, version="1", dimensions=dimensions, measures=known, blocks=blocks)


def _tree(codes: int, branches: int) -> Hierarchy:
    if not branches:
        return Hierarchy.flat([f"c{code:03}" for code in range(codes)])
    parent = {f"b{code * branches // codes:03}": "Total" for code in range(codes)}
    return Hierarchy(parent={**parent, **{f"c{code:03}": f"b{code * branches // codes:03}" for code in range(codes)}}, total="Total")


def _block(found: Register, key: SecretKey, measure: str) -> MeasureBlock:
    counts = measure == "units"
    value = np.ones(found.holding.size, np.int64) if counts else getattr(found, measure)
    order = np.flatnonzero(value)
    order = order[np.argsort(found.holding[order], kind="stable")]
    holding, names = found.holding[order], [str(each) for each in np.unique(found.holding[order])]
    start = np.append(np.flatnonzero(np.diff(holding, prepend=-1)), holding.size).astype(np.int64)
    drawn = factors(key, measure, names)
    prints = unit_prints(key, "register", [str(each) for each in order])
    rules = [MinimumFrequency(3, level=10)]
    return MeasureBlock(
        id=measure,
        label=measure,
        unit="",
        decimals=0,
        counts=counts,
        space=space_of(key, measure),
        rules=rules if counts else [PPercent(10), *rules],
        smallest=3 if counts else 1,
        start=start,
        leaf=found.places[:, order],
        value=value[order],
        low=prints[:, 0],
        high=prints[:, 1],
        floor=drawn.floor,
        sign=drawn.sign,
        tie=drawn.tie,
        holding=factors(key, "", names).tie,
    )
