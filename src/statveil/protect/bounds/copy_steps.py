"""The steps of the lifted bound, compiled (docs/science.md, section 5, the lifted relaxation): one node of its tree at a time, in single
precision.

A node's arrays have a row for each cell or relation and a column for each cluster of signs. Nothing here holds the interpreter's lock, so
that two nodes are worked on at once.
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
    copies = node.sign.shape[0]
    ahead, size_ahead = np.zeros_like(node.inside), np.zeros_like(node.size)
    gain, pairs = np.zeros_like(node.size), np.zeros_like(node.sign)
    sign_ahead, row = np.zeros_like(node.sign), np.zeros(copies, np.float32)
    step = _sign_steps(table, node)
    for _ in range(count):
        _gains(table, node.cuts, gain)
        pairs[:] = np.float32(0.0)
        for cell in range(node.size.size):
            _pull_of(table, node.relations, cell, row)
            _move_cell(table, node, cell, row, gain, newton, ahead, size_ahead)
            if node.cluster[cell] >= 0:
                own, weight = pairs[node.cluster[cell]], table.level[cell] * node.turn[cell]
                for copy in range(copies):
                    own[copy] += weight * row[copy]
        _move_signs(node, pairs, step, sign_ahead)
        for cell in range(node.size.size):
            if node.cluster[cell] >= 0:
                own, weight, other = ahead[cell], table.level[cell] * node.turn[cell], sign_ahead[node.cluster[cell]]
                for copy in range(copies):
                    own[copy] += weight * other[copy]
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
    gain[:] = np.float32(1.0)
    for cut in range(cuts.size):
        for at in range(table.cuts_at[cut], table.cuts_at[cut + 1]):
            gain[table.cuts[at]] -= table.cut_factors[at] * cuts[cut]


@njit(cache=True, fastmath=True, nogil=True)
def _pull_of(table, relations, cell, row):  # type: ignore[no-untyped-def]
    """A cell's row of G = A'L."""
    row[:] = np.float32(0.0)
    for at in range(table.columns_at[cell], table.columns_at[cell + 1]):
        factor, other = table.column_factors[at], relations[table.columns[at]]
        for copy in range(row.size):
            row[copy] += factor * other[copy]


@njit(cache=True, fastmath=True, nogil=True)
def _move_cell(table, node, cell, pull, gain, newton, ahead, size_ahead):  # type: ignore[no-untyped-def]
    """The nearest R and e of a cell to one step down: all copies within its size, by Newton's method; and both one step ahead."""
    inside, beyond, own = node.inside[cell], ahead[cell], node.cluster[cell]
    step = table.copy_step[cell]
    stiff, firm = np.float32(1.0) / step, np.float32(1.0) / table.size_step[cell]
    for copy in range(pull.size):
        beyond[copy] = inside[copy] - step * pull[copy]
    tied, held = np.float32(0.0), np.float32(0.0)
    if own >= 0:
        tied, held = node.turn[cell] * beyond[own], np.float32(1.0)
        beyond[own] = np.float32(0.0)
    size = node.size[cell]
    target = size - gain[cell] * table.size_step[cell]
    for _ in range(newton):
        over, many = np.float32(0.0), np.float32(0.0)
        for copy in range(pull.size):
            past = max(abs(beyond[copy]) - size, np.float32(0.0))
            over += past
            many += np.float32(1.0) if past > np.float32(0.0) else np.float32(0.0)
        value = (size - target) * firm - stiff * over + held * stiff * (size - tied)
        before = size
        size = max(np.float32(0.0), size - value / (firm + stiff * (many + held)))
        if abs(size - before) <= np.float32(1e-6) * size:
            break
    tied = size * node.turn[cell]
    for copy in range(pull.size):
        moved = min(max(beyond[copy], -size), size)
        beyond[copy] = np.float32(2.0) * moved - inside[copy]
        inside[copy] = moved
    if own >= 0:
        before = beyond[own]  # two times nothing, less what was
        beyond[own] = np.float32(2.0) * tied + before
        inside[own] = tied
    size_ahead[cell] = np.float32(2.0) * size - node.size[cell]
    node.size[cell] = size


@njit(cache=True, fastmath=True, nogil=True)
def _move_signs(node, pairs, step, ahead):  # type: ignore[no-untyped-def]
    """One step of X, clipped, and one ahead."""
    for each in range(node.triangles.size):
        one, other, third = node.corners[each]
        amount = node.triangles[each]
        pairs[one, other] -= node.corner_signs[each, 0] * amount
        pairs[one, third] -= node.corner_signs[each, 1] * amount
        pairs[other, third] -= node.corner_signs[each, 2] * amount
    for one in range(node.sign.shape[0]):
        ahead[one, one] = np.float32(1.0)
        for other in range(one):
            moved = node.sign[one, other] - step[one, other] * (pairs[one, other] + pairs[other, one])
            moved = min(max(moved, np.float32(-1.0)), np.float32(1.0))
            two = np.float32(2.0) * moved - node.sign[one, other]
            node.sign[one, other] = moved
            node.sign[other, one] = moved
            ahead[one, other] = two
            ahead[other, one] = two


@njit(cache=True, fastmath=True, nogil=True)
def _move_relations(table, node, ahead):  # type: ignore[no-untyped-def]
    """One step up along what the relations of every copy are out by."""
    for row in range(node.relations.shape[0]):
        own, total = node.relations[row], node.relations_sum[row]
        for at in range(table.rows_at[row], table.rows_at[row + 1]):
            factor, other = table.row_factors[at] * table.relation_step[row], ahead[table.rows[at]]
            for copy in range(own.size):
                own[copy] += factor * other[copy]
        for copy in range(own.size):
            total[copy] += own[copy]


@njit(cache=True, fastmath=True, nogil=True)
def _move_cuts(table, node, size_ahead):  # type: ignore[no-untyped-def]
    """Prices of the cuts go up by what the sizes ahead leave lacking, and never below zero."""
    for cut in range(node.cuts.size):
        lacking = table.needs[cut]
        for at in range(table.cuts_at[cut], table.cuts_at[cut + 1]):
            lacking -= table.cut_factors[at] * size_ahead[table.cuts[at]]
        node.cuts[cut] = max(np.float32(0.0), node.cuts[cut] + table.cut_step[cut] * lacking)
        node.cuts_sum[cut] += node.cuts[cut]


@njit(cache=True, fastmath=True, nogil=True)
def _move_triangles(table, node, ahead):  # type: ignore[no-untyped-def]
    """+-X +-X +-X >= -1, an even number of minus signs."""
    step = np.float32(table.balance) / np.float32(3.0)
    for each in range(node.triangles.size):
        one, other, third = node.corners[each]
        signs = node.corner_signs[each]
        lacking = np.float32(-1.0) - signs[0] * ahead[one, other] - signs[1] * ahead[one, third] - signs[2] * ahead[other, third]
        node.triangles[each] = max(np.float32(0.0), node.triangles[each] + step * lacking)
        node.triangles_sum[each] += node.triangles[each]


@njit(cache=True, fastmath=True, nogil=True)
def worth_of(table, cluster, turn, relations, cuts, corners, corner_signs, triangles):  # type: ignore[no-untyped-def]
    """What multipliers would gain, by how much they must shrink to fit, and the two matrices that say which join is worth what.

    pairs: Q, of the products of signs; apart: for each pair of clusters, what |G| would lose if they were one with equal, and with
    opposite signs.
    """
    copies = relations.shape[1]
    pairs = np.zeros((copies, copies))
    row, most, gain = np.zeros(copies, np.float32), 0.0, 0.0
    taken = np.zeros(turn.size)
    for cut in range(cuts.size):
        gain += table.needs[cut] * cuts[cut]
        for at in range(table.cuts_at[cut], table.cuts_at[cut + 1]):
            taken[table.cuts[at]] += table.cut_factors[at] * cuts[cut]
    for cell in range(turn.size):
        _pull_of(table, relations, cell, row)
        total = taken[cell]
        for copy in range(copies):
            total += abs(row[copy])
        own = cluster[cell]
        if own >= 0:
            level = table.level[cell] * turn[cell]
            total -= abs(row[own]) + turn[cell] * row[own]
            gain += level * row[own]
            for copy in range(copies):
                pairs[own, copy] += level * row[copy]
        most = max(most, total)
    for each in range(triangles.size):
        one, other, third = corners[each]
        gain -= triangles[each]
        pairs[one, other] -= corner_signs[each, 0] * triangles[each]
        pairs[one, third] -= corner_signs[each, 1] * triangles[each]
        pairs[other, third] -= corner_signs[each, 2] * triangles[each]
    for one in range(copies):
        for other in range(one):
            both = pairs[one, other] + pairs[other, one]
            pairs[one, other] = both
            pairs[other, one] = both
            gain -= abs(both)
    return gain, most, pairs


@njit(cache=True, fastmath=True, nogil=True)
def join_gains(table, cluster, turn, relations):  # type: ignore[no-untyped-def]
    """For each pair of clusters what joining them with equal signs [0] and with opposite ones [1] takes off the sums in the bound, by the
    cells."""
    copies = relations.shape[1]
    gains = np.zeros((2, copies, copies))
    row = np.zeros(copies, np.float32)
    for cell in range(turn.size):
        _pull_of(table, relations, cell, row)
        own = cluster[cell]
        for one in range(copies):
            if row[one] == 0.0 or one == own:
                continue
            for other in range(one):
                if other != own:
                    size = abs(row[one]) + abs(row[other])
                    gains[0, one, other] += size - abs(row[one] + row[other])
                    gains[1, one, other] += size - abs(row[one] - row[other])
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
