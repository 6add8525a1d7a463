"""What mean, slope, variance and correlation of a set of cells can reach together: a verdict before any search.

With T = sum y over the n cells of a target, L and V as in S1 section 3, all four are said by three sums: Q = n sum y^2, K = sum k y with
k = n a - sum a, and T; for L = K / D and V = (Q - T^2) / D with D = n sum a^2 - (sum a)^2. A wish within w of one is

    slope |L| <= w,   variance |2 L + V| <= w,   correlation V <= (1 + L)^2 / (1 - w)^2 - 1 - 2 L (and L > -1),   mean T = 0.

The simplest consequence: with mean, slope and variance asked, V <= 3 w, while V is the mean square of the levels by the variance or more.
In general, in a box of L and T the squares that bend the wrong way lie under their chords (over their tangents), and what is
left is linear in (Q, K, T). Weights on these conditions that make their sum positive for every choice of moves exclude the box. For given
weights the least of the sum is found cell by cell: each moves up by its level or more, or down, or stays, whatever the others do.

`Reach` leaves out the relations of the table, but for what presolve makes of them, and so has an answer for any table at once.
`ReachInTable` gives the relations multipliers of their own and branches on senses and whole numbers. The weights come from linear
programs and need not be trusted: the least is worked out again in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.keep.lower_bound import Box
from statveil.protect.keep.wishes import Target
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import Interval, ProtectionProblem
from statveil.solve.model import LinearModel


class ReachTuning(NamedTuple):
    """How long a verdict is looked for, and how finely. All by judgement."""

    fine: float = 0.02
    """A box whose chords are off by this part of the distance asked, and that may hold a table, ends the proof."""
    most_boxes: int = 400
    most_nodes: int = 3_000
    """Of a tree of senses and whole numbers."""
    most_rounds: int = 60
    """Weights that are tried for one box."""
    most_cells: int = 3_000
    """Cells up to which the relations have a say."""
    steepest: float = 50.0
    """Slopes less one, and sums of changes in standard deviations of all cells, beyond which nothing is claimed."""
    steps: int = 16
    """Halvings in the search for the smallest distance that can be reached."""
    tangents: tuple[float, ...] = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
    """Where a square lies on its tangents, in multiples of the least move; more are added where a solution falls short."""
    rounding: float = 1e-9
    """What sums of doubles may be off by, relative to their terms: ranges are wider by it."""
    least_violation: float = 1e-7
    """Of the weighted conditions: below this a box is not excluded."""
    whole: float = 1e-6
    """How far from a whole number a solver's one may be."""


TUNING = ReachTuning()


class MoveSums(NamedTuple):
    """Q / D, L, and T by the root of D: of moves that the cells can make."""

    square: float
    linear: float
    total: float


class ConditionRow(NamedTuple):
    """square * Q / D + linear * L + total * T + constant <= 0 in a box, exactly."""

    square: Fraction
    linear: Fraction
    total: Fraction
    constant: Fraction


class Node(NamedTuple):
    """Slopes and sums of a box, and the deviations left to each cell: two ranges, one of them empty (low > high) where there is but one."""

    box: Box
    ranges: tuple[Interval, Interval]


class Reach:
    """The moves that a target's cells can make, and which wishes they exclude."""

    most_nodes = TUNING.most_boxes

    def __init__(self, problem: ProtectionProblem, target: Target) -> None:
        self.target, reduction = target, reduce_problem(problem)
        self.feasible = reduction.feasible
        values = [int(each) for each in problem.value[target.cells]]
        self._size = len(values)
        self._scatter = self._size * sum(value * value for value in values) - sum(values) ** 2 or 1
        self._root = math.sqrt(self._scatter)
        self.reduced = reduction.problem
        self._collect(reduction.group[target.cells], reduction.sign[target.cells], reduction.constant[target.cells], values)
        self._points: list[MoveSums] = []

    def _collect(self, group: IntArray, sign: IntArray, constant: IntArray, values: list[int]) -> None:
        """The three sums in terms of the presolved cells: y of a target's cell is constant + sign * z of its group."""
        cells = self.reduced.size
        self._members, self._cross, self._factor, self._ones = ([0] * cells for _ in range(4))
        total = sum(values)
        self._at_rest = [0, 0, 0]
        for own, turn, shift, value in zip(group.tolist(), sign.tolist(), constant.tolist(), values, strict=True):
            factor = self._size * value - total
            self._at_rest = [kept + more for kept, more in zip(self._at_rest, (shift * shift, factor * shift, shift), strict=True)]
            if own >= 0:
                self._members[own] += 1
                self._cross[own] += turn * shift
                self._factor[own] += turn * factor
                self._ones[own] += turn
        scale = np.array([1.0, 1.0, 1.0 / self._scatter, 1.0])
        columns = [self._members, self._cross, [float(each) for each in self._factor], self._ones]
        self._of_cell: FloatArray = np.array(columns, dtype=np.float64).reshape(4, cells) * scale[:, None]
        self._own: IntArray = np.flatnonzero(self._members)

    def least_within(self, within: Fraction, seconds_left: Callable[[], float]) -> Fraction | None:
        """A distance, `within` or more, that every table exceeds: the largest that could be shown. None where nothing is shown.

        One: no table keeps the mean.
        """
        if not self.feasible or self._unlimited() or not self.excludes(within, seconds_left):
            return None
        if not self.target.spread or (self.target.mean and self.excludes(None, seconds_left)):
            return Fraction(1)
        shown, reachable = within, Fraction(1)
        for _ in range(TUNING.steps):
            middle = (shown + reachable) / 2 if reachable < 1 else min(2 * shown + Fraction(1, 100), (1 + shown) / 2)
            middle = Fraction(math.floor(middle * 10**6), 10**6)
            if middle <= shown or seconds_left() <= 0:
                break
            if self.excludes(middle, seconds_left):
                shown = middle
            else:
                reachable = middle
        return shown

    def _unlimited(self) -> bool:
        """Whether all cells may move in step as far as they like: then nothing is excluded here."""
        low, high = self._span(self._of_cell[3])
        flat, steep = self._span(self._of_cell[2])
        alone = self.target.correlation and not (self.target.slope or self.target.variance)
        return (not self.target.mean and high - low > TUNING.steepest * self._root) or (alone and steep - flat > TUNING.steepest)

    def _first_ranges(self) -> tuple[Interval, Interval]:
        problem, nothing = self.reduced, np.zeros(self.reduced.size, dtype=np.int64)
        one = (np.where(problem.sensitive, problem.down[side], problem.free[side]) for side in (0, 1))
        other = (np.where(problem.sensitive, problem.up[side], nothing + 1 - side) for side in (0, 1))
        return Interval(*one), Interval(*other)

    def _span(self, factor: FloatArray) -> tuple[float, float]:
        """No sum of factors times moves is below the first or above the second."""
        ends = [np.where(each.low <= each.high, factor * end, np.nan) for each in self._first_ranges() for end in each]
        least, most = (np.where(factor == 0, 0.0, choose(ends, axis=0)) for choose in (np.nanmin, np.nanmax))
        rounding = TUNING.rounding * (1.0 + float(np.maximum(np.abs(least), np.abs(most)).sum()))
        return float(least.sum()) - rounding, float(most.sum()) + rounding

    def excludes(self, within: Fraction | None, seconds_left: Callable[[], float]) -> bool:
        """Whether no moves of the cells keep what is asked at this distance (None: the mean alone): proved node by node."""
        nodes = [Node(box, self._first_ranges()) for box in self._first_boxes(within)]
        for _ in range(self.most_nodes):
            if not nodes:
                return True
            if seconds_left() <= 0:
                return False
            node = nodes.pop()
            parts = self._parts(node, within, seconds_left)
            if parts is None:
                return False
            nodes += parts
        return not nodes

    def _first_boxes(self, within: Fraction | None) -> list[Box]:
        """All slopes and sums that the cells and the wishes leave."""
        target = self.target
        low, high = (0.0, 0.0)
        if not target.mean:
            low, high = (edge + self._at_rest[2] for edge in self._span(self._of_cell[3]))
        if within is None or not target.spread:
            return [Box(low, high, 0.0, 0.0)]
        at_rest, distance = self._at_rest[1] / self._scatter, math.nextafter(float(within), 1.0)
        flat, steep = (edge + at_rest for edge in self._span(self._of_cell[2]))
        if target.slope:
            flat, steep = max(flat, -distance), min(steep, distance)
        if target.correlation:
            flat = max(flat, -1.0)
        if target.variance:  # V is L^2 or more, so that L^2 + 2 L <= w
            root = math.sqrt(1.0 + distance) + TUNING.rounding
            flat, steep = max(flat, -1.0 - root), min(steep, root - 1.0)
        return [Box(low, high, flat, steep)] if flat <= steep else []

    def _parts(self, node: Node, within: Fraction | None, seconds_left: Callable[[], float]) -> list[Node] | None:
        """What of a node is left to look at: nothing where it is excluded, proved; None where it may hold a table."""
        held = self._held(node, within, seconds_left)
        if held is None:
            return []
        return [node._replace(box=half) for half in self._halves(node.box, within, held)] or None

    def _halves(self, box: Box, within: Fraction | None, held: MoveSums) -> list[Box]:
        """The two halves, the one with the moves found last, to be looked at first; none where the box is fine enough."""
        if within is None or not self.target.spread:
            return []
        over_sums = (box.highest - box.lowest) ** 2 / 4 / self._scatter
        over_slopes = (box.steepest - box.flattest) ** 2 / 4 if self.target.correlation else 0.0
        if max(over_sums, over_slopes) <= TUNING.fine * max(float(within), 1e-4):
            return []
        if over_sums >= over_slopes:
            middle, there = (box.lowest + box.highest) / 2, held.total * self._root
            halves = [box._replace(highest=middle), box._replace(lowest=middle)]
        else:
            middle, there = (box.flattest + box.steepest) / 2, held.linear
            halves = [box._replace(steepest=middle), box._replace(flattest=middle)]
        return halves if there >= middle else halves[::-1]

    def _held(self, node: Node, within: Fraction | None, seconds_left: Callable[[], float]) -> MoveSums | None:
        """None where the node is excluded, proved; else a mixture of moves that it holds, or is not known not to."""
        rows = list(self.rows(node.box, within))
        if not self._points:
            self._points = [self._cheapest(row, node) for row in (*rows, ConditionRow(*map(Fraction, (1, 0, 0, 0))))]
        mixture = self._points[0]
        for _ in range(TUNING.most_rounds):
            weights, violation, mixture = self._weights(rows)
            if violation <= TUNING.least_violation or seconds_left() <= 0:
                return mixture
            weighed = sum_of(rows, weights)
            point = self._cheapest(weighed, node)
            least = self._value(weighed, point)
            if least > 0 and self.least(weighed, node, ()) > 0:
                return None
            if least >= violation - TUNING.least_violation:  # no other moves: nothing more to learn
                return mixture
            self._points.append(point)
        return mixture

    def rows(self, box: Box, within: Fraction | None) -> Iterator[ConditionRow]:
        """What is asked, as linear conditions that every table in the box obeys."""
        one, none, per_root = Fraction(1), Fraction(0), Fraction(1 / self._root)
        flat, steep, low, high = (Fraction(each) for each in (box.flattest, box.steepest, box.lowest, box.highest))
        yield ConditionRow(none, none, per_root, -high * per_root)
        yield ConditionRow(none, none, -per_root, low * per_root)
        if within is None or not self.target.spread:
            return
        unit = Fraction(1, self._scatter)
        yield ConditionRow(none, one, none, -steep)
        yield ConditionRow(none, -one, none, flat)
        by_total, at_none = -(low + high) * unit, low * high * unit  # -T^2 / D is the chord's or more
        if self.target.variance:
            yield ConditionRow(one, Fraction(2), by_total, at_none - within)
            middle = (low + high) / 2
            yield ConditionRow(-one, Fraction(-2), 2 * middle * unit, -middle * middle * unit - within)
        if self.target.correlation:
            share = 1 / (1 - within) ** 2
            yield ConditionRow(one, 2 - (2 + flat + steep) * share, by_total, at_none + 1 - (1 - flat * steep) * share)

    def _value(self, row: ConditionRow, point: MoveSums) -> float:
        parts = (float(row.square) * point.square, float(row.linear) * point.linear, float(row.total) * self._root * point.total)
        return sum(parts) + float(row.constant)

    def sums_of(self, moves: FloatArray) -> MoveSums:
        members, cross, factor, ones = self._of_cell
        square = (float(members @ (moves * moves)) + 2 * float(cross @ moves) + self._at_rest[0]) * self._size / self._scatter
        linear = float(factor @ moves) + self._at_rest[1] / self._scatter
        return MoveSums(square, linear, (float(ones @ moves) + self._at_rest[2]) / self._root)

    def _cheapest(self, row: ConditionRow, node: Node) -> MoveSums:
        """The moves for which the row's left side is least, to rounding."""
        own, by_square = self._own, float(row.square) * self._size / self._scatter
        members, cross, factor, ones = self._of_cell[:, own]
        curve, slope = by_square * members, 2 * by_square * cross + float(row.linear) * factor + float(row.total) * ones
        vertex = np.rint(-slope / np.where(curve > 0, 2 * curve, 1.0))
        best, at, moves = np.full(own.size, np.inf), np.zeros(own.size), np.zeros(self.reduced.size)
        for low, high in ((each.low[own], each.high[own]) for each in node.ranges):
            for move in (np.clip(vertex, low, high),) if by_square > 0 else (low, high):
                cost = np.where(low <= high, curve * move * move + slope * move, np.inf)
                better = cost < best
                best, at = np.where(better, cost, best), np.where(better, move, at)
        moves[own] = at
        return self.sums_of(moves)

    def least(self, row: ConditionRow, node: Node, multipliers: Sequence[Fraction]) -> Fraction:
        """The least of the row's left side, plus multipliers times the relations' residuals, over all moves, in whole numbers: a
        parabola or a line over each cell's two ranges."""
        parts = (row.square * self._size / self._scatter, row.linear / self._scatter, row.total, *multipliers)
        common = math.lcm(*(part.denominator for part in parts))
        by_square, by_factor, by_total, *by_relation = (part.numerator * (common // part.denominator) for part in parts)
        slopes = [0] * self.reduced.size
        matrix = self.reduced.relations
        for number, factor in enumerate(by_relation):
            part = slice(matrix.indptr[number], matrix.indptr[number + 1])
            for cell, sign in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
                slopes[cell] += factor * sign
        square, linear, total = self._at_rest
        least = by_square * square + by_factor * linear + by_total * total
        least -= sum(factor * right for factor, right in zip(by_relation, self.reduced.residual.tolist(), strict=False))
        (low, high), (other_low, other_high) = ((each.low.tolist(), each.high.tolist()) for each in node.ranges)
        for cell in range(self.reduced.size) if multipliers else self._own.tolist():
            slope = slopes[cell] + 2 * by_square * self._cross[cell] + by_factor * self._factor[cell] + by_total * self._ones[cell]
            curve = by_square * self._members[cell]
            ends = ((low[cell], high[cell]), (other_low[cell], other_high[cell]))
            least += min(curve * move * move + slope * move for one, two in ends if one <= two for move in _lowest(curve, slope, one, two))
        return Fraction(least, common) + row.constant

    def _weights(self, rows: list[ConditionRow]) -> tuple[list[float], float, MoveSums]:
        """Weights of the conditions, one in sum, under which the moves met so far break them most; by how much; and the mixture
        of these moves that breaks them least (Dantzig and Wolfe 1960)."""
        from statveil.solve import highs

        factors = np.array([[float(row.square), float(row.linear), float(row.total) * self._root, float(row.constant)] for row in rows])
        points = factors[:, :3] @ np.array(self._points).T + factors[:, 3:]
        size, count = np.maximum(np.abs(points).max(axis=1), 1.0), len(self._points)
        matrix = np.vstack([np.hstack([points / size[:, None], -np.ones((len(rows), 1))]), [*np.ones(count), 0.0]])
        found = highs.solve(
            LinearModel(
                cost=np.array([*np.zeros(count), 1.0]),
                matrix=csr_matrix(matrix),
                row_lower=np.array([*np.full(len(rows), -np.inf), 1.0]),
                row_upper=np.array([*np.zeros(len(rows)), 1.0]),
                lower=np.array([*np.zeros(count), -np.inf]),
                upper=np.full(count + 1, np.inf),
            ),
            seconds=1.0,
            algorithm="simplex",
        )
        if found.x is None or found.row_duals is None:
            return [0.0] * len(rows), 0.0, self._points[-1]
        mixture = np.array(self._points).T @ found.x[:count]
        weights = np.maximum(-found.row_duals[: len(rows)], 0.0) / size
        return [float(each) for each in weights], float(found.x[-1]), MoveSums(*mixture.tolist())


class ReachInTable(Reach):
    """The same with the table's relations, in a tree of boxes, senses and whole numbers."""

    most_nodes = TUNING.most_nodes

    def __init__(self, problem: ProtectionProblem, target: Target) -> None:
        super().__init__(problem, target)
        level = np.maximum(self.reduced.upper_level, self.reduced.lower_level)[np.array(self._members, dtype=np.int64) > 0]
        self._unit = float(max(np.median(level), 1.0)) if level.size else 1.0
        self._more: list[FloatArray] = []
        """Tables whose squares are met by tangents of their own."""

    def _parts(self, node: Node, within: Fraction | None, seconds_left: Callable[[], float]) -> list[Node] | None:
        rows = list(self.rows(node.box, within))
        for _ in range(3):
            solved = self._solve(node, rows, seconds_left())
            if solved is None:
                return None
            weights, multipliers, violation, moves = solved
            if violation > TUNING.least_violation and self.least(sum_of(rows, weights), node, multipliers) > 0:
                return []
            if violation <= TUNING.least_violation or within is None:
                break
            self._more = [*self._more[-8:], moves]
        return self._branches(node, within, moves)

    def _branches(self, node: Node, within: Fraction | None, moves: FloatArray) -> list[Node] | None:
        """By the sense of the cell that is most undecided; by the box; by the cell that is farthest from a whole number."""
        (low, high), (other_low, other_high) = node.ranges
        both = (low <= high) & (other_low <= other_high)
        undecided = np.where(both, np.minimum(moves - high, other_low - moves), 0.0)
        cell = int(np.argmax(undecided)) if undecided.size else 0
        if undecided.size and undecided[cell] > TUNING.whole:
            sides = [_shut(node, cell, 1), _shut(node, cell, 0)]
            return sides if moves[cell] - high[cell] > other_low[cell] - moves[cell] else sides[::-1]
        halves = self._halves(node.box, within, self.sums_of(moves))
        if halves:
            return [node._replace(box=half) for half in halves]
        off = np.abs(moves - np.rint(moves))
        cell = int(np.argmax(off)) if off.size else 0
        if not off.size or off[cell] <= TUNING.whole:
            return None
        return _split(node, cell, math.floor(moves[cell]))

    def _solve(self, node: Node, rows: list[ConditionRow], seconds: float) -> tuple[list[float], list[Fraction], float, FloatArray] | None:
        """Weights, the relations' multipliers, by how much the conditions are broken at the least, and the moves that do."""
        from statveil.solve import highs

        model = self._model(node, rows)
        found = highs.solve(model, seconds=max(seconds, 0.05), algorithm="simplex")
        if found.x is None or found.row_duals is None:
            return None
        cells, relations = self.reduced.size, self.reduced.rhs.size
        weights = np.maximum(-found.row_duals[-len(rows) :], 0.0)
        multipliers = [Fraction(round(-each / self._unit * 2.0**80), 2**80) for each in found.row_duals[:relations].tolist()]
        return [float(each) for each in weights], multipliers, float(found.x[-1]), found.x[:cells] * self._unit

    def _model(self, node: Node, rows: list[ConditionRow]) -> LinearModel:
        """Moves and squares in units; each square over its tangents and, where both senses are open, over the chord between them."""
        cells, own, unit = self.reduced.size, self._own, self._unit
        (low, high), (other_low, other_high) = ((each.low / unit, each.high / unit) for each in node.ranges)
        one, other = node.ranges[0].low <= node.ranges[0].high, node.ranges[1].low <= node.ranges[1].high
        least, most = np.where(one, low, other_low), np.where(other, other_high, high)
        lines = [*self._tangents(node), *((2 * each[own] / unit, -((each[own] / unit) ** 2)) for each in self._more)]
        lines.append((np.where(one & other, high + other_low, 0.0)[own], np.where(one & other, -high * other_low, 0.0)[own]))
        each = np.arange(own.size)
        squares = csr_matrix((np.ones(own.size), (each, each)), shape=(own.size, own.size))
        blank = csr_matrix((own.size, 1))
        cuts = [hstack([csr_matrix((-slope, (each, own)), shape=(own.size, cells)), squares, blank]) for slope, _ in lines]
        matrix = vstack(
            [hstack([self.reduced.relations, csr_matrix((self.reduced.rhs.size, own.size + 1))]), *cuts, self._condition_rows(rows)],
            format="csr",
        )
        equal = self.reduced.residual / unit
        below = np.concatenate([shift for _, shift in lines])
        constants = np.array([float(row.constant) + self._rest_of(row) for row in rows])
        return LinearModel(
            cost=np.concatenate([np.zeros(cells + own.size), [1.0]]),
            matrix=csr_matrix(matrix, dtype=np.float64),
            row_lower=np.concatenate([equal, below, np.full(len(rows), -np.inf)]),
            row_upper=np.concatenate([equal, np.full(below.size, np.inf), -constants]),
            lower=np.concatenate([least, np.zeros(own.size), [-1.0]]),
            upper=np.concatenate([most, np.maximum(least**2, most**2)[own] + 1.0, [np.inf]]),
        )

    def _tangents(self, node: Node) -> Iterator[tuple[FloatArray, FloatArray]]:
        """(slope, shift) of lines under the squares."""
        level = [np.clip(np.abs(end[self._own]) / self._unit, 0.0, None) for end in (node.ranges[0].high, node.ranges[1].low)]
        for times in TUNING.tangents:
            for sign, least in zip((-1.0, 1.0), level, strict=True):
                touch = sign * times * np.where(least > 0, np.minimum(least, 1e6), 1.0)
                yield 2 * touch, -(touch**2)

    def _rest_of(self, row: ConditionRow) -> float:
        square, linear, total = self._at_rest
        by_square = float(row.square) * self._size / self._scatter
        return by_square * square + float(row.linear) * linear / self._scatter + float(row.total) * total

    def _condition_rows(self, rows: list[ConditionRow]) -> csr_matrix:
        members, cross, factor, ones = self._of_cell
        lines = []
        for row in rows:
            by_square = float(row.square) * self._size / self._scatter
            moves = (2 * by_square * cross + float(row.linear) * factor + float(row.total) * ones) * self._unit
            lines.append(np.concatenate([moves, by_square * members[self._own] * self._unit**2, [-1.0]]))
        return csr_matrix(np.array(lines))


def _shut(node: Node, cell: int, side: int) -> Node:
    """The node without one of a cell's two ranges."""
    ranges = [Interval(each.low.copy(), each.high.copy()) for each in node.ranges]
    ranges[side].low[cell], ranges[side].high[cell] = 1, 0
    return Node(node.box, (ranges[0], ranges[1]))


def _split(node: Node, cell: int, last: int) -> list[Node]:
    """The nodes in which a cell moves by `last` at the most, and by more."""
    parts = []
    for cut in (0, 1):
        ranges = [Interval(each.low.copy(), each.high.copy()) for each in node.ranges]
        for each in ranges:
            if cut:
                each.low[cell] = max(int(each.low[cell]), last + 1)
            else:
                each.high[cell] = min(int(each.high[cell]), last)
        parts.append(Node(node.box, (ranges[0], ranges[1])))
    return [part for part in parts if any(each.low[cell] <= each.high[cell] for each in part.ranges)]


def _lowest(curve: int, slope: int, low: int, high: int) -> tuple[int, ...]:
    """Where curve x^2 + slope x can be least among the whole numbers from low to high."""
    if curve <= 0:
        return low, high
    below = -slope // (2 * curve)
    return min(max(below, low), high), min(max(below + 1, low), high)


def sum_of(rows: Sequence[ConditionRow], weights: Sequence[float]) -> ConditionRow:
    exact = [Fraction(each) for each in weights]
    parts = (sum((weight * part for weight, part in zip(exact, each, strict=True)), Fraction(0)) for each in zip(*rows, strict=True))
    return ConditionRow(*parts)
