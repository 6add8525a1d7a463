"""Preprocessing in one place: the same problem with fewer cells, and the way back.

- a cell that cannot move is folded into the right-hand sides;
- two cells that a relation, or the difference of two relations, makes equal (or opposite) are one cell;
- so are two cells that are the same sum of independent parts (docs/science.md, section 4: proportional on the null space of A), found
  exactly; tied cells that one cell's two levels cannot stand for (see `_keep_rest_open`) become two cells, still tied;
- bounds are tightened through the relations until nothing changes; that closes senses, each with the relation that did it, and
  fixes further cells;
- relations left without cells, or said twice, are dropped; those that follow from several others are found on request.
The reduced problem is in deviations (all values zero). Nothing is lost on the way back: costs agree, and every answer is
checked on the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve import TUNING, redundancy
from statveil.protect.presolve.redundancy import NO_TIE, CellTies, SparseRows, independent_relations, sparse_rows
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import TUNING as ROUNDING
from statveil.protect.rounding import parts_of

OWN_BOUNDS, SEVERAL = -1, -2
"""In the place of a relation: the cell's own bounds did it; several relations together did."""
_OPEN = -3


class ForcedSenses(NamedTuple):
    """Sensitive cells that can go one way only, which way (+1 up, -1 down), and the relation through which it was found.

    The relation is a number in the original, or `OWN_BOUNDS`, or `SEVERAL`. Others may have tightened bounds before it.
    """

    cell: IntArray
    sense: IntArray
    relation: IntArray


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """z of an original cell is `constant + sign * z[group]` of the reduced problem; group -1: the cell cannot move.

    Relation j of the reduced problem is the original's relation `relation[j]`, with the same sign.
    """

    original: ProtectionProblem
    problem: ProtectionProblem
    group: IntArray
    sign: IntArray
    constant: IntArray
    relation: IntArray
    forced: ForcedSenses
    feasible: bool

    @property
    def fixed_cost(self) -> float:
        return self.original.cost(self.constant)

    @cached_property
    def redundant(self) -> IntArray:
        """Relations of the reduced problem that follow from the others: bounds may use them, a solver need not see them."""
        return np.setdiff1d(np.arange(self.problem.rhs.size), independent_relations(self.problem))

    def expand(self, deviation: IntArray) -> IntArray:
        """Deviations of the original cells."""
        moved = np.where(self.group >= 0, np.append(deviation, 0)[self.group], 0)
        return np.asarray(self.constant + self.sign * moved, dtype=np.int64)

    def restrict(self, senses: IntArray) -> IntArray:
        """Senses of the reduced cells, from those of the original (members of a group agree, or no table exists)."""
        reduced = np.zeros(self.problem.size, dtype=np.int64)
        cells = np.flatnonzero((self.group >= 0) & (senses != 0) & _asking(self.original))
        reduced[self.group[cells]] = senses[cells] * self.sign[cells]
        return np.where(self.problem.sensitive, reduced, 0)


def reduce_problem(problem: ProtectionProblem) -> Reduction:
    """Reduce until nothing more is found."""
    work = _Presolve(problem)
    work.exhaust()
    if work.feasible and 0 < work.count <= ROUNDING.most_for_parts:
        work.merge_equal_sums()
        work.exhaust()
    return work.result()


class _Presolve:
    """Groups of tied cells under way. Arrays are per group; `group`, `sign`, `constant` and `found_by` per original cell."""

    _PER_GROUP = ("low", "high", "sensitive", "down", "up", "weight", "low_by", "high_by", "down_shut_by", "up_shut_by")

    def __init__(self, problem: ProtectionProblem) -> None:
        self.original = problem
        self.exact = np.bool_(problem.variant == "exact")
        self.group = np.arange(problem.size)
        self.sign = np.ones(problem.size, dtype=np.int64)
        self.constant = np.zeros(problem.size, dtype=np.int64)
        self.found_by = np.full(problem.size, _OPEN)
        self.low, self.high = problem.free.low.copy(), problem.free.high.copy()
        self.low_by, self.high_by = np.full(problem.size, OWN_BOUNDS), np.full(problem.size, OWN_BOUNDS)
        self.down_shut_by, self.up_shut_by = np.full(problem.size, _OPEN), np.full(problem.size, _OPEN)
        self.sensitive = _asking(problem)
        if self.exact:
            still = problem.sensitive & ~self.sensitive
            self.low, self.high = np.where(still, np.maximum(self.low, 0), self.low), np.where(still, np.minimum(self.high, 0), self.high)
        self.down = np.where(self.sensitive, problem.lower_level, 0)
        self.up = np.where(self.sensitive, problem.upper_level, 0)
        self.weight = problem.weight.copy()
        self.matrix = csr_matrix(problem.relations, dtype=np.int64, copy=True)
        self.residual = problem.residual.copy()
        self.relation = np.arange(problem.rhs.size)
        self.feasible = True
        self._shut_senses()

    @property
    def count(self) -> int:
        return int(self.low.size)

    def exhaust(self) -> None:
        """Merge, fix and tighten until nothing changes."""
        for _ in range(TUNING.passes):
            before = self.count
            self.merge_and_fix()
            tighter = self.tighten()
            if not self.feasible or (self.count == before and not tighter):
                break

    def merge_equal_sums(self) -> None:
        """Tie cells that are the same sum of independent parts, up to sign: no single relation shows it, all together do."""
        parts = parts_of(self._reduced())
        if parts is None:
            return
        sums = parts.sums.tocsr()
        sums.sort_indices()
        first: dict[bytes, tuple[int, int]] = {}
        pairs = []
        for cell in np.flatnonzero((parts.constant == 0) & (np.diff(sums.indptr) > 0)):
            part = slice(sums.indptr[cell], sums.indptr[cell + 1])
            turn = int(np.sign(sums.data[part][0]))
            key = sums.indices[part].tobytes() + (turn * sums.data[part]).tobytes()
            head, head_turn = first.setdefault(key, (int(cell), turn))
            if head != cell:
                pairs.append((int(cell), head, turn * head_turn, SEVERAL))
        if pairs:
            self._merge(redundancy.tie_cells(self.count, np.array(pairs, dtype=np.int64)))

    def merge_and_fix(self) -> None:
        self.matrix.eliminate_zeros()
        self.matrix.sort_indices()
        self._fix_forced()
        self._drop_idle_relations()
        pairs = redundancy.equal_pairs(self.matrix, self.residual)
        if pairs.size:
            pairs[:, 3] = self.relation[pairs[:, 3]]
            self._merge(redundancy.tie_cells(self.count, pairs))

    def _fix_forced(self) -> None:
        """Fold in the groups that can take one value only: by their bounds, or as the only term of a relation."""
        fixed, amount = self.low == self.high, np.where(self.low == self.high, self.low, 0)
        single = np.flatnonzero(np.diff(self.matrix.indptr) == 1)
        cells, factors = self.matrix.indices[self.matrix.indptr[single]], self.matrix.data[self.matrix.indptr[single]]
        forced = self.residual[single] // factors
        self.feasible &= bool((forced * factors == self.residual[single]).all())
        fixed[cells], amount[cells] = True, forced
        if fixed.any():
            self.feasible &= self._allows(amount)[fixed].all() and bool((amount[cells] == forced).all())
            by = np.where(amount > 0, self.low_by, self.high_by)
            by[cells] = self.relation[single]
            shut = np.where(amount > 0, self.down_shut_by, self.up_shut_by)
            self._note(fixed, np.where(shut == _OPEN, by, shut))
            self._keep(~fixed, amount)

    def _allows(self, amount: IntArray) -> BoolArray:
        inside = (amount >= self.low) & (amount <= self.high)
        unsafe = (amount > -self.down) & (amount < self.up)
        too_far = self.exact & ((amount < -self.down) | (amount > self.up))
        return np.asarray(inside & ~(self.sensitive & (unsafe | too_far)))

    def _note(self, groups: BoolArray, by: IntArray) -> None:
        """Remember through which relation the cells of some groups lost their choice."""
        cells = np.flatnonzero(self.group >= 0)
        cells = cells[groups[self.group[cells]]]
        self.found_by[cells] = by[self.group[cells]]

    def _keep(self, kept: BoolArray, amount: IntArray) -> None:
        """Keep some groups; the others are fixed at their amounts."""
        moving = self.group >= 0
        fixed_cell = moving & ~kept[self.group]
        self.constant[fixed_cell] += self.sign[fixed_cell] * amount[self.group[fixed_cell]]
        self.residual = self.residual - self.matrix @ np.where(kept, 0, amount)
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        self.group = np.where(moving, number[self.group], -1)
        self.matrix = self.matrix[:, np.flatnonzero(kept)].tocsr()
        for name in self._PER_GROUP:
            setattr(self, name, getattr(self, name)[kept])

    def _drop_idle_relations(self) -> None:
        empty = np.diff(self.matrix.indptr) == 0
        self.feasible &= not bool(self.residual[empty].any())
        kept = ~empty & redundancy.first_of_equal_rows(self.matrix, self.residual)
        if not kept.all():
            self.matrix, self.residual, self.relation = self.matrix[np.flatnonzero(kept)].tocsr(), self.residual[kept], self.relation[kept]

    def _merge(self, tied: CellTies) -> None:
        """Make one group of all that are tied: z = turn * z of the root. Contradictions (z = -z) fix the group at zero."""
        tied = self._keep_rest_open(tied)
        heads = np.unique(tied.root)
        number = np.full(self.count, -1)
        number[heads] = np.arange(heads.size)
        to, turn = number[tied.root], tied.turn
        moving = self.group >= 0
        self.sign = np.where(moving, self.sign * turn[self.group], self.sign)
        self.group = np.where(moving, to[self.group], -1)
        tie = csr_matrix((turn, (np.arange(turn.size), to)), shape=(turn.size, heads.size))
        self.matrix = (self.matrix @ tie).tocsr()
        self.matrix.eliminate_zeros()
        self._merge_bounds(tied, to, heads.size)
        self.weight = np.bincount(to, weights=self.weight, minlength=heads.size).astype(np.float64)
        self.sensitive = np.bincount(to, weights=self.sensitive, minlength=heads.size) > 0
        stuck = np.unique(to[tied.zero])
        self.low[stuck], self.high[stuck] = np.maximum(self.low[stuck], 0), np.minimum(self.high[stuck], 0)
        self._shut_senses()

    def _keep_rest_open(self, tied: CellTies) -> CellTies:
        """Part the groups that may stay at zero, move far down or move far up: no two levels say that, but two tied groups do.

        Every member allows zero, through a level of zero on one side, but not all on the same side. Those that ask something upwards are
        parted from the others; the relations keep them tied.
        """
        down, up = self._turned_levels(tied.turn)
        most = np.zeros((3, self.count), dtype=np.int64)
        for row, level in zip(most, (down, up, np.minimum(down, up)), strict=True):
            np.maximum.at(row, tied.root, level)
        three_ways = (most[0] > 0) & (most[1] > 0) & (most[2] == 0)
        return redundancy.split_ties(tied, three_ways[tied.root] & (up > 0)) if three_ways.any() else tied

    def _turned_levels(self, turn: IntArray) -> tuple[IntArray, IntArray]:
        return np.where(turn > 0, self.down, self.up), np.where(turn > 0, self.up, self.down)

    def _merge_bounds(self, tied: CellTies, to: IntArray, size: int) -> None:
        """Bounds, levels and reasons of the merged groups; each member's own are turned with it."""
        ahead = tied.turn > 0
        own_low, own_high = np.where(ahead, self.low, -self.high), np.where(ahead, self.high, -self.low)
        low_by, high_by = np.where(ahead, self.low_by, self.high_by), np.where(ahead, self.high_by, self.low_by)
        own_down, own_up = self._turned_levels(tied.turn)
        shut = np.where(ahead, self.down_shut_by, self.up_shut_by), np.where(ahead, self.up_shut_by, self.down_shut_by)
        self.low, self.high = np.full(size, -NO_LIMIT), np.full(size, NO_LIMIT)
        np.maximum.at(self.low, to, own_low)
        np.minimum.at(self.high, to, own_high)
        self.down, self.up = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        np.maximum.at(self.down, to, own_down)
        np.maximum.at(self.up, to, own_up)
        together = np.where(tied.by == NO_TIE, OWN_BOUNDS, tied.by)  # a bound that another member brought came through the tie
        self.low_by = _reason(np.where(low_by == OWN_BOUNDS, together, low_by), own_low == self.low[to], to, size, OWN_BOUNDS)
        self.high_by = _reason(np.where(high_by == OWN_BOUNDS, together, high_by), own_high == self.high[to], to, size, OWN_BOUNDS)
        self.down_shut_by, self.up_shut_by = (_reason(each, each != _OPEN, to, size, _OPEN) for each in shut)
        if self.exact:  # members must reach their own levels at once: a sense with two different levels is closed
            held = self.sensitive
            unequal_down = np.bincount(to[held], weights=own_down[held] != self.down[to[held]], minlength=size) > 0
            unequal_up = np.bincount(to[held], weights=own_up[held] != self.up[to[held]], minlength=size) > 0
            self.low = np.where(unequal_down, np.maximum(self.low, 0), self.low)
            self.high = np.where(unequal_up, np.minimum(self.high, 0), self.high)

    def tighten(self) -> bool:
        """What the other terms of a relation allow bounds each term; tell whether that brought anything."""
        ranges = TracedBounds(self.low, self.high, self.low_by, self.high_by)
        tighter = tighten_bounds(sparse_rows(self.matrix), self.residual, self.relation, ranges)
        self._shut_senses()
        return tighter

    def _shut_senses(self) -> None:
        """A closed sense moves the bound to the other one's level; no open sense, or empty bounds, means no table."""
        down_open = ~self.sensitive | ((self.low <= -self.down) & (~self.exact | (-self.down <= self.high)))
        up_open = ~self.sensitive | ((self.high >= self.up) & (~self.exact | (self.up >= self.low)))
        by_low, by_high = self.low > -self.down, self.high < self.up
        self.down_shut_by = np.where(
            down_open | (self.down_shut_by != _OPEN), self.down_shut_by, np.where(by_low, self.low_by, self.high_by)
        )
        self.up_shut_by = np.where(up_open | (self.up_shut_by != _OPEN), self.up_shut_by, np.where(by_high, self.high_by, self.low_by))
        self.low = np.where(self.sensitive & ~down_open, np.maximum(self.low, self.up), self.low)
        self.high = np.where(self.sensitive & ~up_open, np.minimum(self.high, -self.down), self.high)
        self.feasible &= bool((self.low <= self.high).all() and (down_open | up_open).all())

    def result(self) -> Reduction:
        self.matrix.sort_indices()
        if not self.feasible:
            self.low, self.high = np.minimum(self.low, self.high), np.maximum(self.low, self.high)
        return Reduction(
            original=self.original,
            problem=self._reduced(),
            group=self.group,
            sign=self.sign,
            constant=self.constant,
            relation=self.relation,
            forced=self._forced(),
            feasible=self.feasible,
        )

    def _reduced(self) -> ProtectionProblem:
        return ProtectionProblem(
            relations=self.matrix,
            rhs=self.residual,
            value=np.zeros(self.count, dtype=np.int64),
            weight=self.weight,
            lower=self.low,
            upper=self.high,
            sensitive=self.sensitive,
            lower_level=self.down,
            upper_level=self.up,
            variant=self.original.variant,
            norm=self.original.norm,
        )

    def _forced(self) -> ForcedSenses:
        """The sensitive cells without a choice. What a cell's own bounds force is put down to them, whoever else forces it too."""
        problem = self.original
        one_way = (self.down_shut_by != _OPEN) ^ (self.up_shut_by != _OPEN)
        self._note(one_way, np.where(self.down_shut_by != _OPEN, self.down_shut_by, self.up_shut_by))
        cell = np.flatnonzero(problem.sensitive & (self.found_by != _OPEN))
        upward = self.constant + np.where(self.group >= 0, self.sign * np.append(self.low, 0)[self.group], 0)
        turned = (self.group >= 0) & (self.sign < 0)
        upward = np.where(turned, self.constant - np.append(self.high, 0)[self.group], upward)  # the least that the cell can move
        own = ~(problem.can_go_up & problem.can_go_down)[cell]
        sense = np.where(upward[cell] >= problem.up.low[cell], 1, -1)
        return ForcedSenses(cell, sense, np.where(own, OWN_BOUNDS, self.found_by[cell]))


def _asking(problem: ProtectionProblem) -> BoolArray:
    """Sensitive cells with a level: the others may be anywhere, or (variant exact) may not move."""
    return np.asarray(problem.sensitive & ((problem.lower_level > 0) | (problem.upper_level > 0)))


def _reason(by: IntArray, deciding: BoolArray, to: IntArray, size: int, other: int) -> IntArray:
    """For each group the reason of its first deciding member."""
    reason = np.full(size, other)
    members = np.flatnonzero(deciding)[::-1]
    reason[to[members]] = by[members]
    return reason


# --- bounds through relations: what the other terms of a relation allow bounds each term, in exact integers

ENDLESS = 2**61
"""Deviations beyond this stand for "no bound"."""
USEFUL = 2**52
"""Wider bounds than this are not worth having, and would not pass through a solver."""
_MOST = 2.0**62


class TracedBounds(NamedTuple):
    """Where each cell may be, and the relations that its bounds come from."""

    low: IntArray
    high: IntArray
    low_by: IntArray
    high_by: IntArray


@njit(cache=True)
def tighten_bounds(matrix: SparseRows, residual: IntArray, relation: IntArray, ranges: TracedBounds) -> bool:
    """One pass over the relations, in place. Tells whether a bound moved.

    A relation whose terms might not fit 64 bits is left alone.
    """
    moved = False
    for row in range(residual.size):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, terms = matrix.indices[part], matrix.data[part]
        moved |= _bound_terms(cells, terms, residual[row], relation[row], ranges)
        moved |= _bound_terms(cells, -terms, -residual[row], relation[row], ranges)
    return moved


@njit(cache=True)
def _least(cells: AnyArray, terms: IntArray, ranges: TracedBounds) -> tuple[int, int, float]:
    """The least that a relation's left side can be, how many terms are endless (and left out), and the sum of sizes."""
    least, endless, size = 0, 0, 0.0
    for cell, factor in zip(cells, terms):  # noqa: B905
        bottom = ranges.low[cell] if factor > 0 else ranges.high[cell]
        if abs(bottom) >= ENDLESS:
            endless += 1
        else:
            least += factor * bottom
            size += abs(float(factor) * float(bottom))
    return least, endless, size


@njit(cache=True)
def _bound_terms(cells: AnyArray, terms: IntArray, right: int, relation: int, ranges: TracedBounds) -> bool:
    """Each term may exceed its own least by as much as the right side exceeds the left one's; an endless one alone is bounded by that."""
    least, endless, size = _least(cells, terms, ranges)
    if endless > 1 or size + abs(float(right)) >= _MOST:
        return False
    low, high, moved = ranges.low, ranges.high, False
    for cell, factor in zip(cells, terms):  # noqa: B905
        bottom = low[cell] if factor > 0 else high[cell]
        if endless and abs(bottom) < ENDLESS:
            continue
        most = right - least + (0 if endless else factor * bottom)
        bound = most // factor if factor > 0 else -(most // -factor)
        if abs(bound) >= USEFUL:
            continue
        if factor > 0 and bound < high[cell]:
            high[cell], ranges.high_by[cell], moved = bound, relation, True
        elif factor < 0 and bound > low[cell]:
            low[cell], ranges.low_by[cell], moved = bound, relation, True
    return moved
