"""The state that every sense method works on: the problem, the clock, the best table and the best bound so far.

It lives in the isolated child. Whatever improves is sent to the parent at once, so that nothing is lost when the child is killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Limits
from statveil.formats.certificate import COVER, Alike, Cases, ProofSum
from statveil.protect.problem import ProtectionProblem

if TYPE_CHECKING:
    from statveil.protect.fixed_senses import FixedSenses


class DualMultipliers(NamedTuple):
    """Dual multipliers from which a lower bound follows by weak duality (docs/science.md, section 5), in cost per unit of deviation.

    `relations` has one for each relation A z = r, of either sign (or is empty: all zero). Each cut has a relation, the cell
    that is taken for the longest (`COVER` for a cover cut), and an amount of zero or more:
        polygon:  |c_i| u_i <= sum over k != i of |c_k| u_k + |r|           with u = |z|
        cover:    sum |c_k| u_k >= sum over the sensitive of |c_k| least_k + d
    Relations and cells are those of the problem searched, written as they stand there; the certificate translates them to the
    original. Any numbers give a valid bound, so they need not be exact: the certificate rounds them and works the bound out anew.
    """

    relations: FloatArray
    cut_relation: IntArray
    cut_cell: IntArray
    cut: FloatArray


NO_MULTIPLIERS = DualMultipliers(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
"""They prove what every cell costs at the least by itself."""


class LiftedMultipliers(NamedTuple):
    """Multipliers of copies of the table, each times the sign of a sensitive cell (`protect.bounds.lifted`), beside plain ones.

    `copies`: whole numbers, a row for each relation, each counting 2**-bits of it, and a column for each of the `cells`. Triangles: three
    copies by their columns, the signs of their three products (first and second, first and third, second and third), and a multiplier in
    costs.
    """

    plain: DualMultipliers
    cells: IntArray
    copies: IntArray
    bits: IntArray
    corners: IntArray
    corner_signs: IntArray
    triangles: FloatArray


AnyMultipliers = DualMultipliers | LiftedMultipliers
Proof = AnyMultipliers | Cases[AnyMultipliers] | Alike[AnyMultipliers] | ProofSum[AnyMultipliers]


def leaves_of(proof: Proof) -> list[AnyMultipliers]:
    """The sets of multipliers that a proof has."""
    return [proof] if isinstance(proof, AnyMultipliers) else [leaf for part in _parts(proof) for leaf in leaves_of(part)]


def _parts(proof: Cases[AnyMultipliers] | Alike[AnyMultipliers] | ProofSum[AnyMultipliers]) -> tuple[Proof, ...]:
    if isinstance(proof, ProofSum):
        return proof.parts
    return (proof.same, proof.opposite) if isinstance(proof, Alike) else (proof.up, proof.down)


def renumbered(proof: Proof, rows: IntArray, cells: IntArray, count: int) -> Proof:
    """The proof of a part of a problem in the numbering of the whole: its relations are `rows` of `count`, its cells are `cells`."""
    if isinstance(proof, DualMultipliers):
        return _renumbered(proof, rows, cells, count)
    if isinstance(proof, LiftedMultipliers):
        copies, bits = np.zeros((count, proof.cells.size), dtype=proof.copies.dtype), np.zeros(count, dtype=np.int64)
        copies[rows], bits[rows] = proof.copies, proof.bits
        return proof._replace(plain=_renumbered(proof.plain, rows, cells, count), cells=cells[proof.cells], copies=copies, bits=bits)
    parts = [renumbered(part, rows, cells, count) for part in _parts(proof)]
    if isinstance(proof, ProofSum):
        return ProofSum(tuple(parts))
    if isinstance(proof, Alike):
        return Alike(int(cells[proof.cell]), int(cells[proof.other]), parts[0], parts[1])
    return Cases(int(cells[proof.cell]), parts[0], parts[1], proof.at)


def _renumbered(proof: DualMultipliers, rows: IntArray, cells: IntArray, count: int) -> DualMultipliers:
    relations = np.zeros(count)
    relations[rows] = proof.relations if proof.relations.size else 0.0
    cut_cell = np.where(proof.cut_cell == COVER, COVER, cells[proof.cut_cell])
    return DualMultipliers(relations, rows[proof.cut_relation], cut_cell, proof.cut)


class SignTreeLimits(NamedTuple):
    """Of branch and bound on relative signs (`protect.bounds.sign_tree`), as far as others must know; by judgement."""

    fewest_copies: int = 13  # sensitive cells from which a tree may be large
    most_copies: int = 128  # and up to which there is one: four nodes of hier16 (87) take its root's 62,032 to 62,705 in 2 CPU s

    def fit(self, problem: ProtectionProblem) -> bool:
        """Whether there may be a large tree."""
        return problem.norm == "l1" and self.fewest_copies <= problem.choices.size <= self.most_copies


SIGN_TREES = SignTreeLimits()
ROUNDING = 1e-6
"""Relative distance by which a solver's bound may pass a table's cost without being false."""


class DearCellsTuning(NamedTuple):
    """Of tables whose costs lie on few of many cells: large as they are, branch and bound is worth its time there. By judgement."""

    choices: int = 150
    """Choices that carry nearly all that levels cost, up to which a large table is worth a tree: 76 of 760 on an office's table."""
    nearly_all: float = 0.999
    cells: tuple[int, int] = (3_000, 60_000)


DEAR_CELLS = DearCellsTuning()


def costs_on_few(problem: ProtectionProblem) -> bool:
    """Whether some dozens of many choices carry nearly all that levels cost, on a large table that programs can cope with."""
    choice, (fewest, most) = problem.choices, DEAR_CELLS.cells
    if choice.size <= DEAR_CELLS.choices or not fewest < problem.size <= most:
        return False
    cost = np.sort((problem.weight * np.minimum(problem.lower_level, problem.upper_level))[choice])[::-1]
    dear = np.searchsorted(np.cumsum(cost), DEAR_CELLS.nearly_all * cost.sum()) + 1
    return bool(dear <= DEAR_CELLS.choices)


class SearchNews(NamedTuple):
    """News from a search: a better table (`deviation`), a better `bound`, proof that there is none, only a new `stage`, or its end.

    `proof` shows how far up the bound is `proved`; where `bound` is above that, it is as claimed by a solver.
    """

    stage: str
    bound: float
    proved: float = 0.0
    deviation: IntArray | None = None
    infeasible: bool = False
    proof: Proof | None = None
    ended: bool = False
    """By itself, not by the clock."""


class BoundProof(NamedTuple):
    """What the lower bound rests on: inequalities matrix |z| >= rhs, and what a unit more of each |z| costs beyond the bound.

    `relation` and `cell` tell what each inequality is, as in `DualMultipliers`.
    """

    matrix: csr_matrix
    rhs: FloatArray
    reduced: FloatArray
    bound: float
    relation: IntArray
    cell: IntArray
    multipliers: FloatArray


class Search:
    """What a method needs and may do. `offer` believes nothing: a deviation counts only if the problem accepts it."""

    def __init__(self, problem: ProtectionProblem, limits: Limits, seed: int, send: Callable[[SearchNews], None]) -> None:
        self.problem = problem
        self.limits = limits
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.stage = "start"
        self.start: IntArray | None = None
        self.bounded = True
        self.cuts: BoundProof | None = None
        self.best: IntArray | None = None
        self.objective = float("inf")
        self.bound = 0.0
        self.proved = 0.0
        self._send = send
        self._began = time.monotonic()

    @cached_property
    def program(self) -> FixedSenses:
        from statveil.protect.fixed_senses import FixedSenses

        return FixedSenses(self.problem)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.limits.seconds - (time.monotonic() - self._began))

    @property
    def done(self) -> bool:
        """Out of time, as good as asked by what is proved, or the best there is by what anybody claims."""
        best, close_enough = self.objective - self.bound <= 1e-9 * self.bound, self.objective - self.proved <= self.limits.gap * self.proved
        return best or close_enough or self.seconds_left <= 0

    def enter(self, stage: str) -> None:
        self.stage = stage
        self._send(SearchNews(stage, self.bound, self.proved))

    def offer(self, deviation: IntArray | None) -> bool:
        """Keep a table if it is safe and better than the best; tell whether it was."""
        if deviation is None or not self.problem.accepts(deviation):
            return False
        objective = self.problem.cost(deviation)
        if objective >= self.objective:
            return False
        self.best, self.objective = deviation, objective
        self._send(SearchNews(self.stage, self.bound, self.proved, deviation))
        return True

    def offer_bound(self, bound: float, proof: Proof | None = None) -> None:
        """Raise the lower bound. It never passes the incumbent: that would only show rounding in the last digits.

        A solver's claim above the incumbent by more than that is false, and not heard. A proof that falls short of a solver's
        claim is sent all the same: it is worth more.
        """
        if proof is None and bound > self.objective * (1 + ROUNDING):
            return
        bound = min(bound, self.objective)
        if bound > (self.proved if proof is not None else self.bound):
            self.bound = max(self.bound, bound)
            self.proved = bound if proof is not None else self.proved
            self._send(SearchNews(self.stage, self.bound, self.proved, proof=proof))

    def try_senses(self, senses: IntArray) -> bool:
        """Price senses exactly: continuous program, made whole, offered."""
        from statveil.protect.fixed_senses import adjust_with_senses

        return self.offer(adjust_with_senses(self.program, senses, seconds=max(self.seconds_left, 0.1), worth=self.objective))

    def prove_infeasible(self) -> None:
        self._send(SearchNews(self.stage, self.bound, self.proved, infeasible=True))


class CheckTimeTuning(NamedTuple):
    """What it takes to turn a proof into a certificate once the search is over: a run's clock keeps so much of its time.

    A tree of relative signs may have hundreds of leaves, each with a copy of the table for each sign that is open. By the estimate a search
    stops in time, a tree grows no larger than can be checked, and what came too late is left out. Measured where nothing is said, with room
    (benchmarks/RESULTS.md).
    """

    share: float = 0.03  # of the time, whatever the proof; by judgement
    per_cell: float = 3.5e-6  # seconds, beside that share
    uneven_per_cell: float = 7e-6  # where weights differ: their products need integers of more than 64 bits
    most_of_the_time: float = 0.35  # the largest share; by judgement
    leaf_per_entry: float = 9e-7  # for each leaf of a tree, and of the table's cells and relations
    leaf_per_factor: float = 1.2e-7  # and of its factors of copies: to be told, translated, checked and written


CHECK_TIME = CheckTimeTuning()


def seconds_kept(problem: ProtectionProblem, limits: Limits) -> float:
    """What is kept of the time in any case, for a table of this size."""
    even = bool((problem.weight == problem.weight[:1]).all())
    per_cell = CHECK_TIME.per_cell if even else CHECK_TIME.uneven_per_cell
    return min(CHECK_TIME.share * limits.seconds + per_cell * problem.size, CHECK_TIME.most_of_the_time * limits.seconds)


def seconds_for_leaves(problem: ProtectionProblem, leaves: int, factors: int) -> float:
    """What so many leaves of a tree take, with so many factors of copies in all of them."""
    return CHECK_TIME.leaf_per_entry * (problem.size + problem.rhs.size) * leaves + CHECK_TIME.leaf_per_factor * factors


def seconds_to_check(problem: ProtectionProblem, proof: Proof) -> float:
    """What a proof for this problem, or for a part of it, takes to be checked and written."""
    leaves = leaves_of(proof)
    return seconds_for_leaves(problem, len(leaves), sum(leaf.copies.size for leaf in leaves if isinstance(leaf, LiftedMultipliers)))
