"""Branch and bound on relative signs (docs/science.md, section 5): two cells either move the same way, or opposite ways.

A node of the tree is a partition of the sensitive cells into clusters whose signs are known relative to one another, with the multipliers
that the lifted relaxation found for it. Branching joins two clusters, with equal and with opposite signs: that takes a copy away, and
multipliers stay valid when those of the two copies are added up, so a child begins at its parent's bound. Best first, a node a thread.
Where one cluster is left, senses are settled but for turning all of them: two programs over whole amounts (`bounds.settled_senses`).
"""

from __future__ import annotations

import heapq
import math
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray
from statveil.formats.certificate import Alike
from statveil.protect.bounds.ascent import Ascent
from statveil.protect.bounds.branch_and_bound import cost_step
from statveil.protect.bounds.copy_model import Worth
from statveil.protect.bounds.copy_steps import CopyNode, join_gains
from statveil.protect.bounds.joins import joined
from statveil.protect.bounds.lifted import LiftedRoot
from statveil.protect.bounds.settled_senses import prove_settled
from statveil.protect.search_state import SIGN_TREES, Proof, Search, seconds_for_leaves


class SignTreeTuning(NamedTuple):
    """How far the tree goes; by judgement, but for what is said."""

    most_bytes: int = 2_000_000_000  # of multipliers and states held
    share_of_time: float = 0.95  # of the time left
    threads: tuple[tuple[int, int], ...] = ((60, 2), (2**62, 1))
    """Up to so many copies: two where the tree may close, one where the search beside it needs its core to the end."""
    apart: float = 0.3  # what a unit of |G| counts beside one of |Q| in the choice of a branch: the prototype's
    margin: float = 0.9
    """Part of a step of costs by which a node may stay below the best table and is still done with: bounds are rounded up to whole costs,
    and what is worked out in single precision may be off by the rest."""
    close: float = 1e-7  # relative distance from the best table's cost that is close enough where costs are not whole
    first_news: int = 4  # nodes after which the tree is told of; then at each doubling


TUNING = SignTreeTuning()


@dataclass
class _SignCase:
    """A node of the tree: what its multipliers prove, its proof once it is written, and, if it was branched on, how, and its children."""

    bound: float
    node: CopyNode | None
    worth: Worth | None
    proof: Proof | None = None
    cells: tuple[int, int] = (0, 0)
    children: tuple[_SignCase, _SignCase] | None = None


def prove_by_signs(search: Search, root: LiftedRoot) -> None:
    """Raise the bound by a tree of relative signs, up to the best table's cost if the limits allow."""
    if root.model.cells.size > SIGN_TREES.most_copies or search.done:
        return
    search.enter("proving by relative signs")
    tree = _SignTree(search, root)
    tree.run(search.seconds_left * TUNING.share_of_time)
    tree.offer()


class _SignTree:
    """Open nodes in a heap, the cheapest first; those that threads are working on; and what the tree holds, in bytes."""

    def __init__(self, search: Search, root: LiftedRoot) -> None:
        self.search, self.model = search, root.model
        self.step = cost_step(search.problem.weight)
        self.root = _SignCase(root.worth.bound, root.node, root.worth)
        self.open: list[tuple[float, int, _SignCase]] = [(self.root.bound, 0, self.root)]
        self.number, self.held, self.lock = count(1), 0, Lock()
        self.leaves, self.told = 1, TUNING.first_news
        self.threads = next(threads for most, threads in TUNING.threads if self.model.cells.size <= most)

    @property
    def enough(self) -> float:
        """What a node must prove to be done with."""
        return self.search.objective - max(TUNING.close * self.search.objective, TUNING.margin * self.step)

    @property
    def seconds_to_check(self) -> float:
        """What its proof takes as it is now."""
        factors = self.leaves * self.model.cells.size * self.model.problem.rhs.size
        return seconds_for_leaves(self.model.problem, self.leaves, factors)

    def run(self, seconds: float) -> None:
        """Until nothing is open, the time is up or memory is full; the time that the proof takes afterwards is kept."""
        end = time.monotonic() + seconds
        under_way: dict[Future[tuple[_SignCase, _SignCase]], _SignCase] = {}
        with ThreadPoolExecutor(self.threads) as pool:
            while time.monotonic() + self.seconds_to_check < end and self.held < TUNING.most_bytes:
                while self.open and len(under_way) < self.threads and self.open[0][0] < self.enough:
                    case = heapq.heappop(self.open)[2]
                    under_way[pool.submit(self._branched, case, end - self.seconds_to_check)] = case
                if not under_way:
                    break
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for each in done:
                    self._take(under_way.pop(each), each.result())
                self._tell()

    def _take(self, case: _SignCase, children: tuple[_SignCase, _SignCase]) -> None:
        case.children, case.node, case.worth = children, None, None
        self.leaves += 1
        for child in children:
            if child.node is not None and child.worth is not None and child.bound < self.enough:
                heapq.heappush(self.open, (child.bound, next(self.number), child))
                self.held += child.worth.relations.nbytes + child.node.inside.nbytes
            else:
                self._write(child, self.enough)

    def _tell(self) -> None:
        """Tell what is proved so far, now and then, in case this process is ended before it can say more."""
        if self.leaves >= self.told:
            self.told = 2 * self.leaves
            self.offer()

    def _branched(self, case: _SignCase, end: float) -> tuple[_SignCase, _SignCase]:
        """Both children of a node."""
        assert case.node is not None, "a node is branched on once"
        assert case.worth is not None, "a node is branched on once"
        first, other = self._choice(case.node, case.worth)
        heads = self.model.heads(case.node)
        case.cells = int(heads[first]), int(heads[other])
        same, opposite = (self._child(joined(case.node, case.worth, first, other, way), end) for way in (1, -1))
        return same, opposite

    def _child(self, node: CopyNode, end: float) -> _SignCase:
        if node.sign.shape[0] == 1:
            with self.lock:  # one solver, one table at a time
                bound, proof = prove_settled(self.search, self.model.heads(node)[0], node.cluster, node.turn, end - time.monotonic())
            return _SignCase(bound, None, None, proof)
        ascent = Ascent(self.model, node)
        ascent.climb(self.enough, end)
        return _SignCase(ascent.best.bound, ascent.state(), ascent.best)

    def _choice(self, node: CopyNode, worth: Worth) -> tuple[int, int]:
        """The two clusters whose join gains most in its worse case: one of them the largest, once there is one of several cells."""
        pairs, sizes = np.abs(worth.pairs), np.bincount(node.cluster[node.cluster >= 0], minlength=node.sign.shape[0])
        apart = join_gains(self.model.table, node, worth.relations) * TUNING.apart
        first = int(sizes.argmax())
        ones = [first] if sizes[first] > 1 else range(sizes.size)
        best = max(
            (self._gain(worth.pairs, pairs, apart, one, other), -other, one) for one in ones for other in range(sizes.size) if other != one
        )
        return best[2], -best[1]

    @staticmethod
    def _gain(signed: FloatArray, pairs: FloatArray, apart: FloatArray, one: int, other: int) -> float:
        """What joining two clusters takes off the bound's sums at least, whichever way."""
        high, low = max(one, other), min(one, other)
        gains = []
        for way, sign in ((0, 1.0), (1, -1.0)):
            merged = pairs[one] + pairs[other] - np.abs(signed[one] + sign * signed[other])
            merged[[one, other]] = 0.0
            gains.append(pairs[one, other] + sign * signed[one, other] + merged.sum() + apart[way, high, low])
        return float(min(gains))

    def _write(self, case: _SignCase, enough: float) -> None:
        """The proof of a node that is done with, in as few digits as prove enough, in the place of its multipliers."""
        if case.node is not None and case.worth is not None:
            _, case.proof = self.model.proof(case.node, case.worth, enough=enough)
            self.held += case.proof.copies.nbytes
            case.node, case.worth = None, None

    def offer(self) -> None:
        """The tree's bound, and its proof. Costs are whole: the bound is, too."""
        value, proof = self._proof(self.root, self._value(self.root) - 0.1 * self.step)
        if self.step:
            value = math.ceil((value - (1 - TUNING.margin) * self.step) / self.step) * self.step
        if proof is not None:
            self.search.offer_bound(value, proof)

    def _value(self, case: _SignCase) -> float:
        """What the tree below a node proves."""
        return case.bound if case.children is None else min(map(self._value, case.children))

    def _proof(self, case: _SignCase, enough: float) -> tuple[float, Proof | None]:
        """The tree below a node, in as few digits as prove enough, and what it is worth."""
        if case.children is None:
            if case.node is not None and case.worth is not None:
                return case.bound, self.model.proof(case.node, case.worth, enough=enough)[1]
            return case.bound, case.proof
        (one_value, one), (other_value, other) = (self._proof(child, enough) for child in case.children)
        if one is None or other is None:  # a program that was not solved in time
            return case.bound, None
        return min(one_value, other_value), Alike(*case.cells, one, other)
