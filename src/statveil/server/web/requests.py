"""A table as it is asked for over the web: a JSON body, or the same in the parameters of an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field

from statveil.core.errors import InputError
from statveil.jobs.server_config import LONGEST_NAME
from statveil.server.engine.described import Dataset
from statveil.server.engine.query import MOST_NAMES, DimensionChoice, TableQuery

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Codes = Annotated[list[Name], Field(min_length=1, max_length=MOST_NAMES)]
_MOST_DIMENSIONS = 50
_MOST_PAIRS = 1_000
"""More do not go into an address; a body takes them."""


class DimensionWish(BaseModel):
    """A dimension at one level of its hierarchy, or some of its codes; with neither, its lowest level."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": {"id": "region", "level": "province"}})

    id: Name
    level: Name | None = None
    codes: Codes | None = None


class TableWish(BaseModel):
    """The table wanted. The order of dimensions, codes and filters does not matter."""

    model_config = ConfigDict(extra="forbid", strict=True)

    dimensions: Annotated[list[DimensionWish], Field(min_length=1, max_length=_MOST_DIMENSIONS)]
    measure: Name
    filters: Annotated[dict[Name, Codes], Field(max_length=_MOST_DIMENSIONS)] = {}
    totals: bool = True

    def query(self, dataset: str) -> TableQuery:
        return TableQuery(
            dataset=dataset,
            measure=self.measure,
            dimensions=tuple(
                DimensionChoice(id=each.id, level=each.level, codes=None if each.codes is None else tuple(each.codes))
                for each in self.dimensions
            ),
            filters={name: tuple(codes) for name, codes in self.filters.items()},
            totals=self.totals,
        )


Pairs = Annotated[list[Annotated[str, Field(max_length=2 * LONGEST_NAME + 1)]], Field(max_length=_MOST_PAIRS)]


class TableParameters(BaseModel):
    """The same as the body of the POST request, in parameters that may be repeated."""

    model_config = ConfigDict(extra="forbid")

    dimension: Annotated[list[Name], Field(min_length=1, max_length=_MOST_DIMENSIONS, description="A dimension of the table; repeat it.")]
    measure: Annotated[Name, Field(description="What is added up.")]
    level: Annotated[Pairs, Field(description="`DIMENSION:LEVEL`, for example `region:province`.")] = []
    code: Annotated[Pairs, Field(description="`DIMENSION:CODE`: only these codes of the dimension; repeat it.")] = []
    filter: Annotated[Pairs, Field(description="`DIMENSION:CODE`: slice the table by a dimension that it does not show; repeat it.")] = []
    totals: Annotated[bool, Field(description="Show the totals of what was chosen.")] = True
    format: Annotated[str | None, Field(max_length=20, description="json, csv, sdmx-csv, px, xlsx, parquet or html.")] = None

    def query(self, dataset: Dataset) -> TableQuery:
        known = [dimension.id for dimension in dataset.dimensions]
        levels = paired(self.level, known, "level")
        codes = paired(self.code, known, "code")
        astray = sorted((set(levels) | set(codes)) - set(self.dimension))
        if astray:
            raise InputError(
                f"{astray[0]!r} is given a level or a code and is no dimension of the table.", hint=f"Add dimension={astray[0]}."
            )
        return TableQuery(
            dataset=dataset.id,
            measure=self.measure,
            dimensions=tuple(DimensionChoice(id=each, level=_only(levels, each), codes=codes.get(each)) for each in self.dimension),
            filters=paired(self.filter, known, "filter"),
            totals=self.totals,
        )


def paired(words: Sequence[str], known: Sequence[str], what: str) -> dict[str, tuple[str, ...]]:
    """`region:A`, `region:B` as {region: (A, B)}. A dimension's own colons do no harm: the longest name that fits is meant."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        names = sorted((name for name in known if word.startswith(f"{name}:")), key=len)
        if not names:
            raise InputError(f"{what}={word[:LONGEST_NAME]!r} does not begin with a dimension and a colon.", hint="Example: region:A.")
        found[names[-1]] = (*found.get(names[-1], ()), word[len(names[-1]) + 1 :])
    return found


def _only(levels: Mapping[str, tuple[str, ...]], dimension: str) -> str | None:
    if len(levels.get(dimension, ())) > 1:
        raise InputError(f"Dimension {dimension!r} is given two levels.", hint="Name one.")
    return levels[dimension][0] if dimension in levels else None


def address(query: TableQuery) -> str:
    """The GET request for a query."""
    pairs = [("dimension", choice.id) for choice in query.dimensions]
    pairs += [("level", f"{choice.id}:{choice.level}") for choice in query.dimensions if choice.level is not None]
    pairs += [("code", f"{choice.id}:{code}") for choice in query.dimensions for code in choice.codes or ()]
    pairs += [("measure", query.measure)]
    pairs += [("filter", f"{name}:{code}") for name, codes in query.filters.items() for code in codes]
    pairs += [] if query.totals else [("totals", "false")]
    return f"/v1/datasets/{quote(query.dataset, safe='')}/tables?{urlencode(pairs, quote_via=quote, safe=':')}"
