"""Preprocessing in one place: the same problem with fewer cells, and the way back.

- a cell that cannot move is folded into the right-hand sides;
- two cells that a relation, or the difference of two relations, makes equal (or opposite) are one cell;
- so are two cells that are the same sum of independent parts (METHODS 4: proportional on the null space of A), found exactly;
- bounds are tightened through the relations until nothing changes; that closes senses and fixes further cells;
- relations left without cells, or said twice, are dropped.
The reduced problem is in deviations (all values zero). Nothing is lost on the way back: costs agree, and every answer is
checked on the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from statveil.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.whole import MOST_FOR_PARTS, parts_of

PASSES = 20
_ENDLESS = NO_LIMIT // 2


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """z of an original cell is `constant + sign * z[group]` of the reduced problem; group -1: the cell cannot move."""

    original: ProtectionProblem
    problem: ProtectionProblem
    group: IntArray
    sign: IntArray
    constant: IntArray
    feasible: bool

    @property
    def fixed_cost(self) -> float:
        return self.original.cost(self.constant)

    def expand(self, deviation: IntArray) -> IntArray:
        """Deviations of the original cells."""
        moved = np.where(self.group >= 0, np.append(deviation, 0)[self.group], 0)
        return np.asarray(self.constant + self.sign * moved, dtype=np.int64)

    def restrict(self, senses: IntArray) -> IntArray:
        """Senses of the reduced cells, from those of the original (members of a group agree, or no table exists)."""
        reduced = np.zeros(self.problem.size, dtype=np.int64)
        cells = np.flatnonzero((self.group >= 0) & (senses != 0))
        reduced[self.group[cells]] = senses[cells] * self.sign[cells]
        return np.where(self.problem.sensitive, reduced, 0)


def reduce_problem(problem: ProtectionProblem) -> Reduction:
    """Reduce until nothing more is found."""
    work = _Work(problem)
    work.exhaust()
    if work.feasible and 0 < work.count <= MOST_FOR_PARTS:
        work.merge_equal_sums()
        work.exhaust()
    return work.result()


class _Work:
    """Groups of tied cells under way. Arrays are per group, `group`, `sign` and `constant` per original cell."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self.original = problem
        self.exact = np.bool_(problem.variant == "exact")
        self.group = np.arange(problem.size)
        self.sign = np.ones(problem.size, dtype=np.int64)
        self.constant = np.zeros(problem.size, dtype=np.int64)
        self.low, self.high = problem.free.low.copy(), problem.free.high.copy()
        self.sensitive = problem.sensitive.copy()
        self.down = np.where(self.sensitive, problem.lower_level, 0)
        self.up = np.where(self.sensitive, problem.upper_level, 0)
        self.weight = problem.weight.copy()
        self.matrix = problem.relations.tocsr().astype(np.int64)
        self.residual = problem.residual.copy()
        self.feasible = True
        self._shut_senses()

    @property
    def count(self) -> int:
        return int(self.low.size)

    def bounds_key(self) -> tuple[int, int]:
        return (hash(self.low.tobytes()), hash(self.high.tobytes()))

    def exhaust(self) -> None:
        """Merge, fix and tighten until nothing changes."""
        for _ in range(PASSES):
            before = (self.count, self.bounds_key())
            self.merge_and_fix()
            self.tighten()
            if not self.feasible or (self.count, self.bounds_key()) == before:
                break

    def merge_equal_sums(self) -> None:
        """Tie cells that are the same sum of independent parts, up to sign: no single relation shows it, all together do."""
        parts = parts_of(self.result().problem)
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
                pairs.append((int(cell), head, turn * head_turn))
        if pairs:
            self._merge(np.array(pairs, dtype=np.int64))

    def merge_and_fix(self) -> None:
        self.matrix.eliminate_zeros()
        self.matrix.sort_indices()
        self._fix_forced()
        self._drop_idle_relations()
        pairs = np.concatenate([_two_term_pairs(self.matrix, self.residual), _difference_pairs(self.matrix, self.residual)])
        if pairs.size:
            self._merge(pairs)

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
            self._keep(~fixed, amount)

    def _allows(self, amount: IntArray) -> BoolArray:
        inside = (amount >= self.low) & (amount <= self.high)
        gap = self.sensitive & (amount > -self.down) & (amount < self.up)
        return np.asarray(inside & ~gap)

    def _keep(self, kept: BoolArray, amount: IntArray) -> None:
        """Keep some groups; the others are fixed at their amounts."""
        moving = self.group >= 0
        fixed_cell = moving & ~kept[self.group]
        self.constant[fixed_cell] += self.sign[fixed_cell] * amount[self.group[fixed_cell]]
        self.residual = self.residual - self.matrix @ np.where(kept, 0, amount)
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        self.group = np.where(moving, number[self.group], -1)
        self.matrix = self.matrix[:, np.flatnonzero(kept)].tocsr()
        for name in ("low", "high", "sensitive", "down", "up", "weight"):
            setattr(self, name, getattr(self, name)[kept])

    def _drop_idle_relations(self) -> None:
        empty = np.diff(self.matrix.indptr) == 0
        self.feasible &= not bool(self.residual[empty].any())
        first = _first_of_equal_rows(self.matrix, self.residual)
        kept = np.flatnonzero(~empty & first)
        self.matrix, self.residual = self.matrix[kept].tocsr(), self.residual[kept]

    def _merge(self, pairs: IntArray) -> None:
        """Tie groups (i, j, sign): z_i = sign * z_j. One representative per tree of ties; contradictions fix the group at zero."""
        root, turn, zero = _forest(self.count, pairs)
        heads = np.unique(root)
        number = np.full(self.count, -1)
        number[heads] = np.arange(heads.size)
        to = number[root]
        low, high = np.where(turn > 0, self.low, -self.high), np.where(turn > 0, self.high, -self.low)
        down, up = np.where(turn > 0, self.down, self.up), np.where(turn > 0, self.up, self.down)
        merged_low, merged_high = np.full(heads.size, -NO_LIMIT), np.full(heads.size, NO_LIMIT)
        np.maximum.at(merged_low, to, low)
        np.minimum.at(merged_high, to, high)
        merged_down, merged_up = np.zeros(heads.size, dtype=np.int64), np.zeros(heads.size, dtype=np.int64)
        np.maximum.at(merged_down, to, down)
        np.maximum.at(merged_up, to, up)
        if self.exact:  # members must reach their own levels at once: a sense with two different levels is closed
            held = self.sensitive
            unequal_down = np.bincount(to[held], weights=down[held] != merged_down[to[held]], minlength=heads.size) > 0
            unequal_up = np.bincount(to[held], weights=up[held] != merged_up[to[held]], minlength=heads.size) > 0
            merged_low = np.where(unequal_down, np.maximum(merged_low, 0), merged_low)
            merged_high = np.where(unequal_up, np.minimum(merged_high, 0), merged_high)
        stuck = np.unique(to[zero])
        merged_low[stuck], merged_high[stuck] = np.maximum(merged_low[stuck], 0), np.minimum(merged_high[stuck], 0)
        moving = self.group >= 0
        self.sign = np.where(moving, self.sign * turn[self.group], self.sign)
        tie = csr_matrix((turn, (np.arange(self.count), to)), shape=(self.count, heads.size))
        self.group = np.where(moving, to[self.group], -1)
        self.matrix = (self.matrix @ tie).tocsr()
        self.matrix.eliminate_zeros()
        self.weight = np.bincount(to, weights=self.weight, minlength=heads.size).astype(np.float64)
        self.sensitive = np.bincount(to, weights=self.sensitive, minlength=heads.size) > 0
        self.low, self.high, self.down, self.up = merged_low, merged_high, merged_down, merged_up
        self._shut_senses()

    def tighten(self) -> None:
        """What the other terms of a relation allow bounds each term; whole amounts are rounded inwards."""
        matrix = self.matrix
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        cells, factor = matrix.indices, matrix.data.astype(np.float64)
        least, most = _terms(factor, self.low[cells], self.high[cells])
        rest_least, rest_most = _without_own(rows, least, matrix.shape[0]), _without_own(rows, most, matrix.shape[0])
        right = self.residual[rows]
        ends = np.stack([(right - rest_most) / factor, (right - rest_least) / factor])
        lower, upper = np.ceil(ends.min(axis=0) - 1e-6), np.floor(ends.max(axis=0) + 1e-6)
        useful = np.abs(lower) < 2**52
        np.maximum.at(self.low, cells[useful], lower[useful].astype(np.int64))
        useful = np.abs(upper) < 2**52
        np.minimum.at(self.high, cells[useful], upper[useful].astype(np.int64))
        self._shut_senses()

    def _shut_senses(self) -> None:
        """A closed sense moves the bound to the other one's level; no open sense, or empty bounds, means no table."""
        down_open = ~self.sensitive | ((self.low <= -self.down) & (~self.exact | (-self.down <= self.high)))
        up_open = ~self.sensitive | ((self.high >= self.up) & (~self.exact | (self.up >= self.low)))
        self.low = np.where(self.sensitive & ~down_open, np.maximum(self.low, self.up), self.low)
        self.high = np.where(self.sensitive & ~up_open, np.minimum(self.high, -self.down), self.high)
        self.feasible &= bool((self.low <= self.high).all() and (down_open | up_open).all())

    def result(self) -> Reduction:
        size = self.count
        self.matrix.sort_indices()
        if not self.feasible:
            self.low, self.high = np.minimum(self.low, self.high), np.maximum(self.low, self.high)
        reduced = ProtectionProblem(
            relations=self.matrix,
            rhs=self.residual,
            value=np.zeros(size, dtype=np.int64),
            weight=self.weight,
            lower=self.low,
            upper=self.high,
            sensitive=self.sensitive,
            lower_level=self.down,
            upper_level=self.up,
            variant=self.original.variant,
            norm=self.original.norm,
        )
        return Reduction(
            original=self.original, problem=reduced, group=self.group, sign=self.sign, constant=self.constant, feasible=self.feasible
        )


def _terms(factor: FloatArray, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
    """Least and most that factor * z can be, infinite where z is unbounded."""
    bottom = np.where(low <= -_ENDLESS, -np.inf, low.astype(np.float64))
    top = np.where(high >= _ENDLESS, np.inf, high.astype(np.float64))
    return np.where(factor > 0, factor * bottom, factor * top), np.where(factor > 0, factor * top, factor * bottom)


def _without_own(rows: IntArray, terms: FloatArray, count: int) -> FloatArray:
    """For each entry the sum of its row's other terms; infinities are counted, not added."""
    endless = np.isinf(terms)
    finite = np.where(endless, 0.0, terms)
    sums = np.bincount(rows, weights=finite, minlength=count)[rows] - finite
    others_endless = np.bincount(rows, weights=endless, minlength=count)[rows] - endless > 0
    direction = np.sign(terms[endless][0]) if endless.any() else 1.0
    return np.where(others_endless, direction * np.inf, sums)


def _two_term_pairs(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """(i, j, sign) with z_i = sign * z_j by a relation of two terms."""
    rows = np.flatnonzero((np.diff(matrix.indptr) == 2) & (residual == 0))
    first = matrix.indptr[rows]
    i, j, a, b = matrix.indices[first], matrix.indices[first + 1], matrix.data[first], matrix.data[first + 1]
    same = np.abs(a) == np.abs(b)
    return np.asarray(np.column_stack([i, j, -np.sign(a * b)])[same], dtype=np.int64)


def _difference_pairs(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """(i, j, sign) where two relations with the same right-hand side are alike but for one term each.

    Relations are compared by keyed 64-bit sums of their terms with one term left out; each hit is then checked in full.
    """
    keys = np.random.Generator(np.random.PCG64(7)).integers(2**63, size=matrix.shape[1], dtype=np.int64).astype(np.uint64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    terms = keys[matrix.indices] * matrix.data.astype(np.uint64)
    sums = np.zeros(matrix.shape[0], dtype=np.uint64)
    np.add.at(sums, rows, terms)
    rest = sums[rows] - terms
    mirrored = np.minimum(rest, np.uint64(0) - rest)  # a relation and its negative are alike
    order = np.argsort(mirrored, kind="stable")
    hits = np.flatnonzero(mirrored[order][1:] == mirrored[order][:-1])
    found = [
        pair
        for k in hits
        if (pair := _checked_pair(matrix, residual, rows, order[k], order[k + 1], bool(rest[order[k]] == rest[order[k + 1]])))
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _checked_pair(matrix: csr_matrix, residual: IntArray, rows: IntArray, one: int, two: int, alike: bool) -> tuple[int, int, int] | None:
    """The tie that two relations imply, if they really are alike but for the entries `one` and `two`."""
    first, second, turn = rows[one], rows[two], 1 if alike else -1
    if first == second or residual[first] != turn * residual[second]:
        return None
    difference = matrix[first] - turn * matrix[second]
    difference.eliminate_zeros()
    if difference.nnz != 2 or abs(difference.data[0]) != abs(difference.data[1]):
        return None
    i, j = difference.indices
    return int(i), int(j), -int(np.sign(difference.data[0] * difference.data[1]))


def _first_of_equal_rows(matrix: csr_matrix, residual: IntArray) -> BoolArray:
    """Which relations are the first of their kind (also among negatives). Keyed sums find, full comparison decides."""
    count = matrix.shape[0]
    first = np.ones(count, dtype=np.bool_)
    if count == 0:
        return first
    lead = np.sign(np.append(matrix.data, 1)[matrix.indptr[:-1]])
    upright = matrix.copy()
    upright.data = matrix.data * np.repeat(lead, np.diff(matrix.indptr))
    keys = np.random.Generator(np.random.PCG64(11)).integers(2**63, size=matrix.shape[1], dtype=np.int64).astype(np.uint64)
    sums = np.zeros(count, dtype=np.uint64)
    np.add.at(sums, np.repeat(np.arange(count), np.diff(upright.indptr)), keys[upright.indices] * upright.data.astype(np.uint64))
    order = np.argsort(sums, kind="stable")
    for k in np.flatnonzero(sums[order][1:] == sums[order][:-1]):
        one, two = order[k], order[k + 1]
        if (upright[one] != upright[two]).nnz == 0 and residual[one] * lead[one] == residual[two] * lead[two]:
            first[two] = False
    return first


def _forest(count: int, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Union-find with signs: root and sign of each group, and the groups that a contradiction (z = -z) holds at zero."""
    parent, turn = np.arange(count), np.ones(count, dtype=np.int64)
    zero: list[int] = []

    def find(i: int) -> tuple[int, int]:
        path, sign = [], 1
        while parent[i] != i:
            path.append(i)
            i = int(parent[i])
        for node in reversed(path):
            sign = int(turn[node]) * (int(turn[parent[node]]) if parent[node] != i else 1)
            parent[node], turn[node] = i, sign
        return i, sign if path else 1

    for i, j, sign in pairs.tolist():
        (root_i, sign_i), (root_j, sign_j) = find(i), find(j)
        if root_i == root_j:
            if sign_i != sign * sign_j:
                zero.append(root_i)
        else:
            parent[root_i], turn[root_i] = root_j, sign_i * sign * sign_j
    roots = [find(i) for i in range(count)]
    return (
        np.array([r for r, _ in roots], dtype=np.int64),
        np.array([s for _, s in roots], dtype=np.int64),
        np.array(sorted(set(zero)), dtype=np.int64),
    )
