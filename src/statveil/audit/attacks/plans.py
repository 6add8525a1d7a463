"""What to ask: tables that share cells, populations that differ by little. Made from public knowledge alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statveil.audit.attacks.case import Attacker
from statveil.audit.attacks.public import Axis, Request
from statveil.tables.spec import Dimension

NARROW = 12
"""Dimensions with at most this many finest codes are filtered code by code."""


def rows_and_columns(attacker: Attacker) -> tuple[Dimension, Dimension] | None:
    """The second largest dimension and the largest; None where there are not two."""
    dimensions = attacker.catalogue.by_size
    return (dimensions[1], dimensions[0]) if len(dimensions) > 1 else None


def plain(attacker: Attacker, measure: str, *, totals: bool = True) -> Request | None:
    """The table of the two largest dimensions, finest codes."""
    found = rows_and_columns(attacker)
    return Request(axes=tuple(Axis(id=dimension.name) for dimension in found), measure=measure, totals=totals) if found else None


def shared_rows(attacker: Attacker) -> tuple[str, ...]:
    """The rows that every table of `crossings` contains: half of them those with most records, half those with fewest."""
    found = rows_and_columns(attacker)
    if found is None:
        return ()
    rows = found[0]
    count = np.bincount(attacker.register.codes[rows.name], minlength=len(rows.codes))
    leaves = [rows.position[code] for code in rows.trees[0].leaves]
    by_size = sorted((place for place in leaves if count[place]), key=lambda place: (-int(count[place]), place))
    large = (attacker.effort.rows + 1) // 2
    chosen = {*by_size[:large], *by_size[max(len(by_size) - attacker.effort.rows + large, 0) :]}
    return tuple(rows.codes[place] for place in sorted(chosen))


def crossings(attacker: Attacker, measure: str) -> list[Request]:
    """Different tables with the same rows complete and other rows beside them, drawn at random (T02, T04)."""
    found, kept = rows_and_columns(attacker), shared_rows(attacker)
    if found is None:
        return []
    rows, columns = found
    others = [code for code in rows.trees[0].leaves if code not in kept]
    dice, requests = attacker.dice("crossings"), dict[Request, None]()
    for _ in range(4 * attacker.effort.tables):
        if len(requests) == attacker.effort.tables:
            break
        extra = dice.permutation(len(others))[: int(dice.integers(0, min(len(others), 2 * len(kept)) + 1))]
        codes = tuple(sorted([*kept, *(others[place] for place in extra.tolist())]))
        requests[Request(axes=(Axis(id=rows.name, codes=codes), Axis(id=columns.name)), measure=measure)] = None
    return list(requests)


def less_one_code(attacker: Attacker, measure: str) -> list[Request]:
    """The table of the two largest dimensions, again without each single code of each narrow one, and for each code: nested sets."""
    whole = plain(attacker, measure)
    return [] if whole is None else [whole, *_with_filters(attacker, whole)]


def _with_filters(attacker: Attacker, whole: Request) -> Iterator[Request]:
    shown = {axis.id for axis in whole.axes}
    for name in attacker.catalogue.filters:
        leaves = attacker.catalogue.dimension(name).trees[0].leaves
        if name not in shown and len(leaves) <= NARROW:
            others = [tuple(code for code in leaves if code != left_out) for left_out in leaves]
            for codes in dict.fromkeys([*others, *((code,) for code in leaves)]):
                yield Request(axes=whole.axes, measure=whole.measure, filters=((name, codes),), totals=whole.totals)


def overlapping(attacker: Attacker, measure: str) -> list[Request]:
    """The shared rows for many random populations: some of the filters, each of their codes kept with probability 0.7 (T06)."""
    found = rows_and_columns(attacker)
    if found is None:
        return []
    names = [name for name in attacker.catalogue.filters if name not in {dimension.name for dimension in found}]
    axes = (Axis(id=found[0].name, codes=shared_rows(attacker)), Axis(id=found[1].name))
    dice, requests = attacker.dice("overlapping"), dict[Request, None]()
    for _ in range(4 * attacker.effort.sets if names else 0):
        if len(requests) == attacker.effort.sets:
            break
        used = dice.permutation(len(names))[: int(dice.integers(1, len(names) + 1))]
        drawn = [(names[place], _drawn(attacker.catalogue.dimension(names[place]), dice)) for place in sorted(used.tolist())]
        filters = tuple((name, codes) for name, codes in drawn if codes)
        requests[Request(axes=axes, measure=measure, filters=filters)] = None
    return list(requests)


def _drawn(dimension: Dimension, dice: np.random.Generator) -> tuple[str, ...]:
    leaves = dimension.trees[0].leaves
    return tuple(code for code, kept in zip(leaves, dice.random(len(leaves)) < 0.7, strict=True) if kept)
