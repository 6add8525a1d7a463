"""The independent check of a rounded table and of the claim that none is closer: exact integers, no solver, relations from the labels.

A lower bound needs no trust: for whole multipliers of the relations, the sum over the cells of the least of (cost - what the multipliers
pay) is below the cost of every rounded table (Lagrange). A proof is a tree of cases, each with its own multipliers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.report import FINDINGS_SHOWN, AuditReport, Check
from statveil.audit.tables import _parts_and_totals, _sums_between_tables, cell_labels
from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import AuditFailed
from statveil.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class RoundingAsked:
    """What a rounded table was to be.

    base: in published units. zero_restricted: a multiple of the base stays as it is; otherwise it may move by one base.
    steps: how many bases further than that a cell may be; 0 means that every cell is within one base.

    >>> RoundingAsked(base=5).zero_restricted
    True
    """

    base: int
    zero_restricted: bool = True
    steps: int = 0


@dataclass(frozen=True, kw_only=True)
class RoundingCase:
    """A case of a proof: z of some cells narrowed to (cell, low, high), and multipliers of the rows of `relations`."""

    narrowed: tuple[tuple[int, int, int], ...] = ()
    multipliers: IntArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class RoundingProof:
    """Cases that together leave nothing out. relations: as the one who proves it wrote them. scale: one in units of the multipliers."""

    relations: csr_matrix = field(repr=False)
    scale: int
    cases: tuple[RoundingCase, ...] = field(repr=False)


def audit_rounding(table: Table, released: IntArray, asked: RoundingAsked) -> AuditReport:
    """Every check of a rounded table; `released` in published units, one number a cell."""
    true = table.value.astype(object)
    unit = 10 ** (table.scale - table.decimals)
    own, base = released.astype(object) * unit, asked.base * unit
    moved, allowed = np.abs(own - true), base * asked.steps
    multiple = true % base == 0
    most = np.where(multiple, allowed if asked.zero_restricted else allowed + base, allowed + base)
    too_far = (moved > most) | (~multiple & (moved >= allowed + base))
    return AuditReport(
        checks=(
            _check(table, "multiples", "Every number is a multiple of the base", released.astype(object) % asked.base != 0),
            _check(table, "additivity", "Every total is the sum of its parts", _broken(table, released)),
            _check(table, "distance", "No number is further from the truth than the base and the steps allow", too_far),
            _check(table, "zeros", "A zero stays zero", (true == 0) & (own != 0)),
            _check(table, "signs", "No number changes its sign", own * true < 0),
        )
    )


def _check(table: Table, name: str, words: str, wrong: AnyArray) -> Check:
    found = np.flatnonzero(np.asarray(wrong, dtype=np.bool_))
    named = tuple(cell_labels(table, int(cell)) for cell in found[:FINDINGS_SHOWN])
    return Check(name=name, words=words, checked=int(wrong.size), faults=int(found.size), findings=named)


def _broken(table: Table, released: IntArray) -> AnyArray:
    """The totals that are not the sum of their parts."""
    wrong = np.zeros(table.size, dtype=np.bool_)
    values = released.astype(object)
    for total, parts in _relations(table):
        wrong[total] |= values[total] != values[parts].sum()
    return wrong


def _relations(table: Table) -> Iterator[tuple[int, IntArray]]:
    """Every total and its parts, by the labels and by the equations and sets of the table."""
    for view in table.views:
        for keys, parts, totals in _parts_and_totals(view):
            order = np.argsort(totals, kind="stable")
            above, start = np.unique(totals[order], return_index=True)
            for key, rows in zip(above, np.split(order, start[1:]), strict=True):
                total = int(view.cell[np.searchsorted(keys, key)])
                yield total, view.cell[parts[rows]]
    for _, totals_of, parts_of in _sums_between_tables(table):
        yield from zip(totals_of.tolist(), parts_of, strict=True)


def proved_bound(table: Table, asked: RoundingAsked, proof: RoundingProof) -> int:
    """How far the cells of any rounded table move together at the least, in the table's units; refused where the proof does not hold."""
    _require_own_relations(table, proof.relations)
    _require_all_cases(table, asked, [{cell: (low, high) for cell, low, high in case.narrowed} for case in proof.cases])
    return min(_bound(table, asked, proof, case) for case in proof.cases)


def _ranges(table: Table, asked: RoundingAsked) -> tuple[AnyArray, AnyArray, int]:
    """What z may be in each cell that becomes base * (floor + z), worked out from what was asked alone; and the base."""
    base = asked.base * 10 ** (table.scale - table.decimals)
    true = table.value.astype(object)
    far = np.where(true % base == 0, asked.steps * base + (0 if asked.zero_restricted else base), (asked.steps + 1) * base - 1)
    least, most = -((far - true) // base), (true + far) // base
    least, most = np.where(true >= 0, np.maximum(least, 0), least), np.where(true <= 0, np.minimum(most, 0), most)
    return least - true // base, most - true // base, base


def _bound(table: Table, asked: RoundingAsked, proof: RoundingProof, case: RoundingCase) -> int:
    low, high, base = _ranges(table, asked)
    for cell, least, most in case.narrowed:
        low[cell], high[cell] = max(low[cell], least), min(high[cell], most)
    pay = np.zeros(table.size, dtype=object)
    matrix = proof.relations.tocoo()
    np.add.at(pay, matrix.col, case.multipliers.astype(object)[matrix.row] * matrix.data.astype(object))
    true = table.value.astype(object)
    ends = (low, high, np.clip(0, low, high), np.clip(1, low, high))
    least = np.minimum.reduce([proof.scale * np.abs(base * z - true % base) - pay * z for z in ends])
    return -(-int(least.sum() - (pay * (true // base)).sum()) // proof.scale)


def _require_own_relations(table: Table, relations: csr_matrix) -> None:
    """Each row of the proof must be a relation that the labels give."""
    own = set()
    for total, parts in _relations(table):
        row: dict[int, int] = {total: -1}
        for part in parts.tolist():
            row[part] = row.get(part, 0) + 1
        own.add(frozenset((cell, factor) for cell, factor in row.items() if factor))
    for start, end in zip(relations.indptr[:-1], relations.indptr[1:], strict=True):
        row_of = frozenset(zip(relations.indices[start:end].tolist(), relations.data[start:end].tolist(), strict=True))
        if row_of not in own:
            raise AuditFailed("The proof rests on a relation that the table does not have.")


Ranges = dict[int, tuple[int, int]]


def _require_all_cases(table: Table, asked: RoundingAsked, cases: Sequence[Ranges]) -> None:
    """The cases are the leaves of a tree that splits one cell at a time: every z is in one of them."""
    low, high, _ = _ranges(table, asked)
    waiting: list[tuple[Ranges, list[Ranges]]] = [({}, list(cases))]
    while waiting:
        here, left = waiting.pop()
        if len(left) == 1 and left[0] == here:
            continue
        waiting.extend(_split(here, left, low, high))


def _split(here: Ranges, left: list[Ranges], low: AnyArray, high: AnyArray) -> list[tuple[Ranges, list[Ranges]]]:
    """Two branches on a cell that tells all cases apart: z <= k in one, z > k in the other."""
    for cell in left[0] if left else ():
        ends = here.get(cell, (int(low[cell]), int(high[cell])))
        for k in range(ends[0], ends[1]):
            first = [case for case in left if case.get(cell, ends)[1] <= k]
            second = [case for case in left if case.get(cell, ends)[0] > k]
            if first and second and len(first) + len(second) == len(left):
                return [(here | {cell: (ends[0], k)}, first), (here | {cell: (k + 1, ends[1])}, second)]
    raise AuditFailed("The cases of the proof leave something out.")
