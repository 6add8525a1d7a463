"""The independent check of a protected table: exact integers, `==`, no tolerance, no solver.

It shares nothing with the code that made the table: margins are summed from the labels, bounds are worked out from the
user's wishes, and every comparison is in Python or 64-bit integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from statveil.audit.kept import KeptStatistic, check_kept
from statveil.audit.repairs import BOUNDS, PROTECTION, CellEnds, CellKinds, ListedRepairs, RepairAsked
from statveil.audit.report import FINDINGS_SHOWN, AuditReport, Check
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.provenance import Provenance, sha256
from statveil.formats.rcta import Relaxation
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.table import ProtectedTable, Table, View


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """What the user asked of every cell, as plain numbers (None: nothing asked), and of the statistics of sets of cells."""

    exact: bool = False
    percent_down: Fraction | None = None
    percent_up: Fraction | None = None
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    cap: Fraction | None = None
    repair: RepairAsked | None = None
    kept: tuple[KeptStatistic, ...] = ()


def audit_table(
    table: Table,
    sensitivity: Sensitivity,
    asked: Requirements,
    protected: ProtectedTable,
    provenance: Provenance,
    repairs: Sequence[Relaxation] = (),
) -> AuditReport:
    """Every check of a released table, loosened by the repairs listed alone. The release gate calls this and nothing else."""
    shape = _shape(table, protected)
    if not shape.passed:
        return AuditReport(checks=(shape,))
    cells = _ComparedCells(table, sensitivity, protected)
    given = ListedRepairs(repairs, table.size)
    checks = (
        shape,
        _additivity(cells, table, protected),
        _protection(cells, given),
        _overshoot(cells, asked, given),
        _bounds(cells, asked, given),
        _zeros(cells),
        _signs(cells),
        _frozen(cells, given),
        *check_kept(asked.kept, cells.nearest, cells.published),
    )
    listed = (_repairs(cells, asked, given),) if repairs or asked.repair is not None else ()
    return AuditReport(checks=(*checks, *listed, _hashes(table, protected, provenance)))


def release_hash(protected: ProtectedTable) -> str:
    """SHA-256 of the released numbers with their labels, view by view.

    Zeros are left out, so that a reader can work it out from the public file, which does not tell empty cells from other zeros.
    """
    parts: list[bytes] = [str(protected.decimals).encode()]
    for view in protected.views:
        parts.append(view.name.encode())
        for dimension in view.dimensions:
            parts.append(dimension.name.encode())
            parts.append("\x00".join(dimension.codes).encode())
        value = protected.value[view.cell]
        parts.append(np.ascontiguousarray(view.coordinates[value != 0], dtype="<i8").tobytes())
        parts.append(np.ascontiguousarray(value[value != 0], dtype="<i8").tobytes())
    return sha256(*parts)


def labels(view: View, coordinate: AnyArray) -> str:
    """A position in words: region=11, industry=47."""
    return ", ".join(f"{dimension.name}={dimension.codes[code]}" for dimension, code in zip(view.dimensions, coordinate, strict=True))


def cell_labels(table: Table, cell: int) -> str:
    """The labels of a cell's first position, or the words of the set of cells that it is."""
    for view in table.views:
        rows = np.flatnonzero(view.cell == cell)
        if rows.size:
            return labels(view, view.coordinates[rows[0]])
    return next((union.words for union in table.unions if union.cell == cell), "a cell that no table shows")


class _ComparedCells:
    """True and released amounts side by side as Python integers, which never overflow.

    All amounts are in common units, the finer of the table's and the published ones; `unit` of them are one published unit.
    """

    def __init__(self, table: Table, sensitivity: Sensitivity, protected: ProtectedTable) -> None:
        finest = max(table.scale, protected.decimals)
        self.table = table
        step = 10 ** (finest - table.scale)
        self.views = protected.views
        self.unions = table.unions
        self.equations = table.equations
        self.shown = _shown(protected)
        self.unit = 10 ** (finest - protected.decimals)
        self.whole = 10**finest if finest >= 0 else Fraction(1, 10**-finest)
        self.true = _wide(table.value) * step
        self.published = _wide(protected.value)
        self.sensitive = np.flatnonzero(sensitivity.sensitive)
        self.safe = np.flatnonzero(~sensitivity.sensitive)
        self.frozen = np.flatnonzero(sensitivity.frozen)
        self.nearest = _round(self.true, self.unit)
        self.down_to = _floor(self.true - _wide(sensitivity.lower_level) * step, self.unit)
        self.up_to = _ceil(self.true + _wide(sensitivity.upper_level) * step, self.unit)
        self.levels = (_wide(sensitivity.lower_level) * step, _wide(sensitivity.upper_level) * step)
        self.own_minimum = _ceil(_wide(np.where(sensitivity.minimum > -UNBOUNDED, sensitivity.minimum, -(2**62))) * step, self.unit)
        self.own_maximum = _floor(_wide(np.where(sensitivity.maximum < UNBOUNDED, sensitivity.maximum, 2**62)) * step, self.unit)

    def name(self, cell: int) -> str:
        return cell_labels(self.table, cell)

    def marked(self, cells: IntArray) -> BoolArray:
        marked = np.zeros(self.shown.size, dtype=np.bool_)
        marked[cells] = True
        return marked

    def loose_check(self, name: str, words: str, cells: IntArray, wrong: AnyArray, given: ListedRepairs) -> Check:
        """A check of what a repair may loosen; `wrong` leaves out what the list names."""
        return self.check(name, f"{words}, but for the repairs listed" if given.repairs else words, cells, wrong)

    def check(self, name: str, words: str, cells: IntArray, wrong: AnyArray) -> Check:
        found = cells[np.asarray(wrong, dtype=np.bool_)]
        return Check(
            name=name,
            words=words,
            checked=int(cells.size),
            faults=int(found.size),
            findings=tuple(self.name(int(cell)) for cell in found[:FINDINGS_SHOWN]),
        )


def _shape(table: Table, protected: ProtectedTable) -> Check:
    same_views = len(table.views) == len(protected.views) and all(map(_same_view, table.views, protected.views))
    wrong = [
        (not same_views, "the views differ"),
        (protected.value.shape != table.value.shape, "the number of cells differs"),
        (protected.value.dtype != np.int64, "released values are not whole numbers of units"),
        (protected.decimals != table.decimals, "the number of decimals differs"),
    ]
    findings = tuple(words for fault, words in wrong if fault)
    return Check(
        name="shape",
        words="The release has the table's own cells and decimals",
        checked=len(wrong),
        faults=len(findings),
        findings=findings,
    )


def _same_view(mine: View, theirs: View) -> bool:
    """The same labels at the same places: codes in another order would put a number under another label."""
    same_labels = mine.name == theirs.name and mine.dimensions == theirs.dimensions
    same_order = [dimension.codes for dimension in mine.dimensions] == [dimension.codes for dimension in theirs.dimensions]
    same_places = np.array_equal(mine.coordinates, theirs.coordinates) and np.array_equal(mine.cell, theirs.cell)
    return same_labels and same_order and same_places and np.array_equal(mine.structural, theirs.structural)


def _shown(protected: ProtectedTable) -> BoolArray:
    """Cells that stand somewhere in a table; the others are sums of sets of cells."""
    shown = np.zeros(protected.value.size, dtype=np.bool_)
    for view in protected.views:
        shown[view.cell] = True
    return shown


def _additivity(cells: _ComparedCells, table: Table, protected: ProtectedTable) -> Check:
    findings: list[str] = []
    checked = faults = 0
    for view in protected.views:
        for differences, name in _totals(view, protected.value):
            wrong = np.flatnonzero(differences)
            checked, faults = checked + differences.size, faults + wrong.size
            findings.extend(name(int(row)) for row in wrong[: FINDINGS_SHOWN - len(findings)])
    for words, total, parts in _sums_between_tables(table):
        wrong = np.flatnonzero(cells.published[total] != cells.published[parts].sum(axis=1))
        checked, faults = checked + total.size, faults + wrong.size
        findings.extend(f"{words}, at {cells.name(int(total[row]))}" for row in wrong[: FINDINGS_SHOWN - len(findings)])
    unaccounted = set(np.flatnonzero(~cells.shown).tolist()) - {union.cell for union in table.unions}
    findings.extend(["a cell that no table shows and no set explains"] if unaccounted else [])
    faults += len(unaccounted)
    return Check(name="additivity", words="Every total is the sum of its parts", checked=checked, faults=faults, findings=tuple(findings))


def _sums_between_tables(table: Table) -> Iterator[tuple[str, IntArray, IntArray]]:
    """Every equation between responses and every set of cells: words, the totals, and the parts of each in a row."""
    for equation in table.equations:
        yield equation.words, equation.total, equation.parts
    for union in table.unions:
        yield union.words, np.array([union.cell]), union.members[np.newaxis]


def _totals(view: View, value: IntArray) -> Iterator[tuple[AnyArray, Callable[[int], str]]]:
    """Per dimension and tree: each total minus the sum of its parts, added up from the labels, and a way to name it."""
    here = value[view.cell]
    for keys, parts, total_of_part in _parts_and_totals(view):
        yield _differences(view, keys, here, parts, total_of_part)


def _parts_and_totals(view: View) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Per dimension and tree: the keys of all positions, the positions that have a parent there, and their parents' keys."""
    sizes = [len(dimension.codes) for dimension in view.dimensions]
    strides = np.array([math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))], dtype=np.int64)
    keys = view.coordinates @ strides
    for axis, dimension in enumerate(view.dimensions):
        for tree in dimension.trees:
            above = np.array(
                [dimension.position[tree.parent[code]] if code in tree.parent else -1 for code in dimension.codes], dtype=np.int64
            )
            code = view.coordinates[:, axis]
            parts = np.flatnonzero(above[code] >= 0)
            yield keys, parts, keys[parts] + (above[code[parts]] - code[parts]) * strides[axis]


def _differences(
    view: View, keys: IntArray, here: AnyArray, parts: IntArray, total_of_part: IntArray
) -> tuple[AnyArray, Callable[[int], str]]:
    """A part that holds records has a total that holds them too, so each total is found; if not, the difference is its sum."""
    totals, first, which = np.unique(total_of_part, return_index=True, return_inverse=True)
    here = _room_to_add(here)
    sums = np.zeros(totals.size, dtype=here.dtype)
    np.add.at(sums, which, here[parts])
    at = np.minimum(np.searchsorted(keys, totals), keys.size - 1)
    shown = np.where(keys[at] == totals, here[at], 0)
    return shown - sums, lambda row: f"the total above {labels(view, view.coordinates[parts[first[row]]])}"


def _room_to_add(values: IntArray) -> AnyArray:
    """The values, as Python integers if their sums might not fit into 64 bits and wrap around."""
    return _wide(values) if np.abs(values.astype(np.float64)).sum() >= 2**62 else values


def _protection(cells: _ComparedCells, given: ListedRepairs) -> Check:
    where = cells.sensitive
    x = cells.published[where]
    unsafe = (x > cells.down_to[where]) & (x < cells.up_to[where]) & ~given.cells(*PROTECTION)[where]
    unsafe |= x * cells.unit == cells.true[where]
    return cells.loose_check("protection", "Every sensitive cell is moved by its protection level or more", where, unsafe, given)


def _overshoot(cells: _ComparedCells, asked: Requirements, given: ListedRepairs) -> Check:
    """At the nearest safe published value when the exact variant was asked; else within the cap, if there is one.

    The sum of a set of cells is not published and may go anywhere safe.
    """
    where = cells.sensitive[cells.shown[cells.sensitive]]
    x, down, up = cells.published[where], cells.down_to[where], cells.up_to[where]
    if asked.exact:
        wrong = (x != down) & (x != up) & ~given.cells("overshoot", *PROTECTION)[where]
    elif asked.cap is not None:
        least, most = _capped(cells, asked.cap)
        wrong = ((x < least[where]) & ~given.cells("lower")[where]) | ((x > most[where]) & ~given.cells("upper")[where])
    else:
        where, wrong = where[:0], np.zeros(0, dtype=np.bool_)
    return cells.loose_check("overshoot", "No sensitive cell moves further than asked", where, wrong, given)


def _capped(cells: _ComparedCells, cap: Fraction) -> tuple[AnyArray, AnyArray]:
    """How far the cap lets a sensitive cell go: so many times its level, but always to the nearest safe value."""
    unit, true = cells.unit * cap.denominator, cells.true * cap.denominator
    least, most = _ceil(true - cells.levels[0] * cap.numerator, unit), _floor(true + cells.levels[1] * cap.numerator, unit)
    return np.minimum(least, cells.down_to), np.maximum(most, cells.up_to)


def _bounds(cells: _ComparedCells, asked: Requirements, given: ListedRepairs) -> Check:
    """The sum of a set of cells is not published: only its own bounds count, which keep it from telling."""
    low, high = _within(cells, asked)
    low, high = np.where(cells.shown, low, cells.own_minimum), np.where(cells.shown, high, cells.own_maximum)
    below, above = (cells.published < low) & ~given.cells("lower"), (cells.published > high) & ~given.cells("upper")
    where = np.arange(cells.shown.size)
    return cells.loose_check("bounds", "Every cell stays within the bounds asked", where, below | above, given)


def _within(cells: _ComparedCells, asked: Requirements) -> tuple[AnyArray, AnyArray]:
    """Within the percentages and amounts asked. Any cell may be rounded; a sensitive one may go as far as its level."""
    low, high = _asked_range(cells, asked)
    where = cells.sensitive
    low[where], high[where] = np.minimum(low[where], cells.down_to[where]), np.maximum(high[where], cells.up_to[where])
    return np.maximum(low, cells.own_minimum), np.minimum(high, cells.own_maximum)


def _repairs(cells: _ComparedCells, asked: Requirements, given: ListedRepairs) -> Check:
    """Each listed repair was allowed and is used in full: the list neither hides nor pretends."""
    kinds = CellKinds(cells.marked(cells.sensitive), cells.marked(cells.frozen), _margins(cells))
    wrong = dict.fromkeys([*given.refused(asked.repair, cells.views, kinds), *given.unused(cells.published, _ends(cells, asked))])
    findings = tuple(f"{each.what} of {cells.name(each.place)}" for each in list(wrong)[:FINDINGS_SHOWN])
    words = "Every repair listed was allowed, and is used as it is listed"
    return Check(name="repairs", words=words, checked=len(given.repairs), faults=len(wrong), findings=findings)


def _ends(cells: _ComparedCells, asked: Requirements) -> CellEnds:
    """Where the bounds, the cap, the sign and the freeze of a cell end, all of them together."""
    low, high = _within(cells, asked)
    where = cells.sensitive
    if asked.cap is not None:
        least, most = _capped(cells, asked.cap)
        low[where], high[where] = np.maximum(low[where], least[where]), np.minimum(high[where], most[where])
    low = np.where(cells.true > 0, np.maximum(low, np.minimum(cells.nearest, 1)), np.where(cells.true == 0, np.maximum(low, 0), low))
    high = np.where(cells.true < 0, np.minimum(high, np.maximum(cells.nearest, -1)), high)
    where = np.setdiff1d(cells.frozen, cells.sensitive)
    low[where], high[where] = np.maximum(low[where], cells.nearest[where]), np.minimum(high[where], cells.nearest[where])
    return CellEnds(low, high, cells.nearest, cells.down_to, cells.up_to)


def _margins(cells: _ComparedCells) -> BoolArray:
    """Cells that are the total of others, in a table, in an equation between responses, or as a set of cells."""
    margin = np.zeros(cells.shown.size, dtype=np.bool_)
    for view in cells.views:
        for keys, parts, total_of_part in _parts_and_totals(view):
            total = view.cell[np.searchsorted(keys, total_of_part)]
            margin[total[total != view.cell[parts]]] = True
    for equation in cells.equations:
        margin[equation.total] = True
    margin[[union.cell for union in cells.unions]] = True
    return margin


def _asked_range(cells: _ComparedCells, asked: Requirements) -> tuple[AnyArray, AnyArray]:
    """Lowest and highest published value by the table-wide wishes, rounded inwards but never past the rounded truth."""
    anything = 2**62 * cells.unit
    low, high = cells.true * 0 - anything, cells.true * 0 + anything
    if asked.percent_down is not None:
        low = np.array([math.ceil(a - abs(a) * asked.percent_down / 100) for a in cells.true], dtype=object)
    if asked.percent_up is not None:
        high = np.array([math.floor(a + abs(a) * asked.percent_up / 100) for a in cells.true], dtype=object)
    if asked.minimum is not None:
        low = np.maximum(low, math.ceil(asked.minimum * cells.whole))
    if asked.maximum is not None:
        high = np.minimum(high, math.floor(asked.maximum * cells.whole))
    return np.minimum(_ceil(low, cells.unit), cells.nearest), np.maximum(_floor(high, cells.unit), cells.nearest)


def _zeros(cells: _ComparedCells) -> Check:
    """A zero that is a total of zeros that must rise cannot stay zero; every other zero that is not sensitive must."""
    free = _over_sensitive_zeros(cells)
    where = cells.safe[np.asarray(cells.true[cells.safe] == 0, dtype=np.bool_) & ~free[cells.safe] & cells.shown[cells.safe]]
    words = "Every zero that is neither sensitive nor a total of such zeros stays zero"
    return cells.check("zeros", words, where, cells.published[where] != 0)


def _over_sensitive_zeros(cells: _ComparedCells) -> BoolArray:
    """Sensitive zeros and, level by level up the labels, the zeros above them."""
    zero = np.asarray(cells.true == 0, dtype=np.bool_)
    over = np.zeros(zero.size, dtype=np.bool_)
    over[cells.sensitive] = zero[cells.sensitive]
    while True:
        grown = over.copy()
        for view in cells.views if over.any() else ():
            for keys, parts, total_of_part in _parts_and_totals(view):
                at = view.cell[np.searchsorted(keys, total_of_part[over[view.cell[parts]]])]
                grown[at] |= zero[at]
        for equation in cells.equations if over.any() else ():
            at = equation.total[over[equation.parts].any(axis=1)]
            grown[at] |= zero[at]
        if (grown == over).all():
            return over
        over = grown


def _signs(cells: _ComparedCells) -> Check:
    """Positive stays positive and negative negative, zero never falls; only what rounds to zero may be published as zero (T18)."""
    x, true, nearest = cells.published, cells.true, cells.nearest
    wrong = ((true >= 0) & (x < 0)) | ((true < 0) & (x > 0)) | ((nearest > 0) & (x <= 0)) | ((nearest < 0) & (x >= 0))
    where = np.flatnonzero(cells.shown)
    return cells.check("signs", "Every cell keeps its sign, and none vanishes", where, wrong[where])


def _frozen(cells: _ComparedCells, given: ListedRepairs) -> Check:
    where = cells.frozen
    moved = (cells.published[where] != cells.nearest[where]) & ~given.cells(*BOUNDS)[where]
    return cells.loose_check("frozen", "Every frozen cell is released as it was", where, moved, given)


def _hashes(table: Table, protected: ProtectedTable, provenance: Provenance) -> Check:
    wrong = [
        (provenance.input_hash != table.input_hash, "the input's hash differs"),
        (provenance.release_hash != release_hash(protected), "the release's hash differs"),
    ]
    findings = tuple(words for fault, words in wrong if fault)
    return Check(
        name="provenance", words="The provenance names this input and these numbers", checked=2, faults=len(findings), findings=findings
    )


def _wide(values: AnyArray) -> AnyArray:
    return np.asarray(values).astype(object)


def _floor(amount: AnyArray, unit: int) -> AnyArray:
    return amount // unit


def _ceil(amount: AnyArray, unit: int) -> AnyArray:
    return -((-amount) // unit)


def _round(amount: AnyArray, unit: int) -> AnyArray:
    """To the nearest whole number of units, halves to the even one."""
    below = amount // unit
    twice = (amount - below * unit) * 2
    up = (twice > unit) | ((twice == unit) & (below % 2 == 1))
    return np.asarray(below + np.asarray(up, dtype=object))
