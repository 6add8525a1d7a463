"""JJ files: any linear system of cells as text, the form of tau-ARGUS, sdcTable and RCTA (FORMATS 1).

A file is read to plain arrays in integer units of 10**-decimals, with as many decimals as its values, levels and right-hand
sides have; bounds are rounded inwards, so that what is allowed here is allowed there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from statveil.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray
from statveil.errors import FormatError, InputError, TableNotAdditive

NO_BOUND = 2**62
STATUSES = "suzm"
"""Safe, primary unsafe, protected or empty, secondary."""
MOST_DECIMALS = 6
_CELL_FIELDS = 9


@dataclass(frozen=True, kw_only=True)
class LinearSystem:
    """Cells and relations of a file, amounts in integer units of 10**-decimals."""

    relations: csr_matrix
    rhs: IntArray
    value: IntArray
    cost: FloatArray
    status: AnyArray
    lower: IntArray
    upper: IntArray
    lower_level: IntArray
    upper_level: IntArray
    decimals: int


def read_system(path: str | Path, *, non_additive: bool = False) -> LinearSystem:
    """Read a JJ file. A table that does not add up is refused unless `non_additive` allows it."""
    text = _Text(Path(path))
    text.block(1, "the constant 0")
    cells = _cells(text, text.count("the number of cells"))
    matrix, rhs = _relations(text, text.count("the number of relations"), cells.shape[0])
    system = _in_units(text, cells, matrix, rhs)
    broken = np.flatnonzero(system.relations @ system.value != system.rhs)
    if broken.size and not non_additive:
        where = text.line_of(text.last_block + int(broken[0]))
        raise TableNotAdditive(
            f"{text.name}: {broken.size} of {rhs.size} relations do not add up, the first on line {where}.",
            hint="Mend the file, or allow non-additive input.",
        )
    return system


def write_system(system: LinearSystem, path: str | Path) -> None:
    """Write a JJ file that reads back to the same system."""
    lines = ["0", str(system.value.size)]
    amounts = [
        [decimal_text(x, system.decimals) for x in column]
        for column in (system.value, system.lower, system.upper, system.lower_level, system.upper_level)
    ]
    for i, (value, low, high, down, up) in enumerate(zip(*amounts, strict=True)):
        lines.append(f"{i} {value} {system.cost[i]:.17g} {system.status[i]} {low} {high} {down} {up} 0")
    lines.append(str(system.rhs.size))
    matrix = system.relations
    for row, rhs in enumerate(system.rhs):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = " ".join(f"{cell} ({factor})" for cell, factor in zip(matrix.indices[part], matrix.data[part], strict=True))
        lines.append(f"{decimal_text(rhs, system.decimals)} {part.stop - part.start} : {terms}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def decimal_text(amount: int, decimals: int) -> str:
    """An integer number of units as a decimal number: 12345 with two decimals is 123.45."""
    if abs(int(amount)) >= NO_BOUND:
        return "-1e+20" if amount < 0 else "1e+20"
    digits = str(abs(int(amount))).rjust(decimals + 1, "0")
    body = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{body}" if amount < 0 else body


class _Text:
    """The lines of a file that are not blank, taken in blocks, each knowing its number."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            lines = path.read_text(encoding="latin-1").split("\n")
        except OSError as error:
            raise FormatError(f"{path}: {error.strerror}.", hint="Check the name.") from None
        self._numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
        self._lines = [lines[number - 1] for number in self._numbers]
        self._at = 0
        self.last_block = 0

    def block(self, size: int, wanted: str) -> list[str]:
        """The next `size` lines."""
        if self._at + size > len(self._lines):
            ends = self._numbers[-1] if self._numbers else 1
            raise FormatError(f"{self.name}, line {ends}: the file ends where {wanted} should be.", hint="It may be cut off.")
        self.last_block, self._at = self._at, self._at + size
        return self._lines[self.last_block : self._at]

    def count(self, wanted: str) -> int:
        line = self.block(1, wanted)[0].strip()
        if not line.isdigit():
            raise self.fault(0, f"{wanted} should stand here")
        return int(line)

    def line_of(self, index: int) -> int:
        return self._numbers[index]

    def fault(self, row: int, words: str) -> FormatError:
        """A complaint about a row of the last block."""
        return FormatError(f"{self.name}, line {self.line_of(self.last_block + row)}: {words}.")

    def refuse_first(self, wrong: BoolArray, words: str) -> None:
        if wrong.any():
            raise self.fault(int(np.argmax(wrong)), words)


def _cells(text: _Text, size: int) -> AnyArray:
    """One row per cell: index, value, cost, status (index into STATUSES), lb, ub, lpl, upl, spl."""
    lines = text.block(size, "a cell")
    table = str.maketrans({letter: str(code) for code, letter in enumerate(STATUSES)})
    rows = [line.split() for line in lines]
    text.refuse_first(
        np.array([len(row) not in (_CELL_FIELDS - 1, _CELL_FIELDS) for row in rows], dtype=np.bool_),
        "a cell has nine fields: index value cost status lb ub lpl upl spl",
    )
    text.refuse_first(
        np.array([row[3] not in tuple(STATUSES) for row in rows], dtype=np.bool_), f"the status must be one of {', '.join(STATUSES)}"
    )
    columns = [
        _numbers(text, [row[field].translate(table) if field == 3 else row[field] for row in rows]) for field in range(_CELL_FIELDS - 1)
    ]
    cells = np.column_stack(columns) if size else np.zeros((0, _CELL_FIELDS - 1))
    text.refuse_first(cells[:, 0] != np.arange(size), "cells must be numbered 0, 1, 2, ... in order")
    text.refuse_first(~(cells[:, 2] > 0), "the cost must be above zero")
    text.refuse_first(cells[:, 4] > cells[:, 5], "the lower bound is above the upper bound")
    text.refuse_first((cells[:, 6] < 0) | (cells[:, 7] < 0), "a protection level is below zero")
    return cells


def _numbers(text: _Text, words: list[str]) -> FloatArray:
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError:
        bad = next(row for row, word in enumerate(words) if not _is_number(word))
        raise text.fault(bad, "a field is not a number") from None
    text.refuse_first(np.isnan(numbers), "a field is not a number")
    return numbers


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _relations(text: _Text, size: int, cells: int) -> tuple[csr_matrix, FloatArray]:
    lines = text.block(size, "a relation")
    rhs = np.zeros(size)
    starts, indices, factors = np.zeros(size + 1, dtype=np.int64), [], []
    for row, line in enumerate(lines):
        head, colon, body = line.partition(":")
        terms = body.replace("(", " ").replace(")", " ").split()
        try:
            wanted_rhs, wanted_terms = head.split()
            rhs[row] = float(wanted_rhs)
            numbers = np.array(terms, dtype=np.int64)
        except ValueError:
            raise text.fault(row, "a relation reads: rhs n : cell (factor) cell (factor) ..., whole factors") from None
        if not colon or numbers.size != 2 * int(wanted_terms):
            raise text.fault(row, "the relation has another number of terms than it says")
        indices.append(numbers[::2])
        factors.append(numbers[1::2])
        starts[row + 1] = starts[row] + numbers.size // 2
    columns = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
    rows = np.repeat(np.arange(size), np.diff(starts))
    outside = (columns < 0) | (columns >= cells)
    if outside.any():
        raise text.fault(int(rows[np.argmax(outside)]), f"a relation names a cell outside 0 to {cells - 1}")
    text.refuse_first(~np.isfinite(rhs), "the right-hand side is not a number")
    data = np.concatenate(factors) if factors else np.zeros(0, dtype=np.int64)
    return csr_matrix((data, columns, starts), shape=(size, cells)), rhs


def _in_units(text: _Text, cells: AnyArray, matrix: csr_matrix, rhs: FloatArray) -> LinearSystem:
    _, value, cost, status, low, high, down, up = cells.T
    decimals = _decimals_of(np.concatenate([value, down, up, rhs]))
    scale = 10**decimals
    for amounts in (value, down, up, rhs):
        if (np.abs(amounts) * scale >= LARGEST_EXACT).any():
            raise InputError(f"{text.name}: an amount is too large to be computed exactly (2^53 units or more).")
    return LinearSystem(
        relations=matrix,
        rhs=np.rint(rhs * scale).astype(np.int64),
        value=np.rint(value * scale).astype(np.int64),
        cost=cost.copy(),
        status=np.array(list(STATUSES))[status.astype(np.int64)],
        lower=_bound(low * scale, np.ceil),
        upper=_bound(high * scale, np.floor),
        lower_level=np.rint(down * scale).astype(np.int64),
        upper_level=np.rint(up * scale).astype(np.int64),
        decimals=decimals,
    )


def _decimals_of(numbers: FloatArray) -> int:
    """The fewest decimals that write all these numbers."""
    for decimals in range(MOST_DECIMALS):
        shifted = numbers * 10**decimals
        if (np.abs(shifted - np.rint(shifted)) <= 1e-9 * np.maximum(1.0, np.abs(shifted) * 1e-6)).all():
            return decimals
    return MOST_DECIMALS


def _bound(amounts: FloatArray, inwards: Callable[[FloatArray], FloatArray]) -> IntArray:
    """Bounds rounded inwards; beyond what is computed exactly they bind nothing and count as none."""
    near = np.rint(amounts)
    whole = np.where(np.abs(amounts - near) < 1e-6, near, inwards(amounts))
    return np.where(np.abs(whole) >= LARGEST_EXACT, np.where(whole > 0, NO_BOUND, -NO_BOUND), whole).astype(np.int64)
