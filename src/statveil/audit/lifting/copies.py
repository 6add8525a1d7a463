"""Copies of a table, each times the sign of a cell that must move, worked out in exact integers (docs/science.md, section 5).

With G = A'L, the sum over copies c and groups k of G_kc t_c z_k is the sum of t_c L_c r. Of a group k whose sign s_k is known relative to
that of copy d, s_k = v_k t_d, and which moves by n(s_k) at the least,

    G_kd t_d z_k = v_k G_kd |z_k|,         G_kc t_c z_k >= G_kc t_c s_k n(s_k) - |G_kc| (|z_k| - n(s_k))   for the other copies c,

while any other group has at least -|G_kc| |z_k|. What depends on one sign or on a product of two is gathered in one matrix, whose row zero
stands for 1; each of its pairs may be against us, but of three signs one pair at least is equal (triangles).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.implied_bounds import SAFE, DeviationRanges, rooted
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import AuditFailed
from statveil.formats.certificate import Copies

PLUS = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
"""Signs of a triangle's three products, by the pair that stands with a plus sign alone (0: all do)."""
Tie = tuple[int, int, int]
"""Two groups that do not move against one another (1), or do not move with one another (-1)."""


_FAR = 2**62
_FAR_SHIFT = 62
"""Places by which a factor is moved that is refused anyhow, unless it is zero."""


class LiftedPulls(NamedTuple):
    """What copies ask. `slope` is to be added to what a unit of each group's size costs. Groups with a `copy` (not -1) have a sign that
    is `turn` times that copy's, and `apart` counts for as much of their size as they move at the least. `pairs`, of signs (first 1, then
    the copies), and `less` are doubled: what they may take off. `sense` is the sign where it is known, else 0.
    """

    copy: IntArray
    turn: IntArray
    slope: AnyArray
    apart: AnyArray
    pairs: AnyArray
    less: int
    sense: IntArray


def clusters_of(count: int, ties: tuple[Tie, ...], movers: BoolArray) -> tuple[IntArray, IntArray]:
    """For each group the first of its cluster, and its sign relative to that; ties with a group that may rest say nothing."""
    known = [tie for tie in ties if movers[tie[0]] and movers[tie[1]]]
    return rooted(count, [tie[0] for tie in known], [tie[1] for tie in known], [tie[2] for tie in known])


def settled(ranges: DeviationRanges, ties: tuple[Tie, ...]) -> DeviationRanges:
    """The ranges with what a group's sense says of those tied to it."""
    groups = sorted({group for tie in ties for group in tie[:2]})
    own = ranges.of(groups)
    up = dict(zip(groups, own.up.tolist(), strict=True))
    down = dict(zip(groups, own.down.tolist(), strict=True))
    rest = dict(zip(groups, own.rest.tolist(), strict=True))
    known = [group for group in groups if up[group] != down[group] and not rest[group]]
    while known:
        one = known.pop()
        for a, b, turn in ties:
            other = b if a == one else a
            if one in (a, b) and up[other] and down[other] and not rest[other]:
                rises = up[one] == (turn > 0)
                ranges = ranges.with_one(other, 0, _FAR) if rises else ranges.with_one(other, -_FAR, 0)
                up[other], down[other] = rises, not rises
                known.append(other)
    return ranges


class _Signs(NamedTuple):
    """The copies as they are numbered here: of each group (or -1), with the group's sign; and of each cell that names one."""

    of_group: IntArray
    turn: IntArray
    of_name: IntArray
    turn_of_name: IntArray
    copies: int
    sense: IntArray


def pulls_of(
    node: Copies, columns: csr_matrix, right: list[int], names: tuple[IntArray, IntArray], ranges: DeviationRanges, ties: tuple[Tie, ...]
) -> LiftedPulls:
    """What a node's copies ask; `columns` is the transposed system, `names` the group and the sign of each cell that names a copy."""
    signs = _signs(*names, ranges, ties)
    factors, shift = _factors(node, signs, len(right))
    pull = _whole_product(columns, factors)
    own = np.zeros(pull.shape[0], dtype=np.int64)
    known = np.flatnonzero(signs.of_group >= 0)
    own[known] = pull[known, signs.of_group[known]]
    apart = np.abs(pull).sum(axis=1) - np.abs(own)
    pull[known, signs.of_group[known]] = 0
    pairs = _pairs(pull[known], known, signs, ranges)
    pairs[0, 1:] -= _times_right(factors, right)
    pairs = pairs + pairs.T
    pairs, less = _with_triangles(pairs * 2**shift, node.triangles, signs)
    shifted = [_shifted(each, shift) for each in (signs.turn * own - apart, apart)]
    return LiftedPulls(signs.of_group, signs.turn, shifted[0], shifted[1], pairs, less, signs.sense)


def _signs(group: IntArray, sign: IntArray, ranges: DeviationRanges, ties: tuple[Tie, ...]) -> _Signs:
    """One copy for each cluster that a cell names; the others that name it only add to it. All that can go one way only is one cluster."""
    movers = np.asarray(~ranges.rest & (ranges.up | ranges.down))
    settled = np.flatnonzero(movers & (ranges.up != ranges.down))
    way = np.where(ranges.up[settled], 1, -1)
    one_way = zip(settled[:1].repeat(settled.size).tolist(), settled.tolist(), (way * way[:1]).tolist(), strict=True)
    root, turn = clusters_of(movers.size, (*ties, *one_way), movers)
    says = np.flatnonzero((group >= 0) & np.append(movers, False)[group])
    heads, place = np.unique(root[group[says]], return_inverse=True)
    of_root = np.full(movers.size, -1)
    of_root[heads] = np.arange(heads.size)
    of_name, turn_of_name = np.full(group.size, -1), np.ones(group.size, dtype=np.int64)
    of_name[says], turn_of_name[says] = place, sign[says] * turn[group[says]]
    sense = np.append(np.zeros(heads.size, dtype=np.int64), 0)
    sense[of_root[root[settled]]] = way * turn[settled]
    return _Signs(np.where(movers, of_root[root], -1), turn, of_name, turn_of_name, int(heads.size), np.append(1, sense[:-1]))


def _factors(node: Copies, signs: _Signs, relations: int) -> tuple[IntArray, int]:
    """The multipliers by relation and copy, and the power of two that each counts: the smallest of all shifts."""
    factors = np.zeros((relations, signs.copies), dtype=np.int64)
    rows, given, shift = np.array(node.relations, dtype=np.int64), node.matrix, min(node.shifts, default=0)
    beyond = np.minimum(np.array(node.shifts, dtype=np.int64) - shift, _FAR_SHIFT)
    size = np.ldexp(np.abs(given).sum(axis=1, dtype=np.float64), beyond)
    if np.bincount(rows, weights=size).max(initial=0.0) >= SAFE:
        raise _too_large()
    given = (given * signs.turn_of_name) << beyond[:, np.newaxis]
    for name in np.flatnonzero(signs.of_name >= 0).tolist():
        np.add.at(factors[:, signs.of_name[name]], rows, given[:, name])
    return factors, shift


def _too_large() -> AuditFailed:
    return AuditFailed("The certificate is refused: the factors of its copies are too large to be added up exactly.")


def _pairs(pull: IntArray, known: IntArray, signs: _Signs, ranges: DeviationRanges) -> AnyArray:
    """What the least moves of the groups bring to each pair of signs, doubled."""
    up, down = ranges.up[known], ranges.down[known]
    rise, fall = ranges.rise[known].astype(object), -ranges.fall[known].astype(object)
    with_sign = np.where(up & down, rise + fall, 0) * signs.turn[known]
    anyway = np.where(up & down, rise - fall, np.where(up, 2 * rise, -2 * fall))
    pairs = np.zeros((signs.copies + 1, signs.copies + 1), dtype=object)
    moves = pull.astype(object)
    np.add.at(pairs, 1 + signs.of_group[known], np.hstack([np.zeros((known.size, 1), dtype=object), moves * with_sign[:, np.newaxis]]))
    pairs[0, 1:] += (moves * anyway[:, np.newaxis]).sum(axis=0)
    return pairs


def _with_triangles(pairs: AnyArray, triangles: tuple[int, ...], signs: _Signs) -> tuple[AnyArray, int]:
    """The pairs less what triangles say of them, and what the triangles cost; all doubled. Two of one cluster in a triangle say nothing."""
    rows = np.array(triangles, dtype=object).reshape(-1, 5)
    names, alone = rows[:, :3].astype(np.int64), rows[:, 3].astype(np.int64)
    place, turn = signs.of_name[names], signs.turn_of_name[names]
    first, second, third = place.T
    says = np.flatnonzero((place >= 0).all(axis=1) & (first != second) & (first != third) & (second != third))
    factor = 2 * rows[says, 4]
    for product, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        plus = np.array(PLUS, dtype=np.int64)[alone[says], product] * turn[says, a] * turn[says, b]
        for one, other in ((a, b), (b, a)):
            np.subtract.at(pairs, (1 + place[says, one], 1 + place[says, other]), plus * factor)
    return pairs, int(factor.sum())


def left_of(pairs: AnyArray, sense: IntArray) -> int:
    """What remains when every product of two signs that is not known is against us: minus the sizes above the diagonal."""
    known, open_ = np.flatnonzero(sense), np.flatnonzero(sense == 0)
    way = sense[known]
    anyway, beside, sizes = pairs[np.ix_(known, known)], pairs[np.ix_(known, open_)], np.abs(pairs[np.ix_(open_, open_)])
    certain = int(way @ anyway @ way) - int(np.trace(anyway))
    return certain // 2 - int(np.abs(way @ beside).sum()) - (int(sizes.sum()) - int(np.trace(sizes))) // 2


def _whole_product(matrix: csr_matrix, factors: IntArray) -> IntArray:
    sizes = abs(matrix).astype(np.float64) @ np.abs(factors).astype(np.float64)
    if sizes.sum(axis=1).max(initial=0.0) >= SAFE:
        raise _too_large()
    return np.asarray(matrix @ factors)


def _times_right(factors: IntArray, right: list[int]) -> AnyArray:
    """Twice L'r."""
    used = [row for row, amount in enumerate(right) if amount]
    sums = [sum(factor * right[row] for row, factor in zip(used, column, strict=True)) for column in factors[used].T.tolist()]
    return np.array([2 * each for each in sums], dtype=object)


def _shifted(numbers: IntArray, shift: int) -> AnyArray:
    """Times 2**shift, in integers without end where 64 bits might not do."""
    if float(np.abs(numbers).max(initial=0)) * 2.0 ** min(shift, 1_000) < SAFE:
        return np.asarray(numbers << shift)
    return np.asarray(numbers.astype(object) * 2**shift)
