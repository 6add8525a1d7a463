"""`SUPPRESS CTA(0)`: all tables of a batch in one problem; what adds up the same records of the same response is one cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from statveil.core.arrays import AnyArray, IntArray, frozen_array
from statveil.core.errors import RuleError
from statveil.jobs.batch.tables import ReadyTable
from statveil.publish.release import Release
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.table import ProtectedTable, Table
from statveil.tables.tabulate.tabulate import tabulate


def link(tables: Sequence[ReadyTable]) -> tuple[Table, Sensitivity]:
    """The tables as one, with the strictest of what is said of each cell; a single table as it is."""
    first = tables[0]
    if len(tables) == 1 or first.records is None:
        return first.table, first.sensitivity
    specs = [replace(each.spec, request=None, holding=None, shadow=None) for each in tables if each.spec]  # judged already, each by its own
    table = tabulate(first.records, specs, top=1)
    return table, _strictest(table, tables)


def parts_of(release: Release, tables: Sequence[ReadyTable]) -> list[ProtectedTable]:
    """The released numbers of each table, by its own cells."""
    found = []
    for view, ready in zip(release.protected.views, tables, strict=True):
        value = np.zeros(ready.table.size, dtype=np.int64)
        value[ready.table.views[0].cell] = release.protected.value[view.cell]
        found.append(ProtectedTable(views=ready.table.views, value=frozen_array(value), decimals=release.protected.decimals))
    return found


def _strictest(table: Table, tables: Sequence[ReadyTable]) -> Sensitivity:
    joined = _Joined(table)
    for view, ready in zip(table.views, tables, strict=True):
        joined.add(view.cell, ready)
    if (joined.sensitive & joined.frozen).any():
        raise RuleError("A cell is frozen in one table and sensitive in another.", hint="Declare it safe, or do not freeze it.")
    return Sensitivity(
        sensitive=frozen_array(joined.sensitive),
        lower_level=frozen_array(joined.lower_level),
        upper_level=frozen_array(joined.upper_level),
        frozen=frozen_array(joined.frozen),
        weight=frozen_array(joined.weight),
        minimum=frozen_array(np.full(table.size, -UNBOUNDED)),
        maximum=frozen_array(np.full(table.size, UNBOUNDED)),
        reasons={words: frozen_array(found) for words, found in joined.reasons.items()},
    )


class _Joined:
    """What is said of the cells of linked tables, so far."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.sensitive, self.frozen = np.zeros(table.size, dtype=np.bool_), np.zeros(table.size, dtype=np.bool_)
        self.lower_level, self.upper_level = np.zeros(table.size, dtype=np.int64), np.zeros(table.size, dtype=np.int64)
        self.weight = np.full(table.size, np.nan)
        self.reasons: dict[str, AnyArray] = {}

    def add(self, cell: IntArray, ready: ReadyTable) -> None:
        """A table whose positions stand for these cells; its amounts have decimals of their own."""
        here, own = ready.sensitivity, ready.table.views[0].cell
        step = 10 ** (self.table.scale - ready.table.scale)
        for together, said in ((self.sensitive, here.sensitive), (self.frozen, here.frozen)):
            np.logical_or.at(together, cell, said[own])
        for level, asked in ((self.lower_level, here.lower_level), (self.upper_level, here.upper_level)):
            np.maximum.at(level, cell, asked[own] * step)
        self.weight[cell] = np.fmax(self.weight[cell], here.weight[own])
        for words, found in here.reasons.items():
            np.logical_or.at(self.reasons.setdefault(words, np.zeros(self.table.size, dtype=np.bool_)), cell, found[own])
