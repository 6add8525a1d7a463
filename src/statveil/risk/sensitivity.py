"""Which cells are sensitive, why, and how far each must move: confidential."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.show import CONFIDENTIAL, CONFIDENTIAL_WORD, ShortDisplay, counted
from statveil.core.show.frames import pandas_of, polars_of
from statveil.tables.shown.frames import amounts, choose_view, table_of_columns, view_columns
from statveil.tables.shown.positions import all_positions
from statveil.tables.table import Table

UNBOUNDED = 2**62


@dataclass(frozen=True, kw_only=True)
class SafeSpread:
    """A cell that was declared safe by some of its names (`named`) and stands at others too (`reached`): a total and its only child are
    the same records, so that both are safe or none is. `freed`: a rule would have called it sensitive.
    """

    named: tuple[str, ...]
    reached: tuple[str, ...]
    freed: bool

    @property
    def words(self) -> str:
        why = ", which a rule calls sensitive" if self.freed else ""
        return f"{' and '.join(self.named)} was declared safe{why}; so was {' and '.join(self.reached)}, the same records"


@dataclass(frozen=True, kw_only=True, repr=False)
class Sensitivity(ShortDisplay):
    """The verdict of the rules on every cell of a table, in the table's own units (10**-scale).

    sensitive: which cells are. lower_level, upper_level: a sensitive cell must be released at `value - lower_level` or below, or at
    `value + upper_level` or above; the strictest level has won.
    `reasons` maps the words of each rule to the cells it found; every reason is kept.
    `frozen` cells must be released as they are. `weight` holds a user's cost per cell, NaN where none was given.
    `minimum` and `maximum` bound the released value of single cells (plus or minus `UNBOUNDED` where nothing was asked).
    `spread` tells which names of a cell were declared safe by another name of it.

    >>> import statveil as sv
    >>> table = sv.table_from_cells({"shop": sv.Hierarchy.flat(["A", "B"])}, {("A",): 12, ("B",): 30})
    >>> word = sv.rules.ManualCell(cell={"shop": "A"}, status="sensitive", level=25)
    >>> sv.rules.assess(table, [sv.rules.Manual([word])]).upper_level.tolist()  # of the total, A and B
    [0, 3, 0]
    """

    sensitive: BoolArray = field(repr=False)
    lower_level: IntArray = field(repr=False)
    upper_level: IntArray = field(repr=False)
    frozen: BoolArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    minimum: IntArray = field(repr=False)
    maximum: IntArray = field(repr=False)
    reasons: Mapping[str, BoolArray] = field(default_factory=dict, repr=False)
    spread: tuple[SafeSpread, ...] = field(default=(), repr=False)

    def reasons_of(self, cell: int) -> tuple[str, ...]:
        return tuple(words for words, found in self.reasons.items() if found[cell])

    @property
    def internal(self) -> InternalSensitivity:
        """The verdicts as frames: `internal.to_pandas(table)`. Confidential."""
        return InternalSensitivity(self)

    def _headline(self) -> str:
        return f"Sensitivity ({CONFIDENTIAL_WORD}): {int(self.sensitive.sum()):,} of {counted(self.sensitive.size, 'cell')} sensitive"

    def _facts(self) -> Iterator[str]:
        yield from (f"{words}: {counted(int(found.sum()), 'cell')}" for words, found in self.reasons.items())
        if self.frozen.any():
            yield f"frozen: {counted(int(self.frozen.sum()), 'cell')}"


class InternalSensitivity:
    """Which positions of a table are sensitive, why, and how far each must move. Confidential."""

    def __init__(self, sensitivity: Sensitivity) -> None:
        self._found = sensitivity

    def __repr__(self) -> str:
        return f"InternalSensitivity (confidential): the verdicts of the rules on {self._found.sensitive.size:,} cells"

    def to_arrow(self, table: Table, view: str | None = None) -> pa.Table:
        """Codes and labels of the table that was assessed; sensitive, frozen, both levels and the reasons, position by position."""
        found, chosen = self._found, choose_view(table.views, view)
        positions = all_positions(chosen)
        marks = {name: positions.pick(getattr(found, name).astype(np.int64)) == 1 for name in ("sensitive", "frozen")}
        columns = {name: pa.array(each) for name, each in marks.items()}
        for name in ("lower_level", "upper_level"):
            columns[name] = amounts(positions.pick(getattr(found, name)), table.scale, ~marks["sensitive"])
        words = ["; ".join(found.reasons_of(cell)) if cell >= 0 else "" for cell in positions.cell.tolist()]
        return table_of_columns(view_columns(chosen, positions), {**columns, "reasons": pa.array(words, pa.string())}, CONFIDENTIAL)

    def to_pandas(self, table: Table, view: str | None = None) -> Any:
        return pandas_of(self.to_arrow(table, view))

    def to_polars(self, table: Table, view: str | None = None) -> Any:
        return polars_of(self.to_arrow(table, view))
