"""What the API answers, as schemas for its description. Tests hold real answers against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from statveil.server.web.queue import JobState


class Answer(BaseModel):
    """An answer has what is described and nothing else."""

    model_config = ConfigDict(extra="forbid")


class DatasetLink(Answer):
    id: str
    label: str
    href: Annotated[str, Field(description="Where the dataset is described.")]


class DatasetList(Answer):
    datasets: list[DatasetLink]


class LevelAnswer(Answer):
    id: str
    codes: list[str]


class DimensionAnswer(Answer):
    id: str
    label: str
    total: Annotated[str, Field(description="The code of the total.")]
    levels: Annotated[list[LevelAnswer], Field(description="From the highest to the lowest.")]
    labels: Annotated[dict[str, str], Field(description="Of each code.")]
    hierarchies: Annotated[list[dict[str, str]], Field(description="The code above each code; one mapping for each hierarchy.")]
    filter: Annotated[bool, Field(description="It may slice tables that do not show it.")]
    population: Annotated[bool, Field(description="A filter may have several of its codes, which are added up.")]


class AccuracyAnswer(Answer):
    """Of safe numbers with so much detail, from `at_least` up to the next class, nine of ten are no further off."""

    dimensions: Annotated[int, Field(description="Dimensions in which a number is below the total, filters included.")]
    at_least: Annotated[float, Field(description="In the measure's unit.")]
    within_percent: float
    within: Annotated[float, Field(description="In the measure's unit.")]


class MeasureAnswer(Answer):
    id: str
    label: str
    unit: str
    decimals: int
    counts: Annotated[bool, Field(description="It counts records.")]
    smallest: Annotated[int, Field(description="The smallest count that is told.")]
    accuracy: list[AccuracyAnswer]


class LimitsAnswer(Answer):
    cells: Annotated[int, Field(description="Of a table with all its totals, shown or not.")]
    dimensions: Annotated[int | None, Field(description="Of a table, filters included; null: all.")]


class SavedAnswer(Answer):
    label: str
    page: Annotated[str, Field(description="The page that shows the table.")]


class DatasetAnswer(Answer):
    id: str
    label: str
    version: Annotated[str, Field(description="Another one means other numbers.")]
    mode: str
    dimensions: list[DimensionAnswer]
    measures: list[MeasureAnswer]
    limits: LimitsAnswer
    saved: list[SavedAnswer]
    notes: Annotated[list[str], Field(description="What holds for all numbers.")]
    tables: Annotated[str, Field(description="Where tables are asked for.")]


class JsonStatCategory(Answer):
    index: list[str]
    label: dict[str, str]
    child: dict[str, list[str]] | None = None


class JsonStatDimension(Answer):
    label: str
    category: JsonStatCategory


class JsonStatProvenance(Answer):
    release: Annotated[str, Field(description="The name of the table.")]
    software: dict[str, str]


class JsonStatExtension(Answer):
    decimals: int
    unit: str | None = None
    provenance: JsonStatProvenance


class JsonStatTable(Answer):
    """JSON-stat 2.0, one dataset. Values lie in the order of the dimensions, the last one running fastest."""

    version: Literal["2.0"]
    kind: Annotated[Literal["dataset"], Field(alias="class")]
    label: str
    id: list[str]
    size: list[int]
    dimension: dict[str, JsonStatDimension]
    note: Annotated[list[str], Field(description="Method, accuracy, signs.")]
    status: Annotated[dict[str, str] | None, Field(description="By place: what is told instead of a number, such as <3.")] = None
    extension: JsonStatExtension
    value: Annotated[list[float | None], Field(description="Null where the status tells something instead.")]


class JobAnswer(Answer):
    """How the making of a table stands. `progress` is the share of the time allowed that has passed."""

    job: str
    state: JobState
    seconds: int
    progress: Annotated[float, Field(ge=0, le=1)]
    table: str | None = None
    problem: dict[str, Any] | None = None
    advice: str = ""


class AuditLogAnswer(Answer):
    lines: Annotated[int, Field(description="Of the whole log.")]
    head: Annotated[str, Field(description="The hash of its last line.")]
    last: list[dict[str, Any]]


class ProblemAnswer(Answer):
    """RFC 9457, with a code and what to do."""

    type: str
    title: str
    status: int
    code: str
    detail: str = ""
    advice: str = ""


WISHES: dict[str, dict[str, Any]] = {
    "levels": {
        "summary": "Turnover by parts of the country and size classes, with totals",
        "value": {"dimensions": [{"id": "region", "level": "part"}, {"id": "size"}], "measure": "turnover"},
    },
    "codes": {
        "summary": "Persons employed in two industries, by region",
        "value": {
            "dimensions": [{"id": "region", "level": "region"}, {"id": "industry", "codes": ["C", "G"]}],
            "measure": "employment",
            "totals": False,
        },
    },
    "filter": {
        "summary": "The number of small enterprises by industry: a filter slices a table",
        "value": {"dimensions": [{"id": "industry", "level": "division"}], "measure": "enterprises", "filters": {"size": ["10-49"]}},
    },
    "population": {
        "summary": "Enterprises of 10 to 249 persons: the codes of a filter are added up",
        "value": {"dimensions": [{"id": "region"}], "measure": "turnover", "filters": {"size": ["10-49", "50-249"]}},
    },
}
"""Examples that work on the demonstration (`statveil serve --demo`); a test sends every one."""
DEMO_DATASET = "enterprises"
