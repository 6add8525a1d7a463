"""The protected cube measured: accuracy, counts, attacks, time and memory, on invented registers.

python benchmarks/cube.py [SHAPE ...] [--keys 5]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.secret import SecretKey
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.server_config import DatasetPart
from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.server.cube.attacks import AttackScore, Edition, attack_edition, attack_editions
from statveil.server.cube.cube import Cube
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import position_ids
from statveil.server.cube.lattice import Lattice, build_lattice, leaf_cells
from statveil.server.cube.prepare import prepare_cube
from statveil.server.dataset.dataset import DatasetMeasure, MeasureBlock, ServedData
from statveil.server.dataset.keyed import factors, permanent_ids, space_of, unit_prints
from statveil.server.dataset.layout import served_dimension
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
    "million": RegisterShape(700_000, ((90, 10), (60, 10), (6, 0), (5, 0), (4, 0))),
    "ten": RegisterShape(60_000, ((6, 0),) * 10),
    "five million": RegisterShape(5_000_000, ((60, 10), (50, 10), (6, 0), (5, 0))),
    "fresh": RegisterShape(90_000, ((50, 10), (24, 6), (7, 0), (4, 0)), tail=2.6, uneven=1.0),
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
    permanent = permanent_ids(key, names)
    drawn = factors(key, measure, permanent)
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
        leaf=found.places[:, order].astype(np.int16),
        value=value[order],
        prints=prints,
        floor=drawn.floor,
        tie=drawn.tie,
        holding=permanent,
    )


def noise_error(data: ServedData, lattice: Lattice, block: MeasureBlock, seed: int, *, least: float = 0.12, most: float = 0.20) -> float:
    """The mean error of safe cells, in percent, if every holding's values are changed by a factor of their own: what the cube replaced.

    Without the raising and lifting that made sensitive cells safe then, which cost it half to one percent more.
    """
    rng = np.random.default_rng(seed)
    factor = rng.uniform(least, most, block.start.size - 1) * rng.choice((-1.0, 1.0), block.start.size - 1)
    changed = np.zeros(lattice.leaves, np.int64)
    np.add.at(changed, leaf_cells(data, block)[1], np.rint(block.value * np.repeat(factor, np.diff(block.start))).astype(np.int64))
    return float(_errors(lattice, changed)[~lattice.sensitive].mean())


def _errors(lattice: Lattice, change: IntArray) -> FloatArray:
    return 100 * np.abs(lattice.sums(change)) / np.maximum(lattice.magnitude, 1)


def accuracy_words(lattice: Lattice, released: IntArray) -> str:
    """Mean errors of safe cells: all, grand total, by dimensions shown."""
    error, safe = _errors(lattice, released - lattice.leaf_value), ~lattice.sensitive
    by_number = [error[safe & (lattice.dimensions == number)] for number in range(1, int(lattice.dimensions.max()) + 1)]
    parts = " / ".join(f"{each.mean():.2f}" for each in by_number if each.size)
    return f"safe {error[safe].mean():.2f}%, grand total {error[lattice.dimensions == 0][0]:.3f}%, by dimensions {parts}"


def counts_words(lattice: Lattice, released: IntArray) -> str:
    off = lattice.sums(released) - lattice.value
    told = lattice.value >= 3
    return (
        f"counts: mean |error| {np.abs(off).mean():.2f} (of 3 and more {np.abs(off[told]).mean():.2f}), within 3 in "
        f"{100 * (np.abs(off) <= 3).mean():.1f}%, up less down {100 * ((off[told] > 0).mean() - (off[told] < 0).mean()):+.1f} points"
    )


def measure_key(shape: RegisterShape, seed: int, key: SecretKey, depth: Depth, args: argparse.Namespace) -> Iterator[str]:
    """Editions of one register under one key: every figure in a line."""
    found, memory, editions = register(shape, seed), None, list[Edition]()
    for year in range(args.editions):
        found = next_edition(found, 100 * seed + year) if year else found
        data = served(found, key, args.measures)
        for measure in args.measures:
            started = time.process_time()
            cube: Cube = prepare_cube(data, measure, depth=depth, key=key, memory=memory)
            memory, cpu = cube.memory, time.process_time() - started
            block = data.block(measure)
            lattice = build_lattice(data, block, depth)
            size = (
                f"{lattice.position_row.size:,} positions, {lattice.leaves:,} leaf cells, {int(lattice.sensitive.sum()):,} sensitive rows"
            )
            if block.counts:
                yield f"  edition {year}: {counts_words(lattice, cube.released)}; {cpu:.1f} s CPU"
                continue
            yield f"  edition {year}: {measure} {accuracy_words(lattice, cube.released)}; {size}; {cpu:.1f} s CPU"
            if measure == args.measures[0]:
                editions.append(Edition(lattice, cube.released, position_ids(key, block, lattice), block.holding))
                if not year:
                    yield f"  noise would have {noise_error(data, lattice, block, seed):.2f}%"
                    yield from map(_score, attack_edition(editions[-1]))
    if len(editions) > 1:
        yield from map(_score, attack_editions(editions))


def _score(score: AttackScore) -> str:
    mark = "" if score.most is None else f" (at most {100 * score.most:g}%{'' if score.passed else ': NOT MET'})"
    return f"    {score.threat}: {score.name}: {100 * score.share:.1f}% of {score.tries:,}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", default=["a", "b", "c", "d"])
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--editions", type=int, default=2)
    parser.add_argument("--depth", type=int, default=None)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--measures", nargs="+", default=["turnover", "units"])
    args = parser.parse_args()
    for name in args.shapes:
        for number in range(args.keys):
            print(f"{name}, key {number}", flush=True)
            key, depth = SecretKey(bytes([number + 1]) * 32), Depth(dimensions=args.depth)
            for line in measure_key(SHAPES[name], args.seed + number, key, depth, args):
                print(line, flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
