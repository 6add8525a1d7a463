"""`tabulate` in plain Python with fractions: slow, short, and obviously right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from statveil.data.hierarchy import Hierarchy
from statveil.tables.spec import TableSpec

Record = Mapping[str, Any]


class PlainCell(NamedTuple):
    records: int
    value: Fraction
    respondents: int
    frequency: Fraction
    magnitude: Fraction
    top: tuple[Fraction, ...]
    unwaived: Fraction | None
    requested: Fraction | None


def plain_tabulate(records: Iterable[Record], spec: TableSpec, top: int) -> dict[tuple[str, ...], tuple[frozenset[int], PlainCell]]:
    """Position (codes) -> (numbers of its records, its cell)."""
    members: dict[tuple[str, ...], list[tuple[int, Record]]] = {}
    for number, record in enumerate(records):
        for codes in product(*(ancestors(trees, record[name]) for name, trees in spec.dimensions.items())):
            members.setdefault(codes, []).append((number, record))
    return {
        codes: (frozenset(number for number, _ in found), plain_cell([record for _, record in found], spec, top))
        for codes, found in members.items()
    }


def ancestors(trees: Any, code: str) -> set[str]:
    found = {code}
    for tree in [trees] if isinstance(trees, Hierarchy) else trees:
        above = code
        while above in tree.parent:
            above = tree.parent[above]
            found.add(above)
    return found


def plain_cell(records: list[Record], spec: TableSpec, top: int) -> PlainCell:
    weight = [Fraction(record[spec.weight]) if spec.weight else Fraction(1) for record in records]
    measure = [Fraction(record[spec.measure]) if spec.measure else Fraction(1) for record in records]
    rule = [Fraction(record[spec.shadow]) for record in records] if spec.shadow else measure
    repeats = bool(spec.weight) and not spec.holding and spec.weight_policy == "units"
    groups: dict[Any, list[int]] = {}
    for index, record in enumerate(records):
        groups.setdefault(record[spec.holding] if spec.holding else index, []).append(index)
    given = {name: abs(sum(rule[i] if repeats else weight[i] * rule[i] for i in rows)) for name, rows in groups.items()}
    open_ = [given[name] for name, rows in groups.items() if not (spec.waiver and all(records[i][spec.waiver] for i in rows))]
    asked = [given[name] for name, rows in groups.items() if spec.request and any(records[i][spec.request] for i in rows)]
    return PlainCell(
        records=len(records),
        value=sum((w * x for w, x in zip(weight, measure, strict=True)), Fraction(0)),
        respondents=len(groups),
        frequency=sum(weight, Fraction(0)) if repeats else Fraction(len(groups)),
        magnitude=sum((w * abs(x) for w, x in zip(weight, rule, strict=True)), Fraction(0))
        if repeats
        else sum(given.values(), Fraction(0)),
        top=unit_tops(rule, weight, top) if repeats else tuple((sorted(given.values(), reverse=True) + [Fraction(0)] * top)[:top]),
        unwaived=max(open_, default=None),
        requested=max(asked, default=None),
    )


def unit_tops(rule: list[Fraction], weight: list[Fraction], top: int) -> tuple[Fraction, ...]:
    """Each record stands for as many units as its weight says, and for one at least."""

    def sum_of_largest(n: int) -> Fraction:
        left, total = Fraction(n), Fraction(0)
        for x, w in sorted(((abs(x), max(w, Fraction(1))) for x, w in zip(rule, weight, strict=True)), reverse=True):
            total += min(w, left) * x
            left -= min(w, left)
        return total

    return tuple(sum_of_largest(n + 1) - sum_of_largest(n) for n in range(top))
