"""What a reader has chosen on the page of a dataset: the state of its form, which is also the address of the page.

An address is therefore a saved query; the officer names some in the configuration, and readers keep others in their browsers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from statveil.core.errors import InputError, StatveilError
from statveil.server.dataset.dataset import Dataset
from statveil.server.dataset.layout import ServedDimension
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.web.wishes import paired

ROWS, COLUMNS = "rows", "columns"
MOST_ROWS, MOST_COLUMNS = 40, 8
"""Codes that the first table shows in its rows and columns, where a level has so few. By judgement."""


@dataclass(frozen=True, kw_only=True)
class FormChoice:
    """The state of the form."""

    measure: str
    use: Mapping[str, str] = field(default_factory=dict)
    level: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: bool = True

    @property
    def rows(self) -> list[str]:
        return [name for name, use in self.use.items() if use == ROWS]

    @property
    def columns(self) -> str | None:
        return next((name for name, use in self.use.items() if use == COLUMNS), None)

    def query(self, dataset: Dataset) -> TableQuery:
        """Codes chosen of a dimension that is shown are its codes; of another, a filter."""
        if not self.rows:
            raise InputError("The table has no rows.", hint="Show at least one dimension as rows.")
        if list(self.use.values()).count(COLUMNS) > 1:
            raise InputError("Two dimensions are shown as columns.", hint="Show one of them as rows.")
        several = [each.id for each in dataset.dimensions if len(each.levels) > 1]
        choices = tuple(
            DimensionChoice(
                id=name,
                codes=self.only.get(name),
                level=None if name in self.only or name not in several else self.level.get(name),
            )
            for name in self.use
        )
        filters = {name: codes for name, codes in self.only.items() if name not in self.use}
        return TableQuery(dataset=dataset.id, measure=self.measure, dimensions=choices, filters=filters, totals=self.totals)

    @property
    def address(self) -> str:
        """The parameters of the page that shows this."""
        pairs = [("asked", "true"), ("measure", self.measure)]
        pairs += [("use", f"{name}:{use}") for name, use in self.use.items()]
        pairs += [("level", f"{name}:{level}") for name, level in self.level.items()]
        pairs += [("only", f"{name}:{code}") for name, codes in self.only.items() for code in codes]
        pairs += [("totals", "true")] if self.totals else []
        return urlencode(pairs, quote_via=quote, safe=":")


def choice_of(parameters: QueryParams, dataset: Dataset) -> FormChoice:
    """What the parameters of a page say. A box that is not ticked sends nothing."""
    known = [each.id for each in dataset.dimensions]

    def pairs(name: str) -> dict[str, tuple[str, ...]]:
        return paired([word for word in parameters.getlist(name) if word], known, name)

    return FormChoice(
        measure=parameters.get("measure", ""),
        use={name: words[-1] for name, words in pairs("use").items()},
        level={name: words[-1] for name, words in pairs("level").items()},
        only=pairs("only"),
        totals=parameters.get("totals") == "true",
    )


def first_choice(dataset: Dataset) -> FormChoice:
    """What is shown at first: the officer's first table, else the first dimension by the next that is short enough for columns."""
    if dataset.saved:
        return saved_choice(dataset, dataset.saved[0][1])
    rows, *others = dataset.dimensions
    short = [each for each in others if len(each.levels[0].codes) <= MOST_COLUMNS and dataset.depth != 1]
    columns = short[0] if short else None
    level = {rows.id: _level(rows, MOST_ROWS)} | ({columns.id: _level(columns, MOST_COLUMNS)} if columns else {})
    use = {rows.id: ROWS} | ({columns.id: COLUMNS} if columns else {})
    return FormChoice(measure=dataset.measures[0].id, use=use, level=level)


def _level(dimension: ServedDimension, most: int) -> str:
    """The lowest level that is short enough, else the highest."""
    short = [level.id for level in dimension.levels if len(level.codes) <= most]
    return short[-1] if short else dimension.levels[0].id


def saved_choice(dataset: Dataset, address: str) -> FormChoice:
    """The table of an address that the officer wrote down, with or without what precedes its parameters."""
    return choice_of(QueryParams(address.rpartition("?")[2]), dataset)


def page_of(dataset: Dataset) -> str:
    return f"/datasets/{quote(dataset.id, safe='')}"


def saved_tables(dataset: Dataset) -> Sequence[tuple[str, str]]:
    """Names and addresses of the officer's tables."""
    return [(name, saved_choice(dataset, address).address) for name, address in dataset.saved]


def check_saved(datasets: Mapping[str, Dataset], check: Callable[[TableQuery], object]) -> None:
    """Refuse a configuration that names a table which cannot be asked for."""
    for dataset in datasets.values():
        for name, address in dataset.saved:
            try:
                check(saved_choice(dataset, address).query(dataset))
            except StatveilError as error:
                raise InputError(f"Dataset {dataset.id!r}, saved table {name!r}: {error.message}", hint=error.hint) from None
