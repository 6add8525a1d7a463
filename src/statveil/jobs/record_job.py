"""The job file of a safe file: one TOML that says what an intruder may know, what is rare, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import Limits
from statveil.core.toml import read_toml, to_toml
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.jobs.records.perturbation import PerturbPart
from statveil.jobs.schema import DataPart, LimitsPart, Number, Part, wrong_keys
from statveil.records.keys import EditRule, KeyVariables
from statveil.records.models import MODELS, RiskModel
from statveil.records.recode.local_search import RecodingSearchOptions
from statveil.records.recode.recodings import AnyRecoding, Extremes, Intervals, Menu, Recoding, exact_text


class RecodingItem(Part):
    """One recoding by name: classes of a width or between edges, the ends in one class each, or value by value."""

    name: str
    width: Number | None = None
    start: Number = 0
    edges: list[Number] = Field(default_factory=list)
    bottom: Number | None = None
    top: Number | None = None
    special: list[str] = Field(default_factory=list)
    new: dict[str, str] | None = None
    others: Literal["refuse", "keep"] = "refuse"

    def recoding(self) -> AnyRecoding:
        if self.new is not None:
            return Recoding(name=self.name, new=self.new, others=self.others)
        if self.bottom is not None or self.top is not None:
            return Extremes(name=self.name, bottom=self.bottom, top=self.top, special=tuple(self.special))
        return Intervals(name=self.name, width=self.width, start=self.start, edges=tuple(self.edges), special=tuple(self.special))


class FieldPart(Part):
    """The menu of a key field: any of these together, in this order; nothing at all keeps it as it is."""

    hierarchy: str | None = None
    arx: str | None = None
    grc: list[str] = Field(default_factory=list)
    intervals: list[Number] = Field(default_factory=list)
    edges: list[list[Number]] = Field(default_factory=list)
    start: Number = 0
    bottom: Number | None = None
    top: Number | None = None
    special: list[str] = Field(default_factory=list)
    own: dict[str, dict[str, str]] = Field(default_factory=dict)
    recodings: list[RecodingItem] = Field(default_factory=list)


class EditPart(Part):
    when: dict[str, list[str]]
    then: dict[str, str]


class CombinationPart(Part):
    """A listed combination with a threshold of its own."""

    fields: list[str]
    threshold: int


class ModelPart(Part):
    """A risk model by name, with the keys that it has."""

    type: Literal["distinct-diversity", "entropy-diversity", "recursive-diversity", "closeness", "individual-risk", "household-risk"]
    column: str | None = None
    least: Number | None = None
    most: Number | None = None
    c: Number | None = None

    def model(self) -> RiskModel:
        kind, given = MODELS[self.type], self.model_dump(exclude={"type"}, exclude_none=True)
        wanted = [each.name for each in fields(kind)]
        if sorted(given) != sorted(wanted):
            raise InputError(f"safety.models: {self.type!r} needs {', '.join(wanted)}, and nothing else.")
        return kind(**given)


class SafetyPart(Part):
    threshold: int | dict[str, int] = 3
    at_most: bool = False
    order: int | Literal["full"] = 3
    combinations: list[list[str]] | list[CombinationPart] | None = None
    levels: dict[str, int] | None = None
    counting: Literal["records", "weights"] = "records"
    weight: str | None = None
    rule: Literal["original", "recount", "wildcard"] = "original"
    missing: Literal["unknown", "category"] = "unknown"
    missing_codes: dict[str, list[str]] = Field(default_factory=dict)
    costs: Literal["equal", "entropy", "priority"] | dict[str, Number] = "equal"
    ties: Literal["equal", "entropy", "priority"] | dict[str, Number] = "entropy"
    record_cost: str | None = None
    recoding_costs: Literal["entropy", "values"] | dict[str, dict[str, Number]] = "entropy"
    recoding_weight: Number = 1.0
    household: str | None = None
    shared: list[str] = Field(default_factory=list)
    linked: list[list[str]] = Field(default_factory=list)
    caps: dict[str, int] = Field(default_factory=dict)
    candidates: int = 0
    edits: list[EditPart] = Field(default_factory=list)
    models: list[ModelPart] = Field(default_factory=list)

    @model_validator(mode="after")
    def _whole_sizes(self) -> Self:
        if isinstance(self.threshold, dict) and not all(size.isdigit() for size in self.threshold):
            raise PydanticCustomError("sizes", "{words}", {"words": "thresholds go by number of fields: { 1 = 5, 2 = 3 }."})
        return self


class RecodingPart(Part):
    method: str = "auto"
    objective: str = "true"
    start: dict[str, str] | None = None
    restarts: int = 20
    tenure: int | None = None
    patience: int | None = None
    steps: int = 160
    hottest: Number = 1.0
    coldest: Number = 1e-3
    fixed: dict[str, str] | None = None
    seed: Annotated[int, Field(ge=0)] = 0

    def options(self) -> RecodingSearchOptions:
        return RecodingSearchOptions(**self.model_dump(exclude={"method", "fixed", "seed"}))


class FileOutputPart(Part):
    file: str = "safe.csv"
    drop: list[str] = Field(default_factory=list)
    sensitive: list[str] = Field(default_factory=list)
    earlier: list[str] = Field(default_factory=list)
    waiver: str | None = None
    key: str | None = None
    attacks: Literal["report", "refuse"] = "report"


class FileJobFile(Part):
    """The whole file."""

    data: DataPart
    fields: Annotated[dict[str, FieldPart], Field(min_length=1)]
    safety: SafetyPart = SafetyPart()
    recoding: RecodingPart = RecodingPart()
    perturb: PerturbPart | None = None
    limits: LimitsPart = LimitsPart()
    output: FileOutputPart = FileOutputPart()


@dataclass(frozen=True, kw_only=True)
class FileJob:
    """A checked job; paths start from `base`."""

    parts: FileJobFile
    content: Mapping[str, Any]
    base: Path
    text: str

    @cached_property
    def microdata(self) -> Microdata:
        return self.parts.data.microdata(self.base / self.parts.data.file)

    def keys(self) -> KeyVariables:
        given = self.parts.safety
        threshold = given.threshold if isinstance(given.threshold, int) else {int(size): least for size, least in given.threshold.items()}
        menus = {name: self._menu(name, part) for name, part in self.parts.fields.items()}
        edits = [EditRule(when=each.when, then=each.then) for each in given.edits]
        models = [each.model() for each in given.models]
        rest = given.model_dump(exclude={"threshold", "combinations", "edits", "models"})
        return KeyVariables(
            fields=menus, threshold=threshold, combinations=_combinations(given.combinations), edits=edits, models=models, **rest
        )

    def _menu(self, name: str, part: FieldPart) -> Menu:
        try:
            menu = Menu()
            if part.hierarchy is not None:
                menu += Menu.from_hierarchy(Hierarchy.from_csv(self.base / part.hierarchy))
            if part.arx is not None:
                menu += Menu.from_arx_csv(self.base / part.arx)
            menu += Menu.from_grc(*(self.base / each for each in part.grc))
            special = tuple(part.special)
            menu += Menu.intervals(*part.intervals, start=part.start, special=special)
            menu += Menu(recodings=tuple(Intervals(name=_edges_name(edges), edges=tuple(edges), special=special) for edges in part.edges))
            if part.bottom is not None or part.top is not None:
                menu += Menu(recodings=(Extremes(name="extremes", bottom=part.bottom, top=part.top, special=special),))
            menu += Menu.own(part.own)
            return menu + Menu(recodings=tuple(each.recoding() for each in part.recodings))
        except StatveilError as error:
            raise type(error)(f"fields.{name}: {error.message}", hint=error.hint) from None

    def limits(self) -> Limits:
        return Limits(**self.parts.limits.model_dump())

    def within(self, seconds: float | None) -> FileJob:
        if seconds is None:
            return self
        content = {**self.content, "limits": {**self.content.get("limits", {}), "seconds": seconds}}
        return FileJob(parts=check_file_job(content), content=content, base=self.base, text=to_toml(content))


def _combinations(
    given: list[list[str]] | list[CombinationPart] | None,
) -> list[list[str]] | dict[tuple[str, ...], int] | None:
    listed = [each for each in given or () if isinstance(each, CombinationPart)]
    if listed:
        return {tuple(each.fields): each.threshold for each in listed}
    return None if given is None else [each for each in given if isinstance(each, list)]


def _edges_name(edges: list[int | float]) -> str:
    return "edges " + " ".join(exact_text(edge) for edge in edges)


def read_file_job(path: Path, *, base: Path | None = None) -> FileJob:
    """Read and check a job file; its paths start from its own folder unless `base` is another."""
    file = read_toml(path, start_from="See the page on files for a job to start from.")
    return FileJob(parts=check_file_job(file.content), content=file.content, base=base or path.parent, text=file.text)


def check_file_job(content: Mapping[str, Any]) -> FileJobFile:
    """The job's parts, or an InputError that says what is wrong with each key."""
    try:
        return FileJobFile.model_validate(content)
    except ValidationError as error:
        raise wrong_keys(error, lambda location: ".".join(map(str, location)) or "the job") from None
