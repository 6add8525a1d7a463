"""Invented three-way tables with the relations of S1 (Cox and Kelly 2003, section 3): 13 x 13 x 13 cells, about 100 of them sensitive.

Along each of the three directions, code 13 = 4 + 5 + 6, 12 = 1 + 6, 11 = 3 + 4, 10 = 3 + 6, 9 = 4 + 5, 8 = 1 + 2 and
7 = 3 + 8 + 13, so that codes overlap and no direction is a tree. The values of S1's own table are not published; these are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_matrix, identity, kron, vstack

from statveil.core.arrays import IntArray
from statveil.protect.problem import ProtectionProblem

SUMS: Mapping[int, tuple[int, ...]] = {13: (4, 5, 6), 12: (1, 6), 11: (3, 4), 10: (3, 6), 9: (4, 5), 8: (1, 2), 7: (3, 8, 13)}
CODES, PARTS = 13, 6
SPREAD = 1.2
"""Spread of the values, in logarithms."""
SMALLER = 0.7
"""Share of the cells, from the smallest on, among which the sensitive ones are."""
LEVELS = (0.02, 0.07)
"""Protection levels, from and to, in shares of the value."""
REACH = 2
"""Cells may move by their value divided by this."""


def three_way_problem(*, seed: int, sensitive: int = 100, levels: tuple[float, float] = LEVELS) -> ProtectionProblem:
    """Values skewed as magnitudes are; so many sensitive cells among the smaller ones; no cell moves by more than half of its value."""
    rng = np.random.Generator(np.random.PCG64(seed))
    parts = np.maximum(np.rint(1000 * rng.lognormal(0, SPREAD, (PARTS,) * 3)), 40).astype(np.int64)
    value = _all_codes(parts).ravel()
    chosen = rng.choice(np.argsort(value, kind="stable")[: round(SMALLER * value.size)], size=sensitive, replace=False)
    marked = np.zeros(value.size, dtype=np.bool_)
    marked[chosen] = True
    level = np.where(marked, np.maximum(np.rint(value * rng.uniform(*levels, value.size)), 1), 0).astype(np.int64)
    relations = three_way_relations()
    return ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        weight=np.ones(value.size),
        lower=value - value // REACH,
        upper=value + value // REACH,
        sensitive=marked,
        lower_level=level,
        upper_level=level,
    )


def three_way_relations() -> csr_matrix:
    """The seven sums along every line in each of the three directions."""
    one = np.zeros((len(SUMS), CODES), dtype=np.int64)
    for row, (total, parts) in enumerate(SUMS.items()):
        one[row, total - 1] = -1
        one[row, [part - 1 for part in parts]] = 1
    same = identity(CODES, dtype=np.int64, format="csr")
    blocks = [kron(kron(csr_matrix(one), same), same), kron(kron(same, csr_matrix(one)), same), kron(kron(same, same), csr_matrix(one))]
    return csr_matrix(vstack(blocks, format="csr"), dtype=np.int64)


def _all_codes(parts: IntArray) -> IntArray:
    """Codes 1 to 13 along each direction, from codes 1 to 6."""
    up = np.zeros((CODES, PARTS), dtype=np.int64)
    up[:PARTS] = np.eye(PARTS, dtype=np.int64)
    for total in (13, 12, 11, 10, 9, 8, 7):
        up[total - 1] = up[[part - 1 for part in SUMS[total]]].sum(axis=0)
    return np.asarray(np.einsum("ai,bj,ck,ijk->abc", up, up, up, parts), dtype=np.int64)
