"""What a reader asks for: a table of one measure by some dimensions, sliced by filters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from statveil.core.errors import InputError
from statveil.core.provenance import sha256
from statveil.jobs.server_config import LONGEST_NAME


class RequestTuning(NamedTuple):
    """What a request may hold, and what is told of it. All by judgement."""

    most_names: int = 20_000
    """Codes that one request may list."""
    most_dimensions: int = 50
    """Of a table, and of its filters."""
    most_pairs: int = 1_000
    """Parameters of one kind; more do not go into an address, a body takes them."""
    largest_body: int = 1 << 18
    """Bytes of a request."""
    largest_target: int = 1 << 14
    """Bytes of an address with its parameters."""
    most_named: int = 5
    """Codes of a filter that a title names; of more it tells the number."""
    most_listed: int = 10
    """Names that an error lists."""


TUNING = RequestTuning()


@dataclass(frozen=True, kw_only=True)
class DimensionChoice:
    """One dimension of a table: a level of its hierarchy, or codes; neither means its lowest level."""

    id: str
    level: str | None = None
    codes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_name("A dimension", self.id)
        if self.level is not None and self.codes is not None:
            raise InputError(f"Dimension {self.id!r} is given a level and also codes.", hint="Give one of them, or neither.")
        if self.level is not None:
            _check_name(f"The level of dimension {self.id!r}", self.level)
        if self.codes is not None:
            object.__setattr__(self, "codes", _checked_codes(f"dimension {self.id!r}", self.codes))


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """A table asked for. `totals` shows the totals of the chosen codes as well. The order of anything in it does not matter."""

    dataset: str
    measure: str
    dimensions: tuple[DimensionChoice, ...]
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: bool = True

    def __post_init__(self) -> None:
        _check_name("The dataset", self.dataset)
        _check_name("The measure", self.measure)
        if not isinstance(self.totals, bool):
            raise InputError("totals must be true or false.")
        names = [choice.id for choice in self.dimensions]
        if not names:
            raise InputError("A table needs at least one dimension.")
        if len(set(names)) < len(names):
            raise InputError("A dimension is asked for twice.", hint="Name each dimension once.")
        object.__setattr__(self, "dimensions", tuple(sorted(self.dimensions, key=lambda choice: choice.id)))
        for name, codes in self.filters.items():
            _check_name("A filter", name)
            if name in names:
                raise InputError(f"{name!r} is a dimension of the table and also a filter.", hint="Give its codes in the dimension.")
            _checked_codes(f"filter {name!r}", codes)
        filters = {name: _checked_codes(f"filter {name!r}", self.filters[name]) for name in sorted(self.filters)}
        object.__setattr__(self, "filters", filters)

    def canonical(self) -> str:
        """The same text for any order of dimensions, codes and filters: JSON that `from_canonical` reads."""
        content = {
            "dataset": self.dataset,
            "measure": self.measure,
            "dimensions": [{"id": each.id, "level": each.level, "codes": each.codes} for each in self.dimensions],
            "filters": self.filters,
            "totals": self.totals,
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def hash(self, version: str) -> str:
        """The name of the answer: of the canonical text and of the version of the dataset."""
        return sha256(self.canonical().encode(), version.encode())

    @classmethod
    def from_canonical(cls, text: str) -> TableQuery:
        content = json.loads(text)
        choices = tuple(
            DimensionChoice(id=each["id"], level=each["level"], codes=None if each["codes"] is None else tuple(each["codes"]))
            for each in content["dimensions"]
        )
        filters = {name: tuple(codes) for name, codes in content["filters"].items()}
        return cls(dataset=content["dataset"], measure=content["measure"], dimensions=choices, filters=filters, totals=content["totals"])


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
        raise InputError(f"{what} must be named by text of 1 to {LONGEST_NAME} characters.")


def _checked_codes(what: str, codes: object) -> tuple[str, ...]:
    """Codes without repetition, in one order."""
    if isinstance(codes, str) or not isinstance(codes, tuple | list) or not 0 < len(codes) <= TUNING.most_names:
        raise InputError(f"The codes of {what} must be a list of 1 to {TUNING.most_names} codes.")
    for code in codes:
        _check_name(f"A code of {what}", code)
    return tuple(sorted(set(codes)))
