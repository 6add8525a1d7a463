"""What stage one of the server finds, the slow and plain way: sets of records, Python integers, brute force over respondents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from math import ceil
from typing import NamedTuple

Position = tuple[str, ...]


class Cell(NamedTuple):
    """`members` are the units with a value; `level` is zero where the cell is safe."""

    members: frozenset[str]
    value: int
    level: int


def cells(
    records: Iterable[tuple[str, str, Position, int]], above: list[Mapping[str, str]], *, p: int, n: int, percent: int
) -> dict[Position, Cell]:
    """Every position of the table that holds a value. Records are (unit, holding, leaf codes, value); `above` maps codes to parents."""
    inside: dict[Position, list[tuple[str, str, int]]] = defaultdict(list)
    for unit, holding, codes, value in records:
        if value:
            for position in product(*(_chain(code, tree) for code, tree in zip(codes, above, strict=True))):
                inside[position].append((unit, holding, value))
    return {position: _cell(members, p, n, percent) for position, members in inside.items()}


def _chain(code: str, tree: Mapping[str, str]) -> list[str]:
    found = [code]
    while found[-1] in tree:
        found.append(tree[found[-1]])
    return found


def _cell(members: list[tuple[str, str, int]], p: int, n: int, percent: int) -> Cell:
    by_holding: dict[str, int] = defaultdict(int)
    for _, holding, value in members:
        by_holding[holding] += value
    total = sum(by_holding.values())
    levels = [Fraction(0)]
    for target, amount in by_holding.items():
        for other, given in by_holding.items():
            known = given if other != target else 0
            levels.append(Fraction(p, 100) * amount - (total - amount - known))
    if len(by_holding) < n:
        levels.append(Fraction(percent, 100) * total)
    worst = max(levels)
    return Cell(frozenset(unit for unit, _, _ in members), total, max(ceil(worst), 1) if worst > 0 else 0)
