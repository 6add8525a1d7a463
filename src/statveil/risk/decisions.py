"""The office's lists laid over a table: what is cleared, what is frozen, costs and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import RuleError
from statveil.risk.labels import find_cell, in_words
from statveil.risk.rules.exact import ceil_amount, exact, floor_amount
from statveil.risk.rules.manual import Manual, ManualCell, Waiver
from statveil.risk.sensitivity import UNBOUNDED
from statveil.tables.table import Table


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


def decide(table: Table, rules: Sequence[Manual | Waiver]) -> Decisions:
    """Lay every list over the table; lists that contradict each other are refused."""
    decisions = _undecided(table.size)
    for said in (said for rule in rules for said in _statements(rule)):
        cell = find_cell(table, said.cell, said.view)
        decisions.labels[cell] = in_words(said.cell)
        _set_status(decisions, cell, said)
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
    """A waiver says "safe" of each of its cells."""
    if isinstance(rule, Manual):
        return rule.cells
    return [ManualCell(cell=labels, view=rule.view, status="safe") for labels in rule.cells]


def _set_status(decisions: Decisions, cell: int, said: ManualCell) -> None:
    by_status = {"sensitive": decisions.declared, "safe": decisions.cleared, "frozen": decisions.frozen}
    if said.status is not None:
        by_status[said.status][cell] = True


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
