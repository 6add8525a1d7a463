"""The coarse table (docs/science.md, section 4, "Coarse first"): where totals are sensitive, their senses are settled before those of the
leaves.

The rows of a subtable that end there are merged into one, and so are the cells that lie side by side then. A sensitive cell among them
costs its level whatever happens and may be anywhere between its two levels; only what goes beyond costs more. What is left is a small
network in which only the totals of inner rows have senses. Its least cost, with the levels of the merged cells, is at most that of
the whole table, and its amounts say what each subtable has to pass on.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import LARGEST_EXACT, BoolArray, FloatArray, IntArray
from statveil.protect.network.detect import Network
from statveil.protect.network.flow import FlowProgram
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem


class CoarseTuning(NamedTuple):
    """What the coarse table keeps apart."""

    weight_classes: int = 4  # merged cells of different weights are taken together in so many classes from light to heavy: by judgement


TUNING = CoarseTuning()


class Coarsening:
    """Which relations end in their subtable, and the cells that no such relation holds: totals of inner rows, the root's among them."""

    def __init__(self, problem: ProtectionProblem, network: Network) -> None:
        self.problem, self.network = problem, network
        self.bottom = _bottom_nodes(network)
        self.totals: BoolArray = ~(self.bottom[network.tail] | self.bottom[network.head])

    @cached_property
    def table(self) -> CoarseTable:
        """The merged table: its first cells are the totals, in their order."""
        node, supply = _merged_nodes(self.network, self.bottom)
        tail, head = node[self.network.tail], node[self.network.head]
        pieces = _merged_pieces(_pieces_of(self.problem, ~self.totals), tail, head)
        cell = np.append(np.flatnonzero(self.totals), pieces.cell)
        arcs = _network(tail[cell], head[cell], supply)
        free = np.append(np.zeros(self.totals.sum(), dtype=np.bool_), pieces.weight == 0)
        return CoarseTable(_problem_of(self.problem, cell[: -pieces.cell.size or None], pieces, arcs), arcs, cell, free, node)

    def program(self) -> FlowProgram:
        """The flow of the coarse table, for any choice of the totals' senses."""
        return FlowProgram(self.table.problem, self.table.network, at_no_cost=self.table.free)


class CoarseTable(NamedTuple):
    """The coarse table as a problem and a network; for each of its cells one of the cells merged in it, and whether it costs nothing;
    and the node in which each node of the whole network went."""

    problem: ProtectionProblem
    network: Network
    cell: IntArray
    free: BoolArray
    node: IntArray


def _bottom_nodes(network: Network) -> BoolArray:
    """The nodes without a cell that joins two subtables or is the total of another relation."""
    across = network.subtable[network.tail] != network.subtable[network.head]
    higher = np.zeros(network.nodes, dtype=np.bool_)
    higher[network.tail[across]] = higher[network.head[across]] = True
    higher[network.ground] = True
    leaving, entering = (np.bincount(end, minlength=network.nodes) for end in (network.tail, network.head))
    for here, there, alike, others in ((network.tail, network.head, leaving, entering), (network.head, network.tail, entering, leaving)):
        total = (alike[here] == 1) & (others[here] > 1)  # the only one of its sign
        higher[there[total]] = True
    return ~higher


def _merged_nodes(network: Network, bottom: BoolArray) -> tuple[IntArray, IntArray]:
    """One node for all the bottom nodes of a subtable that are on one side: where each node goes, and the supplies added up."""
    group = 2 * network.subtable + np.maximum(network.side, 0)
    own = np.arange(network.nodes) + int(group.max(initial=0)) + 1  # a node above the bottom stays by itself, the ground last
    node = np.unique(np.where(bottom, group, own), return_inverse=True)[1]
    supply = np.zeros(int(node.max()) + 1, dtype=np.int64)
    np.add.at(supply, node, network.supply)
    return node, supply


class _PricedRanges(NamedTuple):
    """Ranges of deviation with a price: a plain cell is one, a sensitive one two (between its levels, at no cost, and beyond)."""

    cell: IntArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray


def _pieces_of(problem: ProtectionProblem, inside: BoolArray) -> _PricedRanges:
    plain, held = np.flatnonzero(inside & ~problem.sensitive), np.flatnonzero(inside & problem.sensitive)
    down, up = problem.can_go_down[held], problem.can_go_up[held]
    low = np.where(down, problem.down.high[held], problem.up.low[held])
    high = np.where(up, problem.up.low[held], problem.down.high[held])
    under = np.where(down, (problem.down.low - problem.down.high)[held], 0)
    over = np.where(up, (problem.up.high - problem.up.low)[held], 0)
    return _PricedRanges(
        cell=np.concatenate([plain, held, held]),
        low=np.concatenate([problem.free.low[plain], low, under]).astype(np.float64),
        high=np.concatenate([problem.free.high[plain], high, over]).astype(np.float64),
        weight=np.concatenate([problem.weight[plain], np.zeros(held.size), problem.weight[held]]),
    )


def _merged_pieces(pieces: _PricedRanges, tail: IntArray, head: IntArray) -> _PricedRanges:
    """Pieces with the same ends and of one class of weight as one, as light as its lightest; its cell is one of theirs."""
    light_first = np.argsort(np.argsort(pieces.weight, kind="stable"), kind="stable")
    even = np.ptp(pieces.weight[pieces.weight > 0]) == 0 if (pieces.weight > 0).any() else True
    kind = np.where(pieces.weight > 0, 1 if even else 1 + TUNING.weight_classes * light_first // max(light_first.size, 1), 0)
    keys = (kind, head[pieces.cell], tail[pieces.cell])
    order = np.lexsort(keys)
    first = np.flatnonzero(np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0)))
    if order.size == 0:
        return pieces
    return _PricedRanges(
        cell=pieces.cell[order[first]],
        low=_wide_enough(np.add.reduceat(pieces.low[order], first)),
        high=_wide_enough(np.add.reduceat(pieces.high[order], first)),
        weight=np.minimum.reduceat(pieces.weight[order], first),
    )


def _wide_enough(bound: FloatArray) -> FloatArray:
    """Bounds added up; where they are too large to be computed with exactly there is none, which leaves a relaxation one."""
    return np.where(np.abs(bound) < LARGEST_EXACT, bound, np.copysign(float(NO_LIMIT), bound))


def _network(tail: IntArray, head: IntArray, supply: IntArray) -> Network:
    count = supply.size
    nothing = np.zeros(count, dtype=np.int64)
    return Network(tail=tail, head=head, supply=supply, relation=np.arange(count), sign=nothing + 1, subtable=nothing, side=nothing - 1)


def _problem_of(problem: ProtectionProblem, totals: IntArray, pieces: _PricedRanges, arcs: Network) -> ProtectionProblem:
    """The coarse table as a problem in deviations: the totals as they are, the pieces as plain cells."""
    none = np.zeros(pieces.cell.size, dtype=np.int64)
    lightest = float(problem.weight.min())
    cell = np.arange(arcs.tail.size)
    signs = np.repeat([1, -1], cell.size)
    relations = csr_matrix((signs, (np.concatenate([arcs.tail, arcs.head]), np.tile(cell, 2))), shape=(arcs.nodes, cell.size))
    return ProtectionProblem(
        relations=relations,
        rhs=arcs.supply,
        value=np.zeros(cell.size, dtype=np.int64),
        weight=np.append(problem.weight[totals], np.where(pieces.weight > 0, pieces.weight, lightest)),
        lower=np.append(problem.free.low[totals], pieces.low.astype(np.int64)),
        upper=np.append(problem.free.high[totals], pieces.high.astype(np.int64)),
        sensitive=np.append(problem.sensitive[totals], none > 0),
        lower_level=np.append(problem.lower_level[totals], none),
        upper_level=np.append(problem.upper_level[totals], none),
        variant=problem.variant,
    )
