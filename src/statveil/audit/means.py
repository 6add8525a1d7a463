"""The independent check of means that are said to be kept: sums in Python integers, `==`, no tolerance."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.arrays import IntArray
from statveil.audit.report import Check


def check_means(value: IntArray, released: IntArray, sets: Sequence[tuple[str, IntArray]]) -> Check:
    """Whether the values over each named set of cells add up to the same before and after, to the unit."""
    wrong = [words for words, cells in sets if sum(map(int, value[cells])) != sum(map(int, released[cells]))]
    words = "Every mean that is said to be kept is kept to the unit"
    return Check(name="means", words=words, checked=len(sets), faults=len(wrong), findings=tuple(wrong))
