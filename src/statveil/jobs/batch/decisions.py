"""A-priori lines laid over a table, in their order and by tau-ARGUS's table of allowed changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from statveil.core.errors import FormatError, RuleError
from statveil.formats.argus.apriori import Action, Apriori
from statveil.formats.argus.cells import Status
from statveil.jobs.batch.tables import ReadyTable
from statveil.risk.labels import find_cell
from statveil.risk.rules.manual import ManualCell
from statveil.tables.spec import Dimension

_FROM = {Action.SAFE: Status.PROTECTED, Action.UNSAFE: Status.UNSAFE_MANUAL, Action.PROTECTED: Status.SAFE_MANUAL}
"""The last status from which each change is allowed."""
_TO = {Action.SAFE: Status.SAFE_MANUAL, Action.UNSAFE: Status.UNSAFE_MANUAL, Action.PROTECTED: Status.PROTECTED}
_WORDS = {Action.SAFE: "safe", Action.UNSAFE: "sensitive", Action.PROTECTED: "frozen"}


def decide(ready: ReadyTable, lines: Sequence[Apriori], *, ignore_errors: bool) -> tuple[ReadyTable, list[str]]:
    """The table with what the lines say of it, and the lines that could not be followed (refused unless errors are ignored)."""
    desk = _Desk(ready)
    faults: list[str] = []
    for said in lines:
        fault = desk.hear(said)
        if fault and not ignore_errors:
            raise _fault(said, fault)
        if fault:
            faults.append(_fault(said, fault).message)
    return replace(ready, said=desk.statements()), faults


def _fault(said: Apriori, words: str) -> FormatError:
    return said.line.fault(words) if said.line else FormatError(f"An a-priori line: {words}.")


class _Desk:
    """What is known of each cell, line after line."""

    def __init__(self, ready: ReadyTable) -> None:
        self.table = ready.table
        self.status = ready.statuses.copy()
        self.said: dict[int, ManualCell] = {}
        for said in ready.said:
            self.said[find_cell(self.table, said.cell, said.view)] = said

    def statements(self) -> tuple[ManualCell, ...]:
        return tuple(self.said.values())

    def hear(self, said: Apriori) -> str:
        """Follow a line, or say why not."""
        labels = _labels(said, self.table.views[0].dimensions)
        if labels is None:
            return "the table has no such code"
        try:
            cell = find_cell(self.table, labels, None)
        except RuleError:
            return "the cell is empty"
        known = self.said.get(cell, ManualCell(cell=labels))
        status = Status(int(self.status[cell]))
        if said.action is Action.COST:
            self.said[cell] = replace(known, cost=said.amounts[0])
        elif said.action is Action.LEVELS:
            if not status.unsafe:
                return "protection levels are for unsafe cells"
            self.said[cell] = replace(known, status="sensitive", lower=said.amounts[0], upper=said.amounts[1])
        elif status > _FROM[said.action]:
            return f"a cell of status {int(status)} cannot become {said.action}"
        else:
            self.said[cell] = ManualCell(cell=labels, status=_WORDS[said.action], cost=known.cost)  # type: ignore[arg-type]
            self.status[cell] = _TO[said.action]
        return ""


def _labels(said: Apriori, dimensions: Sequence[Dimension]) -> dict[str, str] | None:
    labels = {}
    for code, dimension in zip(said.codes, dimensions, strict=True):
        found = _code(code, dimension)
        if found is None:
            return None
        labels[dimension.name] = found
    return labels


def _code(code: str, dimension: Dimension) -> str | None:
    """The total for an empty code; a code padded otherwise than the table's is the same code."""
    if not code.strip():
        return dimension.total
    if code in dimension.position:
        return code
    alike = [each for each in dimension.codes if each.strip() == code.strip()]
    return alike[0] if len(alike) == 1 else None
