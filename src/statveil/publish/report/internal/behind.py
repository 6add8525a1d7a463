"""From each figure of the internal report to the cells behind it: those of a set that moved most, found by the name of their row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.numbers import grouped
from statveil.publish.report.changes import CellChanges, cell_words, level_groups, relative_words, signed, status_groups
from statveil.publish.utility import SubsetUtility


class BehindTuning(NamedTuple):
    cells: int = 50
    """Cells shown behind a figure, the largest changes first: by judgement."""


TUNING = BehindTuning()


def cells_behind(release: AuditedTable, changes: CellChanges, found: Sequence[SubsetUtility]) -> dict[str, Any]:
    """Sets by the name of their row, and every cell that one of them shows, once."""
    shown = {name: _largest(changes, cells) for name, cells in _sets(release, changes, found)}
    every = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(cells for cells, _ in shown.values())]))
    names, words = cell_words(release.table.views, every, changes.original.size)
    return {
        "columns": names,
        "cells": {cell: _row(changes, cell, labels) for cell, labels in zip(every.tolist(), words, strict=True)},
        "sets": {name: {"all": size, "cells": cells.tolist()} for name, (cells, size) in shown.items()},
    }


def _sets(release: AuditedTable, changes: CellChanges, found: Sequence[SubsetUtility]) -> Iterable[tuple[str, IntArray]]:
    yield from ((each.subset.name, each.subset.cells) for each in found)
    yield from ((name, np.flatnonzero(members)) for name, members in (*level_groups(changes), *status_groups(changes)))
    size = changes.original.size
    yield from ((words, np.flatnonzero(members[:size])) for words, members in release.sensitivity.reasons.items())


def _largest(changes: CellChanges, cells: IntArray) -> tuple[IntArray, int]:
    """The cells of largest change, and how many there are in all."""
    order = np.argsort(-np.abs(changes.change[cells]), kind="stable")
    return cells[order[: TUNING.cells]], int(cells.size)


def _row(changes: CellChanges, cell: int, labels: list[str]) -> list[str]:
    original, change = int(changes.original[cell]), int(changes.change[cell])
    return [
        *labels,
        grouped(original, changes.decimals),
        grouped(original + change, changes.decimals),
        signed(change, changes.decimals),
        relative_words(float(changes.relative[cell])),
        "sensitive" if changes.sensitive[cell] else "adjusted" if changes.changed[cell] else "unchanged",
    ]
