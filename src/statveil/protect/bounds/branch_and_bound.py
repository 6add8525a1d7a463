"""Branch and bound of our own for small problems, because its tree can be checked: each leaf keeps its multipliers (docs/science.md,
section 5).

A node's program has a rise and a fall for every cell, the relations, the cuts of the lower bound in |z| = rise + fall, and for
each sensitive cell with both senses open the hull of "down" and "up". A relation's cover cut says more with every sense settled in it,
and is written anew at each node. The multipliers of relations and cuts alone carry the proof: what the hull and the ranges say, the
Lagrangean takes from each cell's exact ranges. Nodes are worked out cheapest first, both
children at once; the sense branched on is the one whose children promise the largest rise.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.formats.certificate import COVER, Cases
from statveil.protect.bounds.cuts import SizeCuts, least_imbalance, least_sizes
from statveil.protect.presolve.redundancy import independent_relations
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.state import BoundProof, DualMultipliers, Proof, Search
from statveil.solve.model import LinearModel, LinearSolution


class TreeTuning(NamedTuple):
    """How far the tree goes: by judgement."""

    most_choices: int = 200
    most_cells: int = 3_000
    most_nodes: int = 4_000
    share_of_time: float = 0.7
    """Part of the time left that the tree may take, so that a solver's branch and bound gets the rest."""
    shortest_ray: int = 10  # halvings of a ray that shows a node infeasible, to begin with
    longest_ray: int = 40  # doublings of it, until what it proves passes the best table
    most_in_cover: int = 24  # sensitive cells of a relation up to which its cover cut is worked out at every node
    undecided: float = 1e-6  # share of its level that a cell must move both ways for its sense to count as open
    patience: int = 300  # nodes after which the tree is looked at
    least_rise: float = 0.02  # part of the gap that it must have closed by then
    first_news: int = 64  # nodes after which the tree is told of; then at each doubling


TUNING = TreeTuning()


def prove_by_tree(search: Search) -> None:
    """Raise the bound by a tree of senses whose every leaf has a proof, up to the best table's cost if the limits allow."""
    if search.problem.norm != "l1" or search.best is None or search.done:
        return
    program = _NodeProgram(search)
    if program.choice.size > TUNING.most_choices or search.problem.size > TUNING.most_cells:
        return
    search.enter("proving by cases")
    leave = search.seconds_left * (1 - TUNING.share_of_time)
    root = program.root(search.seconds_left - leave)
    tree = _SenseTree(search, program, root)
    told = TUNING.first_news
    while tree.open and tree.count < TUNING.most_nodes and search.seconds_left > leave and not tree.stuck:
        tree.branch(search.seconds_left - leave)
        if tree.count > told:  # now and then, in case this process is ended before it can say more
            tree.offer()
            told *= 2
    tree.offer()


@dataclass
class _TreeNode:
    """A choice of some senses, what its multipliers prove, and the sense to branch on (None: all are settled)."""

    senses: dict[int, int]
    value: float
    branch: int | None
    share: float
    """How far the solver leans to "up" in the sense to branch on, from 0 to 1."""
    duals: FloatArray
    rhs: FloatArray
    """Of the cuts, under these senses."""
    children: tuple[_TreeNode, _TreeNode] | None = field(default=None)


class _SenseTree:
    """Nodes under way: those still open in a heap, the cheapest first."""

    def __init__(self, search: Search, program: _NodeProgram, root: _TreeNode) -> None:
        self.search, self.program, self.root = search, program, root
        self.count = 1
        self.open: list[tuple[float, int, _TreeNode]] = []
        self._push(root)

    @property
    def stuck(self) -> bool:
        """Whether many nodes have raised the bound by next to nothing: then a tree will not do it."""
        rise, gap = self.open[0][0] - self.root.value, self.search.objective - self.root.value
        return self.count > TUNING.patience and rise < TUNING.least_rise * gap

    def _push(self, node: _TreeNode) -> None:
        if node.value < self.program.enough(self.search.objective) and node.branch is not None:
            heapq.heappush(self.open, (node.value, self.count, node))

    def branch(self, seconds: float) -> None:
        """Work out both senses of the cheapest open node's cell."""
        _, _, node = heapq.heappop(self.open)
        if node.value >= self.program.enough(self.search.objective) or node.branch is None:
            return
        up, down = (self.program.child(node, node.branch, way, seconds) for way in (1, -1))
        for child, way in ((up, 1), (down, -1)):
            self.program.pseudo_costs.learn(node.branch, way, node.share, min(child.value, self.search.objective) - node.value)
            child.value = max(child.value, node.value)
        node.children = (up, down)
        for child in node.children:
            self.count += 1
            self._push(child)

    def offer(self) -> None:
        value, proof = self._proof(self.root)
        self.search.offer_bound(value, proof)

    def _proof(self, node: _TreeNode) -> tuple[float, Proof]:
        """The tree below a node; where it proves no more than the node by itself, the node."""
        if node.children is None or node.branch is None:
            return node.value, self.program.multipliers(node.duals)
        (up_value, up), (down_value, down) = map(self._proof, node.children)
        return max(node.value, min(up_value, down_value)), Cases(node.branch, up, down)


class _NodeProgram:
    """The continuous program of a node, solved from the last basis with other column bounds, and what its multipliers prove."""

    def __init__(self, search: Search) -> None:
        self.search, self.problem, self.fixed = search, search.problem, search.program
        self.covers = _CoverCuts(self.problem)
        self.cuts = self.covers.cuts if search.cuts is None else self.covers.cuts.with_more(_polygons_of(search.cuts))
        self.choice = self.problem.choices
        self.place = np.full(self.problem.size, -1)
        self.place[self.fixed.moving] = np.arange(self.fixed.moving.size)
        self.rows = independent_relations(self.problem)
        self.step = _step(self.problem.weight)
        self.sides = _CellRanges(self.problem, search.objective)
        self.pseudo_costs = PseudoCosts(self.problem)
        from statveil.solve.highs import WarmProgram

        self._warm = WarmProgram(self._model(), first="simplex")

    def enough(self, objective: float) -> float:
        """What a node must prove to be done with: the best table's cost, or more than the next lower cost there is."""
        return objective - max(1e-9 * objective, 0.999 * self.step)

    def _model(self) -> LinearModel:
        lower, upper = self._columns({})
        sizes, cut_rhs = self.cuts.matrix[:, self.fixed.moving], self.cuts.rhs / self.fixed.unit
        near, far = self._hull(upper)
        blocks = [self.fixed.matrix[self.rows], hstack([sizes, sizes]), near, far]
        equal, none = self.fixed.residual[self.rows], np.full(max(cut_rhs.size, self.choice.size), np.inf)
        return LinearModel(
            cost=self.fixed.cost,
            matrix=vstack(blocks, format="csr"),
            row_lower=np.concatenate([equal, cut_rhs, np.ones(near.shape[0]), -none[: far.shape[0]]]),
            row_upper=np.concatenate([equal, none[: cut_rhs.size], none[: near.shape[0]], np.ones(far.shape[0])]),
            lower=lower,
            upper=upper,
        )

    def _hull(self, upper: FloatArray) -> tuple[csr_matrix, csr_matrix]:
        """rise / level + fall / level >= 1, and rise / most + fall / most <= 1, for the cells with a choice."""
        at, half = self.place[self.choice], self.fixed.moving.size
        up, down = self.problem.up.low[self.choice] / self.fixed.unit, -self.problem.down.high[self.choice] / self.fixed.unit

        def rows(one: FloatArray, other: FloatArray) -> csr_matrix:
            wanted = np.flatnonzero((one > 0) & (other > 0))
            factors = 1 / np.concatenate([one[wanted], other[wanted]])
            places = (np.tile(np.arange(wanted.size), 2), np.concatenate([at[wanted], half + at[wanted]]))
            return csr_matrix((factors, places), shape=(wanted.size, 2 * half))

        return rows(up, down), rows(upper[at], upper[half + at])

    def _columns(self, senses: dict[int, int]) -> tuple[FloatArray, FloatArray]:
        """Bounds of rise and fall under these senses; a cell whose sense is open may do either, as the hull allows."""
        moving, unit = self.fixed.moving, self.fixed.unit
        up, down = self.sides.open(senses)
        near_up, near_down = np.where(down | self.sides.rest, 0, self.sides.rise), np.where(up | self.sides.rest, 0, self.sides.fall)
        lower = np.concatenate([np.where(up, near_up, 0)[moving], np.where(down, near_down, 0)[moving]])
        upper = np.concatenate([np.where(up, self.sides.top, 0)[moving], np.where(down, self.sides.bottom, 0)[moving]])
        return lower / unit, upper / unit

    def root(self, seconds: float) -> _TreeNode:
        return self._solved({}, np.zeros(0), self.cuts.rhs, seconds)

    def child(self, node: _TreeNode, cell: int, way: int, seconds: float) -> _TreeNode:
        """The node in which one more sense is settled."""
        senses = {**node.senses, cell: way}
        return self._solved(senses, node.duals, self.covers.settled(node.rhs, cell, senses), seconds)

    def _solved(self, senses: dict[int, int], before: FloatArray, rhs: FloatArray, seconds: float) -> _TreeNode:
        """Solve a node; what counts is what its multipliers prove, not what the solver says."""
        covers = np.arange(self.covers.count)
        solution = self._warm.solve(
            *self._columns(senses), seconds=seconds, row_lower=(self.rows.size + covers, rhs[covers] / self.fixed.unit)
        )
        duals = solution.row_duals if solution.ending is Ending.OPTIMAL else None
        if duals is None:
            duals = self._multipliers_by_ray(senses, before, rhs)
        branch, share = self._next(senses, solution)
        return _TreeNode(senses, self.value(duals, senses, rhs), branch, share, duals, rhs)

    def _next(self, senses: dict[int, int], solution: LinearSolution) -> tuple[int | None, float]:
        """The sense to branch on: among those the solution leaves undecided the most promising; where there is no solution, any."""
        left = self.choice[[cell not in senses for cell in self.choice.tolist()]]
        if solution.x is None or left.size == 0:
            return (int(left[0]) if left.size else None), 0.5
        at = self.place[left]
        rise = solution.x[at] * self.fixed.unit / np.maximum(self.problem.up.low[left], 1)
        fall = solution.x[self.fixed.moving.size + at] * self.fixed.unit / np.maximum(-self.problem.down.high[left], 1)
        undecided = np.flatnonzero(np.minimum(rise, fall) > TUNING.undecided)
        if undecided.size == 0:
            chosen = np.where(rise >= fall, 1, -1)
            self._try({**senses, **dict(zip(left.tolist(), chosen.tolist(), strict=True))})
            return None, 0.5
        share = rise[undecided] / (rise + fall)[undecided]
        best = self.pseudo_costs.best(left[undecided], share)
        return int(left[undecided[best]]), float(share[best])

    def _try(self, senses: dict[int, int]) -> None:
        """A node whose senses are all settled may be a better table."""
        whole = np.where(self.problem.can_go_up, 1, -1) * self.problem.sensitive
        whole[list(senses)] = list(senses.values())
        self.search.try_senses(whole.astype(np.int64))

    def _multipliers_by_ray(self, senses: dict[int, int], before: FloatArray, rhs: FloatArray) -> FloatArray:
        """Multipliers that show an infeasible node to cost more than the best table: some way along the solver's ray."""
        ray = self._warm.dual_ray()
        if ray is None:
            return before
        start = before if before.size else np.zeros(ray.size)
        best, best_value = start, -math.inf
        for times in 2.0 ** np.arange(-TUNING.shortest_ray, TUNING.longest_ray):
            value = self.value(start + times * ray, senses, rhs)
            if value > best_value:
                best, best_value = start + times * ray, value
            if value >= self.search.objective:
                break
        return best

    def _split(self, duals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Multipliers of relations and cuts in the problem's own costs: amounts and costs were scaled alike in both kinds of rows."""
        relations, amounts = np.zeros(self.problem.rhs.size), np.zeros(self.cuts.rhs.size)
        if duals.size:
            relations[self.rows] = duals[: self.rows.size] / self.fixed.price
            amounts = np.maximum(duals[self.rows.size : self.rows.size + amounts.size], 0.0) / self.fixed.price
        return relations, amounts

    def multipliers(self, duals: FloatArray) -> DualMultipliers:
        relations, amounts = self._split(duals)
        used = np.flatnonzero(amounts)
        return DualMultipliers(relations, self.cuts.relation[used], self.cuts.cell[used], amounts[used])

    def value(self, duals: FloatArray, senses: dict[int, int], rhs: FloatArray) -> float:
        """What multipliers prove where these senses are settled, in doubles: the certificate is worked out exactly, later."""
        relations, amounts = self._split(duals)
        constant, lean = float(relations @ self.problem.residual), self.problem.relations.T @ relations
        left = self.problem.weight - self.cuts.matrix.T @ amounts
        return constant + float(amounts @ rhs) + self.sides.least(left - lean, left + lean, senses)


def _polygons_of(cuts: BoundProof) -> SizeCuts:
    own = np.flatnonzero(cuts.cell != COVER)
    return SizeCuts(cuts.matrix[own], cuts.rhs[own], cuts.relation[own], cuts.cell[own])


class _CoverCuts:
    """A cover cut for every relation with a few sensitive cells, and what it asks for once some of their senses are settled."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self.problem = problem
        matrix = problem.relations
        held = np.add.reduceat(np.append(problem.sensitive[matrix.indices], 0), matrix.indptr[:-1]) * (np.diff(matrix.indptr) > 0)
        self.relation = np.flatnonzero((held > 0) & (held <= TUNING.most_in_cover))
        self.count = int(self.relation.size)
        self.place = np.full(problem.rhs.size, -1)
        self.place[self.relation] = np.arange(self.count)
        self.columns = matrix.tocsc()
        rhs = np.array([self._needed(int(row), {}) for row in self.relation], dtype=np.float64)
        self.cuts = SizeCuts(abs(matrix[self.relation]).astype(np.float64).tocsr(), rhs, self.relation, np.full(self.count, COVER))

    def settled(self, rhs: FloatArray, cell: int, senses: dict[int, int]) -> FloatArray:
        """The right-hand sides after this cell's sense was settled: those of its relations change."""
        rhs = rhs.copy()
        for row in self.columns.indices[self.columns.indptr[cell] : self.columns.indptr[cell + 1]].tolist():
            if self.place[row] >= 0:
                rhs[self.place[row]] = self._needed(row, senses)
        return rhs

    def _needed(self, row: int, senses: dict[int, int]) -> float:
        """What the sizes of the relation's cells add up to at least: the levels, and what these leave whatever the open senses."""
        problem, matrix = self.problem, self.problem.relations
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        choices = []
        for cell, factor in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
            if problem.sensitive[cell]:
                sense = senses.get(cell, 0)
                ends = ((problem.up.low[cell], problem.can_go_up[cell], 1), (problem.down.high[cell], problem.can_go_down[cell], -1))
                choices.append(tuple(int(factor * z) for z, open_, way in ends if open_ and sense in (0, way)))
        least = sum(min(map(abs, each), default=0) for each in choices)
        return float(least + least_imbalance(int(problem.residual[row]), choices))


class _CellRanges:
    """What each cell may do at a cost below the best table's: rise by `rise` to `top`, fall by `fall` to `bottom`, or rest."""

    def __init__(self, problem: ProtectionProblem, objective: float) -> None:
        least = least_sizes(problem)
        most = least + np.ceil((objective - problem.weight @ least) / problem.weight)
        held, free = problem.sensitive, problem.free
        self.rise = np.where(held, problem.up.low, np.maximum(free.low, 0)).astype(np.float64)
        self.top = np.minimum(np.where(held, problem.up.high, free.high), most)
        self.fall = np.where(held, -problem.down.high, np.maximum(-free.high, 0)).astype(np.float64)
        self.bottom = np.minimum(np.where(held, -problem.down.low, -free.low), most)
        level = held & (problem.lower_level > 0) & (problem.upper_level > 0)
        self.rest = (free.low <= 0) & (free.high >= 0) & ~level
        self._up, self._down = self.rise <= self.top, self.fall <= self.bottom

    def open(self, senses: dict[int, int]) -> tuple[BoolArray, BoolArray]:
        up, down = self._up.copy(), self._down.copy()
        for cell, way in senses.items():
            (down if way > 0 else up)[cell] = False
        return up, down

    def least(self, slope_up: FloatArray, slope_down: FloatArray, senses: dict[int, int]) -> float:
        """The sum over cells of the least of slope times size, over what they may do; infinite where a cell may do nothing."""
        up, down = self.open(senses)
        over = np.where(up, slope_up * np.where(slope_up >= 0, self.rise, self.top), np.inf)
        under = np.where(down, slope_down * np.where(slope_down >= 0, self.fall, self.bottom), np.inf)
        return float(np.minimum(np.minimum(over, under), np.where(self.rest, 0.0, np.inf)).sum())


class PseudoCosts:
    """How much branching on a cell has raised the bound so far, per unit of what it took from the solution (pseudo-costs)."""

    def __init__(self, problem: ProtectionProblem) -> None:
        first = problem.weight * np.minimum(problem.lower_level, problem.upper_level)
        self.rise, self.fall = first.astype(np.float64), first.astype(np.float64)
        self.seen = {1: np.zeros(problem.size), -1: np.zeros(problem.size)}

    def learn(self, cell: int, way: int, share: float, gain: float) -> None:
        """A first observation replaces the guess; later ones are averaged in."""
        rate = gain / max(1 - share if way > 0 else share, 0.01)
        mean, seen = (self.rise if way > 0 else self.fall), self.seen[way]
        seen[cell] += 1
        mean[cell] += (rate - mean[cell]) / seen[cell]

    def best(self, cells: IntArray, share: FloatArray) -> int:
        up, down = self.rise[cells] * (1 - share), self.fall[cells] * share
        return int(np.argmax(np.maximum(up, 1e-9) * np.maximum(down, 1e-9)))


def _step(weight: FloatArray) -> float:
    """Costs are whole multiples of this; zero where that says nothing."""
    ratios = [Fraction(each) for each in np.unique(weight).tolist()]
    below = max((each.denominator for each in ratios), default=1)
    step = Fraction(reduce(math.gcd, (int(each * below) for each in ratios), 0), below)
    return float(step) if step * 2**20 > max(ratios, default=1) else 0.0
