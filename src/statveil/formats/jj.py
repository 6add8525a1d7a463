"""JJ files: any linear system of cells as text, the form of tau-ARGUS, sdcTable and RCTA.

A file is read to plain arrays in integer units of 10**-decimals, with as many decimals as its values and right-hand sides
have (six at most), or as are asked for. What has more is rounded to the safe side: levels up, bounds inwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import TableNotAdditive
from statveil.formats.amounts import AmountColumn, DecimalNumbers, RoundedAmounts, Rounding, WordColumn, lines_of, relation_lines
from statveil.formats.system import (
    LARGEST_SUM,
    MORE_DECIMALS,
    MOST_DECIMALS,
    STATUSES,
    Decimals,
    LinearSystem,
    check_decimals,
    how_to_mend,
    in_decimals,
)
from statveil.formats.text import COUNT, GRAMMAR, BlockWords, LineBlock, TextLines, find_repeated, scan_relations

_FIELDS = 9
_TOO_LARGE = "an amount is too large to be computed exactly (2^53 units or more)"


def read_text(path: str | Path, *, decimals: Decimals = None, non_additive: bool = False, negative_levels: bool = False) -> LinearSystem:
    """Read a JJ file with the decimals of its values, or with those asked for.

    A table that does not add up is refused unless `non_additive` allows it. A level below zero is refused unless
    `negative_levels` allows it: then it says that nothing is asked on that side, as a level of zero does.
    """
    check_decimals(decimals)
    text = TextLines(Path(path))
    text.constant("0")
    cells = _read_cells(text)
    terms = _read_relations(text, cells.value.digits.size)
    text.finish("the last relation it announced")
    finest = max(_decimals_of(cells, terms), decimals if isinstance(decimals, int) else 0)
    system = in_decimals(_in_units(cells, terms, finest, negative_levels=negative_levels), decimals, file=text.name)
    _check_sums(system, terms.block, non_additive=non_additive)
    return system


def write_text(system: LinearSystem, path: str | Path) -> None:
    """Write a JJ file that reads back to the same system with its decimals."""
    size, decimals = system.value.size, system.decimals
    amounts = [AmountColumn(each, decimals) for each in (system.value, system.lower, system.upper, system.lower_level, system.upper_level)]
    letters, status = np.unique(system.status, return_inverse=True)
    costs, cost = np.unique(system.cost, return_inverse=True)
    cells: list[AmountColumn | WordColumn] = [
        AmountColumn(np.arange(size), 0),
        amounts[0],
        WordColumn([repr(each) for each in costs.tolist()], cost),
        WordColumn([str(each) for each in letters], status),
        *amounts[1:],
        WordColumn(["0"], np.zeros(size, dtype=np.int64)),
    ]
    matrix = system.relations
    with Path(path).open("wb") as file:
        file.write(f"0\n{size}\n".encode("ascii"))
        file.writelines(lines_of(cells))
        file.write(f"{system.rhs.size}\n".encode("ascii"))
        file.writelines(relation_lines(matrix.indptr, matrix.indices, matrix.data, AmountColumn(system.rhs, decimals)))


class _JJCells(NamedTuple):
    block: LineBlock
    value: DecimalNumbers
    cost: FloatArray
    status: AnyArray
    lower: DecimalNumbers
    upper: DecimalNumbers
    lower_level: DecimalNumbers
    upper_level: DecimalNumbers


class _Terms(NamedTuple):
    block: LineBlock
    matrix: csr_matrix
    rhs: DecimalNumbers


def _read_cells(text: TextLines) -> _JJCells:
    block = text.block(text.count("the number of cells"), "a cell")
    words = block.table(_FIELDS, least=_FIELDS - 1, words="a cell has nine fields: index value cost status lb ub lpl upl spl")
    words.require_numbering(0)
    return _JJCells(
        block=block,
        value=words.numbers(1, "value"),
        cost=_costs(words),
        status=words.letters(3, STATUSES, "status"),
        lower=words.numbers(4, "lower bound"),
        upper=words.numbers(5, "upper bound"),
        lower_level=words.numbers(6, "lower protection level"),
        upper_level=words.numbers(7, "upper protection level"),
    )


def _costs(words: BlockWords) -> FloatArray:
    """Costs as the nearest doubles; the few that need care are left to Python."""
    numbers = words.numbers(2, "cost")
    cost, sure = numbers.in_doubles()
    for row in np.flatnonzero(~sure).tolist():
        cost[row] = float(words.block.words(row)[2])
    words.block.refuse(~(np.isfinite(cost) & (cost >= 0)), "the cost must be a number, zero or more")
    return cost


def _read_relations(text: TextLines, cells: int) -> _Terms:
    block = text.block(text.count("the number of relations"), "a relation")
    size = block.numbers.size
    most = int(np.count_nonzero(text.data == ord("(")))
    digits, powers = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int16)
    starts, columns, factors = np.zeros(size + 1, dtype=np.int64), np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    row, fault = scan_relations(text.data, block.begins, block.ends, digits, powers, starts, columns, factors)
    rhs = block.numbers_of(digits, powers, "right-hand side")
    if fault == GRAMMAR:
        raise block.fault(row, "a relation reads: rhs n : cell (factor) cell (factor) ..., with whole factors")
    if fault == COUNT:
        raise block.fault(row, "the relation has another number of terms than it says")
    columns, factors = columns[: starts[-1]], factors[: starts[-1]]
    _check_columns(block, starts, columns, cells)
    matrix = csr_matrix((factors, columns, starts), shape=(size, cells))
    matrix.eliminate_zeros()
    return _Terms(block, matrix, rhs)


def _check_columns(block: LineBlock, starts: IntArray, columns: IntArray, cells: int) -> None:
    outside = (columns < 0) | (columns >= cells)
    if outside.any():
        row = int(np.searchsorted(starts, np.argmax(outside), side="right")) - 1
        raise block.fault(row, f"a relation names a cell outside 0 to {cells - 1}")
    twice = find_repeated(starts, columns, np.full(cells, -1, dtype=np.int64))
    if twice >= 0:
        raise block.fault(twice, "the relation names a cell twice", hint="Add its factors up, or mend the index.")


def _in_units(cells: _JJCells, terms: _Terms, decimals: int, *, negative_levels: bool) -> LinearSystem:
    value = cells.value.in_units(decimals)
    cells.block.refuse(value.too_large, _TOO_LARGE, hint="Write it with fewer decimals, or in thousands.")
    rhs = terms.rhs.in_units(decimals)
    terms.block.refuse(rhs.too_large, _TOO_LARGE, hint="Write it with fewer decimals, or in thousands.")
    lower, upper = cells.lower.in_units(decimals, Rounding.UP).units, cells.upper.in_units(decimals, Rounding.DOWN).units
    _check_bounds(cells, lower > upper, decimals)
    return LinearSystem(
        relations=terms.matrix,
        rhs=rhs.units,
        value=value.units,
        cost=cells.cost,
        status=cells.status,
        lower=lower,
        upper=upper,
        lower_level=_level(cells, cells.lower_level, value, decimals, negative=negative_levels),
        upper_level=_level(cells, cells.upper_level, value, decimals, negative=negative_levels),
        decimals=decimals,
    )


def _check_bounds(cells: _JJCells, crossed: BoolArray, decimals: int) -> None:
    """Bounds that cross as they are written, or only as they were rounded inwards."""
    lower, upper = cells.lower.in_units(MOST_DECIMALS, Rounding.UP), cells.upper.in_units(MOST_DECIMALS, Rounding.DOWN)
    cells.block.refuse(crossed & (lower.units > upper.units), "the lower bound is above the upper bound")
    cells.block.refuse(crossed, f"no number with {decimals} decimals lies between the bounds", hint=MORE_DECIMALS)


def _decimals_of(cells: _JJCells, terms: _Terms) -> int:
    """Enough for values and right-hand sides; for levels as many as leave every amount small enough to be exact."""
    least = min(MOST_DECIMALS, max(cells.value.decimals, terms.rhs.decimals))
    wanted = min(MOST_DECIMALS, max(cells.lower_level.decimals, cells.upper_level.decimals))
    amounts = (cells.value, cells.lower_level, cells.upper_level, terms.rhs)
    fitting = (d for d in range(wanted, least, -1) if not any(each.in_units(d).too_large.any() for each in amounts))
    return next(fitting, least)


def _level(cells: _JJCells, level: DecimalNumbers, value: RoundedAmounts, decimals: int, *, negative: bool) -> IntArray:
    """Levels rounded up; where the value itself was rounded, by one unit more, so that the true one is protected."""
    if not negative:
        cells.block.refuse(
            level.digits < 0,
            "a protection level is below zero",
            hint="Mend it, or allow it: --negative-levels, in Python negative_levels=True.",
        )
    asked = level._replace(digits=np.maximum(level.digits, 0)).in_units(decimals, Rounding.UP)
    cells.block.refuse(asked.too_large, _TOO_LARGE, hint="Write it with fewer decimals, or in thousands.")
    return asked.units + (~value.exact & (asked.units > 0))


def _check_sums(system: LinearSystem, block: LineBlock, *, non_additive: bool) -> None:
    sizes = abs(system.relations).astype(np.float64) @ np.abs(system.value).astype(np.float64)
    block.refuse(sizes >= LARGEST_SUM, "the factors are too large to add up exactly")
    broken = system.relations @ system.value != system.rhs
    if broken.any() and not non_additive:
        raise TableNotAdditive(
            f"{block.file}, line {block.numbers[np.argmax(broken)]}: the relation does not add up"
            f" ({np.count_nonzero(broken)} of {broken.size} do not).",
            hint=how_to_mend(system, broken),
        )
