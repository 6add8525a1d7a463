"""Records, confidential: where they are and how their numbers are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from statveil.core.errors import UnknownColumn
from statveil.data.engines import Engine, column


@dataclass(frozen=True, kw_only=True)
class FileLabels:
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


DecimalMark = Literal[".", ","]


@dataclass(frozen=True, kw_only=True, repr=False)
class Microdata:
    """Records behind an engine, read when a table asks for them.

    `decimal` is the mark in numbers written as text; None takes a comma in columns that use commas and no points. `delimiter` and
    `encoding` are those that a user named for a text file, and None where they were found.
    """

    engine: Engine
    origin: str
    decimal: DecimalMark | None = "."
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return self.engine.columns

    def require(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self.columns]
        if missing:
            known = ", ".join(repr(name) for name in self.columns)
            raise UnknownColumn(f"{self.origin} has no column {missing[0]!r}.", hint=f"Its columns: {known}.")

    def codes(self, name: str) -> list[str]:
        """The distinct codes of a column, as text, in order."""
        self.require([name])
        place = column(self.engine, name)
        with self.engine.session() as session:
            found = session.query(f"SELECT DISTINCT CAST({place} AS VARCHAR) AS code FROM records WHERE {place} IS NOT NULL ORDER BY code")
        return [str(code) for code in found["code"].to_pylist()]

    def __repr__(self) -> str:
        return f"Microdata({self.origin!r}, {len(self.columns)} columns)"
