"""Branch and bound of our own for small problems, because its tree can be checked: each leaf keeps its multipliers (docs/science.md,
section 5).

A node's program has a rise and a fall for every cell, the relations, the cuts of the lower bound in |z| = rise + fall, and for
each sensitive cell with both senses open the hull of "down" and "up". A relation's cover cut says more with every sense settled in it,
and is written anew at each node. The multipliers of relations and cuts alone carry the proof: what the hull and the ranges say, the
Lagrangean takes from each cell's exact ranges. Nodes are worked out cheapest first, both
children at once; the sense branched on is the one whose children promise the largest rise. Where all senses are settled and amounts
are not whole, an amount is branched on: up to the whole number below, or from the one above.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from copy import copy
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
from statveil.protect.search_state import BoundProof, DualMultipliers, Proof, Search, costs_on_few, seconds_for_leaves
from statveil.solve.model import LinearModel, LinearSolution


class TreeTuning(NamedTuple):
    """How far the tree goes: by judgement."""

    most_choices: int = 200
    most_cells: int = 3_000
    slow_simplex: int = 3_000  # cells from which the root is solved by an interior point
    most_nodes: int = 4_000
    deepest: int = 200  # cases within cases
    share_of_time: float = 0.7
    """Part of the time left that the tree may take, so that a solver's branch and bound gets the rest."""
    shortest_ray: int = 10  # halvings of a ray that shows a node infeasible, to begin with
    longest_ray: int = 40  # doublings of it, until what it proves passes the best table
    most_in_cover: int = 24  # sensitive cells of a relation up to which its cover cut is worked out at every node
    undecided: float = 1e-6  # share of its level that a cell must move both ways for its sense to count as open
    broken: float = 1e-6  # distance of an amount from the next whole number from which it counts as broken
    close: float = 2e-10  # relative distance from the best table's cost at which a node is done with
    patience: int = 300  # nodes after which the tree is looked at
    least_rise: float = 0.02  # part of the gap that it must have closed by then
    first_try: int = 4  # nodes after which the senses that one leans to are priced on the way,
    later_tries: int = 2  # then after so many times as many
    clear: float = 0.2  # part of a cell's level by which a solution must lean to one sense for it to be tried
    first_news: int = 64  # nodes after which the tree is told of; then at each doubling


TUNING = TreeTuning()
Polish = Callable[[IntArray], object]
"""Makes more of senses that gave a better table."""


def prove_by_tree(search: Search, *, polish: Polish | None = None, share: float = TUNING.share_of_time) -> None:
    """Raise the bound by a tree of senses whose every leaf has a proof, up to the best table's cost if the limits allow.

    It may take this share of the time left. Senses found on the way that make a better table are given to `polish`.
    """
    if search.problem.norm != "l1" or search.best is None or search.done:
        return
    if not fits(search.problem):
        return
    search.enter("proving by cases")
    program = _NodeProgram(search, polish)
    leave = search.seconds_left * (1 - share)
    root = program.root(search.seconds_left - leave)
    tree = _SenseTree(search, program, root)
    told = TUNING.first_news
    while tree.open and tree.count < TUNING.most_nodes and search.seconds_left > max(leave, tree.seconds_to_check) and not tree.stuck:
        tree.branch(search.seconds_left - leave)
        if tree.count > told:  # now and then, in case this process is ended before it can say more
            tree.offer()
            told *= 2
    tree.offer()


def fits(problem: ProtectionProblem) -> bool:
    """Whether a tree is worth its time: the table is small, or its costs lie on few cells."""
    small = problem.choices.size <= TUNING.most_choices and problem.size <= TUNING.most_cells
    return small or costs_on_few(problem)


class _Case(NamedTuple):
    """What is settled in a node: senses (+1 up, -1 down), and between which whole deviations some cells are."""

    senses: dict[int, int]
    amounts: dict[int, tuple[float, float]]

    def with_sense(self, cell: int, way: int) -> _Case:
        return _Case({**self.senses, cell: way}, self.amounts)

    def with_amount(self, cell: int, at: int, way: int) -> _Case:
        low, high = self.amounts.get(cell, (-math.inf, math.inf))
        return _Case(self.senses, {**self.amounts, cell: (max(low, at + 1), high) if way > 0 else (low, min(high, at))})


class _Branch(NamedTuple):
    """The cell to branch on: its sense, or its amount (more than `at`, or not)."""

    cell: int
    at: int | None = None
    share: float = 0.5
    """How far the solver leans to "up", from 0 to 1."""


@dataclass
class _TreeNode:
    """Some senses and amounts settled, what the node's multipliers prove, and what to branch on (None: nothing is left)."""

    case: _Case
    depth: int
    value: float
    branch: _Branch | None
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

    @property
    def seconds_to_check(self) -> float:
        """What its proof takes as it is now: a leaf more than half of its nodes."""
        return seconds_for_leaves(self.search.problem, (self.count + 1) // 2, 0)

    def _push(self, node: _TreeNode) -> None:
        worth_it = node.value < self.program.enough(self.search.objective) and node.depth < TUNING.deepest
        if worth_it and node.branch is not None:
            heapq.heappush(self.open, (node.value, self.count, node))

    def branch(self, seconds: float) -> None:
        """Work out both cases of the cheapest open node's cell."""
        _, _, node = heapq.heappop(self.open)
        if node.value >= self.program.enough(self.search.objective) or node.branch is None:
            return
        up, down = (self.program.child(node, node.branch, way, seconds) for way in (1, -1))
        for child, way in ((up, 1), (down, -1)):
            if node.branch.at is None:
                gain = min(child.value, self.search.objective) - node.value
                self.program.pseudo_costs.learn(node.branch.cell, way, node.branch.share, gain)
            child.value = max(child.value, node.value)
        node.children = (up, down)
        for child in node.children:
            self.count += 1
            self._push(child)

    def offer(self) -> None:
        value = self._value(self.root)
        self.search.offer_bound(value, self._proof(self.root, value))

    def _value(self, node: _TreeNode) -> float:
        """What the tree below a node proves."""
        return node.value if node.children is None else max(node.value, min(map(self._value, node.children)))

    def _proof(self, node: _TreeNode, value: float) -> Proof:
        """The tree below a node as far as it is needed to prove so much."""
        if node.children is None or node.branch is None or node.value >= value:
            return self.program.multipliers(node.duals)
        up, down = (self._proof(child, value) for child in node.children)
        return Cases(node.branch.cell, up, down, node.branch.at)


class _NodeProgram:
    """The continuous program of a node, solved from the last basis with other column bounds, and what its multipliers prove."""

    def __init__(self, search: Search, polish: Polish | None = None) -> None:
        self.search, self.problem, self.fixed, self.polish = search, search.problem, search.program, polish
        self.covers = _CoverCuts(self.problem)
        self.cuts = self.covers.cuts if search.cuts is None else self.covers.cuts.with_more(_polygons_of(search.cuts))
        self.choice = self.problem.choices
        self.place = np.full(self.problem.size, -1)
        self.place[self.fixed.moving] = np.arange(self.fixed.moving.size)
        self.rows = independent_relations(self.problem)
        self.step = cost_step(self.problem.weight)
        self.sides = _CellRanges(self.problem, search.objective)
        self.pseudo_costs = PseudoCosts(self.problem)
        self._tried: set[bytes] = set()
        from statveil.solve.highs import WarmProgram

        self._warm = WarmProgram(self._model(), first="simplex" if self.problem.size < TUNING.slow_simplex else "ipm")
        self._solved_so_far, self._next_try = 0, TUNING.first_try

    def enough(self, objective: float) -> float:
        """What a node must prove to be done with: the best table's cost, or more than the next lower cost there is."""
        return objective - max(TUNING.close * objective, 0.999 * self.step)

    def _model(self) -> LinearModel:
        lower, upper = self._columns(self.sides)
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

    def _columns(self, sides: _CellRanges) -> tuple[FloatArray, FloatArray]:
        """Bounds of rise and fall within these ranges; a cell whose sense is open may do either, as the hull allows."""
        moving, unit, up, down = self.fixed.moving, self.fixed.unit, sides.up, sides.down
        near_up, near_down = np.where(down | sides.rest, 0, sides.rise), np.where(up | sides.rest, 0, sides.fall)
        lower = np.concatenate([np.where(up, near_up, 0)[moving], np.where(down, near_down, 0)[moving]])
        upper = np.concatenate([np.where(up, sides.top, 0)[moving], np.where(down, sides.bottom, 0)[moving]])
        return lower / unit, upper / unit

    def root(self, seconds: float) -> _TreeNode:
        none = _Case({}, {})
        return self._solved(_TreeNode(none, 0, 0.0, None, np.zeros(0), self.cuts.rhs), seconds)

    def child(self, node: _TreeNode, branch: _Branch, way: int, seconds: float) -> _TreeNode:
        """The node in which one more sense or amount is settled."""
        cell, at = branch.cell, branch.at
        case = node.case.with_sense(cell, way) if at is None else node.case.with_amount(cell, at, way)
        rhs = self.covers.settled(node.rhs, cell, self.sides.within(case))
        return self._solved(_TreeNode(case, node.depth + 1, 0.0, None, node.duals, rhs), seconds)

    def _solved(self, node: _TreeNode, seconds: float) -> _TreeNode:
        """Solve a node that has its parent's multipliers; what counts is what its own prove, not what the solver says."""
        covers, sides = np.arange(self.covers.count), self.sides.within(node.case)
        solution = self._warm.solve(
            *self._columns(sides), seconds=seconds, row_lower=(self.rows.size + covers, node.rhs[covers] / self.fixed.unit)
        )
        duals = solution.row_duals if solution.ending is Ending.OPTIMAL else None
        node.duals = self._multipliers_by_ray(sides, node.duals, node.rhs) if duals is None else duals
        node.value = self.value(node.duals, sides, node.rhs)
        node.branch = self._next(node.case, solution)
        return node

    def _next(self, case: _Case, solution: LinearSolution) -> _Branch | None:
        """What to branch on: among senses that the solution leaves undecided the most promising, then an amount that is not whole; where
        there is no solution, any sense.
        """
        left = self.choice[[cell not in case.senses for cell in self.choice.tolist()]]
        if solution.x is None:
            return _Branch(int(left[0])) if left.size else None
        at = self.place[left]
        rise = solution.x[at] * self.fixed.unit / np.maximum(self.problem.up.low[left], 1)
        fall = solution.x[self.fixed.moving.size + at] * self.fixed.unit / np.maximum(-self.problem.down.high[left], 1)
        undecided = np.flatnonzero(np.minimum(rise, fall) > TUNING.undecided)
        self._solved_so_far += 1
        in_passing = self._solved_so_far == self._next_try
        if in_passing:
            self._next_try *= TUNING.later_tries
        if undecided.size == 0 or in_passing:
            self._try({**case.senses, **dict(zip(left.tolist(), self._leanings(left, rise, fall).tolist(), strict=True))})
        if undecided.size == 0:
            return self._broken(solution.x)
        share = rise[undecided] / (rise + fall)[undecided]
        best = self.pseudo_costs.best(left[undecided], share)
        return _Branch(int(left[undecided[best]]), share=float(share[best]))

    def _leanings(self, cells: IntArray, rise: FloatArray, fall: FloatArray) -> IntArray:
        """The senses that a solution leans to; where it hardly does, those of the best table: all up would be none on an office's table."""
        assert self.search.best is not None, "a tree begins at a table"
        lean = rise - fall
        clear = np.abs(lean) > TUNING.clear * (rise + fall)
        return np.where(clear, np.where(lean >= 0, 1, -1), self.problem.senses_of(self.search.best)[cells])

    def _broken(self, columns: FloatArray) -> _Branch | None:
        """The amount that is furthest from whole, by what that is worth; where all are whole, they are a table."""
        amount = self.fixed.deviation(columns)
        off = np.abs(amount - np.rint(amount))
        if off.max(initial=0.0) <= TUNING.broken:
            self.search.offer(np.rint(amount).astype(np.int64))
            return None
        cell = int(np.argmax(np.where(off > TUNING.broken, off * self.problem.weight, -1.0)))
        return _Branch(cell, at=math.floor(amount[cell]))

    def _try(self, senses: dict[int, int]) -> None:
        """A node whose senses are all settled may be a better table."""
        whole = np.where(self.problem.can_go_up, 1, -1) * self.problem.sensitive
        whole[list(senses)] = list(senses.values())
        mark = whole.astype(np.int8).tobytes()
        if mark not in self._tried:
            self._tried.add(mark)
            if self.search.try_senses(whole.astype(np.int64)) and self.polish is not None:
                self.polish(whole.astype(np.int64))

    def _multipliers_by_ray(self, sides: _CellRanges, before: FloatArray, rhs: FloatArray) -> FloatArray:
        """Multipliers that show an infeasible node to cost more than the best table: some way along the solver's ray."""
        ray = self._warm.dual_ray()
        if ray is None:
            return before
        start = before if before.size else np.zeros(ray.size)
        best, best_value = start, -math.inf
        for times in 2.0 ** np.arange(-TUNING.shortest_ray, TUNING.longest_ray):
            value = self.value(start + times * ray, sides, rhs)
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

    def value(self, duals: FloatArray, sides: _CellRanges, rhs: FloatArray) -> float:
        """What multipliers prove within these ranges, in doubles: the certificate is worked out exactly, later."""
        relations, amounts = self._split(duals)
        constant, lean = float(relations @ self.problem.residual), self.problem.relations.T @ relations
        left = self.problem.weight - self.cuts.matrix.T @ amounts
        return constant + float(amounts @ rhs) + sides.least(left - lean, left + lean)


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
        sides = _CellRanges(problem, math.inf)
        rhs = np.array([self._needed(int(row), sides) for row in self.relation], dtype=np.float64)
        self.cuts = SizeCuts(abs(matrix[self.relation]).astype(np.float64).tocsr(), rhs, self.relation, np.full(self.count, COVER))

    def settled(self, rhs: FloatArray, cell: int, sides: _CellRanges) -> FloatArray:
        """The right-hand sides after this cell's sense or amount was settled: those of its relations change."""
        rhs = rhs.copy()
        for row in self.columns.indices[self.columns.indptr[cell] : self.columns.indptr[cell + 1]].tolist():
            if self.place[row] >= 0:
                rhs[self.place[row]] = self._needed(row, sides)
        return rhs

    def _needed(self, row: int, sides: _CellRanges) -> float:
        """What the sizes of the relation's cells add up to at least: those that must move, and what they leave whatever the open senses."""
        matrix = self.problem.relations
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        choices = []
        for cell, factor in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
            if not sides.rest[cell]:
                ends = ((sides.rise[cell], sides.up[cell]), (-sides.fall[cell], sides.down[cell]))
                choices.append(tuple(int(factor * end) for end, open_ in ends if open_))
        least = sum(min(map(abs, each), default=0) for each in choices)
        return float(least + least_imbalance(int(self.problem.residual[row]), choices))


class _CellRanges:
    """What each cell may do at a cost below the best table's: rise by `rise` to `top`, fall by `fall` to `bottom`, or rest."""

    def __init__(self, problem: ProtectionProblem, objective: float) -> None:
        least = least_sizes(problem)
        most = least + np.ceil((objective - problem.weight @ least) / problem.weight) if objective < math.inf else np.inf
        held, free = problem.sensitive, problem.free
        self.rise = np.where(held, problem.up.low, np.maximum(free.low, 0)).astype(np.float64)
        self.top = np.minimum(np.where(held, problem.up.high, free.high), most)
        self.fall = np.where(held, -problem.down.high, np.maximum(-free.high, 0)).astype(np.float64)
        self.bottom = np.minimum(np.where(held, -problem.down.low, -free.low), most)
        level = held & (problem.lower_level > 0) & (problem.upper_level > 0)
        self.rest = (free.low <= 0) & (free.high >= 0) & ~level
        self.up: BoolArray = self.rise <= self.top
        self.down: BoolArray = self.fall <= self.bottom

    def within(self, case: _Case) -> _CellRanges:
        """What is left where some senses and amounts are settled."""
        left = copy(self)
        left.up, left.down = self.up.copy(), self.down.copy()
        for cell, way in case.senses.items():
            (left.down if way > 0 else left.up)[cell] = False
        if case.amounts:
            left._narrow(np.array(list(case.amounts)), np.array(list(case.amounts.values())))
        return left

    def _narrow(self, cells: IntArray, ends: FloatArray) -> None:
        low, high = ends[:, 0], ends[:, 1]
        for name in ("rise", "top", "fall", "bottom", "rest"):
            setattr(self, name, getattr(self, name).copy())
        self.rise[cells], self.top[cells] = np.maximum(self.rise[cells], low), np.minimum(self.top[cells], high)
        self.fall[cells], self.bottom[cells] = np.maximum(self.fall[cells], -high), np.minimum(self.bottom[cells], -low)
        self.rest[cells] &= (low <= 0) & (high >= 0)
        self.up[cells] &= self.rise[cells] <= self.top[cells]
        self.down[cells] &= self.fall[cells] <= self.bottom[cells]

    def least(self, slope_up: FloatArray, slope_down: FloatArray) -> float:
        """The sum over cells of the least of slope times size, over what they may do; infinite where a cell may do nothing."""
        over = np.where(self.up, slope_up * np.where(slope_up >= 0, self.rise, self.top), np.inf)
        under = np.where(self.down, slope_down * np.where(slope_down >= 0, self.fall, self.bottom), np.inf)
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


def cost_step(weight: FloatArray) -> float:
    """Costs are whole multiples of this; zero where that says nothing."""
    ratios = [Fraction(each) for each in np.unique(weight).tolist()]
    below = max((each.denominator for each in ratios), default=1)
    step = Fraction(reduce(math.gcd, (int(each * below) for each in ratios), 0), below)
    return float(step) if step * 2**20 > max(ratios, default=1) else 0.0
