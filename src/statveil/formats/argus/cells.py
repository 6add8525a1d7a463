"""A table cell by cell, as tau-ARGUS files hold it: confidential, like the `Table` it becomes.

Of that table exact sums are checked or made anew, and it holds what the file tells about respondents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from enum import IntEnum

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, BoolArray, IntArray, fewest_decimals, frozen_array
from statveil.core.errors import InputError
from statveil.formats.amounts import decimal_text
from statveil.formats.argus.lines import ArgusLine
from statveil.tables.from_cells import UNKNOWN, table_from_cells
from statveil.tables.positions import Grid
from statveil.tables.spec import Dimension
from statveil.tables.table import Table

_NUMBER = re.compile(r"[+-]?(\d{1,40}[.,]?\d{0,40}|[.,]\d{1,40})([eE][+-]?\d{1,2})?")
_SIGNIFICANT, _DECIMALS = 15, 9
"""A double has no more digits than these that mean anything: of a number with more decimals, what follows is noise of its program."""
MOST_DECIMALS = 12
EMPTY = -1


def read_number(line: ArgusLine, text: str, what: str) -> Decimal | None:
    """The number, or None for an empty field or "-"."""
    text = text.strip()
    if text in ("", "-"):
        return None
    if not _NUMBER.fullmatch(text):
        raise line.fault(f"the {what} is not a number")
    return Decimal(text.replace(",", "."))


def read_count(line: ArgusLine, text: str, what: str) -> int | None:
    number = read_number(line, text, what)
    if number is None:
        return None
    if number != number.to_integral_value() or not 0 <= number < LARGEST_EXACT:
        raise line.fault(f"the {what} must be a whole number, zero or more")
    return int(number)


def amounts(lines: Sequence[ArgusLine], numbers: Sequence[Decimal | None], what: str, *, least: int = 0, up: bool = False) -> ExactColumn:
    """A column in units of its finest decimal, `least` decimals at least. Levels are rounded `up` where they have more than fit."""
    rounding = ROUND_CEILING if up else ROUND_HALF_EVEN
    context = Context(prec=_SIGNIFICANT, rounding=rounding)
    shown = [None if number is None else (number.normalize(context) if -_exponent(number) > _DECIMALS else number) for number in numbers]
    found = max((-_exponent(number) for number in shown if number is not None), default=0)
    decimals = max(least, min(found, MOST_DECIMALS))
    units = [0 if number is None else int(number.scaleb(decimals).to_integral_value(rounding)) for number in shown]
    for line, unit in zip(lines, units, strict=True):
        if abs(unit) >= LARGEST_EXACT:
            raise line.fault(
                f"the {what} is too large to be computed exactly with {decimals} decimals (2^53 units or more)",
                hint="Write the column with fewer decimals, or in thousands.",
            )
    missing = np.array([number is None for number in numbers], dtype=np.bool_)
    return ExactColumn(units=frozen_array(np.array(units, dtype=np.int64)), decimals=decimals, missing=frozen_array(missing))


def _exponent(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


class ArgusStatus(IntEnum):
    """The statuses of tau-ARGUS by its own numbers."""

    UNKNOWN = 0
    SAFE = 1
    SAFE_MANUAL = 2
    UNSAFE = 3
    UNSAFE_REQUEST = 4
    UNSAFE_FREQUENCY = 5
    UNSAFE_ZERO = 6
    SINGLETON = 7
    SINGLETON_MANUAL = 8
    UNSAFE_MANUAL = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_MANUAL = 12
    EMPTY_POSSIBLE = 13
    EMPTY = 14

    @property
    def unsafe(self) -> bool:
        return ArgusStatus.UNSAFE <= self <= ArgusStatus.UNSAFE_MANUAL

    @property
    def empty(self) -> bool:
        return self >= ArgusStatus.EMPTY_POSSIBLE

    @property
    def secondary(self) -> bool:
        return self in (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL)


@dataclass(frozen=True, kw_only=True)
class ExactColumn:
    """A column of exact numbers, `units * 10**-decimals`; nothing where missing."""

    units: IntArray = field(repr=False)
    decimals: int
    missing: BoolArray = field(repr=False)

    @classmethod
    def known(cls, units: IntArray, decimals: int) -> ExactColumn:
        return cls(units=frozen_array(units), decimals=decimals, missing=frozen_array(np.zeros(units.size, bool)))

    def text_at(self, row: int) -> str:
        """One number with all its decimals."""
        return decimal_text(int(self.units[row]), self.decimals)

    def texts(self, mark: str = ".") -> list[str]:
        """As they are written in a file, "-" where missing."""
        pairs = zip(self.units.tolist(), self.missing.tolist(), strict=True)
        return ["-" if missing else decimal_text(units, self.decimals).replace(".", mark) for units, missing in pairs]


@dataclass(frozen=True, kw_only=True)
class CellTable:
    """Cells by their coordinates (indices into the dimensions' codes), and all that a file says about each.

    A missing value is an empty cell. `frequency` is -1 where it is not known. `top` holds the largest contributions, largest first.
    `adjusted` is the value after controlled tabular adjustment or rounding, `adjusted_by` which of them: CTA or RND.
    """

    response: str
    dimensions: tuple[Dimension, ...]
    coordinates: IntArray = field(repr=False)
    value: ExactColumn = field(repr=False)
    status: IntArray = field(repr=False)
    frequency: IntArray | None = field(default=None, repr=False)
    shadow: ExactColumn | None = field(default=None, repr=False)
    cost: ExactColumn | None = field(default=None, repr=False)
    top: tuple[ExactColumn, ...] = field(default=(), repr=False)
    lower: ExactColumn | None = field(default=None, repr=False)
    upper: ExactColumn | None = field(default=None, repr=False)
    adjusted: ExactColumn | None = field(default=None, repr=False)
    adjusted_by: str = "CTA"

    def __post_init__(self) -> None:
        size = self.status.size
        columns = [each for each in (self.value, self.shadow, self.cost, *self.top, self.lower, self.upper, self.adjusted) if each]
        if self.coordinates.shape != (size, len(self.dimensions)) or any(each.units.size != size for each in columns):
            raise InputError("The columns of a cell table must be equally long.")

    @property
    def size(self) -> int:
        return int(self.status.size)

    def codes(self, row: int) -> tuple[str, ...]:
        return tuple(dimension.codes[place] for dimension, place in zip(self.dimensions, self.coordinates[row].tolist(), strict=True))


def table_of(cells: CellTable, *, recompute: bool = False, non_additive: bool = False, decimals: int | None = None) -> Table:
    """The table that the cells make. `recompute` takes the inner cells alone and adds all totals up; `non_additive` takes all as it is.

    `decimals` are those to publish, by default all there are, and never more than the values have: just the numbers that move would have
    them. Cells of which the file tells no frequency, and totals that it does not hold, are of unknown respondents: rules that ask about
    them refuse.
    """
    used = np.flatnonzero(~cells.value.missing & (_inner(cells) if recompute else True))
    numbers = {cells.codes(row): Decimal(int(cells.value.units[row])).scaleb(-cells.value.decimals) for row in used.tolist()}
    if not numbers:
        raise InputError("The table has no cell with a value.", hint="Inner cells are needed to add totals up.")
    trees = {dimension.name: dimension.trees for dimension in cells.dimensions}
    table = table_from_cells(trees, numbers, decimals=cells.value.decimals, name=cells.response, non_additive=non_additive)
    own = fewest_decimals(table.value, cells.value.decimals)
    published = own if decimals is None else min(decimals, own)
    return replace(_with_respondents(table, cells), decimals=published)


def cell_of_rows(table: Table, cells: CellTable) -> IntArray:
    """Which cell of the table each row of the file is, EMPTY where the table has none."""
    view = table.views[0]
    grid = Grid(dimensions=view.dimensions)
    own, asked = grid.keys(view.coordinates), grid.keys(cells.coordinates)
    at = np.minimum(np.searchsorted(own, asked), max(own.size - 1, 0))
    return np.where(own[at] == asked, view.cell[at], EMPTY)


def _inner(cells: CellTable) -> BoolArray:
    leaves = [set(dimension.trees[0].leaves) for dimension in cells.dimensions]
    masks = [
        np.array([code in fine for code in dimension.codes])[cells.coordinates[:, axis]]
        for axis, (dimension, fine) in enumerate(zip(cells.dimensions, leaves, strict=True))
    ]
    return np.asarray(np.logical_and.reduce(masks))


def _with_respondents(table: Table, cells: CellTable) -> Table:
    cell = cell_of_rows(table, cells)
    frequency = _frequency(table, cells, cell)
    whole = cells.shadow or cells.value
    scale = max([whole.decimals, *(top.decimals for top in cells.top)])
    magnitude = _spread(table, cell, np.abs(_units(whole, scale)), told=True)
    tops = [_spread(table, cell, _units(top, scale), told=True) for top in cells.top]
    top = np.maximum(np.stack(tops, axis=1) if tops else np.zeros((table.size, 0), np.int64), 0)
    # Counts add up; the largest contributions of a total cannot be told from those of its parts.
    unknown = (magnitude == UNKNOWN) & bool(cells.top)
    return replace(
        table,
        records=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        respondents=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        frequency=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        magnitude=frozen_array(np.where(magnitude == UNKNOWN, np.abs(table.value) * 10 ** max(scale - table.scale, 0), magnitude)),
        top=frozen_array(top),
        largest_unwaived=frozen_array(top[:, 0] if tops else np.zeros(table.size, np.int64)),
        rule_scale=scale,
        has_shadow=cells.shadow is not None,
    )


def _frequency(table: Table, cells: CellTable, cell: IntArray) -> IntArray:
    """As the file tells; a total that it does not hold has the sum of its parts."""
    told = _spread(table, cell, cells.frequency, told=bool(cells.top))
    if cells.frequency is None or not (told == UNKNOWN).any():
        return told
    inner = np.flatnonzero(_inner(cells) & ~cells.value.missing)
    counts = {cells.codes(row): int(cells.frequency[row]) for row in inner.tolist()}
    sums = table_from_cells({dimension.name: dimension.trees for dimension in cells.dimensions}, counts)
    return np.where(told == UNKNOWN, sums.value, told) if sums.size == table.size else told


def _units(column: ExactColumn, decimals: int) -> IntArray:
    return np.asarray(np.where(column.missing, 0, column.units) * 10 ** (decimals - column.decimals))


def _spread(table: Table, cell: IntArray, column: IntArray | None, *, told: bool) -> IntArray:
    """A column of the file by cell, UNKNOWN where no row tells; without the column, one where a row stands (if rows tell anything)."""
    found = np.full(table.size, UNKNOWN, dtype=np.int64)
    rows = np.flatnonzero(cell >= 0)
    if column is not None:
        np.maximum.at(found, cell[rows], column[rows])
    elif told:
        found[cell[rows]] = 1
    return found
