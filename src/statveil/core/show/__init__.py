"""How results show themselves: a few plain lines, and the same as HTML in a notebook. What is confidential says so and shows no value.

They leave as frames too: what a result's own `to_...` gives may be published; whatever is confidential lies behind its `internal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, fields
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

MOST_LINES = 10
"""Lines of a result in plain text, at most."""
MOST_ROWS = 8
"""Rows of a table that a notebook shows."""
CONFIDENTIAL_WORD = "confidential"
CONFIDENTIAL = {"statveil.edition": "internal: confidential"}
"""Goes with every frame that must stay in the office: as metadata of an Arrow table, and as `attrs` of a pandas frame."""


class Preview(NamedTuple):
    """The first rows of a table, and how many rows there are."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    of: int


class ShortDisplay:
    """Mixin: `_headline`, `_facts` and perhaps `_preview` say what is shown; no preview of anything confidential."""

    def _headline(self) -> str:
        raise NotImplementedError

    def _facts(self) -> Iterable[str]:
        return ()

    def _preview(self) -> Preview | None:
        return None

    def __repr__(self) -> str:
        return "\n".join(_cut([self._headline(), *(f"  {fact}" for fact in self._facts())]))

    def _repr_html_(self) -> str:
        facts = "".join(f"<li>{escape(fact)}</li>" for fact in self._facts())
        listed = f'<ul style="margin:0.2em 0 0.4em 0">{facts}</ul>' if facts else ""
        return f"<div><strong>{escape(self._headline())}</strong>{listed}{_table(self._preview())}</div>"


class OnlyWhatIsSet:
    """Mixin of a dataclass of settings (`repr=False`): shows the fields that differ from their defaults."""

    def __repr__(self) -> str:
        told = [each for each in fields(self) if each.repr and getattr(self, each.name) != _default(each)]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in told)})"


def _default(each: Field[Any]) -> object:
    return each.default if each.default_factory is MISSING else each.default_factory()


def counted(number: int, word: str) -> str:
    """1 cell, 2 cells, 1,234 cells."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"  and {len(lines) - MOST_LINES + 1} more lines"]


def _table(preview: Preview | None) -> str:
    if preview is None:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in preview.names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(field)}</td>' for field in row)}</tr>" for row in preview.rows)
    more = preview.of - len(preview.rows)
    foot = f"<p>and {counted(more, 'row')} more: to_pandas() has them all</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


class FrameExports:
    """Mixin of whatever is one table: `to_arrow` is its own, the others follow from it."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table: texts, whole numbers as int64, others as exact decimals, null where nothing is told."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas frame: whole numbers as integers, others as the nearest double (as decimals where a double has too few digits)."""
        from statveil.core.show.frames import pandas_of

        return pandas_of(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """As a polars frame, with exact decimals."""
        from statveil.core.show.frames import polars_of

        return polars_of(self.to_arrow())


class ViewFrameExports:
    """Mixin of whatever holds one table or several: `view` names the one that is meant, where there are several."""

    def to_arrow(self, view: str | None = None) -> pa.Table:
        """As an Arrow table: codes and labels as texts, whole numbers as int64, others as exact decimals; null at structural zeros."""
        raise NotImplementedError

    def to_pandas(self, view: str | None = None) -> pd.DataFrame:
        """As a pandas frame: whole numbers as integers, others as the nearest double (as decimals where a double has too few digits)."""
        from statveil.core.show.frames import pandas_of

        return pandas_of(self.to_arrow(view))

    def to_polars(self, view: str | None = None) -> pl.DataFrame:
        """As a polars frame, with exact decimals."""
        from statveil.core.show.frames import polars_of

        return polars_of(self.to_arrow(view))
