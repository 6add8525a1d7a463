"""The keys of a job file, part by part, and the words for what may be wrong with one.

A message names the key as a dotted path (`rule[2].p` is key p of the second [[rule]]), what is wrong with it and what
is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from statveil.core.errors import InputError
from statveil.core.floors import CAP
from statveil.data.engines import DuckDB
from statveil.data.hierarchy import DEFAULT_TOTAL, Hierarchy
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent, PriorPosterior, Request, Rule, Waiver, ZeroRule
from statveil.tables.spec import Trees

DEFAULT_ATTACKS: Literal["report", "refuse"] = "refuse"
"""What becomes of a release that an attack breaks beyond its mark: it is told, or nothing is released."""
FileFormat = Literal["csv", "parquet", "json-stat", "sdmx-csv", "sdmx-ml", "pc-axis", "excel"]


def wrong(words: str) -> PydanticCustomError:
    """What a check raises: these words are said after the key."""
    return PydanticCustomError("wrong", "{words}", {"words": words})


def _number(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise wrong(f"must be a number, not {_kind(given)}.")
    return given


def _level(given: Any) -> Any:
    if not isinstance(given, list):
        return _number(given)
    if len(given) != 2:
        raise wrong("must be one number, or two: [lower, upper].")
    return tuple(_number(each) for each in given)


def _word(given: str) -> str:
    if not given.strip():
        raise wrong("must not be empty.")
    return given


Number = Annotated[int | float, BeforeValidator(_number)]
"""Kept as it is written: 10 stays a whole number, so that every message and report says 10."""
Level = Annotated[int | float | tuple[int | float, int | float], BeforeValidator(_level)]


class Part(BaseModel):
    """A part of the job: knows its keys, and refuses all others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, content: Any) -> Any:
        if isinstance(content, Mapping):
            for key in content:
                if key not in cls.model_fields:
                    raise wrong(_unknown(str(key), list(cls.model_fields)))
        return content


class DataPart(Part):
    file: str
    delimiter: str | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    missing: list[str] | dict[str, list[str]] = []
    """Words that mean that a value is missing, in all columns or by column ("*": in all others)."""
    where: str | None = None
    """The records to keep."""
    derive: dict[str, str] = {}
    """New columns by expressions."""
    memory: str | None = None
    """What the engine may use before it spills, and how many threads, and where: see `sv.DuckDB`."""
    threads: int | None = None
    temporary: str | None = None

    def microdata(self, path: Path) -> Microdata:
        """The records of the file, which lies there."""
        reading: dict[str, Any] = {"delimiter": self.delimiter, "encoding": self.encoding, "decimal": self.decimal}
        reading["engine"] = DuckDB(memory=self.memory, threads=self.threads, temporary=self.temporary)
        return read_microdata(path, **reading, missing=self.missing, where=self.where, derive=self.derive)


class DimensionPart(Part):
    """One of: `hierarchy`, `hierarchies`, `digits`, or nothing (flat: the codes found in the data)."""

    hierarchy: str | None = None
    hierarchies: list[str] | None = None
    digits: list[int] | None = None
    total: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [name for name in ("hierarchy", "hierarchies", "digits") if getattr(self, name) is not None]
        if len(given) > 1:
            raise wrong(f"{' and '.join(given)} exclude each other; give one of them.")
        return self

    def trees(self, read: Callable[[str, str | None], Hierarchy], codes: Callable[[], Sequence[str]]) -> Trees:
        """The hierarchies; `read` takes a file and its total, `codes` gives those in the data."""
        if self.hierarchy is not None:
            return read(self.hierarchy, self.total)
        if self.hierarchies is not None:
            return [read(file, self.total) for file in self.hierarchies]
        total = self.total or DEFAULT_TOTAL
        if self.digits is not None:
            return Hierarchy.from_digits(codes(), digits=self.digits, total=total)
        return None if self.total is None else Hierarchy.flat(codes(), total=total)


class DimensionedPart(Part):
    """Something with dimensions; `size = "flat"` says the same as `size = {}`."""

    @model_validator(mode="before")
    @classmethod
    def _flat_in_one_word(cls, content: Any) -> Any:
        if not isinstance(content, Mapping) or not isinstance(content.get("dimensions"), Mapping):
            return content
        return {**content, "dimensions": {name: {} if tree == "flat" else tree for name, tree in content["dimensions"].items()}}


class TablePart(DimensionedPart):
    dimensions: dict[str, DimensionPart]
    name: Annotated[str, AfterValidator(_word)] = "table"
    measure: str | None = None
    weight: str | None = None
    weight_policy: Literal["units", "contribution"] = "units"
    holding: str | None = None
    shadow: str | None = None
    request: str | None = None
    waiver: str | None = None
    decimals: int | None = None
    weight_decimals: int | None = None
    structural_zeros: list[dict[str, str]] = []

    @model_validator(mode="after")
    def _no_values_as_codes(self) -> Self:
        """Codes are published: a column of values of single records must not become codes."""
        for key in ("measure", "weight", "holding", "shadow"):
            column = getattr(self, key)
            if column in self.dimensions:
                words = f"the column {column!r} is the {key} and cannot be a dimension: the values of single records would be published."
                raise wrong(words)
        return self


class MinimumFrequencyPart(Part):
    type: Literal["minimum-frequency"]
    n: int
    level: Level | None = None


class DominancePart(Part):
    type: Literal["dominance"]
    n: int
    k: Number
    lower_factor: Number | None = None


class PPercentPart(Part):
    type: Literal["p-percent"]
    p: Number
    coalition: int | None = None
    lower_factor: Number | None = None


class PriorPosteriorPart(Part):
    type: Literal["prior-posterior"]
    p: Number
    q: Number
    coalition: int | None = None
    lower_factor: Number | None = None


class RequestPart(Part):
    type: Literal["request"]
    percent: Number
    minimum: int | None = None
    level: Level | None = None


class ZeroPart(Part):
    type: Literal["zero"]
    level: Level


class ManualPart(Part):
    type: Literal["manual"]
    file: str
    level: Level | None = None
    spread: bool = False


class WaiverPart(Part):
    type: Literal["waiver"]
    cells: list[dict[str, str]]
    view: str | None = None
    spread: bool = False


RulePart = Annotated[
    MinimumFrequencyPart | DominancePart | PPercentPart | PriorPosteriorPart | RequestPart | ZeroPart | ManualPart | WaiverPart,
    Field(discriminator="type"),
]

_RULES: Mapping[str, Callable[..., Rule]] = {
    "minimum-frequency": MinimumFrequency,
    "dominance": Dominance,
    "p-percent": PPercent,
    "prior-posterior": PriorPosterior,
    "request": Request,
    "zero": ZeroRule,
    "waiver": Waiver,
}
RULE_TYPES = ("minimum-frequency", "dominance", "p-percent", "prior-posterior", "request", "zero", "manual", "waiver")


def rule_of(part: Part) -> Rule:
    """The rule that a part asks for; those of files are read elsewhere."""
    content = part.model_dump(exclude_none=True)
    return _RULES[content.pop("type")](**content)


class BoundsPart(Part):
    percent_down: Number | None = None
    percent_up: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None


class ProtectionPart(Part):
    variant: Literal["at-least", "exact"] = "at-least"
    norm: Literal["l1", "l2"] = "l1"
    weights: Literal["unit", "inverse", "inverse-sqrt"] = "inverse"
    cap: Number | None = None
    bounds: BoundsPart = BoundsPart()
    hold: list[str | dict[str, str]] = []
    hold_within: Number = 0.0
    method: Literal["auto", "exact"] = "auto"
    seed: Annotated[int, Field(ge=0)] = 0
    search_sets: bool = False
    floors: Literal["drawn", "exact"] = "drawn"
    floor_cap: Number = CAP
    key: str | None = None
    tiny: bool = True
    coalitions: bool = True
    attacks: Literal["report", "refuse"] = DEFAULT_ATTACKS


class EquationPart(Part):
    """total = the sum of the parts, all of them measures of tables."""

    total: str
    parts: list[str]


class CellSetPart(Part):
    """Cells that are judged as one; `table` says which of several linked tables they are of."""

    cells: list[dict[str, str]]
    table: str | None = None
    level: Level | None = None


class GivingPart(Part):
    """Cells that may give in a repair: their bounds, or with `protection` their protection."""

    cells: list[dict[str, str]]
    table: str | None = None
    protection: bool = False


class RepairPart(Part):
    """What may give where no safe table exists; without [repair] nothing does."""

    order: list[Literal["cap", "inner", "margins", "relations", "protection"]] = ["cap", "inner", "margins"]
    only: list[GivingPart] = []
    weaken_protection: bool = False


KeptCells = str | dict[str, str | int] | list[str | dict[str, str | int]]


class KeepPart(Part):
    """Statistics to keep, each over "sensitive", "all", a row ({dimension = code}), a level ({dimension = depth}), or a list of those."""

    mean: KeptCells | None = None
    variance: KeptCells | None = None
    correlation: KeptCells | None = None
    slope: KeptCells | None = None
    measures: list[Literal["chi-square", "cramers-v", "ranks", "quantiles", "gini", "distance"]] = []
    within: Number | None = None
    senses: Literal["auto", "free", "fixed", "searched"] = "auto"
    by: Literal["both", "programs", "tabu"] = "both"
    widen: list[Number] = []


class TradeoffPart(Part):
    """The front of change against distortion of the statistics in [keep], and the point of it that is released."""

    points: Annotated[int, Field(ge=1, le=200)] = 15
    point: Annotated[int, Field(ge=1)] | Literal["recommended"] = "recommended"


class LimitsPart(Part):
    seconds: Number = 60.0
    gap: Number = 0.0


class OutputPart(Part):
    formats: list[FileFormat] = ["csv", "parquet", "json-stat", "sdmx-csv"]
    internal: bool = False
    compare: bool = False
    sdmx_csv: Literal["1.0", "2.0"] = "2.0"


class JobFile(Part):
    """The whole file."""

    data: DataPart
    table: Annotated[list[TablePart], Field(min_length=1)]
    rule: Annotated[list[RulePart], Field(min_length=1)]
    equation: list[EquationPart] = []
    cell_set: list[CellSetPart] = []
    protection: ProtectionPart = ProtectionPart()
    repair: RepairPart | None = None
    keep: KeepPart | None = None
    tradeoff: TradeoffPart | None = None
    limits: LimitsPart = LimitsPart()
    output: OutputPart = OutputPart()


def check_job(content: Mapping[str, Any]) -> JobFile:
    """The job's parts, or an InputError that says what is wrong with each key."""
    single = isinstance(content.get("table"), Mapping)
    tables = [content["table"]] if single else content.get("table")
    try:
        return JobFile.model_validate({**content, "table": tables} if "table" in content else content)
    except ValidationError as error:
        raise wrong_keys(error, lambda location: key_path(location, whole="the job", single_table=single)) from None


def wrong_keys(error: ValidationError, path: Callable[[Sequence[str | int]], str]) -> InputError:
    """What is wrong with each key; `path` writes where it stands."""
    faults = [f"{path(fault['loc'])}: {_words(fault)}" for fault in error.errors(include_url=False)]
    return InputError(faults[0] if len(faults) == 1 else f"{len(faults)} keys are wrong:\n  " + "\n  ".join(faults))


def key_path(location: Sequence[str | int], *, whole: str, single_table: bool = False) -> str:
    """('rule', 0, 'p-percent', 'p') is written rule[1].p."""
    words: list[str] = []
    for place, step in enumerate(location):
        if isinstance(step, int):
            words[-1] += "" if single_table and location[:place] == ("table",) else f"[{step + 1}]"
        elif not (place >= 2 and location[place - 2] == "rule" and isinstance(location[place - 1], int)):
            words.append(step)
    return ".".join(words) or whole


def _unknown(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return f"unknown key {key!r}.{guess} Known: {', '.join(known)}."


def _words(fault: ErrorDetails) -> str:
    """What is wrong, in our words; settings may be shown, they are the office's own and hold no data."""
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    told = {
        "missing": f"is missing. {_WHAT_TO_ADD.get(fault['loc'][-1:], 'Add it.')}",
        "literal_error": f"{given!r} is not allowed. Known: {context.get('expected')}.",
        "union_tag_invalid": f"type {context.get('tag')!r} is not a rule. Known: {', '.join(RULE_TYPES)}.",
        "union_tag_not_found": f"type is missing. Known: {', '.join(RULE_TYPES)}.",
        "greater_than_equal": f"must be {context.get('ge')} or more, not {given!r}.",
        "too_short": "needs at least one entry.",
    }
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {_kind(given)}."
    return told.get(kind, fault["msg"])


_WHAT_TO_ADD: Mapping[tuple[str | int, ...], str] = {
    ("data",): 'Add [data] with file = "records.csv".',
    ("table",): "Add [table] and [table.dimensions]: what to add up, and by what.",
    ("dimensions",): 'Add [table.dimensions] with a line for each column, such as region = "flat".',
    ("rule",): 'Add [[rule]] with a type, such as type = "p-percent" and p = 10.',
}

_WANTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table of keys",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
}


def _kind(given: Any) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a table of keys"}
    shown = f" ({given!r})" if isinstance(given, bool | int | float | str) else ""
    return kinds.get(type(given), "a date or time") + shown
