"""`audit_pattern`: whether suppressed cells stay hidden, whoever chose them.

The linear programs are an attacker's work (`audit.attacks.patterns`): a release's own audit knows no solver. What they claim counts
only after the table behind it was checked here in whole numbers, so that "safe" is proved; "inferential" rests on the solver's word that
no table goes further, "unproved" on a table that could not be checked. See docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from statveil.audit.attacks.patterns.reach import ReachProblem, reach
from statveil.audit.patterns.elimination import null_vectors, proportions
from statveil.audit.patterns.pattern import (
    NO_BOUND,
    Disclosure,
    KnowingReader,
    PatternAudit,
    PatternFinding,
    SuppressionPattern,
)
from statveil.audit.patterns.witnesses import WitnessBook
from statveil.core.arrays import BoolArray, FloatArray, IntArray, frozen_array


@dataclass(frozen=True, kw_only=True)
class UnionRule:
    """The sum of the suppressed cells of a relation is as good as published: it must pass the p% rule too.

    largest, second: the two largest contributions to each cell, in its units; respondents of different cells count as different.
    """

    percent: int
    largest: IntArray
    second: IntArray


class _Intervals(NamedTuple):
    down: IntArray
    up: IntArray
    exhausted: BoolArray
    claimed: BoolArray
    """The solver says that the needs are met, and its tables could not be checked."""
    components: int
    programs: int


def audit_pattern(
    pattern: SuppressionPattern,
    *,
    readers: Sequence[KnowingReader] = (),
    union: UnionRule | None = None,
    all_intervals: bool = False,
) -> PatternAudit:
    """Everything that a reader can derive. `all_intervals` looks for the ends of every suppressed cell, not only for what is needed."""
    cells = np.flatnonzero(pattern.suppressed)
    needed = needs(pattern)
    recovered, alike = _algebra(pattern, cells)
    wanted = _wanted(pattern, cells, needed, all_intervals=all_intervals)
    found = _intervals(pattern, cells, wanted, skip=recovered)
    findings = [
        *_published(pattern),
        *_recovered(pattern, cells, recovered),
        *_narrow(pattern, cells, needed, found, recovered),
        *_singletons(pattern, cells, alike, recovered),
        *_unions(pattern, union),
    ]
    for reader in readers:
        findings += _seen_by(reader, pattern, cells, needed, {each.cell for each in findings})
    return PatternAudit(
        cells=frozen_array(cells),
        down=frozen_array(found.down),
        up=frozen_array(found.up),
        exhausted=frozen_array(found.exhausted | recovered),
        verdict=_verdicts(cells, findings),
        findings=tuple(findings),
        broken=tuple(np.flatnonzero(pattern.relations @ pattern.value != pattern.rhs).tolist()),
        components=found.components,
        programs=found.programs,
    )


def needs(pattern: SuppressionPattern) -> tuple[IntArray, IntArray]:
    """How far below and above its value each primary must be possible: its levels; nobody need believe a value below zero."""
    lower = np.where(pattern.value >= 0, np.minimum(pattern.lower_level, pattern.value), pattern.lower_level)
    return np.where(pattern.primary, lower, 0), np.where(pattern.primary, pattern.upper_level, 0)


def _algebra(pattern: SuppressionPattern, cells: IntArray) -> tuple[BoolArray, list[tuple[int, ...]]]:
    """Which suppressed cells follow from the published ones, and a key that those share who follow from each other."""
    matrix = _between(pattern, cells)
    alike = proportions(null_vectors(matrix))
    return np.array([not any(key) for key in alike], dtype=np.bool_), alike


def _between(pattern: SuppressionPattern, cells: IntArray) -> csr_matrix:
    """The relations in terms of the suppressed cells, each once."""
    matrix = pattern.relations[:, cells].tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in np.flatnonzero(np.diff(matrix.indptr)).tolist():
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        seen.setdefault((matrix.indices[part].tobytes(), matrix.data[part].tobytes()), row)
    return matrix[list(seen.values())]


def _wanted(
    pattern: SuppressionPattern, cells: IntArray, needed: tuple[IntArray, IntArray], *, all_intervals: bool
) -> tuple[IntArray, IntArray]:
    """What is looked for: the needs, or all the room there is."""
    if not all_intervals:
        return needed[0][cells], needed[1][cells]
    return _room(pattern, cells)


def _room(pattern: SuppressionPattern, cells: IntArray) -> tuple[IntArray, IntArray]:
    """Below and above each value; where no bound is known, twice the largest value and level, which is enough for every need."""
    most = 2 * int(np.abs(pattern.value).max(initial=0)) + 2 * int(
        max(pattern.lower_level.max(initial=0), pattern.upper_level.max(initial=0))
    )
    value = pattern.value[cells]
    down = np.where(pattern.lower[cells] <= -NO_BOUND, most, np.minimum(value - np.maximum(pattern.lower[cells], -NO_BOUND // 2), most))
    up = np.where(pattern.upper[cells] >= NO_BOUND, most, np.minimum(np.minimum(pattern.upper[cells], NO_BOUND // 2) - value, most))
    return down, up


def _intervals(pattern: SuppressionPattern, cells: IntArray, wanted: tuple[IntArray, IntArray], *, skip: BoolArray) -> _Intervals:
    """Component by component, those without a need left out; recovered cells stay where they are."""
    matrix, (down, up) = _between(pattern, cells), _room(pattern, cells)
    wanted = np.where(skip, 0, wanted[0]), np.where(skip, 0, wanted[1])
    reached = np.zeros(cells.size, dtype=np.int64), np.zeros(cells.size, dtype=np.int64)
    exhausted, claimed = np.zeros(cells.size, dtype=np.bool_), np.zeros(cells.size, dtype=np.bool_)
    count = programs = 0
    for part, rows in _components(matrix):
        count += 1
        if not (wanted[0][part].any() or wanted[1][part].any()):
            continue
        own = matrix[rows][:, part]
        book = WitnessBook(own, down[part], up[part], (wanted[0][part], wanted[1][part]))
        ends = reach(ReachProblem(own, down[part], up[part]), book.keep, book.still_open)
        reached[0][part], reached[1][part] = book.down, book.up
        exhausted[part], programs = ~np.isnan(ends.down) & ~np.isnan(ends.up), programs + ends.programs
        claimed[part] = _claims_enough(book.down, ends.down, book.need[0]) & _claims_enough(book.up, ends.up, book.need[1])
    return _Intervals(*reached, exhausted, claimed, count, programs)


def _claims_enough(shown: IntArray, claimed: FloatArray, need: IntArray) -> BoolArray:
    """Shown in whole numbers, or claimed by the solver to within what its doubles can tell."""
    return (shown >= need) | (np.nan_to_num(claimed, nan=-1.0) >= need - 1e-6 * np.maximum(need, 1))


def _components(matrix: csr_matrix) -> Iterator[tuple[IntArray, IntArray]]:
    """Cells that no relation joins with others are apart; each part with its rows."""
    rows, columns = matrix.shape
    ones = csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    _, label = connected_components(ones.T @ ones if columns else csr_matrix((0, 0)), directed=False)
    of_row = label[matrix.indices[matrix.indptr[:-1]]] if rows else np.zeros(0, dtype=np.int64)
    by_cell, by_row = np.argsort(label, kind="stable"), np.argsort(of_row, kind="stable")
    for number in range(int(label.max(initial=-1)) + 1):
        ends = [np.searchsorted(sorted_, [number, number + 1]) for sorted_ in (label[by_cell], of_row[by_row])]
        yield by_cell[ends[0][0] : ends[0][1]], by_row[ends[1][0] : ends[1][1]]


def _published(pattern: SuppressionPattern) -> Iterator[PatternFinding]:
    for cell in np.flatnonzero(pattern.primary & ~pattern.suppressed).tolist():
        yield PatternFinding(cell=cell, kind=Disclosure.PUBLISHED)


def _recovered(pattern: SuppressionPattern, cells: IntArray, recovered: BoolArray) -> Iterator[PatternFinding]:
    """A primary that follows from what is published is disclosed; a secondary that does was suppressed for nothing."""
    for cell in cells[recovered].tolist():
        yield PatternFinding(cell=cell, kind=Disclosure.EXACT if pattern.primary[cell] else Disclosure.UNNEEDED)


def _narrow(
    pattern: SuppressionPattern, cells: IntArray, needed: tuple[IntArray, IntArray], found: _Intervals, recovered: BoolArray
) -> Iterator[PatternFinding]:
    """Primaries whose needs no table was seen to reach."""
    short = (found.down < needed[0][cells]) | (found.up < needed[1][cells])
    for at in np.flatnonzero(short & ~recovered & pattern.primary[cells]).tolist():
        yield PatternFinding(cell=int(cells[at]), kind=Disclosure.UNPROVED if found.claimed[at] else Disclosure.INFERENTIAL)


def _singletons(
    pattern: SuppressionPattern, cells: IntArray, alike: list[tuple[int, ...]], recovered: BoolArray
) -> Iterator[PatternFinding]:
    """Primaries in one proportion with a cell whose only respondent knows it."""
    if pattern.singleton is None:
        return
    groups: dict[tuple[int, ...], list[int]] = {}
    for cell, key in zip(cells[~recovered].tolist(), (key for key in alike if any(key)), strict=True):
        groups.setdefault(key, []).append(cell)
    one = _one_cell(pattern)
    for group in groups.values():
        knowing = [cell for cell in group if pattern.singleton[cell]]
        for cell in group:
            others = tuple(each for each in knowing if one[each] != one[cell])
            if others and pattern.primary[cell]:
                yield PatternFinding(cell=cell, kind=Disclosure.SINGLETON, others=others, reader="the only respondent of another cell")


def _one_cell(pattern: SuppressionPattern) -> IntArray:
    """A number that cells share which relations make the same cell, all other terms being zero: one respondent's amount, two names."""
    filled = np.flatnonzero(pattern.value)
    matrix = pattern.relations[:, filled].tocsr()
    pairs = matrix[np.flatnonzero(np.diff(matrix.indptr) == 2)]
    label = np.full(pattern.value.size, -1, dtype=np.int64)
    label[filled] = connected_components(abs(pairs).T @ abs(pairs), directed=False)[1]
    return label


def _unions(pattern: SuppressionPattern, rule: UnionRule | None) -> Iterator[PatternFinding]:
    """Sums of suppressed cells that a relation gives away and that the rule calls sensitive."""
    if rule is None:
        return
    matrix = pattern.relations[:, np.flatnonzero(pattern.suppressed)].tocsr()
    cells = np.flatnonzero(pattern.suppressed)
    for row in np.flatnonzero(np.diff(matrix.indptr) > 1).tolist():
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        members = cells[matrix.indices[part]]
        if np.unique(matrix.data[part]).size == 1 and _dominated(pattern, members, rule):  # a sum, not a difference
            yield PatternFinding(cell=int(members[0]), kind=Disclosure.UNION, others=tuple(members[1:].tolist()))


def _dominated(pattern: SuppressionPattern, members: IntArray, rule: UnionRule) -> bool:
    """The p% rule on the union (docs/rules.md): what is left beside the two largest is less than p% of the largest."""
    first, second = np.sort(np.concatenate([rule.largest[members], rule.second[members]]))[::-1][:2].tolist()
    rest = int(pattern.value[members].sum()) - first - second
    return bool(pattern.primary[members].any()) and 100 * rest < rule.percent * first


def _seen_by(
    reader: KnowingReader, pattern: SuppressionPattern, cells: IntArray, needed: tuple[IntArray, IntArray], known: set[int]
) -> Iterator[PatternFinding]:
    """Primaries that are safe from others but too narrow for one who knows part of the table; his own cells are no secret to him."""
    narrowed = reader.narrows(pattern)
    primary = pattern.primary & pattern.suppressed
    primary[reader.cells] = False
    primary[list(known)] = False
    asked = replace(narrowed, primary=frozen_array(primary))
    need = needs(asked)
    found = _intervals(asked, cells, (need[0][cells], need[1][cells]), skip=np.zeros(cells.size, dtype=np.bool_))
    short = (found.down < need[0][cells]) | (found.up < need[1][cells])
    yield from (PatternFinding(cell=cell, kind=Disclosure.COALITION, reader=reader.name) for cell in cells[short].tolist())


def _verdicts(cells: IntArray, findings: Sequence[PatternFinding]) -> tuple[Disclosure, ...]:
    """The first thing found of each cell; the findings come worst first."""
    first: dict[int, Disclosure] = {}
    for each in findings:
        first.setdefault(each.cell, each.kind)
    return tuple(first.get(cell, Disclosure.SAFE) for cell in cells.tolist())
