"""What may be sent to the API: a table by a JSON body, or the same by the parameters of an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from statveil.core.audit_log import TUNING as AUDIT_LOG_TUNING
from statveil.core.errors import InputError
from statveil.jobs.server_config import LONGEST_NAME
from statveil.server.dataset.dataset import Dataset
from statveil.server.dataset.query import TUNING, DimensionChoice, TableQuery
from statveil.server.web.schemas import DEMO_DATASET

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Codes = Annotated[list[Name], Field(min_length=1, max_length=TUNING.most_names)]


class DimensionWish(BaseModel):
    """A dimension at one level of its hierarchy, or some of its codes; with neither, its lowest level."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Name
    level: Name | None = None
    codes: Codes | None = None


class TableWish(BaseModel):
    """The table wanted. The order of dimensions, codes and filters does not matter."""

    model_config = ConfigDict(extra="forbid", strict=True)

    dimensions: Annotated[list[DimensionWish], Field(min_length=1, max_length=TUNING.most_dimensions)]
    measure: Name
    filters: Annotated[dict[Name, Codes], Field(max_length=TUNING.most_dimensions)] = {}
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


Pairs = Annotated[list[Annotated[str, Field(max_length=2 * LONGEST_NAME + 1)]], Field(max_length=TUNING.most_pairs)]


FormatName = Annotated[
    str | None, Field(max_length=20, description="json, csv, csv-metadata, sdmx-csv, px, xlsx, parquet, html.", examples=["csv"])
]


class TableParameters(BaseModel):
    """The same as the body of the POST request, in parameters that may be repeated."""

    model_config = ConfigDict(extra="forbid")

    dimension: Annotated[
        list[Name],
        Field(
            min_length=1,
            max_length=TUNING.most_dimensions,
            description="A dimension of the table; repeat it.",
            examples=[["region", "industry"]],
        ),
    ]
    measure: Annotated[Name, Field(description="What is added up.", examples=["turnover"])]
    level: Annotated[Pairs, Field(description="`DIMENSION:LEVEL`, for example `region:part`.", examples=[["region:part"]])] = []
    code: Annotated[
        Pairs,
        Field(description="`DIMENSION:CODE`: only these codes of the dimension; repeat it.", examples=[["industry:C", "industry:G"]]),
    ] = []
    filter: Annotated[
        Pairs,
        Field(description="`DIMENSION:CODE`: slice the table by a dimension that it does not show; repeat it.", examples=[["size:1-9"]]),
    ] = []
    totals: Annotated[bool, Field(description="Show the totals of what was chosen.", examples=[True])] = True
    format: FormatName = None

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


class NoParameter(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FormatParameter(NoParameter):
    format: FormatName = None


class SearchParameter(NoParameter):
    search: Annotated[str, Field(max_length=LONGEST_NAME, description="Only those that have all these words.", examples=["food"])] = ""


class LastParameter(NoParameter):
    last: Annotated[int, Field(ge=1, le=AUDIT_LOG_TUNING.most_shown, description="How many lines, from the end.", examples=[20])] = 100


DatasetId = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, description="A dataset of /v1/datasets.", examples=[DEMO_DATASET])]
TableHash = Annotated[
    str, Path(pattern=r"^[0-9a-f]{64}$", description="The name of a table, from the ETag or Content-Location of an answer.")
]
