"""Lists of repairs: what they make of the requirements audited against, and whether each was allowed and is used as it is listed.

Nothing here comes from the code that chose the repairs. For a linear system the list says what, where and by how much, and that is
applied to the file's columns. For a table from records, what may give is read from the user's wishes, and where a cell's bounds end is
worked out by the audit. Sums, signs and zeros of a table never give: of a total that is off, the total less its other parts is a second
number for a sensitive cell, and may be the true one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from statveil.audit.report import Check
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.rcta import Relaxation
from statveil.formats.system import LinearSystem

if TYPE_CHECKING:
    from statveil.tables.table import View


def eased_system(system: LinearSystem, repairs: Sequence[Relaxation]) -> LinearSystem:
    """The system with exactly the listed requirements loosened. A level may be lowered, but not to nothing."""
    _check_list(system, repairs)
    lower, upper, rhs = system.lower.copy(), system.upper.copy(), system.rhs.copy()
    down, up, status = system.lower_level.copy(), system.upper_level.copy(), system.status.copy()
    for what, place, by in repairs:
        if what in ("lower", "upper") and status[place] == "z":
            status[place], lower[place], upper[place] = "s", system.value[place], system.value[place]
        changed = {"lower": lower, "upper": upper, "protection-down": down, "protection-up": up, "relation": rhs}.get(what)
        if changed is not None:  # how far past a level a cell may go stands in no column
            changed[place] += by if what in ("upper", "relation") else -by
    return dataclasses.replace(system, lower=lower, upper=upper, rhs=rhs, lower_level=down, upper_level=up, status=status)


def further(repairs: Sequence[Relaxation]) -> dict[int, int]:
    """Cells that may go past their level although the variant is exact, and by how much."""
    return {place: by for what, place, by in repairs if what == "overshoot"}


def check_repairs(system: LinearSystem, released: IntArray, repairs: Sequence[Relaxation]) -> Check:
    """Each listed repair is used, and in full: the list neither hides nor pretends."""
    wrong = [each for each in repairs if not _used(system, released, each)]
    words = "Every repair listed is used as it is listed"
    return Check(
        name="repairs", words=words, checked=len(repairs), faults=len(wrong), findings=tuple(f"{what} {place}" for what, place, _ in wrong)
    )


def _check_list(system: LinearSystem, repairs: Sequence[Relaxation]) -> None:
    if len({(what, place) for what, place, _ in repairs}) < len(repairs):
        raise InputError("The list of repairs names a requirement twice.")
    for what, place, by in repairs:
        if place >= (system.rhs.size if what == "relation" else system.value.size):
            raise InputError("The list of repairs names a cell or relation that does not exist.")
        if by == 0 or (by < 0 and what != "relation"):
            raise InputError("The list of repairs holds one by nothing, or by less.")
        level = {"protection-up": system.upper_level, "protection-down": system.lower_level}.get(what)
        if level is not None and by >= level[place]:
            raise InputError("The list of repairs takes a cell's protection away.", hint="It may be lowered, not given up.")


def _used(system: LinearSystem, released: IntArray, repair: Relaxation) -> bool:
    what, place, by = repair
    if what == "relation":
        part = slice(system.relations.indptr[place], system.relations.indptr[place + 1])
        terms = zip(system.relations.data[part], system.relations.indices[part], strict=True)
        return sum(int(factor) * int(released[cell]) for factor, cell in terms) - int(system.rhs[place]) == by
    x, fixed = int(released[place]), system.status[place] == "z"
    value, down, up = int(system.value[place]), int(system.lower_level[place]), int(system.upper_level[place])
    lowest, highest = (value, value) if fixed else (int(system.lower[place]), int(system.upper[place]))
    ends = {
        "lower": (lowest - by,),
        "upper": (highest + by,),
        "overshoot": (value - down - by, value + up + by),
        "protection-down": (value - down + by,),
        "protection-up": (value + up - by,),
    }
    return x in ends[what]


def in_words(repairs: Sequence[Relaxation], name: Callable[[int], str] = "cell {}".format) -> list[str]:
    """Repairs without amounts, protection in capitals; `name` is what a cell is called."""
    names = {
        "lower": "lower bound of",
        "upper": "upper bound of",
        "overshoot": "overshoot of",
        "protection-up": "PROTECTION of",
        "protection-down": "PROTECTION of",
    }
    verbs = {"protection-up": "WAS WEAKENED", "protection-down": "WAS WEAKENED"}
    return [
        f"relation {place} is off" if what == "relation" else f"{names[what]} {name(place)} {verbs.get(what, 'was relaxed')}"
        for what, place, _ in repairs
    ]


def weakened(repairs: Sequence[Relaxation]) -> bool:
    """Whether protection gave."""
    return any(each.what.startswith("protection") for each in repairs)


BOUNDS, PROTECTION = ("lower", "upper"), ("protection-down", "protection-up")


class NamedCell(NamedTuple):
    """A cell that the user named: in which view (None: the only one), at which labels, and whether its protection is meant."""

    view: str | None
    labels: Mapping[str, str]
    protection: bool


@dataclass(frozen=True, kw_only=True)
class RepairAsked:
    """What the user let give: classes of requirements, and, if not all, the cells."""

    classes: frozenset[str]
    only: tuple[NamedCell, ...] = ()


class CellEnds(NamedTuple):
    """Where the released value of each cell must lie, in published units, and around what."""

    low: AnyArray
    high: AnyArray
    nearest: AnyArray
    down_to: AnyArray
    up_to: AnyArray


class CellKinds(NamedTuple):
    """What each cell is."""

    sensitive: BoolArray
    frozen: BoolArray
    margin: BoolArray


class ListedRepairs:
    """The repairs listed, by what gave."""

    def __init__(self, repairs: Sequence[Relaxation], size: int) -> None:
        self.repairs = tuple(repairs)
        self._size = size

    def cells(self, *what: str) -> BoolArray:
        """Cells of which something of this kind gave."""
        marked = np.zeros(self._size, dtype=np.bool_)
        marked[[place for kind, place, _ in self.repairs if kind in what and 0 <= place < self._size]] = True
        return marked

    def refused(self, asked: RepairAsked | None, views: Sequence[View], kinds: CellKinds) -> list[Relaxation]:
        """Those that the user did not allow, or that no table from records may have."""
        if asked is None:
            return list(self.repairs)
        bounds, protection = (_named_cells(asked, views, self._size, protection=each) for each in (False, True))
        return [each for each in self.repairs if not self._allowed(each, asked, kinds, bounds, protection)]

    def _allowed(
        self, each: Relaxation, asked: RepairAsked, kinds: CellKinds, bounds: BoolArray | None, protection: BoolArray | None
    ) -> bool:
        if each.what == "relation" or not 0 <= each.place < self._size or each.by <= 0:
            return False
        named = protection if each.what in PROTECTION else bounds
        chosen = not kinds.frozen[each.place] if named is None else bool(named[each.place])
        return chosen and _class_of(each, kinds) in asked.classes

    def unused(self, published: AnyArray, ends: CellEnds) -> list[Relaxation]:
        """Those that the numbers do not show as they are listed; and any requirement listed twice."""
        distinct = {(each.what, each.place) for each in self.repairs}
        wrong = [each for each in self.repairs if each.what != "relation" and 0 <= each.place < self._size]
        wrong = [each for each in wrong if not _used_in_table(each, int(published[each.place]), ends)]
        return wrong if len(distinct) == len(self.repairs) else [*self.repairs]


def _class_of(each: Relaxation, kinds: CellKinds) -> str:
    if each.what in PROTECTION:
        return "protection"
    if kinds.sensitive[each.place]:
        return "cap"
    return "margins" if kinds.margin[each.place] else "inner"


def _used_in_table(each: Relaxation, x: int, ends: CellEnds) -> bool:
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
