"""The steps of the lifted bound, compiled (docs/science.md, section 5, the lifted relaxation): one node of its tree at a time, in single
precision.

A node's arrays have a row for each cell or relation and a column for each cluster of signs. Nothing here holds the interpreter's lock, so
that two nodes are worked on at once. Arrays are taken out of their tuples before loops: each look at an attribute counts references, which
costs more than the arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, IntArray


class CopyTable(NamedTuple):
    """What all nodes share, costs and levels scaled to about one: relations by rows and by cells, cuts by rows, and step lengths.

    `level`: of each cell, zero where it has no sign. Steps: of copies, of sizes (by cell); of multipliers of relations, of those of cuts;
    `sign_pull`: how much a cell's sign weighs in the step of a product of signs; `balance`: of the dual step to the primal one.
    """

    rows_at: IntArray
    rows: IntArray
    row_factors: AnyArray
    columns_at: IntArray
    columns: IntArray
    column_factors: AnyArray
    cuts_at: IntArray
    cuts: IntArray
    cut_factors: AnyArray
    needs: AnyArray
    level: AnyArray
    copy_step: AnyArray
    size_step: AnyArray
    relation_step: AnyArray
    cut_step: AnyArray
    sign_pull: AnyArray
    balance: float


class CopyNode(NamedTuple):
    """A node and where the method stands in it: each cell's cluster (or -1) and whether it goes along with it (1) or against it (-1);

    R, e, X, the multipliers L and nu, their sums since the last look; triangles (three clusters, three signs) with multipliers and sums.
    """

    cluster: IntArray
    turn: AnyArray
    inside: AnyArray
    size: AnyArray
    sign: AnyArray
    relations: AnyArray
    cuts: AnyArray
    relations_sum: AnyArray
    cuts_sum: AnyArray
    corners: IntArray
    corner_signs: AnyArray
    triangles: AnyArray
    triangles_sum: AnyArray


@njit(cache=True, fastmath=True, nogil=True)
def advance(table, node, count, newton):  # type: ignore[no-untyped-def]
    """So many primal-dual steps, all in place."""
    pull, ahead, size_ahead = np.zeros_like(node.inside), np.zeros_like(node.inside), np.zeros_like(node.size)
    gain, pairs, sign_ahead = np.zeros_like(node.size), np.zeros_like(node.sign), np.zeros_like(node.sign)
    step = _sign_steps(table, node)
    for _ in range(count):
        _gains(table, node.cuts, gain)
        _pulls(table, node.relations, pull)
        _move_cells(table, node, pull, gain, newton, ahead, size_ahead)
        pairs[:] = np.float32(0.0)
        _add_levels(table, node, pull, pairs, False)
        _move_signs(node, pairs, step, sign_ahead)
        _add_levels(table, node, ahead, sign_ahead, True)
        _move_relations(table, node, ahead)
        _move_cuts(table, node, size_ahead)
        _move_triangles(table, node, sign_ahead)


@njit(cache=True, fastmath=True, nogil=True)
def _sign_steps(table, node):  # type: ignore[no-untyped-def]
    """The inverse step of each product of signs: by all that pulls at it, the triangles too."""
    copies = node.sign.shape[0]
    own = np.zeros(copies, np.float32)
    for cell in range(node.cluster.size):
        if node.cluster[cell] >= 0:
            own[node.cluster[cell]] += table.sign_pull[cell]
    step = np.zeros_like(node.sign)
    for one in range(copies):
        for other in range(copies):
            step[one, other] = own[one] + own[other]
    for each in range(node.triangles.size):
        one, other, third = node.corners[each]
        for a, b in ((one, other), (one, third), (other, third)):
            step[a, b] += np.float32(1.0)
            step[b, a] += np.float32(1.0)
    for one in range(copies):
        for other in range(copies):
            step[one, other] = np.float32(1.0) / (np.float32(table.balance) * max(step[one, other], np.float32(1e-6)))
    return step


@njit(cache=True, fastmath=True, nogil=True)
def _gains(table, cuts, gain):  # type: ignore[no-untyped-def]
    """What a unit of each cell's size costs, less what it brings to the cuts."""
    starts, cells, factors = table.cuts_at, table.cuts, table.cut_factors
    gain[:] = np.float32(1.0)
    for cut in range(cuts.size):
        amount = cuts[cut]
        if amount > np.float32(0.0):
            for at in range(starts[cut], starts[cut + 1]):
                gain[cells[at]] -= factors[at] * amount


@njit(cache=True, fastmath=True, nogil=True)
def _pulls(table, relations, pull):  # type: ignore[no-untyped-def]
    """G = A'L."""
    starts, rows, factors = table.columns_at, table.columns, table.column_factors
    for cell in range(pull.shape[0]):
        _pull_of(cell, starts, rows, factors, relations, pull)


@njit(cache=True, fastmath=True, nogil=True)
def _pull_of(cell, starts, rows, factors, relations, pull):  # type: ignore[no-untyped-def]
    """A cell's row of G."""
    copies = pull.shape[1]
    for copy in range(copies):
        pull[cell, copy] = np.float32(0.0)
    for at in range(starts[cell], starts[cell + 1]):
        row, factor = rows[at], factors[at]
        for copy in range(copies):
            pull[cell, copy] += factor * relations[row, copy]


@njit(cache=True, fastmath=True, nogil=True)
def _move_cells(table, node, pull, gain, newton, ahead, size_ahead):  # type: ignore[no-untyped-def]
    """The nearest R and e of each cell to one step down, all copies within its size; and both one step ahead."""
    inside, sizes, cluster, turn, steps, size_steps = node.inside, node.size, node.cluster, node.turn, table.copy_step, table.size_step
    copies, two = pull.shape[1], np.float32(2.0)
    for cell in range(pull.shape[0]):
        own, step, size = cluster[cell], steps[cell], sizes[cell]
        for copy in range(copies):
            ahead[cell, copy] = inside[cell, copy] - step * pull[cell, copy]
        tied, held = np.float32(0.0), np.float32(0.0)
        if own >= 0:
            tied, held = turn[cell] * ahead[cell, own], np.float32(1.0)
            ahead[cell, own] = np.float32(0.0)
        stiff, firm = np.float32(1.0) / step, np.float32(1.0) / size_steps[cell]
        wanted = (size - gain[cell] * size_steps[cell]) * firm + held * stiff * tied
        moved = _size_that_fits(ahead, cell, size, (wanted, firm + held * stiff, stiff), newton)
        for copy in range(copies):
            next_one = min(max(ahead[cell, copy], -moved), moved)
            ahead[cell, copy] = two * next_one - inside[cell, copy]
            inside[cell, copy] = next_one
        if own >= 0:
            tied = moved * turn[cell]
            ahead[cell, own] += two * tied  # it was two times nothing, less what was
            inside[cell, own] = tied
        size_ahead[cell] = two * moved - size
        sizes[cell] = moved


@njit(cache=True, fastmath=True, nogil=True)
def _size_that_fits(beyond, cell, size, pulls, newton):  # type: ignore[no-untyped-def]
    """Where what a size costs is as much as what the copies beyond it ask for, by Newton's method."""
    wanted, firm, stiff = pulls
    nothing, one = np.float32(0.0), np.float32(1.0)
    for _ in range(newton):
        over, many = nothing, nothing
        for copy in range(beyond.shape[1]):
            past = max(abs(beyond[cell, copy]) - size, nothing)
            over += past
            many += one if past > nothing else nothing
        before = size
        size = max(nothing, size - (size * firm - wanted - stiff * over) / (firm + stiff * many))
        if abs(size - before) <= np.float32(1e-6) * size:
            break
    return size


@njit(cache=True, fastmath=True, nogil=True)
def _add_levels(table, node, of_cells, of_clusters, to_cells):  # type: ignore[no-untyped-def]
    """The levels times the rows of their clusters are added to those of the cells, or those of the cells to those of the clusters."""
    cluster, turn, level, copies = node.cluster, node.turn, table.level, of_cells.shape[1]
    for cell in range(cluster.size):
        own = cluster[cell]
        if own < 0:
            continue
        weight = level[cell] * turn[cell]
        for copy in range(copies):
            if to_cells:
                of_cells[cell, copy] += weight * of_clusters[own, copy]
            else:
                of_clusters[own, copy] += weight * of_cells[cell, copy]


@njit(cache=True, fastmath=True, nogil=True)
def _move_signs(node, pairs, step, ahead):  # type: ignore[no-untyped-def]
    """One step of X, clipped, and one ahead."""
    corners, signs, amounts, own = node.corners, node.corner_signs, node.triangles, node.sign
    for each in range(amounts.size):
        one, other, third, amount = corners[each, 0], corners[each, 1], corners[each, 2], amounts[each]
        pairs[one, other] -= signs[each, 0] * amount
        pairs[one, third] -= signs[each, 1] * amount
        pairs[other, third] -= signs[each, 2] * amount
    for one in range(own.shape[0]):
        ahead[one, one] = np.float32(1.0)
        for other in range(one):
            moved = own[one, other] - step[one, other] * (pairs[one, other] + pairs[other, one])
            moved = min(max(moved, np.float32(-1.0)), np.float32(1.0))
            two = np.float32(2.0) * moved - own[one, other]
            own[one, other] = moved
            own[other, one] = moved
            ahead[one, other] = two
            ahead[other, one] = two


@njit(cache=True, fastmath=True, nogil=True)
def _move_relations(table, node, ahead):  # type: ignore[no-untyped-def]
    """One step up along what the relations of every copy are out by."""
    starts, cells, factors, steps = table.rows_at, table.rows, table.row_factors, table.relation_step
    own, total, copies = node.relations, node.relations_sum, ahead.shape[1]
    for row in range(own.shape[0]):
        step = steps[row]
        for at in range(starts[row], starts[row + 1]):
            cell, factor = cells[at], factors[at] * step
            for copy in range(copies):
                own[row, copy] += factor * ahead[cell, copy]
        for copy in range(copies):
            total[row, copy] += own[row, copy]


@njit(cache=True, fastmath=True, nogil=True)
def _move_cuts(table, node, size_ahead):  # type: ignore[no-untyped-def]
    """Prices of the cuts go up by what the sizes ahead leave lacking, and never below zero."""
    starts, cells, factors, steps, needs = table.cuts_at, table.cuts, table.cut_factors, table.cut_step, table.needs
    own, total = node.cuts, node.cuts_sum
    for cut in range(own.size):
        lacking = needs[cut]
        for at in range(starts[cut], starts[cut + 1]):
            lacking -= factors[at] * size_ahead[cells[at]]
        own[cut] = max(np.float32(0.0), own[cut] + steps[cut] * lacking)
        total[cut] += own[cut]


@njit(cache=True, fastmath=True, nogil=True)
def _move_triangles(table, node, ahead):  # type: ignore[no-untyped-def]
    """+-X +-X +-X >= -1, an even number of minus signs."""
    step = np.float32(table.balance) / np.float32(3.0)
    corners, signs, own, total = node.corners, node.corner_signs, node.triangles, node.triangles_sum
    for each in range(own.size):
        one, other, third = corners[each, 0], corners[each, 1], corners[each, 2]
        lacking = np.float32(-1.0) - signs[each, 0] * ahead[one, other]
        lacking -= signs[each, 1] * ahead[one, third] + signs[each, 2] * ahead[other, third]
        own[each] = max(np.float32(0.0), own[each] + step * lacking)
        total[each] += own[each]


@njit(cache=True, fastmath=True, nogil=True)
def worth_of(table, node, relations, cuts, triangles):  # type: ignore[no-untyped-def]
    """What multipliers would gain, by how much they must shrink to fit, and the matrix Q of the products of signs."""
    copies, cluster, turn, level = relations.shape[1], node.cluster, node.turn, table.level
    pairs, pull, taken = np.zeros((copies, copies)), np.zeros_like(node.inside), np.zeros_like(node.size)
    _gains(table, cuts, taken)
    _pulls(table, relations, pull)
    gain, most = 0.0, 0.0
    for cut in range(cuts.size):
        gain += table.needs[cut] * cuts[cut]
    for cell in range(cluster.size):
        own, total = cluster[cell], 1.0 - taken[cell]
        for copy in range(copies):
            total += abs(pull[cell, copy])
        if own >= 0:
            total -= abs(pull[cell, own]) + turn[cell] * pull[cell, own]
            gain += level[cell] * turn[cell] * pull[cell, own]
            for copy in range(copies):
                pairs[own, copy] += level[cell] * turn[cell] * pull[cell, copy]
        most = max(most, total)
    return gain - _loss_by_pairs(node, triangles, pairs), most, pairs


@njit(cache=True, fastmath=True, nogil=True)
def _loss_by_pairs(node, triangles, pairs):  # type: ignore[no-untyped-def]
    """Q of the pairs less what triangles say of them, made symmetric in place; and what remains when each is against us."""
    corners, signs, loss = node.corners, node.corner_signs, 0.0
    for each in range(triangles.size):
        one, other, third = corners[each, 0], corners[each, 1], corners[each, 2]
        loss += triangles[each]
        pairs[one, other] -= signs[each, 0] * triangles[each]
        pairs[one, third] -= signs[each, 1] * triangles[each]
        pairs[other, third] -= signs[each, 2] * triangles[each]
    for one in range(pairs.shape[0]):
        for other in range(one):
            both = pairs[one, other] + pairs[other, one]
            pairs[one, other] = both
            pairs[other, one] = both
            loss += abs(both)
    return loss


@njit(cache=True, fastmath=True, nogil=True)
def fit_pulls(table, node, relations, cuts, turns, spare):  # type: ignore[no-untyped-def]
    """Cell by cell, in so many turns: where copies pull at more than a size costs less `spare`, the multipliers of the cell's relations
    change by the least that mends it. In place.
    """
    starts, rows, factors, cluster, turn = table.columns_at, table.columns, table.column_factors, node.cluster, node.turn
    pull, cost, copies = np.zeros_like(node.inside), np.zeros_like(node.size), relations.shape[1]
    _gains(table, cuts, cost)
    for _ in range(turns):
        for cell in range(cluster.size):
            _pull_of(cell, starts, rows, factors, relations, pull)
            own, most, held = cluster[cell], cost[cell] - spare, np.float32(1e-6)
            if own >= 0:
                most, held = most + turn[cell] * pull[cell, own], np.float32(1.0)
                pull[cell, own] = np.float32(0.0)
            less = _size_that_fits(pull, cell, np.float32(0.0), (-most, held, np.float32(1.0)), 6)
            if less <= np.float32(0.0):
                continue
            for copy in range(copies):
                pull[cell, copy] = min(max(pull[cell, copy], -less), less)
            if own >= 0:
                pull[cell, own] = -turn[cell] * less
            norm = np.float32(0.0)
            for at in range(starts[cell], starts[cell + 1]):
                norm += factors[at] * factors[at]
            for at in range(starts[cell], starts[cell + 1]):
                row, factor = rows[at], factors[at] / norm
                for copy in range(copies):
                    relations[row, copy] -= factor * pull[cell, copy]


@njit(cache=True, fastmath=True, nogil=True)
def join_gains(table, node, relations):  # type: ignore[no-untyped-def]
    """For each pair of clusters what joining them with equal signs [0] and with opposite ones [1] takes off the sums in the bound, by the
    cells."""
    copies, cluster = relations.shape[1], node.cluster
    gains, pull = np.zeros((2, copies, copies)), np.zeros_like(node.inside)
    _pulls(table, relations, pull)
    for cell in range(cluster.size):
        own = cluster[cell]
        for one in range(copies):
            first = pull[cell, one]
            if first == np.float32(0.0) or one == own:
                continue
            for other in range(one):
                if other != own:
                    second = pull[cell, other]
                    size = abs(first) + abs(second)
                    gains[0, one, other] += size - abs(first + second)
                    gains[1, one, other] += size - abs(first - second)
    return gains


@njit(cache=True, nogil=True)
def broken_triangles(sign, least, most):  # type: ignore[no-untyped-def]
    """Up to `most` triples of clusters whose signs the products X break by more than `least`: by how much, the triple, and its three signs.

    Of the four inequalities of a triple at most one is broken.
    """
    count = sign.shape[0]
    by, corners, signs = np.zeros(most, np.float32), np.zeros((most, 3), np.int64), np.zeros((most, 3), np.float32)
    found = 0
    for one in range(count):
        for other in range(one):
            x = sign[one, other]
            for third in range(other):
                y, z = sign[one, third], sign[other, third]
                low, at = x + y + z, 0
                if x - y - z < low:
                    low, at = x - y - z, 1
                if y - x - z < low:
                    low, at = y - x - z, 2
                if z - x - y < low:
                    low, at = z - x - y, 3
                if -1.0 - low > least and found < most:
                    by[found] = -1.0 - low
                    corners[found] = (one, other, third)
                    for place in range(3):
                        signs[found, place] = 1.0 if at in (0, place + 1) else -1.0
                    found += 1
    return by[:found], corners[:found], signs[:found]
