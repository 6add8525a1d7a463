"""Slow and plain: which rows follow from the ones before them, by elimination in fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction


def rows_not_following(rows: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Of the rows in order, those that are no combination of the ones before."""
    found: list[int] = []
    basis: list[list[Fraction]] = []
    for number in order:
        row = [Fraction(factor) for factor in rows[number]]
        for other in basis:
            lead = next(place for place, factor in enumerate(other) if factor)
            row = [mine - row[lead] / other[lead] * its for mine, its in zip(row, other, strict=True)]
        if any(row):
            found.append(number)
            basis.append(row)
    return found
