"""What a problem asks, one requirement at a time: the pieces that can clash, and that a repair can loosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem

Kind = Literal["lower", "upper", "exactness", "protection", "relation"]
KINDS: tuple[Kind, ...] = ("lower", "upper", "exactness", "protection", "relation")


class Requirement(NamedTuple):
    """One thing asked: of a cell its lower or upper bound, its protection, or (variant exact) that it moves no further; or a relation.

    `place` is the number of the cell, or of the relation.
    """

    kind: Kind
    place: int


def all_requirements(problem: ProtectionProblem) -> Iterator[Requirement]:
    """Everything that the problem asks."""
    yield from (Requirement("relation", int(row)) for row in range(problem.rhs.size))
    yield from (Requirement("lower", int(cell)) for cell in np.flatnonzero(problem.lower > -NO_LIMIT))
    yield from (Requirement("upper", int(cell)) for cell in np.flatnonzero(problem.upper < NO_LIMIT))
    sensitive = np.flatnonzero(problem.sensitive)
    yield from (Requirement("protection", int(cell)) for cell in sensitive)
    if problem.variant == "exact":
        yield from (Requirement("exactness", int(cell)) for cell in sensitive)


def meets(problem: ProtectionProblem, asked: Iterable[Requirement], deviation: dict[int, int]) -> bool:
    """Whether deviations (of the cells not named: none) meet all that is asked: exact integers, no tolerance."""
    return all(_met(problem, each, deviation) for each in asked)


def _met(problem: ProtectionProblem, asked: Requirement, deviation: dict[int, int]) -> bool:
    if asked.kind == "relation":
        part = slice(problem.relations.indptr[asked.place], problem.relations.indptr[asked.place + 1])
        terms = zip(problem.relations.data[part].tolist(), problem.relations.indices[part].tolist(), strict=True)
        return bool(sum(factor * deviation.get(cell, 0) for factor, cell in terms) == int(problem.residual[asked.place]))
    move = deviation.get(asked.place, 0)
    down, up = -int(problem.lower_level[asked.place]), int(problem.upper_level[asked.place])
    return {
        "lower": move >= int(problem.free.low[asked.place]),
        "upper": move <= int(problem.free.high[asked.place]),
        "protection": move <= down or move >= up,
        "exactness": down <= move <= up,
    }[asked.kind]
