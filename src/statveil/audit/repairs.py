"""What a list of repairs makes of the system that is audited against, and whether each is used as it is listed.

Nothing here comes from the code that chose the repairs: the list says what, where and by how much, and that is applied to the
file's columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from statveil.audit.report import Check
from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.formats.repairs import Relaxation
from statveil.formats.system import LinearSystem


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
