"""The list of repairs of a table from records: was each allowed, and is each used in full?

Nothing here comes from the code that chose the repairs. What may give is read from the user's wishes, and where a cell's bounds end is
worked out by the audit. Sums, signs and zeros never give: of a total that is off, the total less its other parts is a second
number for a sensitive cell, and may be the true one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.formats.repairs import Relaxation
from statveil.tables.table import View

BOUNDS, PROTECTION = ("lower", "upper"), ("protection-down", "protection-up")


class Named(NamedTuple):
    """A cell that the user named: in which view (None: the only one), at which labels, and whether its protection is meant."""

    view: str | None
    labels: Mapping[str, str]
    protection: bool


@dataclass(frozen=True, kw_only=True)
class RepairAsked:
    """What the user let give: classes of requirements, and, if not all, the cells."""

    classes: frozenset[str]
    only: tuple[Named, ...] = ()


class Ends(NamedTuple):
    """Where the released value of each cell must lie, in published units, and around what."""

    low: AnyArray
    high: AnyArray
    nearest: AnyArray
    down_to: AnyArray
    up_to: AnyArray


class Kinds(NamedTuple):
    """What each cell is."""

    sensitive: BoolArray
    frozen: BoolArray
    margin: BoolArray


class Given:
    """The repairs listed, by what gave."""

    def __init__(self, repairs: Sequence[Relaxation], size: int) -> None:
        self.repairs = tuple(repairs)
        self._size = size

    def cells(self, *what: str) -> BoolArray:
        """Cells of which something of this kind gave."""
        marked = np.zeros(self._size, dtype=np.bool_)
        marked[[place for kind, place, _ in self.repairs if kind in what and 0 <= place < self._size]] = True
        return marked

    def refused(self, asked: RepairAsked | None, views: Sequence[View], kinds: Kinds) -> list[Relaxation]:
        """Those that the user did not allow, or that no table from records may have."""
        if asked is None:
            return list(self.repairs)
        bounds, protection = (_named_cells(asked, views, self._size, protection=each) for each in (False, True))
        return [each for each in self.repairs if not self._allowed(each, asked, kinds, bounds, protection)]

    def _allowed(self, each: Relaxation, asked: RepairAsked, kinds: Kinds, bounds: BoolArray | None, protection: BoolArray | None) -> bool:
        if each.what == "relation" or not 0 <= each.place < self._size or each.by <= 0:
            return False
        named = protection if each.what in PROTECTION else bounds
        chosen = not kinds.frozen[each.place] if named is None else bool(named[each.place])
        return chosen and _class_of(each, kinds) in asked.classes

    def unused(self, published: AnyArray, ends: Ends) -> list[Relaxation]:
        """Those that the numbers do not show as they are listed; and any requirement listed twice."""
        distinct = {(each.what, each.place) for each in self.repairs}
        wrong = [each for each in self.repairs if each.what != "relation" and 0 <= each.place < self._size]
        wrong = [each for each in wrong if not _used(each, int(published[each.place]), ends)]
        return wrong if len(distinct) == len(self.repairs) else [*self.repairs]


def _class_of(each: Relaxation, kinds: Kinds) -> str:
    if each.what in PROTECTION:
        return "protection"
    if kinds.sensitive[each.place]:
        return "cap"
    return "margins" if kinds.margin[each.place] else "inner"


def _used(each: Relaxation, x: int, ends: Ends) -> bool:
    """At the end that gave, moved by exactly what is listed; protection is never given up in full."""
    down, up, nearest = (int(array[each.place]) for array in (ends.down_to, ends.up_to, ends.nearest))
    shown = {
        "lower": (int(ends.low[each.place]) - each.by,),
        "upper": (int(ends.high[each.place]) + each.by,),
        "overshoot": (down - each.by, up + each.by),
        "protection-down": (down + each.by,) if each.by < nearest - down else (),
        "protection-up": (up - each.by,) if each.by < up - nearest else (),
    }[each.what]
    return x in shown


def _named_cells(asked: RepairAsked, views: Sequence[View], size: int, *, protection: bool) -> BoolArray | None:
    """The cells that the user named for this; None if none was named for anything: then all may give."""
    if not asked.only:
        return None
    marked = np.zeros(size, dtype=np.bool_)
    for named in asked.only:
        if named.protection == protection:
            marked[[cell for view in views if named.view in (None, view.name) for cell in _cells_at(view, named.labels)]] = True
    return marked


def _cells_at(view: View, labels: Mapping[str, str]) -> IntArray:
    """The cell at these labels; a dimension left out means its total."""
    here = np.ones(view.cell.size, dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        here &= view.coordinates[:, axis] == dimension.position.get(labels.get(dimension.name, dimension.total), -1)
    return np.asarray(view.cell[here])
