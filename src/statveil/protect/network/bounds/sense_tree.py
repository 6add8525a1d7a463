"""Branch and bound on the senses of sensitive totals (docs/science.md, section 4, "Coarse first"): the bound of the coarse table by cases.

Large totals carry most of the cost, and a program in which each may rise a little and fall a little knows nothing of what either
would take. With some dozens of senses settled most of that is gone. Each leaf's multipliers hold for the whole table, as those of the
coarse table do: what a settled sense closes is read off the case, and a relation's cover cut says more where senses are settled in it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.formats.certificate import COVER, Cases
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds import TUNING
from statveil.protect.network.bounds.capacity_bound import CasesProgram
from statveil.protect.network.bounds.cover_bound import Shortage, cover_right_sides, dual_bound, least_imbalance
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Proof, Search, seconds_for_leaves
from statveil.solve.model import LinearSolution

Senses = dict[int, int]
"""Cells of the whole table whose senses are settled: +1 up, -1 down."""


@dataclass
class _Node:
    """Some senses settled, what is proved with them, by which multipliers of the program, and the cell to branch on (None: none)."""

    senses: Senses
    needs: IntArray
    """What the cover cuts ask for with them."""
    value: float = -np.inf
    duals: FloatArray | None = None
    branch: int | None = None
    children: tuple[_Node, _Node] | None = field(default=None)


class SenseTree:
    """Nodes are worked out cheapest first, so that the bound rises with every few of them."""

    def __init__(self, search: Search, cases: CasesProgram, shortage: Shortage) -> None:
        from statveil.solve.highs import WarmProgram

        self.search, self.problem, self.cases, self.shortage = search, search.problem, cases, shortage
        self.model, self.unit = cases.program.model(), cases.program.unit
        self.warm = WarmProgram(self.model, first="ipm")
        self.width = cases.cells.size
        self.choices = cases.program.problem.choices
        self.cells = cases.cells[self.choices]
        self.place = dict(zip(self.cells.tolist(), self.choices.tolist(), strict=True))
        self.covers = _SettledCovers(self.problem, cases, shortage)
        self.count, self.closed = 0, search.objective
        """Nodes so far, and the least that one proves in which no sense is left open."""
        self.open: list[tuple[float, int, _Node]] = []
        self.root = self._solved(_Node({}, self.covers.needs))
        self._push(self.root)

    @property
    def pays(self) -> bool:
        """Whether the cases so far have closed a part of the gap that counts."""
        rise = _value(self.root) - self.root.value
        return rise >= TUNING.least_rise * (self.search.objective - self.root.value)

    @property
    def seconds_to_check(self) -> float:
        """What its proof takes as it is now."""
        return seconds_for_leaves(self.problem, self.count // 2 + 1, 0)

    def run(self, *, seconds: float) -> None:
        """Branch until cases bring no more or the time is over, but for what the proof takes then; tell now and then what is proved."""
        told, end = 2, self.search.seconds_left - seconds
        while self.open and self.open[0][0] < self.closed and not self.search.done:
            if self.search.seconds_left <= end + self.seconds_to_check:
                break
            self._branch()
            if self.count >= told:
                self.offer()
                told = 2 * self.count
        self.offer()

    def offer(self) -> None:
        if self.root.duals is not None:
            value = _value(self.root)
            self.search.offer_bound(value, self._proof(self.root, value))

    def _proof(self, node: _Node, value: float) -> Proof:
        """The tree below a node as far as it is needed to prove so much."""
        if node.children is None or node.value >= value:
            assert node.duals is not None
            return self.cases.in_whole_table(node.duals)
        assert node.branch is not None
        up, down = (self._proof(child, value) for child in node.children)
        return Cases(node.branch, up, down)

    def _push(self, node: _Node) -> None:
        self.count += 1
        if node.branch is None:
            self.closed = min(self.closed, node.value)
        else:
            heapq.heappush(self.open, (node.value, self.count, node))

    def _branch(self) -> None:
        _, _, node = heapq.heappop(self.open)
        cell = node.branch
        assert cell is not None
        up, down = (self._child(node, cell, way) for way in (1, -1))
        node.children = (up, down)
        self._push(up)
        self._push(down)

    def _child(self, node: _Node, cell: int, way: int) -> _Node:
        senses = {**node.senses, cell: way}
        return self._solved(_Node(senses, self.covers.settled(node.needs, cell, senses), node.value, node.duals))

    def _solved(self, node: _Node) -> _Node:
        """Solve a node that begins with what its parent has proved; what its own multipliers prove counts, if it is more."""
        lower, upper = self._columns(node.senses)
        needs = (self.covers.row, (node.needs - self.covers.given) / self.unit)
        afresh = self.width > TUNING.slow_simplex
        solution = self.warm.solve(lower, upper, seconds=self.search.seconds_left, row_lower=needs, afresh=afresh)
        if solution.ending is Ending.OPTIMAL and solution.row_duals is not None:
            self._take(node, solution.row_duals)
            node.branch = self._undecided(node.senses, solution)
        elif solution.ending is Ending.INFEASIBLE:
            self._follow_ray(node)
        return node

    def _take(self, node: _Node, duals: FloatArray) -> None:
        """Keep these multipliers if they prove more for the whole table."""
        problem, amount = settled(self.problem, node.senses), self.shortage.amount.copy()
        amount[self.covers.relation] = node.needs - self.covers.rows @ (least_sizes(problem) * problem.sensitive)
        shortage = self.shortage._replace(amount=amount)
        value = dual_bound(problem, self.cases.in_whole_table(duals), shortage, worth=self.search.objective)
        if value > node.value:
            node.value, node.duals = value, duals

    def _follow_ray(self, node: _Node) -> None:
        """Multipliers that show an impossible case to cost more than the best table: some way along the solver's ray."""
        ray, start = self.warm.dual_ray(), node.duals
        if ray is not None and start is not None:
            for times in 2.0 ** np.arange(TUNING.longest_ray):
                if node.value < self.search.objective:
                    self._take(node, start + times * ray)

    def _columns(self, senses: Senses) -> tuple[FloatArray, FloatArray]:
        """Bounds of rises and falls: a settled cell moves by its level at least, and one way only."""
        lower, upper = self.model.lower.copy(), self.model.upper.copy()
        for cell, way in senses.items():
            at, level = self.place[cell], self.problem.up.low[cell] if way > 0 else -self.problem.down.high[cell]
            there, back = (at, at + self.width) if way > 0 else (at + self.width, at)
            lower[there] = max(lower[there], level / self.unit)
            upper[back] = lower[back] = 0.0
        return lower, upper

    def _undecided(self, senses: Senses, solution: LinearSolution) -> int | None:
        """The cell that moves most both ways, by what that costs."""
        assert solution.x is not None
        both = np.minimum(solution.x[self.choices], solution.x[self.width + self.choices])
        worth = self.problem.weight[self.cells] * both
        worth[[cell in senses for cell in self.cells.tolist()]] = 0.0
        if worth.max(initial=0.0) * self.unit <= TUNING.undecided * self.search.objective:
            return None
        return int(self.cells[np.argmax(worth)])


class _SettledCovers:
    """What the sizes of a relation's cells add up to at least, for each cover cut of a program, as senses are settled."""

    def __init__(self, problem: ProtectionProblem, cases: CasesProgram, shortage: Shortage) -> None:
        cuts, self.problem = cases.program.cuts, problem
        covers = np.flatnonzero(cuts.cell == COVER)
        self.row = cases.program.relations.size + covers
        self.relation = cases.relation[covers]
        self.rows = abs(problem.relations[self.relation])
        self.needs = cover_right_sides(problem, shortage)[self.relation]
        self.given = self.needs - cuts.rhs[covers]
        """Of that, what merged cells bring anyhow."""
        self.columns = self.rows.tocsc()

    def settled(self, needs: IntArray, cell: int, senses: Senses) -> IntArray:
        """What is needed after this cell's sense was settled: that of its relations changes."""
        needs, problem = needs.copy(), settled(self.problem, senses)
        least = least_sizes(problem) * problem.sensitive
        for at in self.columns.indices[self.columns.indptr[cell] : self.columns.indptr[cell + 1]].tolist():
            moved = self.rows[at] @ least
            needs[at] = least_imbalance(problem, int(self.relation[at])) + int(moved[0])
        return needs


def settled(problem: ProtectionProblem, senses: Senses) -> ProtectionProblem:
    """The problem in which these cells go the way that is settled: their bounds close the other."""
    if not senses:
        return problem
    lower, upper = problem.lower.copy(), problem.upper.copy()
    cell, way = np.array(list(senses)), np.array(list(senses.values()))
    up, down = cell[way > 0], cell[way < 0]
    lower[up] = np.maximum(lower[up], (problem.value + problem.upper_level)[up])
    upper[down] = np.minimum(upper[down], (problem.value - problem.lower_level)[down])
    return replace(problem, lower=lower, upper=upper)


def _value(node: _Node) -> float:
    """What the tree below a node proves."""
    return node.value if node.children is None else max(node.value, min(map(_value, node.children)))
