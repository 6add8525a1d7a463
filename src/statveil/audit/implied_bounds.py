"""What the relations and bounds of a system leave open to each of its cells, worked out in exact integers and from nothing else.

Cells that relations of two terms make equal or opposite form one group; groups that can take one value only are fixed; the
range of each group is narrowed through the relations, and by what a table may cost at most. Whole tables only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import AuditFailed

ENDLESS = 2**62
"""Stands for "no bound", as in the files' and problems' own arrays."""
SAFE = 2.0**60
"""Amounts whose sizes, added up in doubles, stay below this cannot overflow 64 bits."""
LARGEST_FACTORS = 2.0**31
"""Relations whose coefficients add up to more are refused."""
PIECE = 20
"""Bits of the pieces in which numbers beyond 64 bits are added up: products of small numbers, many of them, stay `SAFE`."""


class ImpliedBoundsTuning(NamedTuple):
    rounds: int = 40
    """Rounds of narrowing: by judgement."""
    most_entries: int = 20_000_000
    """Coefficients to look at, over all rounds: large systems get fewer, and larger ones are narrowed by cost alone. By judgement."""


TUNING = ImpliedBoundsTuning()


class System(Protocol):
    """The problem as it was given: what `ProtectionProblem` holds, read only."""

    @property
    def relations(self) -> csr_matrix: ...
    @property
    def rhs(self) -> IntArray: ...
    @property
    def value(self) -> IntArray: ...
    @property
    def weight(self) -> FloatArray: ...
    @property
    def lower(self) -> IntArray: ...
    @property
    def upper(self) -> IntArray: ...
    @property
    def sensitive(self) -> BoolArray: ...
    @property
    def lower_level(self) -> IntArray: ...
    @property
    def upper_level(self) -> IntArray: ...
    @property
    def variant(self) -> Any: ...
    @property
    def norm(self) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class DeviationRanges:
    """Deviations open to each group: down from `bottom` to `fall`, up from `rise` to `top`, none at all where `rest`.

    fall <= 0 <= rise. A side with its ends in the wrong order is closed.
    """

    bottom: IntArray
    fall: IntArray
    rise: IntArray
    top: IntArray
    rest: BoolArray

    @property
    def down(self) -> BoolArray:
        return np.asarray(self.bottom <= self.fall)

    @property
    def up(self) -> BoolArray:
        return np.asarray(self.rise <= self.top)

    @property
    def low(self) -> IntArray:
        return np.where(self.down, self.bottom, np.where(self.rest, 0, self.rise))

    @property
    def high(self) -> IntArray:
        return np.where(self.up, self.top, np.where(self.rest, 0, self.fall))

    @property
    def empty(self) -> BoolArray:
        return np.asarray(~(self.down | self.up | self.rest))

    @property
    def least(self) -> IntArray:
        """The least size of change."""
        sizes = np.minimum(np.where(self.down, -self.fall, ENDLESS), np.where(self.up, self.rise, ENDLESS))
        return np.where(self.rest, 0, sizes)

    @property
    def even(self) -> DeviationRanges:
        """Wider ranges: what may go both ways has the nearer of its two ends on both sides."""
        both = self.up & self.down
        near = np.minimum(self.rise, -self.fall)
        fall, rise = np.where(both, -near, self.fall), np.where(both, near, self.rise)
        return DeviationRanges(bottom=self.bottom, fall=fall, rise=rise, top=self.top, rest=self.rest)

    def within(self, low: IntArray, high: IntArray) -> DeviationRanges:
        return DeviationRanges(
            bottom=np.maximum(self.bottom, low),
            fall=np.minimum(self.fall, high),
            rise=np.maximum(self.rise, low),
            top=np.minimum(self.top, high),
            rest=self.rest & (low <= 0) & (high >= 0),
        )

    def with_one(self, group: int, low: int, high: int) -> DeviationRanges:
        """The same, but for one group, which stays between these."""
        own = self.of([group]).within(np.array([low]), np.array([high]))
        copied = {name: getattr(self, name).copy() for name in ("bottom", "fall", "rise", "top", "rest")}
        for name, column in copied.items():
            column[group] = getattr(own, name)[0]
        return DeviationRanges(**copied)

    def of(self, chosen: AnyArray | list[int]) -> DeviationRanges:
        chosen = np.asarray(chosen, dtype=None if len(chosen) else np.int64)
        return DeviationRanges(
            bottom=self.bottom[chosen], fall=self.fall[chosen], rise=self.rise[chosen], top=self.top[chosen], rest=self.rest[chosen]
        )

    def merged(self, group: IntArray, turn: IntArray, count: int) -> DeviationRanges:
        """The ranges of groups of groups: what is open to every member, seen with its sign."""
        same = turn > 0
        bottom, fall = np.full(count, -ENDLESS), np.zeros(count, dtype=np.int64)
        rise, top = np.zeros(count, dtype=np.int64), np.full(count, ENDLESS)
        np.maximum.at(bottom, group, np.where(same, self.bottom, -self.top))
        np.minimum.at(fall, group, np.where(same, self.fall, -self.rise))
        np.maximum.at(rise, group, np.where(same, self.rise, -self.fall))
        np.minimum.at(top, group, np.where(same, self.top, -self.bottom))
        rest = np.ones(count, dtype=np.bool_)
        np.logical_and.at(rest, group, self.rest)
        return DeviationRanges(bottom=bottom, fall=fall, rise=rise, top=top, rest=rest)


def ranges_of(system: System) -> DeviationRanges:
    """What bounds and levels allow each cell by itself."""
    low = np.where(system.lower <= -ENDLESS, -ENDLESS, system.lower - system.value)
    high = np.where(system.upper >= ENDLESS, ENDLESS, system.upper - system.value)
    held, exact = system.sensitive, np.bool_(system.variant == "exact")
    down, up = np.where(held, system.lower_level, 0), np.where(held, system.upper_level, 0)
    inside = (low <= 0) & (high >= 0)
    return DeviationRanges(
        bottom=np.where(held & exact, np.maximum(low, -down), low),
        fall=np.minimum(high, -down),
        rise=np.maximum(low, up),
        top=np.where(held & exact, np.minimum(high, up), high),
        rest=inside & ((down == 0) | (up == 0)),
    )


class ImpliedBounds:
    """Groups of cells, their ranges, and the relations in terms of them: coefficients `matrix` and right-hand sides `right`."""

    def __init__(self, system: System, derived: csr_matrix, weight: AnyArray, worth: int) -> None:
        """`derived` says how relations that follow are combined from the system's own; `weight` is in whole numbers."""
        size = system.value.size
        self.weight_of_cell, self.worth, self.squared = weight, worth, system.norm == "l2"
        self._pieces_of_cell = _pieces(weight)
        self.rows, self.right_of_rows = _with_derived(system, derived)
        self.group, self.sign = np.arange(size), np.ones(size, dtype=np.int64)
        self.constant = np.zeros(size, dtype=np.int64)
        self.ranges = ranges_of(system)
        self._restate()

    @property
    def impossible(self) -> bool:
        """Whether there is no table at all that costs less than `worth`."""
        contradicted = bool(self.right[np.diff(self.matrix.indptr) == 0].any())
        return contradicted or bool(self.ranges.empty.any()) or self.spare < 0

    @property
    def fixed_cost(self) -> int:
        return _total(self._pieces_of_cell, self._powers(self.constant))

    @property
    def spare(self) -> int:
        """What a table may cost beyond the least that every group costs, and still less than `worth`."""
        return self.worth - self.fixed_cost - _total(self._pieces, self._powers(self.ranges.least))

    def exhaust(self) -> None:
        """Group, fix and narrow until nothing changes, then by cost, then again. Stopping early would only leave ranges wider."""
        rounds = max(4, min(TUNING.rounds, TUNING.most_entries // max(1, self.rows.nnz))) if self.rows.nnz <= TUNING.most_entries else 0
        for _ in range(2):
            for _ in range(rounds):
                before = (self.ranges, self.matrix)
                self._narrow()
                if self.impossible:
                    return
                self._fix()
                self._tie()
                if before[1] is self.matrix and _same(before[0], self.ranges):
                    break
            self._narrow_by_cost()

    def _powers(self, amounts: AnyArray) -> AnyArray:
        sizes = np.abs(amounts)
        return sizes.astype(object) ** 2 if self.squared else sizes

    def _restate(self) -> None:
        """The relations in terms of the groups as they are now."""
        moving = np.flatnonzero(self.group >= 0)
        count = self.ranges.rest.size
        tie = csr_matrix((self.sign[moving], (moving, self.group[moving])), shape=(self.group.size, count))
        self.matrix = (self.rows @ tie).tocsr()
        self.matrix.eliminate_zeros()
        self.matrix.sort_indices()
        self.row_of_entry = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        self.right = self.right_of_rows - exact_product(self.rows, self.constant)
        if (np.abs(self.right).astype(np.float64) >= SAFE).any():
            raise _too_large()
        wide = self.weight_of_cell.dtype == object or self.weight_of_cell.astype(np.float64).sum() >= SAFE
        self.weight = np.zeros(count, dtype=object if wide else np.int64)
        np.add.at(self.weight, self.group[moving], self.weight_of_cell[moving])
        self._pieces = self._pieces_of_cell if moving.size == count == self.group.size else _pieces(self.weight)

    def _narrow(self) -> None:
        """In each relation the other terms' ranges bound each term. What could overflow counts as endless, which is safe."""
        factor, cells, row = self.matrix.data, self.matrix.indices, self.row_of_entry
        if factor.size == 0:
            return
        far = int(SAFE) // int(max(1.0, _row_sizes(self.matrix).max()))
        least, most = _ends(factor, self.ranges.low[cells], self.ranges.high[cells], far)
        right = self.right[row]
        to_most, most_open = _others(self.matrix, row, most)
        to_least, least_open = _others(self.matrix, row, least)
        from_most, from_least = right - to_most, right - to_least
        above = np.where(factor > 0, -(-from_most // factor), -(-from_least // factor))  # rounded up
        below = np.where(factor > 0, from_least // factor, from_most // factor)  # rounded down
        above_known = np.where(factor > 0, ~most_open, ~least_open)
        below_known = np.where(factor > 0, ~least_open, ~most_open)
        low, high = np.full(self.ranges.rest.size, -ENDLESS), np.full(self.ranges.rest.size, ENDLESS)
        np.maximum.at(low, cells[above_known], above[above_known])
        np.minimum.at(high, cells[below_known], below[below_known])
        self.ranges = self.ranges.within(low, high)

    def _fix(self) -> None:
        """Groups that can take one value only become constants."""
        one = self.ranges.low == self.ranges.high
        if not one.any():
            return
        amount = self.ranges.low
        cells = np.flatnonzero((self.group >= 0) & one[self.group])
        self.constant[cells] = self.sign[cells] * amount[self.group[cells]]
        number = np.where(one, -1, np.cumsum(~one) - 1)
        self.group = np.where(self.group >= 0, number[self.group], -1)
        self.ranges = self.ranges.of(~one)
        self._restate()

    def _tie(self) -> None:
        """Groups that a relation of two terms makes equal or opposite become one."""
        two = np.flatnonzero((np.diff(self.matrix.indptr) == 2) & (self.right == 0))
        first = self.matrix.indptr[two]
        a, b = self.matrix.data[first], self.matrix.data[first + 1]
        tied = np.abs(a) == np.abs(b)
        if not tied.any():
            return
        one, other = self.matrix.indices[first][tied], self.matrix.indices[first + 1][tied]
        root, turn = rooted(self.ranges.rest.size, one.tolist(), other.tolist(), (-np.sign(a * b)[tied]).tolist())
        heads, group = np.unique(root, return_inverse=True)
        self.ranges = self.ranges.merged(group, turn, heads.size)
        moving = self.group >= 0
        self.sign = np.where(moving, self.sign * turn[self.group], self.sign)
        self.group = np.where(moving, group[self.group], -1)
        self._restate()

    def _narrow_by_cost(self) -> None:
        """No group can move further than would alone use up what a table may cost beyond the least."""
        if (self.weight <= 0).any():
            raise AuditFailed("The certificate is refused: its scale is too coarse for the weights.")
        least, spare = self.ranges.least, max(self.spare, 0)  # below zero there is no table left: any range will do
        room = spare // (self.weight if spare < ENDLESS else self.weight.astype(object))
        if self.squared:
            most = [math.isqrt(own * own + more) for own, more in zip(least.tolist(), room.tolist(), strict=True)]
            cap = np.array([min(each, ENDLESS) for each in most], dtype=np.int64)
        else:
            cap = least + np.minimum(room, ENDLESS - least).astype(np.int64)
        self.ranges = self.ranges.within(-cap, cap)


def exact_product(matrix: csr_matrix, vector: AnyArray) -> AnyArray:
    """matrix @ vector in 64 bits where that is safe, else in pieces of 30 bits, put together as integers without end."""
    sizes = np.abs(vector).astype(np.float64)
    if vector.dtype != object and (abs(matrix) @ sizes < SAFE).all():
        return np.asarray(matrix @ vector)
    whole, shift = vector.astype(object), 0
    total = np.zeros(matrix.shape[0], dtype=object)
    sign = np.array([1 if each >= 0 else -1 for each in whole.tolist()], dtype=np.int64)
    left = np.abs(whole)
    if (_row_sizes(matrix) >= LARGEST_FACTORS).any():
        raise _too_large()
    while left.any():
        piece = (left % 2**30).astype(np.int64) * sign
        total = total + np.asarray(matrix @ piece).astype(object) * 2**shift
        left, shift = left // 2**30, shift + 30
    return total


def _pieces(numbers: AnyArray) -> list[IntArray]:
    """Numbers of zero or more as 64 bits each, times 1, 2**PIECE, 2**(2 * PIECE) and so on, which add up to them."""
    if numbers.dtype != object:
        return [numbers]
    pieces, left = [], numbers
    while left.any():
        pieces.append((left % 2**PIECE).astype(np.int64))
        left = left // 2**PIECE
    return pieces


def _total(weights: list[IntArray], amounts: AnyArray) -> int:
    """The sum of products, exactly; the weights in pieces."""
    return sum(_sum_of_products(piece, amounts) << PIECE * place for place, piece in enumerate(weights))


def _sum_of_products(weights: IntArray, amounts: AnyArray) -> int:
    if not amounts.any():
        return 0
    if amounts.dtype == object or weights.astype(np.float64) @ amounts.astype(np.float64) >= SAFE:
        return sum(weight * amount for weight, amount in zip(weights.tolist(), amounts.tolist(), strict=True))
    return int(weights @ amounts)


def _with_derived(system: System, derived: csr_matrix) -> tuple[csr_matrix, IntArray]:
    """The relations and those that follow from them, with what the deviations must bring in each."""
    matrix = system.relations.tocsr().astype(np.int64)
    sizes = abs(matrix) @ np.abs(system.value).astype(np.float64) + np.abs(system.rhs).astype(np.float64)
    if (sizes >= SAFE).any() or (abs(derived) @ sizes >= SAFE).any():
        raise _too_large()
    if (abs(derived) @ _row_sizes(matrix) >= LARGEST_FACTORS).any() or (_row_sizes(matrix) >= LARGEST_FACTORS).any():
        raise _too_large()
    right = np.asarray(system.rhs - matrix @ system.value, dtype=np.int64)
    return vstack([matrix, derived @ matrix], format="csr"), np.concatenate([right, derived @ right])


def _too_large() -> AuditFailed:
    return AuditFailed("The certificate is refused: amounts or coefficients are too large to be added up exactly.")


def _row_sizes(matrix: csr_matrix) -> FloatArray:
    return np.asarray(abs(matrix) @ np.ones(matrix.shape[1]))


def _ends(factor: IntArray, low: IntArray, high: IntArray, far: int) -> tuple[AnyArray, AnyArray]:
    """Least and most of each term; `ENDLESS` of either sign where there is no end."""
    no_low, no_high = np.abs(low) >= far, np.abs(high) >= far
    bottom, top = np.where(no_low, 0, low) * factor, np.where(no_high, 0, high) * factor
    least = np.where(factor > 0, np.where(no_low, ENDLESS, bottom), np.where(no_high, ENDLESS, top))
    most = np.where(factor > 0, np.where(no_high, ENDLESS, top), np.where(no_low, ENDLESS, bottom))
    return least, most


def _others(matrix: csr_matrix, row: IntArray, terms: IntArray) -> tuple[IntArray, BoolArray]:
    """For each entry the sum of its row's other terms, and whether one of those is endless."""
    endless = terms == ENDLESS
    finite = np.where(endless, 0, terms)
    return _row_sums(matrix, finite)[row] - finite, _row_sums(matrix, endless.astype(np.int64))[row] - endless > 0


def _row_sums(matrix: csr_matrix, entries: IntArray) -> IntArray:
    """Running sums may wrap around; their differences, which fit 64 bits, do not mind."""
    running = np.concatenate([[0], np.cumsum(entries)])
    return np.asarray(running[matrix.indptr[1:]] - running[matrix.indptr[:-1]])


def rooted(count: int, one: list[int], other: list[int], turns: list[int]) -> tuple[IntArray, IntArray]:
    """For each group the root of its tree of ties and its sign there."""
    members: dict[int, list[tuple[int, int]]] = {}
    home: dict[int, tuple[int, int]] = {}
    for a, b, turn in zip(one, other, turns, strict=True):
        (root_a, sign_a), (root_b, sign_b) = home.get(a, (a, 1)), home.get(b, (b, 1))
        if root_a == root_b:
            continue  # known, or contradictory: then the relation has one term left, or none, and says so itself
        moved, kept = (root_a, root_b) if len(members.get(root_a, ())) <= len(members.get(root_b, ())) else (root_b, root_a)
        bridge = sign_a * turn * sign_b
        for cell, sign in [*members.pop(moved, []), (moved, 1)]:
            home[cell] = (kept, sign * bridge)
            members.setdefault(kept, []).append((cell, sign * bridge))
    root, sign_of = np.arange(count), np.ones(count, dtype=np.int64)
    for cell, (head, sign) in home.items():
        root[cell], sign_of[cell] = head, sign
    return root, sign_of


def _same(before: DeviationRanges, after: DeviationRanges) -> bool:
    return all(
        np.array_equal(one, other)
        for one, other in ((before.low, after.low), (before.high, after.high), (before.fall, after.fall), (before.rise, after.rise))
    )
