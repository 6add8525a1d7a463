"""Levels that hide: what the rules ask, raised until a reader who thinks learns no more from a release than one who does not.

Steps that only ever raise a level (docs/safety.md says against whom; docs/threats.md has the attacks):

- a sensitive cell of zero or next to nothing moves by as much as its neighbours are large (T17, T27);
- of counts, what is sensitive is published at the smallest safe count or above, and nothing is moved below that (T24);
- every level is multiplied by 1 + u, u secret and uniform up to a cap, drawn by the office's key from the cell's leading respondent: a
  search for the least change leaves most cells exactly at their level, and with the level the truth would be told but for the sign (T11,
  T12). Uniform, because of all laws with the same mean it leaves the best guess the least chance;
- no respondent, nor a coalition as large as the p% rule fears, may find another by subtracting what it gave from the release (T13): the
  release must also pass every amount that would make such a difference come out right (`risk/coalitions.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.core.floors import Floors
from statveil.core.secret import SecretKey, office_key
from statveil.risk.coalitions import opponents, withstand_coalitions
from statveil.risk.rules import MinimumFrequency, Rule
from statveil.risk.rules.base import LIMIT
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.relations import relations
from statveil.tables.table import Table, levels_of


class LevelTuning(NamedTuple):
    """What counts as next to nothing, and how far into a cell is looked. By judgement."""

    low: Fraction = Fraction(1, 10)
    """The quantile of its neighbours that a cell is measured by."""
    tiny: Fraction = Fraction(1, 10)
    """A cell is next to nothing below this share of that quantile."""
    fewest: int = 3
    """Neighbours needed; with fewer, all cells of the same level are asked."""
    small_count: int = 3
    """The least count that may come of a sensitive one where no minimum frequency rule asks for more: what T24 looks for."""
    rounds: int = 20
    """How often lifted cells are looked at again; they were settled after two to five rounds."""
    chunk: int = 20_000
    """Cells worked on at once."""


TUNING = LevelTuning()


def with_key(floors: Floors, *, make: bool) -> Floors:
    """The floors with the key that they are drawn by: their own, or the office's, made if there is none and `make` allows it."""
    if floors.scheme == "exact":
        return replace(floors, key=None)
    return floors if floors.key is not None else replace(floors, key=office_key(make=make))


def raise_levels(table: Table, found: Sensitivity, rules: Sequence[Rule], floors: Floors) -> Sensitivity:
    """The levels of the rules, raised as the floors ask; a key is needed where they are drawn."""
    if floors.tiny:
        found = lift_tiny(table, found)
    before, drawn = found, floors.scheme == "drawn"
    if drawn:
        found = draw_levels(table, found, floors.cap, floors.key)
    if floors.tiny:
        found = lift_counts(table, before, found, rules, floors.key if drawn else None)
    if floors.coalitions:
        found = withstand_coalitions(table, found, *opponents(rules))
    return found


def lift_tiny(table: Table, found: Sensitivity) -> Sensitivity:
    """Raise the levels of sensitive cells that are next to nothing beside their neighbours to the size of the small ones of those.

    A cell that was lifted is a larger neighbour than before, so it is looked at again until none is lifted any more.
    """
    cells = np.flatnonzero(found.sensitive[: table.shown])
    lower, upper = found.lower_level.copy(), found.upper_level.copy()
    size, neighbours = np.abs(table.value), Neighbours(table)
    for _ in range(TUNING.rounds):
        around = neighbours.low_quantile(cells, size)
        lifted = (np.abs(table.value[cells]) <= around * float(TUNING.tiny)) & (np.minimum(lower, upper)[cells] < around)
        if not lifted.any():
            break
        at = cells[lifted]
        for level in (lower, upper):
            level[at] = np.maximum(level[at], around[lifted])
        size = size.copy()
        size[at] = np.abs(table.value[at]) + upper[at]
    rising = _beside_rising_zeros(table, found)
    lower[rising] = np.maximum(lower[rising], np.abs(table.value[rising]) + 1)
    return replace(found, lower_level=frozen_array(lower), upper_level=frozen_array(upper))


def lift_counts(table: Table, found: Sensitivity, raised: Sensitivity, rules: Sequence[Rule], key: SecretKey | None) -> Sensitivity:
    """Keep counts below the smallest safe one out of the release: a published 2 would tell that the truth is about that.

    What is sensitive and cannot fall that far rises to a count between the smallest safe one and twice that, drawn by the key from the
    cell's codes alone (without a key: to the smallest). Levels of one or two units, multiplied and rounded, would tell the truth. Nothing
    else may be moved below the smallest safe count. `found`: the levels before they were drawn.
    """
    asked = [rule.n for rule in rules if isinstance(rule, MinimumFrequency)]
    least = max(TUNING.small_count, *asked, 0) * 10**table.scale
    positive = _counts(table) & (table.value > 0)
    rising = np.flatnonzero(positive & found.sensitive & (table.value - found.lower_level < least))
    lower, upper, minimum = raised.lower_level.copy(), raised.upper_level.copy(), raised.minimum.copy()
    target = np.full(rising.size, least)
    if key is not None:
        target += np.array([_drawn(key, "count", name) % least for name in _by_codes(table, rising)], dtype=np.int64)
    lower[rising] = np.maximum(found.lower_level, table.value)[rising]
    upper[rising] = np.maximum(found.upper_level[rising], target - table.value[rising])
    staying = positive & (table.value >= least)
    staying[rising] = False
    minimum[staying] = np.maximum(minimum, least)[staying]
    lower, upper, minimum = (frozen_array(array) for array in (lower, upper, minimum))
    return replace(raised, lower_level=lower, upper_level=upper, minimum=minimum)


def _counts(table: Table) -> BoolArray:
    """Cells of views whose every number is that of its records, or the sum of their weights: counts, whatever the measure is called."""
    records = table.records.astype(object) * 10**table.scale == table.value
    weights = table.frequency.astype(object) * 10**table.scale == table.value.astype(object) * 10**table.frequency_scale
    found = np.zeros(table.size, dtype=np.bool_)
    for view in table.views:
        found[view.cell] |= bool(records[view.cell].all() or weights[view.cell].all())
    return found


def still_standing_out(table: Table, found: Sensitivity, released: IntArray) -> IntArray:
    """How far above its value each tiny sensitive cell must be released at least, so that it does not stand out from released neighbours.

    Lifted beforehand, it may still: where a neighbour was moved further than it had to be. In the table's units; zero elsewhere.
    """
    cells, neighbours = np.flatnonzero(found.sensitive[: table.shown]), Neighbours(table)
    size = np.abs(table.value)
    tiny = cells[size[cells] <= float(TUNING.tiny) * neighbours.low_quantile(cells, size)]
    enough = -(-neighbours.low_quantile(tiny, np.abs(released)) // 2)
    low = np.abs(released[tiny]) < enough
    needed = np.zeros(table.size, dtype=np.int64)
    needed[tiny[low]] = np.maximum(enough[low] - table.value[tiny[low]], 0)
    return needed


def _beside_rising_zeros(table: Table, found: Sensitivity) -> IntArray:
    """Sensitive totals of one part and of zeros that must rise, and that part: whoever knows of the zeros would find the value between the
    two if they went opposite ways, and the total cannot fall with its part. They can only rise (T05)."""
    matrix = relations(table)
    part, total = (matrix > 0).astype(np.int64), (matrix < 0).astype(np.int64)
    zero = table.value == 0
    lone = (part @ (~zero).astype(np.int64) == 1) & (part @ (zero & found.sensitive).astype(np.int64) > 0)
    touched = (part[lone] + total[lone]).sum(axis=0)
    return np.flatnonzero((np.asarray(touched).reshape(-1) > 0) & found.sensitive & (table.value > 0))


class Neighbours:
    """The other parts of all sums that a cell is a part of, once for each such sum; where they are too few, the cells of its level."""

    def __init__(self, table: Table) -> None:
        self._part = (relations(table) > 0).astype(np.int32).tocsc()
        self._level = levels_of(table)

    def low_quantile(self, cells: IntArray, size: IntArray) -> IntArray:
        """For each of the cells, the low quantile of the sizes that are not zero among its neighbours."""
        found = np.zeros(cells.size, dtype=np.int64)
        for start in range(0, cells.size, TUNING.chunk):
            chosen = cells[start : start + TUNING.chunk]
            near: csr_matrix = (self._part[:, chosen].T @ self._part).tocsr()
            row, other = (np.repeat(each, near.data) for each in (np.repeat(np.arange(chosen.size), np.diff(near.indptr)), near.indices))
            kept = (other != chosen[row]) & (size[other] > 0)
            found[start : start + chosen.size] = _low_of_groups(row[kept], size[other[kept]], chosen.size)
        lonely = np.flatnonzero(found < 0)
        level = self._level[cells[lonely]]
        by_level = {mark: _low(size[(self._level == mark) & (size > 0)]) for mark in np.unique(level).tolist()}
        found[lonely] = [by_level[mark] for mark in level.tolist()]
        return found


def _low_of_groups(group: IntArray, size: IntArray, groups: int) -> IntArray:
    """The low quantile of the sizes of each group; -1 where it has too few."""
    order = np.lexsort((size, group))
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    at = first + (count - 1) * TUNING.low.numerator // TUNING.low.denominator
    enough = count >= TUNING.fewest
    found = np.full(groups, -1, dtype=np.int64)
    found[enough] = size[order[at[enough]]]
    return found


def _low(size: IntArray) -> int:
    return int(np.sort(size)[(size.size - 1) * TUNING.low.numerator // TUNING.low.denominator]) if size.size else 0


def draw_levels(table: Table, found: Sensitivity, cap: float, key: SecretKey | None) -> Sensitivity:
    """Multiply each sensitive cell's levels by 1 + u, u uniform up to cap - 1, drawn by the key from the respondent who leads the cell.

    Cells with the same leader have the same factor: two releases of it do not average out. Cells that nobody leads, such as zeros, are
    drawn one by one: a factor that they shared would show them. All cells of a table together cover the range evenly, so that a small one
    has no bad luck.
    """
    if key is None:
        raise InputError("Drawn floors need the office's key.", hint="Give a key, or floors='exact'.")
    cells = np.flatnonzero(found.sensitive)
    names, which, led = np.unique(_who_draws(table, cells), return_inverse=True, return_counts=True)
    raised = drawn_factors(key, names.tolist(), led.tolist(), Fraction(str(cap)) - 1)
    factor = np.array(raised, dtype=object)[which] if raised else np.zeros(0, dtype=object)
    levels: dict[str, Any] = {
        name: frozen_array(_multiplied(getattr(found, name), cells, factor)) for name in ("lower_level", "upper_level")
    }
    return replace(found, **levels)


def _who_draws(table: Table, cells: IntArray) -> AnyArray:
    """What each cell's factor is drawn from: its leader, or where it has none its codes, totals left out."""
    found = np.zeros(cells.size, dtype=np.uint64) if table.leader is None else table.leader[cells].copy()
    nobody = np.flatnonzero(found == 0)
    found[nobody] = _by_codes(table, cells[nobody])
    return found


def _by_codes(table: Table, cells: IntArray) -> list[int]:
    """A number that names each cell by its codes, totals left out."""
    codes = _codes_of(table, set(cells.tolist()))
    told = [codes.get(cell, f"set {cell}") for cell in cells.tolist()]
    return [int.from_bytes(blake2b(each.encode(), digest_size=8).digest(), "little") for each in told]


def _codes_of(table: Table, cells: set[int]) -> dict[int, str]:
    """The position of each of the cells that takes the fewest codes to name, in words; none for sets that stand nowhere."""
    found: dict[int, list[str]] = {}
    for view in table.views:
        for at in np.flatnonzero(np.isin(view.cell, list(cells))).tolist():
            codes = [(axis, axis.codes[place]) for axis, place in zip(view.dimensions, view.coordinates[at], strict=True)]
            words = [f"{axis.name}={code}" for axis, code in codes if code != axis.total]
            cell = int(view.cell[at])
            found[cell] = min(words, found.get(cell, words), key=lambda each: (len(each), each))
    return {cell: "\0".join(words) for cell, words in found.items()}


STEPS = 2**20
"""The factor is 1 plus so many parts: fine enough for any level, and products stay small."""
_WORDS = 2**64


def drawn_factors(key: SecretKey, names: Sequence[int], led: Sequence[int], most: Fraction) -> list[int]:
    """1 + u in parts of `STEPS`, rounded up, of each leader of so many cells.

    The leaders stand around a circle in the order of their keyed digests, each on an arc as long as the cells that it leads, at a keyed
    point of it; the circle is turned by the key. So each one's u is uniform whoever the others are, a share s of all cells has u in any
    range of s times its width but for the arcs at its ends, and where leaders come and go a factor changes little.
    """
    drawn = [_drawn(key, "floor", name) for name in names]
    within = [_drawn(key, "floor within", name) for name in names]
    order = sorted(range(len(names)), key=drawn.__getitem__)
    before = dict(zip(order, itertools.accumulate((led[each] for each in order), initial=0), strict=False))
    whole = sum(led) * _WORDS
    turned = _drawn(key, "floor turn", 0) * sum(led)
    place = [(before[each] * _WORDS + within[each] * led[each] + turned) % whole for each in range(len(names))]
    return [int(STEPS + -(-each * most * STEPS // whole)) for each in place]


def _drawn(key: SecretKey, purpose: str, leader: int) -> int:
    return int.from_bytes(key.digest(purpose, leader.to_bytes(8, "little"), size=8), "little")


def _multiplied(level: IntArray, cells: IntArray, factor: AnyArray) -> IntArray:
    raised = level.copy()
    wide = -(-level[cells].astype(object) * factor // STEPS)
    raised[cells] = np.minimum(wide, LIMIT).astype(np.int64)
    return raised
