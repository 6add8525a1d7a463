"""From multipliers found by a search to a certificate that the independent checker accepts (audit.certificate_checker).

The search works in doubles and on the reduced problem. Here its multipliers are written as whole numbers over a power of two, for the
relations and cells of the original. What the reduction knew and the checker cannot see by itself, cells that only several
relations together make equal, is shown to it as derived relations. The bound is then what the checker finds, not what was hoped for.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from statveil.audit.certificate_checker import bound_of
from statveil.audit.implied_bounds import ImpliedBounds
from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.errors import AuditFailed
from statveil.formats import certificate as written
from statveil.formats.certificate import Alike, Cases, ProofSum
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import Reduction
from statveil.protect.presolve.redundancy import independent_short_rows
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers, LiftedMultipliers, Proof

Certificate = written.Certificate


class CertificateTuning(NamedTuple):
    """How fine a certificate is, and how far ties are looked for: by judgement."""

    bits: int = 40  # binary places of the smallest weight that a certificate keeps
    most_for_ties: int = 10_000  # relations up to which combinations of them are looked for that show a tie
    largest_denominator: int = 60
    nearly_whole: float = 1e-6


TUNING = CertificateTuning()
FIXED = -1
"""In the place of a group of the checker: a cell that can take one value only."""


class Certified(NamedTuple):
    """A certificate and what it proves, as a double that is not above it."""

    certificate: Certificate
    bound: float


class Certifier:
    """Certificates of proofs found on the reduced problem, for tables cheaper than `objective`. What they share is worked out once."""

    def __init__(self, reduction: Reduction, objective: float) -> None:
        self._problem, self._objective = reduction.original, objective
        self._translation = _Translation(reduction, _scale(reduction.original.weight))
        self._ties = _derived(reduction)

    def certified(self, proof: Proof) -> Certified | None:
        """The certificate of a proof; None if the checker refuses it."""
        draft = _draft(self._problem, self._translation.scale, self._objective, self._translation.node(proof))
        return _checked(self._problem, dataclasses.replace(draft, derived=self._ties))


def certify_levels(problem: ProtectionProblem, objective: float) -> Certified | None:
    """What can be said without any search: what each cell costs at the least by itself."""
    return _checked(problem, _draft(problem, _scale(problem.weight), objective, written.Multipliers((), (), (), (), ())))


def _draft(problem: ProtectionProblem, scale: int, objective: float, proof: written.Node) -> Certificate:
    worth = math.ceil(Fraction(objective) * 2**scale)
    return Certificate(cells=problem.size, relations=int(problem.rhs.size), scale=scale, worth=worth, bound=0, derived=(), proof=proof)


def _checked(problem: ProtectionProblem, draft: Certificate) -> Certified | None:
    try:
        bound = bound_of(problem, draft)
    except AuditFailed:
        return None
    return Certified(dataclasses.replace(draft, bound=math.floor(bound * 2**draft.scale)), _not_above(bound))


def _scale(weight: FloatArray) -> int:
    """Binary places that keep the weights: all of them if that takes few more than are needed, for then costs are whole multiples."""
    if weight.size == 0:
        return 0
    enough = max(0, TUNING.bits - math.frexp(float(weight.min()))[1])
    exact = max(each.as_integer_ratio()[1].bit_length() - 1 for each in np.unique(weight).tolist())
    return max(enough, exact) if exact <= enough + TUNING.bits // 2 else enough


def _not_above(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


class _Translation:
    """Multipliers of the reduced problem's relations as those of the original's, in whole units of 2**-scale."""

    def __init__(self, reduction: Reduction, scale: int) -> None:
        self.scale = scale
        self.relation, self.times = _original_relations(reduction)
        cells = np.flatnonzero(reduction.group >= 0)[::-1]
        self.cell = np.zeros(reduction.problem.size, dtype=np.int64)
        self.cell[reduction.group[cells]] = cells  # the first of each group
        self.sign, self.constant = reduction.sign, reduction.constant

    def node(self, proof: Proof) -> written.Node:
        if isinstance(proof, Cases):
            cell = int(self.cell[proof.cell])
            up, down, at = proof.up, proof.down, proof.at
            if self.sign[cell] < 0:  # it goes opposite to its group
                up, down, at = down, up, None if at is None else -at - 1
            return written.Cases(cell, self.node(up), self.node(down), None if at is None else at + int(self.constant[cell]))
        if isinstance(proof, Alike):
            one, other = int(self.cell[proof.cell]), int(self.cell[proof.other])
            same, opposite = self.node(proof.same), self.node(proof.opposite)
            return written.Alike(one, other, *((same, opposite) if self.sign[one] == self.sign[other] else (opposite, same)))
        if isinstance(proof, ProofSum):
            return written.ProofSum(tuple(map(self.node, proof.parts)))
        return self._copies(proof) if isinstance(proof, LiftedMultipliers) else self._leaf(proof)

    def _copies(self, proof: LiftedMultipliers) -> written.Copies:
        """Factors of few digits: there are many of them, and a small error in each costs little."""
        cells = self.cell[proof.cells]
        turn = self.sign[cells]  # a cell that goes opposite to its group
        used = np.flatnonzero(proof.copies.any(axis=1) & (self.times != 0))
        times, shifts = self.times[used], self.scale - proof.bits[used]
        factors = proof.copies[used] * times[:, np.newaxis] * turn
        room = written.PLACES - np.frexp(np.abs(factors).max(axis=1, initial=0.0))[1]
        finer = np.minimum(np.where(times == np.rint(times), np.minimum(room, 0), room), shifts)
        factors, shifts = np.ldexp(factors, finer[:, np.newaxis]), shifts - finer
        return written.Copies(
            plain=self._leaf(proof.plain),
            cells=tuple(cells.tolist()),
            relations=tuple(self.relation[used].tolist()),
            factors=written.packed(np.rint(factors).astype(np.int64)),
            shifts=tuple(shifts.tolist()),
            triangles=self._triangles(proof, turn),
        )

    def _triangles(self, proof: LiftedMultipliers, turn: IntArray) -> tuple[int, ...]:
        """Five numbers each: the copies, the pair that stands with a plus sign alone, and the multiplier."""
        corners = proof.corners
        turned = np.stack([turn[corners[:, a]] * turn[corners[:, b]] for a, b in ((0, 1), (0, 2), (1, 2))], axis=1).reshape(-1, 3)
        signs = proof.corner_signs * turned
        alone = np.where(signs.min(axis=1, initial=1) > 0, 0, 1 + signs.argmax(axis=1)) if len(corners) else np.zeros(0, dtype=np.int64)
        rows = zip(corners.tolist(), alone.tolist(), self._whole(proof.triangles), strict=True)
        return tuple([number for places, pair, factor in rows for number in (*places, pair, factor)])

    def _leaf(self, proof: DualMultipliers) -> written.Multipliers:
        relations = np.flatnonzero(proof.relations)
        factors = self._whole(proof.relations[relations] * self.times[relations])
        cut_factors = self._whole(proof.cut * np.abs(self.times[proof.cut_relation]))
        kept = [k for k, factor in enumerate(cut_factors) if factor > 0]
        cells = np.where(proof.cut_cell == written.COVER, written.COVER, self.cell[proof.cut_cell])
        return written.Multipliers(
            relations=tuple(self.relation[relations].tolist()),
            factors=tuple(factors),
            cut_relations=tuple(self.relation[proof.cut_relation[kept]].tolist()),
            cut_cells=tuple(cells[kept].tolist()),
            cut_factors=tuple(cut_factors[k] for k in kept),
        )

    def _whole(self, factors: FloatArray) -> list[int]:
        return [round(factor) for factor in np.ldexp(factors, self.scale).tolist()]


def _original_relations(reduction: Reduction) -> tuple[IntArray, FloatArray]:
    """For each reduced relation an original one that says the same, and how many times it; zero times where there is none."""
    reduced = reduction.problem.relations.tocsr()
    moving = np.flatnonzero(reduction.group >= 0)
    tie = csr_matrix((reduction.sign[moving], (moving, reduction.group[moving])), shape=(reduction.group.size, reduced.shape[1]))
    ours = (reduction.original.relations @ tie).tocsr()
    keys = np.random.Generator(np.random.PCG64(17)).integers(2**63, size=reduced.shape[1], dtype=np.int64).astype(np.uint64)
    (own_marks, own_lead), (marks, lead) = _marks(ours, keys), _marks(reduced, keys)
    marks_in_order, first = np.unique(own_marks, return_index=True)
    if first.size == 0:
        return np.zeros(lead.size, dtype=np.int64), np.zeros(lead.size)
    at = np.minimum(np.searchsorted(marks_in_order, marks), first.size - 1)
    return first[at], np.where(marks_in_order[at] == marks, lead / own_lead[first[at]], 0.0)


def _marks(matrix: csr_matrix, keys: AnyArray) -> tuple[AnyArray, FloatArray]:
    """A 64-bit mark of each row that does not change with its scale, and the scale. A wrong match would only weaken the bound."""
    matrix.eliminate_zeros()
    matrix.sort_indices()
    lengths = np.diff(matrix.indptr)
    lead = np.ones(lengths.size)
    full = np.flatnonzero(lengths)
    divisor = np.gcd.reduceat(np.abs(matrix.data), matrix.indptr[full]) if full.size else np.zeros(0, dtype=np.int64)
    lead[full] = divisor * np.sign(matrix.data[matrix.indptr[full]])
    plain = matrix.data // np.repeat(lead, lengths).astype(np.int64)
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(keys[matrix.indices] * plain.astype(np.uint64))])
    return running[matrix.indptr[1:]] - running[matrix.indptr[:-1]], lead


def _derived(reduction: Reduction) -> tuple[written.Combination, ...]:
    """Combinations of relations that show the ties which no single relation shows."""
    problem, moving = reduction.original, reduction.group >= 0
    if problem.rhs.size > TUNING.most_for_ties or np.unique(reduction.group[moving]).size == moving.sum():
        return ()
    none = csr_matrix(np.zeros((0, problem.rhs.size), dtype=np.int64))
    reach = ImpliedBounds(problem, none, np.ones(problem.size, dtype=np.int64), NO_LIMIT)
    reach.exhaust()
    unseen = [] if reach.impossible else _unseen_ties(reduction, reach)
    if not unseen:
        return ()
    rows = independent_short_rows(reach.matrix, reach.right)
    basis = reach.matrix[rows].astype(np.float64)
    # of a symmetric matrix: so ordered its factors have half the entries, in a quarter of the time
    solver = splu((basis @ basis.T).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    found = []
    for one, other, turn in unseen:
        target = np.zeros(reach.matrix.shape[1])
        target[one] = 1.0
        if other != FIXED:
            target[other] = -float(turn)
        factors = _rational(solver.solve(basis @ target))
        if factors is not None:
            used = np.flatnonzero(factors)
            found.append(written.Combination(tuple(rows[used].tolist()), tuple(factors[used].tolist())))
    return tuple(found)


def _unseen_ties(reduction: Reduction, reach: ImpliedBounds) -> list[tuple[int, int, int]]:
    """Groups of the checker (one, other, turn) that the reduction holds for equal or opposite; other `FIXED`: to a cell that is fixed."""
    first: dict[int, tuple[int, int]] = {}
    settled = set(reduction.group[(reduction.group >= 0) & (reach.group < 0)].tolist())
    tied = np.flatnonzero((reach.group >= 0) & ((reduction.group < 0) | np.isin(reduction.group, list(settled))))
    unseen = {(int(group), FIXED, 1) for group in reach.group[tied]}
    for cell in np.flatnonzero((reduction.group >= 0) & (reach.group >= 0)).tolist():
        group, sign = int(reach.group[cell]), int(reach.sign[cell] * reduction.sign[cell])
        head, head_sign = first.setdefault(int(reduction.group[cell]), (group, sign))
        if head != group:
            unseen.add((head, group, head_sign * sign))
    return sorted(unseen)


def _rational(factors: FloatArray) -> IntArray | None:
    """Whole numbers proportional to the factors, if they have a small common denominator. The checker sees whether they are right."""
    for denominator in range(1, TUNING.largest_denominator + 1):
        whole = np.rint(factors * denominator)
        if np.abs(factors * denominator - whole).max(initial=0.0) < TUNING.nearly_whole:
            return whole.astype(np.int64)
    return None
