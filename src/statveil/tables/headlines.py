"""Headline totals: the grand total of each table and the totals one step below it, which readers know and compare; held where asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.errors import InputError
from statveil.tables.table import ProtectedTable, Table, View

TOTAL = "total"
"""In a list of what to hold: the grand total of every table."""
SURPRISING = Fraction(1, 200)
"""The share of a headline total beyond which its move is told."""
Held = str | Mapping[str, str]
"""`"total"`, the name of a dimension (its totals one step below the grand total), or {dimension: code}, others at their totals."""


class Headline(NamedTuple):
    """A cell that readers know, and what to call it."""

    cell: int
    words: str
    hold: str
    """The word that would hold it."""


def headlines(table: Table) -> Iterator[Headline]:
    """The grand total of each table, then the totals one step below it, dimension by dimension."""
    for view in table.views:
        of = f" of {view.name}" if len(table.views) > 1 else ""
        for cell in _cells(view, {}):
            yield Headline(cell, f"the grand total{of}", TOTAL)
        for dimension in view.dimensions:
            for code in dimension.children.get(dimension.total, ()):
                for cell in _cells(view, {dimension.name: code}):
                    yield Headline(cell, f"the total {dimension.name} {code}{of}", dimension.name)


def held_cells(table: Table, hold: Sequence[Held]) -> dict[int, str]:
    """The cells that are to be held, and what to call each."""
    found: dict[int, str] = {}
    for each in hold:
        if isinstance(each, Mapping):
            words = " x ".join(f"{name} {code}" for name, code in each.items())
            named = {cell: words for view in table.views for cell in _cells(view, each)}
        else:
            named = {headline.cell: headline.words for headline in headlines(table) if headline.hold == each}
        if not named:
            known = ", ".join(dict.fromkeys([TOTAL, *(one.name for view in table.views for one in view.dimensions)]))
            raise InputError(f"Hold: there is no total {each!r} in the table.", hint=f"Known: {known}, or {{dimension = code}}.")
        found |= named
    return found


def moved_in_words(table: Table, protected: ProtectedTable) -> list[str]:
    """Headline totals that a release moves further than readers expect, with what would hold them. Confidential: it tells how far."""
    unit, moved, words = 10 ** (table.scale - table.decimals), list[tuple[Fraction, Headline]](), list[str]()
    for headline in headlines(table):
        before, after = int(table.value[headline.cell]), int(protected.value[headline.cell]) * unit
        if before and Fraction(abs(after - before), abs(before)) > SURPRISING:
            moved.append((Fraction(abs(after - before), abs(before)), headline))
    for hold in dict.fromkeys(headline.hold for _, headline in moved):
        share, first = max(((share, headline) for share, headline in moved if headline.hold == hold), key=lambda each: each[0])
        others = sum(headline.hold == hold for _, headline in moved) - 1
        also = f" ({others} more of its kind by more than {float(SURPRISING):.1%})" if others else ""
        words.append(
            f'{first.words[0].upper()}{first.words[1:]} moved by {float(share):.2%}{also}. To hold it: hold = ["{hold}"] in [protection].'
        )
    return words


def _cells(view: View, labels: Mapping[str, str]) -> list[int]:
    """The cell of a view at these codes, the other dimensions at their totals; none where the view has no such position."""
    if any(name not in {dimension.name for dimension in view.dimensions} for name in labels):
        return []
    wanted = [labels.get(dimension.name, dimension.total) for dimension in view.dimensions]
    if any(code not in dimension.position for dimension, code in zip(view.dimensions, wanted, strict=True)):
        return []
    at = [dimension.position[code] for dimension, code in zip(view.dimensions, wanted, strict=True)]
    return [int(cell) for cell in view.cell[(view.coordinates == np.array(at)).all(axis=1)]]
