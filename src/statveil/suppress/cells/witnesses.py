"""Deviations in whole numbers that show what readers cannot tell: made from a solver's word, believed only after checking.

An integer vector y with M y = 0 that is zero on published classes shows that class p can go up by `amount` if y_p > 0 and, for every
class i, amount * y_i / y_p stays within what is known beforehand: one multiplication in integers each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.problem import keeps_sums


class WitnessTuning(NamedTuple):
    """By judgement."""

    denominators: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 60, 2520)
    """Fractions that a solver's values are taken for, one after the other, before they are worked out."""
    fine: int = 2**20
    """What can be chosen freely then is a whole multiple of 1/fine."""
    nothing: float = 1e-9
    """A solver's value below this, beside its largest, is zero."""


TUNING = WitnessTuning()


def in_whole_numbers(relations: csc_matrix, deviation: FloatArray) -> tuple[IntArray, AnyArray] | None:
    """Classes and integers in proportion to the deviation, with all sums kept exactly; None where there are none near it."""
    support = np.flatnonzero(np.abs(deviation) > TUNING.nothing * max(1.0, float(np.abs(deviation).max(initial=0.0))))
    part = csr_matrix(relations[:, support])
    part = csr_matrix(part[np.diff(part.indptr) > 0])
    for denominator in TUNING.denominators:
        whole = np.rint(deviation[support] * denominator)
        if np.abs(whole).max(initial=0.0) < 2**50 and not (part @ whole.astype(np.int64)).any():
            return support, whole.astype(np.int64).astype(object)
    return _eliminated(part, support, deviation[support])


def _eliminated(part: csr_matrix, support: IntArray, deviation: FloatArray) -> tuple[IntArray, AnyArray] | None:
    """Round what can be chosen and work the rest out in fractions."""
    rows = [
        {int(j): Fraction(int(v)) for j, v in zip(row.indices, row.data, strict=True)} for row in (part[i] for i in range(part.shape[0]))
    ]
    solved: dict[int, dict[int, Fraction]] = {}
    for row in rows:
        for pivot in [j for j in row if j in solved]:
            _subtract(row, solved[pivot], row[pivot])
        if not row:
            continue
        pivot = max(row, key=lambda j: (abs(deviation[j]) < 1, -j))
        reduced = {j: v / row[pivot] for j, v in row.items()}
        for other in solved.values():
            if pivot in other:
                _subtract(other, reduced, other[pivot])
        solved[pivot] = reduced
    value = [Fraction(round(float(each) * TUNING.fine), TUNING.fine) for each in deviation]
    for pivot, row in solved.items():
        value[pivot] = -sum((v * value[j] for j, v in row.items() if j != pivot), Fraction(0))
    common = int(np.lcm.reduce([each.denominator for each in value], dtype=object)) if value else 1
    return support, np.array([int(each * common) for each in value], dtype=object)


def _subtract(row: dict[int, Fraction], other: dict[int, Fraction], times: Fraction) -> None:
    for j, v in other.items():
        left = row.get(j, Fraction(0)) - times * v
        if left:
            row[j] = left
        else:
            row.pop(j, None)


def shown_by(system: ClassSystem, support: IntArray, move: AnyArray) -> IntArray:
    """How far the vector can take each class of its support, as rows (up, down), rounded down: its longest multiple within the bounds."""
    down, up = system.down[support].astype(object), system.up[support].astype(object)
    table = np.zeros((2, support.size), dtype=object)
    for sense in (1, -1):
        there = move * sense
        rising = there > 0
        top, bottom = _longest(np.abs(move), np.where(rising, up, down))
        reach = np.abs(move) * top // bottom
        table[0] = np.maximum(table[0], np.where(rising, reach, 0))
        table[1] = np.maximum(table[1], np.where(rising, 0, reach))
    return table


def _longest(size: AnyArray, room: AnyArray) -> tuple[int, int]:
    """As a fraction, the largest number by which they can be multiplied and stay within their rooms."""
    moved = np.flatnonzero(size)
    if not moved.size:
        return 0, 1
    tightest = moved[np.argmin(room[moved].astype(np.float64) / size[moved].astype(np.float64))]
    top, bottom = int(room[tightest]), int(size[tightest])
    if not (size[moved] * top <= room[moved] * bottom).all():  # equal but for what doubles can tell
        least = min(Fraction(int(r), int(s)) for r, s in zip(room[moved], size[moved], strict=True))
        top, bottom = least.numerator, least.denominator
    return top, bottom


def holds(system: ClassSystem, suppressed: BoolArray, need: Need, support: IntArray, move: AnyArray) -> bool:
    """Whether the vector shows the need, in integers."""
    place = np.flatnonzero(support == need.target)
    moved = support[np.flatnonzero(move)]
    if not place.size or not suppressed[moved].all() or np.isin(need.known, moved).any():
        return False
    own = int(move[place[0]]) * need.sense
    if own == 0:
        return False
    turned = move * need.amount * (1 if own > 0 else -1)
    own = abs(own)
    down, up = system.down[support].astype(object), system.up[support].astype(object)
    sense = bool((turned <= up * own).all() and (-turned <= down * own).all())
    return sense and keeps_sums(csr_matrix(system.columns[:, support]), move)
