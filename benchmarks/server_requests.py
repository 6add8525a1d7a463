"""The table server on 100,000 records, 50 x 80 x 6 x 5 codes: different requests in random order, each answer checked apart.

The check takes another way than the server: DuckDB adds up the records and ranks the respondents of the whole lattice, the rules
judge every position, and each published number is compared with that in whole numbers.

    python benchmarks/server_requests.py [requests] [cube|section4]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.errors import StatveilError
from statveil.core.secret import new_key_file
from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.jobs.server_config import ServerConfig, check_config
from statveil.risk.assess import assess
from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.service import TableService
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.tabulate import tabulate
from statveil_lab.generators.register import write_register_server

LARGEST = 5_000
TREES = ("district", "industry")


def config_in(folder: Path, mode: str) -> ServerConfig:
    new_key_file(folder / "secret.key")
    content = tomllib.loads(write_register_server(folder, levels=True).read_text(encoding="utf-8"))
    return check_config({**content, "dataset": [{**content["dataset"][0], "mode": mode}]}, base=folder)


def requests(service: TableService, wanted: int, seed: int) -> Iterator[TableQuery]:
    """Different requests for tables of up to 5,000 cells: levels, codes, filters, with totals and without."""
    draw, seen = random.Random(seed), set[str]()
    dimensions = service.datasets["register"].dimensions
    while len(seen) < wanted:
        chosen = draw.sample(dimensions, draw.choice((1, 2, 2, 3, 3, 4)))
        choices = []
        for dimension in chosen:
            level = draw.choice(dimension.levels)
            some = draw.sample(level.codes, draw.randrange(1, len(level.codes) + 1))
            choices.append(
                DimensionChoice(id=dimension.id, codes=tuple(some))
                if draw.random() < 0.4
                else DimensionChoice(id=dimension.id, level=level.id)
            )
        open_ones = [each for each in dimensions if each.filter and each not in chosen]
        filters = {
            each.id: tuple(draw.sample(each.levels[-1].codes, draw.choice((1, 1, 2, 3)) if each.population else 1))
            for each in open_ones
            if draw.random() < 0.25
        }
        query = TableQuery(
            dataset="register",
            measure=draw.choice(("turnover", "turnover", "persons", "units")),
            dimensions=tuple(choices),
            filters=filters,
            totals=draw.random() < 0.7,
        )
        try:
            hash_ = service.check(query)
        except StatveilError:
            continue
        if hash_ not in seen and np.prod([len(each.codes or ()) or len(_codes(service, each)) for each in query.dimensions]) <= LARGEST:
            seen.add(hash_)
            yield query


def _codes(service: TableService, choice: DimensionChoice) -> tuple[str, ...]:
    dimension = next(each for each in service.datasets["register"].dimensions if each.id == choice.id)
    return next(level.codes for level in dimension.levels if level.id == choice.level)


class Judge:
    """Every position of the lattice of one measure, by DuckDB and the rules: true value and levels (zero where it is safe)."""

    def __init__(self, folder: Path, measure: str) -> None:
        records = pq.read_table(folder / "register.parquet")
        if measure != "units":
            records = records.filter(pc.greater(records[measure], 0))
        trees: dict[str, Hierarchy | None] = {
            name: Hierarchy.from_digits(sorted(set(records[name].to_pylist())), digits=[1, 1]) if name in TREES else None
            for name in ("district", "industry", "size", "form")
        }
        spec = TableSpec(dimensions=trees, measure=None if measure == "units" else measure, holding="holding")
        rules = [MinimumFrequency(3, level=10)] if measure == "units" else [PPercent(10), MinimumFrequency(3, level=10)]
        table = tabulate(read_microdata(records), spec, top=2)
        found = assess(table, rules)
        view = table.views[0]
        self.dimensions = {dimension.name: dimension for dimension in view.dimensions}
        shape = tuple(len(dimension.codes) for dimension in view.dimensions)
        self.value, self.down, self.up = (np.zeros(shape, np.int64) for _ in range(3))
        at = tuple(view.coordinates.T)
        self.value[at] = table.value[view.cell]
        self.down[at], self.up[at] = found.lower_level[view.cell], found.upper_level[view.cell]
        self.smallest = 3 if measure == "units" else 1

    def faults(self, answer: AnsweredTable) -> Counter[str]:
        """What is wrong with an answer."""
        found: Counter[str] = Counter()
        found["additivity"] = sum(_broken(answer, axis, self.dimensions[each.id]) for axis, each in enumerate(answer.dimensions))
        filters: Mapping[str, tuple[str, ...]] = dict(answer.filters)
        if any(len(codes) > 1 for codes in filters.values()):
            found["populations"] = 1  # a sum of published cells, which is not judged as a cell
            return found
        places = []
        for name, dimension in self.dimensions.items():
            shown = next((each.codes for each in answer.dimensions if each.id == name), filters.get(name, (dimension.total,)))
            places.append([dimension.position[code] for code in shown])
        order = [axis for axis, name in enumerate(self.dimensions) if name in [each.id for each in answer.dimensions]]
        assert [list(self.dimensions)[axis] for axis in order] == [each.id for each in answer.dimensions]
        true, down, up = (array[np.ix_(*places)].reshape(answer.values.shape) for array in (self.value, self.down, self.up))
        x, sensitive = answer.values, up > 0
        found["protection"] = int((sensitive & (x > true - down) & (x < true + up)).sum())
        found["zeros"] = int(np.where(true == 0, x != 0, (x < self.smallest) & ((x != 0) | (self.smallest == 1))).sum())
        found["sensitive"] = int(sensitive.sum())
        found["cells"] = int((true > 0).sum())
        return found


def _broken(answer: AnsweredTable, axis: int, dimension: Dimension) -> int:
    """Totals that are not the sum of their parts; where parts are not shown, totals that are less than those that are."""
    shown, values = answer.dimensions[axis], np.moveaxis(answer.values, axis, 0)
    wrong = 0
    for place, code in enumerate(shown.codes):
        parts = [part for part, above in enumerate(shown.parents) if above == code]
        sums, all_shown = values[parts].sum(axis=0), len(parts) == len(dimension.trees[0].children.get(code, ()))
        if parts:
            wrong += int(((sums != values[place]) if all_shown else (sums > values[place])).sum())
    return wrong


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    mode = sys.argv[2] if len(sys.argv) > 2 else "cube"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = config_in(folder, mode)
        judges = {measure: Judge(folder, measure) for measure in ("turnover", "persons", "units")}
        service = TableService.open(config, config.key())
        service.answer(next(requests(service, 1, seed=0)))  # compiles the loops
        total: Counter[str] = Counter()
        times: list[tuple[float, int]] = []
        asked: list[tuple[TableQuery, bytes]] = []
        seen: set[str] = set()
        for query in requests(service, wanted, seed=1):
            layout = service.layout_of(query)
            table = layout.query.hash(service.datasets[query.dataset].version)
            protected = 0 if table in seen else int(np.prod(layout.shape))
            seen.add(table)
            started = time.perf_counter()
            try:
                answer = service.answer(query)
            except StatveilError:
                total["unanswered"] += 1
                continue
            times.append((time.perf_counter() - started, protected))
            asked.append((query, answer.to_bytes()))
            total += judges[query.measure].faults(answer)
        print(f"{mode}, {wanted:,} requests: {total['unanswered']} unanswered, {total['protection']} under-protected")
        print(f"  of {total['sensitive']:,} sensitive ones among {total['cells']:,} cells;", end=" ")
        print(f"{total['additivity']} broken totals, {total['zeros']} wrong zeros; {total['populations']} populations")
        _times("all", [seconds for seconds, _ in times])
        _times("new tables of up to 5,000 cells with all totals", [seconds for seconds, size in times if 0 < size <= LARGEST])
        _times("slices of new tables of more", [seconds for seconds, size in times if size > LARGEST])
        _again(config, asked)


def _again(config: ServerConfig, asked: list[tuple[TableQuery, bytes]]) -> None:
    """The same requests to a server that was started again, dimensions turned round: the same bytes."""
    service, times, different = TableService.open(config, config.key()), [], 0
    for query, body in asked:
        turned = TableQuery(
            dataset=query.dataset,
            measure=query.measure,
            dimensions=query.dimensions[::-1],
            filters=dict(reversed(query.filters.items())),
            totals=query.totals,
        )
        started = time.perf_counter()
        different += service.answer(turned).to_bytes() != body
        times.append(time.perf_counter() - started)
    print(f"  asked again after a restart: {different} answers differ")
    _times("asked again", times)


def _times(words: str, seconds: list[float]) -> None:
    if seconds:
        array = np.array(seconds)
        middle, most = np.median(array), np.quantile(array, 0.95)
        print(f"  {words} ({array.size:,}): median {middle:.3f} s, 95th percentile {most:.3f} s, longest {array.max():.2f} s")


if __name__ == "__main__":
    main()
