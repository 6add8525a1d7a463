"""What is known of single cells: the card of one, the sums it is in, and lists of those that are sensitive. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.desk.maps.risk_map import cells_at, labels_of
from statveil.publish.formats.numbers import grouped, percent
from statveil.risk.rules.base import RespondentRule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table, View


class CardTuning(NamedTuple):
    """By judgement."""

    listed: int = 100
    """Cells in a list."""
    parts: int = 6
    """Parts of a sum that are named."""


TUNING = CardTuning()


class ListedCell(NamedTuple):
    cell: int
    codes: list[str]
    value: str
    why: str


def listed_cells(table: Table, found: Sensitivity, view: View, only: str) -> tuple[list[ListedCell], int]:
    """The largest cells of the view that are sensitive or frozen, or that a rule finds, and how many there are."""
    chosen = {"sensitive": found.sensitive, "frozen": found.frozen, **found.reasons}.get(only)
    if chosen is None:
        return [], 0
    cells = np.unique(view.cell[chosen[view.cell]])
    largest = cells[np.argsort(-np.abs(table.value[cells]), kind="stable")][: TUNING.listed]
    return [_listed(table, found, view, cell) for cell in largest.tolist()], cells.size


def _listed(table: Table, found: Sensitivity, view: View, cell: int) -> ListedCell:
    codes = labels_of(view, cell)
    labels = [dimension.label(codes[dimension.name]) for dimension in view.dimensions]
    return ListedCell(cell, labels, grouped(int(table.value[cell]), table.scale), "; ".join(found.reasons_of(cell)))


class CellSum(NamedTuple):
    """A sum that a cell is in, and the cell to look at next; -1 where it is the sum itself."""

    words: str
    cell: int


def sums_of(view: View, cell: int) -> list[CellSum]:
    """By dimension: what the cell adds up, and what it is part of."""
    at = view.coordinates[int(np.flatnonzero(view.cell == cell)[0])]
    found = list[CellSum]()
    for axis, dimension in enumerate(view.dimensions):
        below = dimension.children.get(dimension.codes[at[axis]], ())
        if below:
            parts = ", ".join(dimension.label(code) for code in below[: TUNING.parts])
            found.append(CellSum(f"{dimension.name}: the sum of {parts}{', ...' if len(below) > TUNING.parts else ''}", -1))
        for tree in range(len(dimension.trees)):
            parent = int(dimension.parents(tree)[at[axis]])
            if parent >= 0:
                above = np.array([[parent if other == axis else code for other, code in enumerate(at)]])
                code = dimension.codes[parent]
                words = f"{dimension.name}: one of {len(dimension.trees[tree].children[code])} parts of {dimension.label(code)}"
                found.append(CellSum(words, int(cells_at(view, above)[0])))
    return found


def card(table: Table, found: Sensitivity, view: View, cell: int, rules: Sequence[object] = ()) -> dict[str, str]:
    """All that is known of a cell, in words. Confidential."""
    magnitude = int(table.magnitude[cell])
    shares = [percent(int(each) / magnitude) for each in table.top[cell] if each > 0 and magnitude]
    sensitive = bool(found.sensitive[cell])
    levels = [grouped(int(level[cell]), table.scale) for level in (found.lower_level, found.upper_level)]
    return {
        **_codes(view, cell),
        "value": grouped(int(table.value[cell]), table.scale),
        "records": f"{int(table.records[cell]):,}",
        "respondents": f"{int(table.respondents[cell]):,}",
        "shares of the largest": ", ".join(shares[:3]) or "none",
        "status": "sensitive" if sensitive else "frozen" if found.frozen[cell] else "safe",
        **_verdicts(table, found.reasons_of(cell), cell, rules),
        "must move by": f"{levels[0]} down or {levels[1]} up, at least" if sensitive else "nothing",
    }


def _codes(view: View, cell: int) -> dict[str, str]:
    """By dimension its code, with the label where that is another word."""
    codes = labels_of(view, cell)
    labels = {dimension.name: dimension.label(codes[dimension.name]) for dimension in view.dimensions}
    return {name: code if code == labels[name] else f"{code}: {labels[name]}" for name, code in codes.items()}


def _verdicts(table: Table, reasons: Sequence[str], cell: int, rules: Sequence[object]) -> dict[str, str]:
    """Of each rule whether it finds the cell, and by which figure; other reasons, such as a decision, by their words."""
    figures = {rule.words: rule.figure(table, cell) for rule in rules if isinstance(rule, RespondentRule)}
    told = {words: f"{'finds it' if words in reasons else 'does not'}: {figure}" for words, figure in figures.items() if figure}
    others = [words for words in reasons if words not in told]
    return {**told, **({"also": "; ".join(others)} if others else {})}
