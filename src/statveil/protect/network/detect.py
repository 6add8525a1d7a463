"""Whether the relations are those of a network, found from the matrix alone (docs/science.md, section 3, "1H2D is a network").

A cell that is in two relations joins them as an arc joins nodes, once signs are turned so that it enters one and leaves the other.
A cell in three relations is one too many; in a hierarchy one of the three says nothing new: added up, the relations joined so far
give it. So: join relations along the cells in two relations; add up each joined piece; drop a relation that equals such a sum,
compared in full and in integers; go on with the cells that are now in two relations, until no cell is in three.
The pieces joined first are the subtables. Where that ends with a cell in three relations, relations that follow from the others in any
other way are looked for by elimination, within a limit of work, and it begins anew without those that crowd most cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.limits import Limits
from statveil.protect.presolve.redundancy import independent_rows, sparse_rows
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers, Search, SearchNews


class DetectTuning(NamedTuple):
    """Work allowed for elimination: by judgement, so that tables of three ways are refused at once."""

    most_steps: int = 1_000_000
    most_rounds: int = 10
    """How often relations are left out because of it."""


TUNING = DetectTuning()


class LowestTerms(NamedTuple):
    """The problem with its relations divided by their factors."""

    problem: ProtectionProblem
    factor: IntArray


def lowest_terms(problem: ProtectionProblem) -> LowestTerms:
    """Divide each relation by what its coefficients and its right-hand side have in common."""
    matrix, lengths = problem.relations.tocsr(), np.diff(problem.relations.indptr)
    factor = np.ones(matrix.shape[0], dtype=np.int64)
    if (np.abs(matrix.data) == 1).all():
        return LowestTerms(problem, factor)
    factor[lengths > 0] = np.gcd.reduceat(np.abs(matrix.data), matrix.indptr[:-1][lengths > 0])
    factor = np.where(problem.residual % np.maximum(factor, 1) == 0, np.maximum(factor, 1), 1)
    divided = csr_matrix((matrix.data // np.repeat(factor, lengths), matrix.indices, matrix.indptr), shape=matrix.shape)
    return LowestTerms(replace(problem, relations=divided, rhs=problem.rhs // factor), factor)


def in_lowest_terms(search: Search) -> Search:
    """A search in the same problem with its relations in lowest terms, whose news reach the one given in its own terms."""
    problem, factor = lowest_terms(search.problem)
    if (factor == 1).all():
        return search

    def tell(found: SearchNews) -> None:
        if found.stage != search.stage:
            search.enter(found.stage)
        search.offer(found.deviation)
        proof = found.proof if not isinstance(found.proof, DualMultipliers) else _divided(found.proof, factor)
        search.offer_bound(found.bound if proof is None else found.proved, proof)

    inner = Search(problem, Limits(seconds=max(search.seconds_left, 1e-3), gap=search.limits.gap), 0, tell)
    inner.rng, inner.start = search.rng, search.start
    return inner


def _divided(multipliers: DualMultipliers, factor: IntArray) -> DualMultipliers:
    """Multipliers of relations in lowest terms as multipliers of the relations."""
    relations = multipliers.relations / factor if multipliers.relations.size else multipliers.relations
    return multipliers._replace(relations=relations, cut=multipliers.cut / factor[multipliers.cut_relation])


@dataclass(frozen=True, kw_only=True)
class Network:
    """Cell i is the arc from `tail[i]` to `head[i]`: its deviation leaves one node and enters the other.

    Node j is relation `relation[j]`, in lowest terms, times `sign[j]`; what leaves it less what enters is `supply[j]`. The last node, the
    ground, is no relation: it closes the arcs of cells in fewer than two. `subtable[j]` numbers the pieces joined first, `side[j]` is 0
    or 1 so that arcs join different sides (-1 everywhere where that cannot be).
    """

    tail: IntArray
    head: IntArray
    supply: IntArray
    relation: IntArray
    sign: IntArray
    subtable: IntArray
    side: IntArray

    @property
    def nodes(self) -> int:
        return int(self.supply.size)

    @property
    def ground(self) -> int:
        return self.nodes - 1

    def of_relations(self, at_node: FloatArray, count: int) -> FloatArray:
        """What each of so many relations has at its node, turned as the node is; those that are no node have zero."""
        inner, found = self.relation >= 0, np.zeros(count)
        found[self.relation[inner]] = self.sign[inner] * at_node[inner]
        return found


def detect(problem: ProtectionProblem) -> Network | str:
    """The network that the problem's relations form, in lowest terms, or a sentence that says why they form none."""
    problem = lowest_terms(problem).problem
    matrix, residual = problem.relations.tocsr(), problem.residual
    if not (np.abs(matrix.data) == 1).all():
        return "A relation counts a cell with a factor other than one."
    rows, work_left = np.arange(matrix.shape[0]), TUNING.most_steps
    while True:
        work = _JoinedRelations(matrix if rows.size == matrix.shape[0] else matrix[rows], residual[rows])
        if not work.settle():
            return "The signs of the relations cannot be turned so that every cell enters one and leaves another."
        if not work.crowded.any():
            found = work.network()
            return replace(found, relation=np.append(rows[found.relation[:-1]], -1))
        implied, work_left = work.implied(work_left)
        if work_left <= 0:
            return "A cell is in three relations, and they are too many to find out which follow from others."
        if implied.size == 0:
            return "A cell is in three relations, also when those that follow from the others are left out."
        rows = np.delete(rows, implied)


class _JoinedRelations:
    """Relations under way: which are kept, and how they are joined (a forest with signs)."""

    def __init__(self, matrix: csr_matrix, residual: IntArray) -> None:
        self.matrix, self.residual = matrix, residual
        self.columns = matrix.tocsc()
        count = matrix.shape[0]
        self.kept = np.ones(count, dtype=np.bool_)
        self.degree = np.diff(self.columns.indptr).astype(np.int64)
        self.joined = np.zeros(matrix.shape[1], dtype=np.bool_)
        self.forest = _forest_of(count)
        self.parent, self.turn = self.forest
        self.first_pieces: IntArray | None = None
        keys = np.random.Generator(np.random.PCG64(13)).integers(2**63, size=matrix.shape[1] + 1, dtype=np.int64).astype(np.uint64)
        self.print_of = matrix.astype(np.uint64) @ keys[:-1] + residual.astype(np.uint64) * keys[-1]

    @property
    def crowded(self) -> BoolArray:
        return self.degree > 2

    def settle(self) -> bool:
        """Join and drop by turns, until no cell is in three relations or nothing more can be dropped; False where signs clash."""
        while True:
            if not self.join():
                return False
            if not self.crowded.any() or not self.drop_implied():
                return True

    def join(self) -> bool:
        """Join relations along the cells in two of them; False where signs clash."""
        fits = _join(sparse_rows(self.columns), self.kept, self.degree, self.joined, self.forest)
        _flatten(self.forest)
        if self.first_pieces is None:
            self.first_pieces = self.parent.copy()
        return bool(fits)

    def drop_implied(self) -> bool:
        """Drop the relations with a crowded cell that equal the sum of a joined piece they are not in; tell whether there were any.

        Keyed sums find them, full comparison in integers decides.
        """
        sums = np.zeros(self.kept.size, dtype=np.uint64)
        live = np.flatnonzero(self.kept)
        np.add.at(sums, self.parent[live], self.print_of[live] * self.turn[live].astype(np.uint64))
        crowded = np.asarray(abs(self.matrix) @ self.crowded.astype(np.int64) > 0) & self.kept
        pieces = np.unique(self.parent[live])
        pieces = pieces[np.argsort(sums[pieces], kind="stable")]
        wanted = np.flatnonzero(crowded)
        piece, alike = np.full(wanted.size, -1), np.ones(wanted.size, dtype=np.int64)
        for sign in (1, -1):
            turned = self.print_of[wanted] if sign > 0 else np.uint64(0) - self.print_of[wanted]
            for found in _equal(sums[pieces], pieces, turned):
                new = (piece < 0) & (found >= 0) & (found != self.parent[wanted])
                piece, alike = np.where(new, found, piece), np.where(new, sign, alike)
        return self._drop(wanted[piece >= 0], piece[piece >= 0], alike[piece >= 0])

    def implied(self, most: int) -> tuple[IntArray, int]:
        """Relations that follow from the other kept ones and, of those, crowd most cells; and what is left of the work allowed."""
        crowding = np.asarray(abs(self.matrix) @ self.crowded.astype(np.int64))
        lengths = np.diff(self.matrix.indptr)
        order = np.lexsort((lengths, crowding))
        order = order[self.kept[order]]
        work, none = int(lengths[order].sum()), np.zeros(0, dtype=np.int64)
        if work > most:
            return none, 0
        independent, all_seen = independent_rows(self.matrix, self.residual, order, most)
        if not all_seen:
            return none, 0
        if self._stays_crowded(crowding[independent]):
            return none, most
        follow = np.setdiff1d(order, independent)
        follow = follow[crowding[follow] > 0]
        most_crowded = follow[crowding[follow] == crowding[follow].max(initial=0)]
        return most_crowded, most - max(work, most // TUNING.most_rounds)

    def _stays_crowded(self, crowding: IntArray) -> bool:
        """Whether every choice of relations from which all follow has a cell in three of them, by a count over the least crowding choice.

        The independent relations found in order of crowding crowd the fewest cells in all of any such choice (a matroid's greedy basis).
        Where that is more than twice for each crowded cell, some cell is in three whatever is left out. A relation dropped before might
        have been the better choice: then the count tells nothing.
        """
        return bool(self.kept.all() and crowding.sum() > 2 * self.crowded.sum())

    def _drop(self, relation: IntArray, piece: IntArray, alike: IntArray) -> bool:
        """Drop each relation that really is the sum of its piece, one a piece and none whose own piece serves another."""
        members = np.flatnonzero(self.kept)
        members = members[np.argsort(self.parent[members], kind="stable")]
        start = np.searchsorted(self.parent[members], piece, side="left")
        end = np.searchsorted(self.parent[members], piece, side="right")
        candidates = _Candidates(relation, alike, members, start, end)
        dropped = relation[_verified(sparse_rows(self.matrix), self.residual, self.forest, candidates)]
        self.kept[dropped] = False
        gone = self.matrix[dropped].indices
        self.degree -= np.bincount(gone, minlength=self.degree.size)
        return bool(dropped.size)

    def network(self) -> Network:
        relation = np.flatnonzero(self.kept)
        number = np.full(self.kept.size, -1)
        number[relation] = np.arange(relation.size)
        tail, head = _arcs(sparse_rows(self.columns), self.kept, self.turn, number, relation.size)
        supply = self.turn[relation] * self.residual[relation]
        assert self.first_pieces is not None
        pieces = np.unique(self.first_pieces[relation], return_inverse=True)[1]
        return Network(
            tail=tail,
            head=head,
            supply=np.append(supply, -supply.sum()),
            relation=np.append(relation, -1),
            sign=np.append(self.turn[relation], 1),
            subtable=np.append(pieces, -1),
            side=_sides(tail, head, relation.size),
        )


def _equal(values: AnyArray, names: IntArray, wanted: AnyArray) -> tuple[IntArray, IntArray]:
    """The names of the first and of the last of the (sorted) values that equal each wanted one, or -1."""
    first, last = np.searchsorted(values, wanted, side="left"), np.searchsorted(values, wanted, side="right") - 1
    there = first <= last
    return np.where(there, names[np.minimum(first, names.size - 1)], -1), np.where(there, names[last], -1)


def _sides(tail: IntArray, head: IntArray, ground: int) -> IntArray:
    """Two sides such that every arc between relations crosses; -1 everywhere if there are none."""
    inner = (tail != ground) & (head != ground)
    forest = _forest_of(ground)
    if not _colour(tail[inner], head[inner], forest):
        return np.full(ground + 1, -1, dtype=np.int64)
    _flatten(forest)
    return np.append((forest.turn < 0).astype(np.int64), -1)


class _SignedForest(NamedTuple):
    """Joined relations hang from a root: the one above each, and the sign between the two."""

    parent: IntArray
    turn: IntArray


def _forest_of(count: int) -> _SignedForest:
    return _SignedForest(np.arange(count), np.ones(count, dtype=np.int64))


class _Candidates(NamedTuple):
    """Relations that may equal, but for a sign (`alike`), the sum of a joined piece: its `members` from `start` to `end`."""

    relation: IntArray
    alike: IntArray
    members: IntArray
    start: IntArray
    end: IntArray


@njit(cache=True)
def _find(forest, i):  # type: ignore[no-untyped-def]
    """Root of i and the sign between them, with path halving."""
    parent, turn = forest
    sign = np.int64(1)
    while parent[i] != i:
        up = parent[i]
        turn[i] *= turn[up]
        parent[i] = parent[up]
        sign *= turn[i]
        i = parent[i]
    return i, sign


@njit(cache=True)
def _unite(forest, u, v, sign):  # type: ignore[no-untyped-def]
    """Say that turn[v] = sign * turn[u]; False if that contradicts what is known."""
    root_u, sign_u = _find(forest, u)
    root_v, sign_v = _find(forest, v)
    if root_u == root_v:
        return sign_v == sign * sign_u
    keep, lose = (root_u, root_v) if root_u < root_v else (root_v, root_u)
    forest.parent[lose], forest.turn[lose] = keep, sign * sign_u * sign_v
    return True


@njit(cache=True)
def _flatten(forest):  # type: ignore[no-untyped-def]
    """Hang all right below their roots."""
    for i in range(forest.parent.size):
        root, sign = _find(forest, i)
        forest.parent[i], forest.turn[i] = root, sign


@njit(cache=True)
def _join(columns, kept, degree, joined, forest):  # type: ignore[no-untyped-def]
    """Join the relations of every cell in two of them that was not looked at before; False where signs clash."""
    indptr, indices, data = columns
    for cell in range(degree.size):
        if degree[cell] != 2 or joined[cell]:
            continue
        joined[cell] = True
        first = -1
        for k in range(indptr[cell], indptr[cell + 1]):
            if kept[indices[k]]:
                if first < 0:
                    first = k
                elif not _unite(forest, indices[first], indices[k], -data[first] * data[k]):
                    return False
    return True


@njit(cache=True)
def _colour(tail, head, forest):  # type: ignore[no-untyped-def]
    """Put the ends of every arc on different sides; False if that cannot be."""
    fits = True
    for i in range(tail.size):
        fits &= _unite(forest, tail[i], head[i], np.int64(-1))
    return fits


@njit(cache=True)
def _verified(matrix, residual, forest, candidates):  # type: ignore[no-untyped-def]
    """For each candidate, whether the signed sum of its piece's members is exactly `alike` times the relation.

    Each piece serves once a round, and a relation of a piece that has served waits for the next.
    """
    (relation, alike, members, start, end), (parent, turn) = candidates, forest
    size = 0
    for k in range(matrix.indices.size):
        size = max(size, matrix.indices[k] + 1)
    total = np.zeros(size, dtype=np.int64)
    used = np.zeros(parent.size, dtype=np.bool_)
    sound = np.zeros(relation.size, dtype=np.bool_)
    for number in range(relation.size):
        r, piece = relation[number], parent[members[start[number]]]
        if used[piece] or used[parent[r]]:
            continue
        right = _add(matrix, residual, r, -alike[number], total)
        for at in range(start[number], end[number]):
            right += _add(matrix, residual, members[at], turn[members[at]], total)
        equal = _clear(matrix, r, total) & (right == 0)
        for at in range(start[number], end[number]):
            equal &= _clear(matrix, members[at], total)
        if equal:
            sound[number] = used[piece] = used[parent[r]] = True
    return sound


@njit(cache=True)
def _add(matrix, residual, row, times, total):  # type: ignore[no-untyped-def]
    """Add a relation so many times to the total; gives its right-hand side so many times."""
    for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
        total[matrix.indices[k]] += times * matrix.data[k]
    return times * residual[row]


@njit(cache=True)
def _clear(matrix, row, total):  # type: ignore[no-untyped-def]
    """Set the total of a relation's cells to zero; tells whether it was."""
    zero = True
    for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
        zero &= total[matrix.indices[k]] == 0
        total[matrix.indices[k]] = 0
    return zero


@njit(cache=True)
def _arcs(columns, kept, turn, number, ground):  # type: ignore[no-untyped-def]
    """The node that each cell leaves and the one it enters."""
    indptr, indices, data = columns
    cells = indptr.size - 1
    tail, head = np.full(cells, ground), np.full(cells, ground)
    for cell in range(cells):
        for k in range(indptr[cell], indptr[cell + 1]):
            r = indices[k]
            if kept[r]:
                if turn[r] * data[k] > 0:
                    tail[cell] = number[r]
                else:
                    head[cell] = number[r]
    return tail, head
