"""A table of cells, confidential: what the records add up to, before any protection.

A `Table` holds each *distinct* cell once. Two positions that aggregate the same records (a total and its
only child, or the same margin in two linked tables) are one cell; every `View` says which cell stands at
each of its positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import RuleError
from statveil.core.show import CONFIDENTIAL_WORD, Preview, ShortDisplay, ViewFrameExports, counted
from statveil.tables.spec import Dimension

if TYPE_CHECKING:
    import pyarrow as pa

    from statveil.tables.shown.frames import InternalTable


@dataclass(frozen=True, kw_only=True, repr=False)
class ProtectedTable(ShortDisplay, ViewFrameExports):
    """Released numbers: `value[view.cell[i]]` stands at position i of a view (one of `views`).

    value: of each cell, in units of 10**-decimals. decimals: that are published.

    >>> ProtectedTable(views=(), value=np.array([420, 120, 300]), decimals=1).decimals
    1
    """

    views: tuple[View, ...]
    value: IntArray = field(repr=False)
    decimals: int

    def to_arrow(self, view: str | None = None) -> pa.Table:
        """The released numbers with codes and labels, every combination of codes in a row; null at structural zeros."""
        from statveil.tables.shown.frames import protected_frame

        return protected_frame(self, view, {})

    def _headline(self) -> str:
        return f"ProtectedTable: {counted(len(self.views), 'table')} of released numbers, {self.decimals} decimals"

    def _facts(self) -> list[str]:
        return [view.in_words for view in self.views]

    def _preview(self) -> Preview | None:
        from statveil.tables.shown.frames import protected_preview

        return protected_preview(self)


@dataclass(frozen=True, kw_only=True)
class View:
    """One table as its reader sees it: positions (rows of `coordinates`) that point at cells.

    `coordinates[i, k]` is an index into `dimensions[k].codes`. Rows are in ascending lexicographic order of
    the coordinates. Positions that hold no record are absent: they are empty, unless `structural` says that
    they are impossible by definition (rows of coordinates as well).
    """

    name: str
    dimensions: tuple[Dimension, ...]
    coordinates: IntArray = field(repr=False)
    cell: IntArray = field(repr=False)
    structural: IntArray = field(repr=False)

    @property
    def in_words(self) -> str:
        """A line like: turnover: region (15 codes) x trade (4 codes)."""
        return f"{self.name}: " + " x ".join(f"{each.name} ({counted(len(each.codes), 'code')})" for each in self.dimensions)


@dataclass(frozen=True, kw_only=True)
class EquationRows:
    """An equation between responses, cell by cell: cell `total[i]` is the sum of the cells `parts[i]`."""

    words: str
    total: IntArray = field(repr=False)
    parts: IntArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class UnionCell:
    """A set of cells judged as one: `cell` is the sum of `members`. `level`: the office's own word on it, in percent."""

    words: str
    cell: int
    members: IntArray = field(repr=False)
    level: Any = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Table(ShortDisplay):
    """Cells with all that the sensitivity rules ask about them. Confidential; `internal` gives them as frames.

    `value` is an exact integer in units of 10**-`scale` (measure decimals plus weight decimals); the table is
    published with `decimals` decimals. The rules see respondents: holdings when the spec names a holding
    column, records otherwise. Their contributions are absolute values of the shadow variable if there is one
    (else of the measure), in units of 10**-`rule_scale`. views: the tables that show the cells. equations: between measures.
    records, respondents: how many each cell has (-1: not known). frequency_scale: decimals of `frequency`.

    >>> import statveil as sv
    >>> sv.table_from_cells({"region": sv.Hierarchy.flat(["A", "B"])}, {("A",): 12, ("B",): 30}).size
    3
    """

    views: tuple[View, ...]
    value: IntArray = field(repr=False)
    scale: int
    decimals: int
    records: IntArray = field(repr=False)
    respondents: IntArray = field(repr=False)
    frequency: IntArray = field(repr=False)
    """What a frequency rule compares, in units of 10**-frequency_scale: respondents, or the sum of weights."""
    frequency_scale: int
    magnitude: IntArray = field(repr=False)
    """Sum of the respondents' absolute contributions: T in the rules."""
    top: IntArray = field(repr=False)
    """`top[i, j]`: the (j+1)-th largest respondent's contribution to cell i, zero where there is none."""
    largest_unwaived: IntArray = field(repr=False)
    """Largest contribution of a respondent who has not waived protection; -1 when all have."""
    largest_requested: IntArray = field(repr=False)
    """Largest contribution of a respondent who asked for protection; -1 when none did."""
    rule_scale: int
    has_shadow: bool
    """Whether the rules look at a shadow variable."""
    input_hash: str
    """Hash of the records used, the same in whatever order they came."""
    equations: tuple[EquationRows, ...] = ()
    unions: tuple[UnionCell, ...] = ()
    """Sets of cells. A union that no view shows is a cell of its own; such cells come after all others."""
    leader: AnyArray | None = field(default=None, repr=False)
    """A number that names the respondent with the largest contribution, the same wherever it leads; None: not known."""
    leaders: IntArray | None = field(default=None, repr=False)
    """Rows (cell, number of a respondent whose contribution to it is the largest), where they were asked for."""

    @property
    def size(self) -> int:
        return int(self.value.size)

    @property
    def internal(self) -> InternalTable:
        """The true values, for `internal.to_pandas()` and the like. Confidential."""
        from statveil.tables.shown.frames import InternalTable

        return InternalTable(self)

    def _headline(self) -> str:
        return f"Table ({CONFIDENTIAL_WORD}): {counted(self.size, 'cell')}, true values"

    def _facts(self) -> list[str]:
        return [view.in_words for view in self.views]

    @property
    def units(self) -> IntArray:
        """Respondents of each cell, those that a weight stands for counted too; a weight below one makes nobody disappear."""
        return np.asarray(np.maximum(self.respondents, -(-self.frequency // 10**self.frequency_scale)))

    @property
    def shown(self) -> int:
        """How many cells stand at a position of a view; the rest are unions that nobody publishes."""
        return max((int(view.cell.max(initial=-1)) for view in self.views), default=-1) + 1


def levels_of(table: Table) -> IntArray:
    """A number for the level of each cell: its view, and the depth on each axis, of its first position. Sets of cells are a level too."""
    sizes = [_depths(view) for view in table.views]
    first = np.cumsum([0, *(count for _, count in sizes)])
    level = np.full(table.size, first[-1], dtype=np.int64)
    for view, (depth, _), start in reversed(list(zip(table.views, sizes, first, strict=False))):
        level[view.cell[::-1]] = start + depth[::-1]  # the first position of a cell is written last
    return level


def _depths(view: View) -> tuple[IntArray, int]:
    """A number for the depths of each position, and how many such numbers there are."""
    depth, count = np.zeros(view.cell.size, dtype=np.int64), 1
    for axis, dimension in enumerate(view.dimensions):
        of_code = np.array([next(tree.depth[code] for tree in dimension.trees if code in tree.depth) for code in dimension.codes])
        deepest = int(of_code.max(initial=0)) + 1
        depth, count = depth * deepest + of_code[view.coordinates[:, axis]], count * deepest
    return depth, count


def find_cell(table: Table, labels: Mapping[str, str], view: str | None) -> int:
    """The number of the cell that stands at those labels."""
    chosen = _choose_view(table, view)
    _check_labels(chosen, labels)
    start, end = 0, chosen.cell.size
    for axis, dimension in enumerate(chosen.dimensions):
        wanted = dimension.position[labels.get(dimension.name, dimension.total)]
        column = chosen.coordinates[start:end, axis]
        start, end = start + int(np.searchsorted(column, wanted, "left")), start + int(np.searchsorted(column, wanted, "right"))
    if start == end:
        raise RuleError(
            f"The cell {in_words(labels)} of {chosen.name!r} is empty.", hint="Take it off the list: an empty cell is never released."
        )
    return int(chosen.cell[start])


def in_words(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {code}" for name, code in labels.items()) or "grand total"


def _choose_view(table: Table, view: str | None) -> View:
    names = [each.name for each in table.views]
    if view is None and len(names) == 1:
        return table.views[0]
    if view not in names:
        asked = "Several tables are linked, and a cell does not say which is meant." if view is None else f"There is no table {view!r}."
        raise RuleError(asked, hint=f"Known: {', '.join(names)}.")
    return table.views[names.index(view)]


def _check_labels(view: View, labels: Mapping[str, str]) -> None:
    dimensions = {dimension.name: dimension for dimension in view.dimensions}
    strangers = [name for name in labels if name not in dimensions]
    if strangers:
        raise RuleError(f"{strangers[0]!r} is not a dimension of {view.name!r}.", hint=f"Known: {', '.join(dimensions)}.")
    unknown = [f"{name} = {code}" for name, code in labels.items() if code not in dimensions[name].position]
    if unknown:
        raise RuleError(f"Cells of {view.name!r} are named by unknown codes: {', '.join(unknown)}.", hint="Use codes of the hierarchy.")
