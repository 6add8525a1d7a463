"""Before a pattern leaves: single respondents who could work something out, the independent audit, and what it asks to be repaired.

The respondent alone in class s recovers class q exactly where d_q is the same multiple of d_s in every deviation that keeps the sums: where
the two are in one proportion in random vectors of the null space (docs/audit.md). What is found so is met by a need of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.audit.patterns.audit import audit_pattern
from statveil.audit.patterns.elimination import null_vectors, proportions
from statveil.audit.patterns.pattern import Disclosure, KnowingReader, PatternAudit, PatternFinding, SuppressionPattern
from statveil.audit.patterns.tree_sums import tree_sums
from statveil.core.arrays import BoolArray, IntArray
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.problem import SuppressionProblem
from statveil.tables.table import Table, View


def breaches(system: ClassSystem, suppressed: BoolArray) -> tuple[Need, ...]:
    """Needs that keep every sensitive class from the one who alone knows another: to be met as well."""
    columns = np.flatnonzero(suppressed)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, key in zip(columns.tolist(), proportions(null_vectors(csr_matrix(system.columns[:, columns]))), strict=True):
        if any(key):
            groups.setdefault(key, []).append(number)
    return tuple(need for members in groups.values() for need in _needs_within(system, members))


def _needs_within(system: ClassSystem, members: list[int]) -> list[Need]:
    knowing = [each for each in members if system.single[each]]
    pairs = [(target, known) for known in knowing for target in members if target != known and system.sensitive[target]]
    return [Need(target, 1 if system.up[target] > 0 else -1, 1, (known,)) for target, known in pairs]


def sums_of(table: Table) -> csr_matrix:
    """All sums of a table as the audit works them out, from its labels: none of the code that the search uses."""
    blocks = [_view_sums(view, table.size) for view in table.views]
    for equation in table.equations:
        blocks += [_sum(total, parts, table.size) for total, parts in zip(equation.total.tolist(), equation.parts, strict=True)]
    blocks += [_sum(union.cell, union.members, table.size) for union in table.unions]
    return csr_matrix(vstack(blocks, format="csr", dtype=np.int64))


def _view_sums(view: View, size: int) -> csr_matrix:
    places = view.cell.size
    cells = csr_matrix((np.ones(places, dtype=np.int64), (np.arange(places), view.cell)), shape=(places, size))
    matrix = csr_matrix(tree_sums(view.dimensions, view.coordinates) @ cells)
    matrix.eliminate_zeros()  # a total that is its only part
    return matrix


def _sum(total: int, parts: IntArray, size: int) -> csr_matrix:
    columns = np.append(parts, total)
    factors = np.append(np.ones(parts.size, dtype=np.int64), -1)
    return csr_matrix((factors, (np.zeros(columns.size, dtype=np.int64), columns)), shape=(1, size))


def audit_suppression(
    problem: SuppressionProblem, suppressed: BoolArray, *, sums: csr_matrix | None = None, readers: Sequence[KnowingReader] = ()
) -> PatternAudit:
    """The audit of a pattern, by sums of its own where they are given."""
    matrix = csr_matrix(problem.relations if sums is None else sums, dtype=np.int64)
    pattern = SuppressionPattern(
        relations=matrix,
        rhs=matrix @ problem.value,
        value=problem.value,
        suppressed=suppressed | problem.hidden,
        primary=problem.primary,
        lower_level=problem.lower_level,
        upper_level=problem.upper_level,
        lower=problem.lower,
        upper=problem.upper,
        singleton=problem.single if problem.single.any() else None,
    )
    return audit_pattern(pattern, readers=readers)


def needs_of(audit: PatternAudit, system: ClassSystem, readers: Sequence[KnowingReader]) -> tuple[Need, ...]:
    """What would mend each fault, as needs of the reduced problem; a reader with part of a cell is taken to know all of it."""
    found = [need for fault in audit.faults for need in _mending(fault, system, {each.name: each for each in readers})]
    return tuple(dict.fromkeys(found))


def _mending(fault: PatternFinding, system: ClassSystem, readers: dict[str, KnowingReader]) -> Iterator[Need]:
    target = int(system.of_cell[fault.cell])
    if fault.kind is Disclosure.SINGLETON:
        for other in {int(system.of_cell[each]) for each in fault.others} - {target, -1}:
            yield Need(target, 1 if system.up[target] > 0 else -1, 1, (other,))
    elif fault.kind is Disclosure.COALITION:
        known = sorted({int(each) for each in system.of_cell[readers[fault.reader].cells]} - {-1})
        if target not in known:
            yield from (Need(target, need.sense, need.amount, tuple(known)) for need in system.needs if need.target == target)
