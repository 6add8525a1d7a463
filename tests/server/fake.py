"""A service of a small made-up dataset that needs no key, no store and no solver: what the web part sees of a real one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.server.dataset.dataset import Dataset, DatasetMeasure
from statveil.server.dataset.layout import ServedDimension, served_dimension
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.answer import AnsweredDimension, AnsweredTable
from statveil.server.engine.service import TableService
from statveil.tables.spec import Dimension

REGIONS = {"N": "Total", "S": "Total", "N1": "N", "N2": "N", "S1": "S"}
FORMULA = "=cmd|'/c calc'!A1"


def region() -> ServedDimension:
    labels = {"N": "North", "S": "South", "N1": FORMULA, "N2": "Nieuw-Balinge", "S1": "+31"}
    full = Dimension(name="region", trees=(Hierarchy(parent=REGIONS, total="Total", labels=labels),))
    return served_dimension("region", "Region", full, [["part", "place"]], filter_=False)


def size() -> ServedDimension:
    full = Dimension(name="size", trees=(Hierarchy(parent={"big": "all", "small": "all"}, total="all"),))
    return served_dimension("size", "Size", full, [["size"]], filter_=True)


def dataset(name: str = "firms") -> Dataset:
    return Dataset(
        id=name,
        label=f"The {name}",
        version="1",
        mode="cube",
        dimensions=(region(), size()),
        measures=(DatasetMeasure(id="turnover", label="Turnover", unit="EUR", decimals=1),),
        cells=1_000,
    )


class FakeService(TableService):
    """Answers with numbers made of the places of the codes. `before` is called in the middle of each answer."""

    def __init__(self, *names: str, before: Callable[[TableQuery], None] = lambda query: None) -> None:
        self.known = {name: dataset(name) for name in names or ("firms",)}
        self.kept: dict[str, AnsweredTable] = {}
        self.before = before
        self.asked: list[str] = []
        self.lock = threading.Lock()

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        return self.known

    def check(self, query: TableQuery) -> str:
        found = self.known[query.dataset]
        if query.measure not in [each.id for each in found.measures]:
            raise InputError(f"There is no measure {query.measure!r}.")
        for choice in query.dimensions:
            _codes(found, choice)
        return query.hash(found.version)

    def answer(self, query: TableQuery) -> AnsweredTable:
        table_hash = self.check(query)
        with self.lock:
            self.asked.append(query.canonical())
        self.before(query)
        found = self.known[query.dataset]
        axes = tuple(_axis(found, choice, totals=query.totals) for choice in query.dimensions)
        shape = tuple(len(axis.codes) for axis in axes)
        made = AnsweredTable(
            hash=table_hash,
            dataset=query.dataset,
            measure=query.measure,
            measure_label="Turnover",
            unit="EUR",
            decimals=1,
            dimensions=axes,
            filters=tuple(query.filters.items()),
            slices=tuple(query.filters.items()),
            values=np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 10 - 25,
            missing=np.zeros(shape, dtype=np.bool_),
        )
        self.kept[table_hash] = made
        return made

    def stored(self, table_hash: str, *, sees: Callable[[str], bool] = lambda dataset: True) -> AnsweredTable | None:
        found = self.kept.get(table_hash)
        return found if found is not None and sees(found.dataset) else None


def _dimension(found: Dataset, name: str) -> ServedDimension:
    for each in found.dimensions:
        if each.id == name:
            return each
    raise InputError(f"There is no dimension {name!r}.")


def _codes(found: Dataset, choice: DimensionChoice) -> tuple[str, ...]:
    dimension = _dimension(found, choice.id)
    if choice.codes is not None:
        unknown = sorted(set(choice.codes) - set(dimension.codes))
        if unknown:
            raise InputError(f"There is no code {unknown[0]!r}.")
        return choice.codes
    levels = {each.id: each.codes for each in dimension.levels}
    if choice.level is not None and choice.level not in levels:
        raise InputError(f"There is no level {choice.level!r}.")
    return levels[choice.level or dimension.levels[-1].id]


def _axis(found: Dataset, choice: DimensionChoice, *, totals: bool) -> AnsweredDimension:
    dimension, shown = _dimension(found, choice.id), set(_codes(found, choice))
    parent = dimension.parents[0]
    if totals:
        for code in tuple(shown):
            above = parent.get(code)
            while above is not None:
                shown.add(above)
                above = parent.get(above)
    codes = tuple(code for code in dimension.codes if code in shown)
    return AnsweredDimension(
        id=dimension.id,
        label=dimension.label,
        codes=codes,
        labels=tuple(dimension.labels.get(code, code) for code in codes),
        parents=tuple(parent.get(code) if parent.get(code) in shown else None for code in codes),
    )


def shared_files(folder: Path):
    from statveil.server.web.shared_state import SharedFiles

    return SharedFiles(
        audit_log=folder / "audit-log.jsonl",
        keys=folder / "api-keys.json",
        jobs=folder / "jobs.sqlite",
        rate_limit=folder / "rate.sqlite",
        metrics=folder / "metrics",
    )
