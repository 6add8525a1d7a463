"""A table that may be published once its audit has passed: numbers only, no status and no reason."""

from __future__ import annotations

from dataclasses import dataclass, field

from statveil.arrays import IntArray
from statveil.table.table import View


@dataclass(frozen=True, kw_only=True)
class ProtectedTable:
    """Released numbers: `value[view.cell[i]]` stands at position i of a view, in units of 10**-decimals."""

    views: tuple[View, ...]
    value: IntArray = field(repr=False)
    decimals: int
