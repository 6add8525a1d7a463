"""Slow and plain: what published cells tell of suppressed ones, by fractions and by a linear program for each end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def rank(rows: list[list[int]]) -> int:
    """By elimination in fractions."""
    left, found = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left = [[x - row[column] / pivot[column] * y for x, y in zip(row, pivot, strict=True)] for row in left if row is not pivot]
        found += 1
    return found


def follows(rows: list[list[int]], cell: int, known: int | None = None) -> bool:
    """Whether the relations fix a column, given perhaps another one."""
    size = len(rows[0])
    given = rows if known is None else [*rows, [int(each == known) for each in range(size)]]
    return rank([*given, [int(each == cell) for each in range(size)]]) == rank(given)


def ends(rows: np.ndarray, down: np.ndarray, up: np.ndarray, cell: int) -> tuple[float, float]:
    """How far below and above its value a cell can be."""
    cost = np.eye(rows.shape[1])[cell]
    box = list(zip(-down, up, strict=True))
    found = [linprog(sign * cost, A_eq=rows, b_eq=np.zeros(rows.shape[0]), bounds=box).fun for sign in (1, -1)]
    return -found[0], -found[1]
