"""A whole table that meets what is asked, where searching bound by bound takes too long.

A cell that nothing bounds follows from any relation in which its factor is 1 or -1, and takes every whole value: both are left out,
exactly, in integers. What remains is a few relations of bounded cells, small enough for a solver's search for whole numbers. The cells left
out are worked out from its answer, and the table is checked against everything that was asked: the solver's word alone counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray
from statveil.protect.infeasible.feasibility import TUNING, Requirement, allowed, meets, terms_of
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.solve.model import LinearModel

NO_CELL = -1


class _RelationTerms(NamedTuple):
    """Factors by cell, and what they must add up to."""

    factors: dict[int, int]
    total: int


def find_whole_table(problem: ProtectionProblem, asked: Iterable[Requirement]) -> dict[int, int] | None:
    """Deviations by cell (others stay) that meet all that is asked; None if none was found, which proves nothing."""
    asked = frozenset(asked)
    bounded = {each.place for each in asked if each.kind != "relation"}
    rows, followers = _eliminated({each.place: _terms_and_total(problem, each.place) for each in asked if each.kind == "relation"}, bounded)
    found = _search(problem, asked, list(rows.values()))
    if found is None:
        return None
    for cell, row in reversed(followers):
        rest = sum(factor * found.get(other, 0) for other, factor in row.factors.items() if other != cell)
        found[cell] = (row.total - rest) * row.factors[cell]
    return found if meets(problem, asked, found) else None


def _terms_and_total(problem: ProtectionProblem, relation: int) -> _RelationTerms:
    return _RelationTerms(dict(terms_of(problem.relations, relation)), int(problem.residual[relation]))


def _eliminated(rows: dict[int, _RelationTerms], bounded: set[int]) -> tuple[dict[int, _RelationTerms], list[tuple[int, _RelationTerms]]]:
    """Rows without free cells of factor 1 or -1, as far as possible, and the row from which each of those follows, in order."""
    rows = dict(rows)
    rows_of: dict[int, set[int]] = {}
    for number, row in rows.items():
        for cell in row.factors:
            rows_of.setdefault(cell, set()).add(number)
    followers: list[tuple[int, _RelationTerms]] = []
    while True:
        free = (cell for cell, where in rows_of.items() if cell not in bounded and any(abs(rows[at].factors[cell]) == 1 for at in where))
        cell = min(free, key=lambda each: (len(rows_of[each]), each), default=NO_CELL)
        if cell == NO_CELL:
            return rows, followers
        number = min((at for at in rows_of[cell] if abs(rows[at].factors[cell]) == 1), key=lambda at: (len(rows[at].factors), at))
        source = rows.pop(number)
        followers.append((cell, source))
        for other in source.factors:
            rows_of[other].discard(number)
        for at in sorted(rows_of.pop(cell)):
            rows[at] = _without(rows[at], cell, source)
            for other in source.factors:
                if other in rows_of:
                    (rows_of[other].add if other in rows[at].factors else rows_of[other].discard)(at)


def _without(row: _RelationTerms, cell: int, source: _RelationTerms) -> _RelationTerms:
    """The row less as many times the source as takes the cell out of it."""
    times = row.factors[cell] * source.factors[cell]
    factors = dict(row.factors)
    for other, factor in source.factors.items():
        factors[other] = factors.get(other, 0) - times * factor
    return _RelationTerms({other: factor for other, factor in factors.items() if factor}, row.total - times * source.total)


def _search(problem: ProtectionProblem, asked: frozenset[Requirement], rows: list[_RelationTerms]) -> dict[int, int] | None:
    """Whole deviations of the cells that are left: those of the rows, and those of which something is asked."""
    from statveil.solve import highs

    of_cells = [each for each in sorted(asked) if each.kind != "relation"]
    cells = sorted({cell for row in rows for cell in row.factors} | {each.place for each in of_cells})
    if not cells:
        return {} if not any(row.total for row in rows) else None
    at = {cell: place for place, cell in enumerate(cells)}
    lower, upper = np.full(len(cells), -np.inf), np.full(len(cells), np.inf)
    for each in of_cells:
        (low, high), place = allowed(problem, each), at[each.place]
        lower[place], upper[place] = max(lower[place], _endless(low)), min(upper[place], _endless(high))
    guarded = [each.place for each in of_cells if each.kind == "protection"]
    solution = highs.solve(_model(problem, rows, at, guarded, lower, upper), seconds=TUNING.table_seconds, nodes=TUNING.most_nodes)
    return None if solution.x is None else {cell: round(float(solution.x[place])) for cell, place in at.items()}


def _endless(bound: int) -> float:
    return float(bound) if abs(bound) < NO_LIMIT else float(np.copysign(np.inf, bound))


def _model(
    problem: ProtectionProblem, rows: list[_RelationTerms], at: dict[int, int], guarded: list[int], lower: FloatArray, upper: FloatArray
) -> LinearModel:
    """Columns: deviations, then a switch for each guarded cell (1 up). Rows: relations; z >= up and z <= -down by the switch."""
    levels = [float(problem.lower_level[cell] + problem.upper_level[cell]) for cell in guarded]
    known = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    reach = min(float(np.abs(known).sum()) + sum(levels) + sum(abs(row.total) for row in rows) + 1.0, TUNING.farthest)
    entries = [(row, at[cell], float(factor)) for row, each in enumerate(rows) for cell, factor in each.factors.items()]
    least, most = [float(row.total) for row in rows], [float(row.total) for row in rows]
    for place, cell in enumerate(guarded, start=len(at)):
        down, up = float(problem.lower_level[cell]), float(problem.upper_level[cell])
        entries += [(len(least), at[cell], 1.0), (len(least), place, -(up + reach))]
        entries += [(len(least) + 1, at[cell], 1.0), (len(least) + 1, place, -(down + reach))]
        least, most = [*least, -reach, -np.inf], [*most, np.inf, -down]
    width = len(at) + len(guarded)
    row_of, column_of, factors = (np.array(each) for each in zip(*entries, strict=True)) if entries else (np.zeros(0),) * 3
    matrix = csr_matrix((factors, (row_of.astype(np.int64), column_of.astype(np.int64))), shape=(len(least), width))
    return LinearModel(
        cost=np.zeros(width),
        matrix=matrix,
        row_lower=np.array(least),
        row_upper=np.array(most),
        lower=np.concatenate([lower, np.zeros(len(guarded))]),
        upper=np.concatenate([upper, np.ones(len(guarded))]),
        whole=np.ones(width, dtype=np.bool_),
    )
