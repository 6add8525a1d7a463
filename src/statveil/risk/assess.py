"""The verb of this folder: which cells of a table are sensitive, why, and how far each must move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray, frozen_array
from statveil.core.errors import RuleError
from statveil.risk.rules import Rule
from statveil.risk.rules.base import Finding, RespondentRule, ceil_amount, exact, fewer_than, floor_amount, percent_of_value
from statveil.risk.rules.manual import Manual, ManualCell, Waiver
from statveil.risk.rules.minimum_frequency import MinimumFrequency
from statveil.risk.sensitivity import UNBOUNDED, SafeSpread, Sensitivity
from statveil.tables.linked import CellSet
from statveil.tables.positions import Grid
from statveil.tables.table import Table, View, find_cell, in_words

USUAL_MINIMUM = 3
"""Respondents below which a cell has few, where no minimum frequency rule says how many."""
CellName = frozenset[tuple[str, str]]
"""The labels of a cell that are not totals."""


def candidate_sets(table: Table, sensitivity: Sensitivity) -> list[CellSet]:
    """Two or more sensitive parts of one total that share a leader, for every total, in the order of the table."""
    leaders = np.zeros((0, 2), dtype=np.int64) if table.leaders is None else table.leaders
    leaders = leaders[sensitivity.sensitive[leaders[:, 0]]]
    found = [(view, rows) for view in table.views for rows in dict.fromkeys(_shared(view, leaders))]
    return [CellSet(view=view.name, cells=[_labels(view, row) for row in rows]) for view, rows in found]


def _shared(view: View, leaders: IntArray) -> Iterator[tuple[int, ...]]:
    """Rows of the view's positions that have the same total and the same leader, one tuple per set."""
    grid = Grid(dimensions=view.dimensions)
    keys = grid.keys(view.coordinates)
    first, last = (np.searchsorted(leaders[:, 0], view.cell, side=side) for side in ("left", "right"))
    for axis, dimension in enumerate(view.dimensions):
        codes = view.coordinates[:, axis]
        for tree in range(len(dimension.trees)):
            above = dimension.parents(tree)[codes]
            groups: dict[tuple[int, int], list[int]] = {}
            for row in np.flatnonzero((above >= 0) & (last > first)).tolist():
                total = int(keys[row] + grid.strides[axis] * (above[row] - codes[row]))
                for holding in leaders[first[row] : last[row], 1].tolist():
                    groups.setdefault((total, holding), []).append(row)
            yield from sorted({tuple(rows) for rows in groups.values() if len(rows) > 1})


def _labels(view: View, row: int) -> dict[str, str]:
    return {dimension.name: dimension.codes[code] for dimension, code in zip(view.dimensions, view.coordinates[row], strict=True)}


def unsafe_sets(sets: Sequence[CellSet], judged: Table, sensitivity: Sensitivity) -> list[CellSet]:
    """Those of these sets that are sensitive in a table tabulated with them, and that no table shows as a cell."""
    unsafe: dict[int, CellSet] = {}
    for each, union in zip(sets, judged.unions, strict=True):  # both by view, and within it in the order of the table
        if sensitivity.sensitive[union.cell] and union.cell >= judged.shown:
            unsafe.setdefault(union.cell, each)
    return list(unsafe.values())


def without_safe_unions(table: Table, sensitivity: Sensitivity) -> Table:
    """The table with its sensitive sets of cells only."""
    unions = [union for union in table.unions if sensitivity.sensitive[union.cell]]
    cells = np.array([*range(table.shown), *sorted({union.cell for union in unions if union.cell >= table.shown})], dtype=np.int64)
    arrays: dict[str, Any] = {
        field.name: frozen_array(value[cells])
        for field in fields(table)
        if field.name != "leaders" and isinstance(value := getattr(table, field.name), np.ndarray)
    }
    renumbered = [replace(union, cell=int(np.searchsorted(cells, union.cell))) for union in unions]
    return replace(table, **arrays, unions=tuple(renumbered))


def assess(table: Table, rules: Sequence[Rule]) -> Sensitivity:
    """Apply every rule; the strictest level wins, lower and upper apart, and every reason is kept.

    The office's own word comes last: a cell it declares safe, or covers by a waiver, is not sensitive whatever a rule says.
    A sensitive cell's levels are at least one unit of the published numbers.

    table: cells with the largest contributions that the rules ask for. rules: of `sv.rules`.

    >>> import pyarrow as pa, statveil as sv
    >>> shops = pa.table({"area": ["p", "p", "q", "q"], "trade": ["u", "v", "u", "v"], "sales": [7, 3, 90, 50]})
    >>> spec = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")
    >>> table = sv.tabulate(sv.read_microdata(shops), spec)
    >>> sorted(table.value[assess(table, [sv.MinimumFrequency(2)]).sensitive].tolist())
    [3, 7, 50, 90]
    """
    check_rules(rules)
    findings = [(rule.words, rule.find(table)) for rule in rules if not isinstance(rule, Waiver)]
    findings += [("set of cells declared sensitive", finding) for finding in _declared_unions(table)]
    decisions = decide(table, [rule for rule in rules if not isinstance(rule, RespondentRule)])
    reasons = _reasons(table, findings)
    spread = _spread(table, rules, decisions, reasons)
    sensitive = np.logical_or.reduce([np.zeros(table.size, bool), *reasons.values()]) & ~decisions.cleared
    _refuse_frozen(sensitive, decisions)
    return Sensitivity(
        sensitive=frozen_array(sensitive),
        lower_level=_strictest(table, sensitive, [(finding.cells, finding.lower) for _, finding in findings]),
        upper_level=_strictest(table, sensitive, [(finding.cells, finding.upper) for _, finding in findings]),
        frozen=frozen_array(decisions.frozen),
        weight=frozen_array(decisions.weight),
        minimum=frozen_array(decisions.minimum),
        maximum=frozen_array(decisions.maximum),
        reasons={words: frozen_array(found & sensitive) for words, found in reasons.items()},
        spread=spread,
    )


def _declared_unions(table: Table) -> Iterator[Finding]:
    """The sets of cells that are sensitive by the office's word."""
    for union in table.unions:
        if union.level is not None:
            yield percent_of_value(table, np.array([union.cell]), union.level)


def check_rules(rules: Sequence[Rule]) -> None:
    """Refuse what is not a list of rules."""
    if isinstance(rules, str) or not isinstance(rules, Sequence):
        raise RuleError(f"rules must be a list, not {type(rules).__name__}.", hint="Write rules=[PPercent(10)], also for a single rule.")
    strangers = [rule for rule in rules if not isinstance(rule, Rule)]
    if strangers:
        raise RuleError(f"{strangers[0]!r} is not a rule.", hint="Use the rules of statveil, such as PPercent(10) or MinimumFrequency(3).")


def _reasons(table: Table, findings: Sequence[tuple[str, Finding]]) -> Mapping[str, BoolArray]:
    reasons = {words: np.zeros(table.size, bool) for words, _ in findings}
    for words, finding in findings:
        reasons[words][finding.cells] = True
    return reasons


def _strictest(table: Table, sensitive: BoolArray, levels: Sequence[tuple[IntArray, IntArray]]) -> IntArray:
    """The largest level of each sensitive cell, never less than one published unit; zero elsewhere."""
    unit = 10 ** max(table.scale - table.decimals, 0)
    strictest = np.full(table.size, unit, dtype=np.int64)
    for cells, level in levels:
        np.maximum.at(strictest, cells, level)
    return frozen_array(np.where(sensitive, strictest, 0))


def _refuse_frozen(sensitive: BoolArray, decisions: Decisions) -> None:
    clash = np.flatnonzero(sensitive & decisions.frozen)
    if clash.size:
        raise RuleError(
            f"The cell {decisions.labels[int(clash[0])]} is frozen, but it is sensitive and may not be released as it is.",
            hint="Declare it safe as well, or do not freeze it.",
        )


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What the office decided, per cell. `declared` cells are sensitive by its word, `cleared` ones safe or waived."""

    declared: BoolArray
    cleared: BoolArray
    frozen: BoolArray
    weight: FloatArray
    minimum: IntArray
    maximum: IntArray
    labels: dict[int, str]
    """The labels that the lists use, for messages."""
    named: dict[int, list[CellName]] = field(default_factory=dict)
    """By which names each cell was declared safe."""
    spreading: set[int] = field(default_factory=set)
    """Cells that were declared safe wherever they stand."""


def decide(table: Table, rules: Sequence[Manual | Waiver]) -> Decisions:
    """Lay every list over the table; lists that contradict each other are refused."""
    decisions, totals = _undecided(table.size), _totals(table)
    for said in (said for rule in rules for said in _statements(rule)):
        cell = find_cell(table, said.cell, said.view)
        decisions.labels[cell] = in_words(said.cell)
        _set_status(decisions, cell, said, totals)
        _set_cost(decisions, cell, said)
        _set_bounds(decisions, cell, said, table.scale)
    _refuse(decisions, decisions.declared & decisions.cleared, "is declared sensitive and also safe or waived")
    _refuse(decisions, decisions.minimum > decisions.maximum, "has a minimum above its maximum")
    return decisions


def _undecided(size: int) -> Decisions:
    return Decisions(
        declared=np.zeros(size, bool),
        cleared=np.zeros(size, bool),
        frozen=np.zeros(size, bool),
        weight=np.full(size, np.nan),
        minimum=np.full(size, -UNBOUNDED, dtype=np.int64),
        maximum=np.full(size, UNBOUNDED, dtype=np.int64),
        labels={},
    )


def _statements(rule: Manual | Waiver) -> Sequence[ManualCell]:
    """A waiver says "safe" of each of its cells; what is said of a whole list is said of each of them."""
    if isinstance(rule, Manual):
        return [replace(said, spread=True) if rule.spread and said.status == "safe" else said for said in rule.cells]
    return [ManualCell(cell=labels, view=rule.view, status="safe", spread=rule.spread) for labels in rule.cells]


def _set_status(decisions: Decisions, cell: int, said: ManualCell, totals: CellName) -> None:
    by_status = {"sensitive": decisions.declared, "safe": decisions.cleared, "frozen": decisions.frozen}
    if said.status is not None:
        by_status[said.status][cell] = True
    if said.status == "safe":
        decisions.named.setdefault(cell, []).append(frozenset(said.cell.items()) - totals)
    if said.spread:
        decisions.spreading.add(cell)


def _totals(table: Table) -> CellName:
    """All that need not be said of a cell."""
    return frozenset((dimension.name, dimension.total) for view in table.views for dimension in view.dimensions)


def _spread(table: Table, rules: Sequence[Rule], decisions: Decisions, reasons: Mapping[str, BoolArray]) -> tuple[SafeSpread, ...]:
    """Which other names the cells declared safe have. Where that frees a cell of few respondents, it must have been meant."""
    if not decisions.named:
        return ()
    unsafe = np.logical_or.reduce([np.zeros(table.size, bool), *reasons.values()])
    few = unsafe & fewer_than(table, max((rule.n for rule in rules if isinstance(rule, MinimumFrequency)), default=USUAL_MINIMUM))
    found = []
    for cell, reached in _other_names(table, decisions).items():
        words = tuple(dict.fromkeys(_in_order(table, name) for name in decisions.named[cell]))
        if few[cell] and cell not in decisions.spreading:
            raise RuleError(
                f"The cell {words[0]} is declared safe. It has few respondents, and {' and '.join(reached)} is the same records.",
                hint="Name these as well, or let it spread: spread=True (in a job spread = true, in a batch the last field of APRIORI 1).",
            )
        found.append(SafeSpread(named=words, reached=tuple(reached), freed=bool(unsafe[cell])))
    return tuple(found)


def _other_names(table: Table, decisions: Decisions) -> dict[int, list[str]]:
    """Where else the cells stand that were declared safe, in the order of the table. A margin of two linked tables has one name."""
    totals, found = _totals(table), dict[int, list[str]]()
    for view in table.views:
        for row in np.flatnonzero(decisions.cleared[view.cell]).tolist():
            cell, name = int(view.cell[row]), frozenset(_labels(view, row).items()) - totals
            words = _in_order(table, name)
            if name not in decisions.named[cell] and words not in found.get(cell, []):
                found.setdefault(cell, []).append(words)
    return found


def _in_order(table: Table, name: CellName) -> str:
    """A name in words, dimensions in the order of the table."""
    order = [dimension.name for view in table.views for dimension in view.dimensions]
    return in_words(dict(sorted(name, key=lambda label: order.index(label[0]))))


def _set_cost(decisions: Decisions, cell: int, said: ManualCell) -> None:
    if said.cost is None:
        return
    cost = float(exact("Manual: cost", said.cost))
    if not np.isnan(decisions.weight[cell]) and decisions.weight[cell] != cost:
        raise RuleError(f"The cell {decisions.labels[cell]} is given two different costs.")
    decisions.weight[cell] = cost


def _set_bounds(decisions: Decisions, cell: int, said: ManualCell, scale: int) -> None:
    """The narrowest bounds given; a bound between two units is moved inward."""
    if said.minimum is not None:
        decisions.minimum[cell] = max(decisions.minimum[cell], ceil_amount(said.minimum, scale))
    if said.maximum is not None:
        decisions.maximum[cell] = min(decisions.maximum[cell], floor_amount(said.maximum, scale))


def _refuse(decisions: Decisions, faulty: BoolArray, fault: str) -> None:
    if faulty.any():
        raise RuleError(
            f"The cell {decisions.labels[int(np.flatnonzero(faulty)[0])]} {fault}.", hint="Mend the lists given by Manual and Waiver."
        )
