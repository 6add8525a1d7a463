"""Slow and plain: unsafe combinations and the cheapest blanks of small files, by trying everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

Record = tuple[str | None, ...]
Tables = Sequence[tuple[tuple[int, ...], int]]


def tables_up_to(fields: int, order: int, threshold: int) -> list[tuple[tuple[int, ...], int]]:
    return [(places, threshold) for size in range(1, order + 1) for places in combinations(range(fields), size)]


def unsafe(original: Sequence[Record], released: Sequence[Record], tables: Tables, rule: str) -> int:
    """(record, combination) pairs that a rule calls unsafe; None is a blank."""
    return sum(_is_unsafe(original, released, number, places, least, rule) for number in range(len(released)) for places, least in tables)


def _is_unsafe(original: Sequence[Record], released: Sequence[Record], number: int, places: tuple[int, ...], least: int, rule: str) -> bool:
    record = released[number]
    if rule == "wildcard":
        return sum(all(record[f] is None or other[f] is None or record[f] == other[f] for f in places) for other in released) < least
    if any(record[f] is None for f in places):
        return False
    counted = original if rule == "original" else released
    return sum(all(other[f] == record[f] for f in places) for other in counted) < least


def fewest_blanks(original: Sequence[Record], tables: Tables, rule: str, cost: Sequence[float]) -> float:
    """The least cost over all ways to blank the file; infinite if none is safe."""
    return least_costs(original, tables, rule, cost, [0.0] * len(cost))[0]


def least_costs(
    original: Sequence[Record],
    tables: Tables,
    rule: str,
    cost: Sequence[float],
    second: Sequence[float],
    *,
    mass: Sequence[float] | None = None,
    caps: Mapping[int, int] | None = None,
    homes: Sequence[str] | None = None,
    shared: Sequence[int] = (),
) -> tuple[float, float]:
    """The least cost over all ways to blank the file, and the least second cost of those that cost so much; infinite if none is safe.

    `mass` multiplies the cost of a record's blanks; `caps` are the most blanks in a field; in `homes` a shared field is blank (or was
    missing) for all members or for those only of whom it was missing.
    """
    weights = mass or [1.0] * len(original)
    best = float("inf"), float("inf")
    for chosen in product(product((False, True), repeat=len(original[0])), repeat=len(original)):
        blank = [(r, f) for r, mask in enumerate(chosen) for f, gone in enumerate(mask) if gone and original[r][f] is not None]
        price = float(sum(cost[f] * weights[r] for r, f in blank)), float(sum(second[f] * weights[r] for r, f in blank))
        if price >= best or any(sum(f == field for _, f in blank) > cap for field, cap in (caps or {}).items()):
            continue
        if homes is not None and not _whole_homes(original, chosen, homes, shared):
            continue
        if unsafe(original, _blanked(original, chosen), tables, rule) == 0:
            best = price
    return best


def _whole_homes(original: Sequence[Record], masks: Sequence[Sequence[bool]], homes: Sequence[str], shared: Sequence[int]) -> bool:
    def states(home: str, field: int) -> set[bool]:
        return {masks[r][field] for r, own in enumerate(homes) if own == home and original[r][field] is not None}

    return all(len(states(home, field)) <= 1 for home in set(homes) for field in shared)


def _blanked(records: Sequence[Record], masks: Sequence[Sequence[bool]]) -> list[Record]:
    return [
        tuple(None if blank else value for value, blank in zip(record, mask, strict=True))
        for record, mask in zip(records, masks, strict=True)
    ]


def recodings(menus: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return product(*(range(size) for size in menus))
