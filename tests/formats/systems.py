"""Linear systems for tests: a village checked by hand, and random ones for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import STATUSES, LinearSystem

VILLAGE = """0
4
0 100 1 s 0 1000 0 0 0
1 60.5 2 u 0 1000 5 7.25 0
2 30 1 s 0 1e20 0 0 0
3 9.5 1 z 0 1000 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""
"""A total and three trades; the vets (cell 1) are sensitive, the baker (cell 3) is fixed."""

NINE = """0
9
0 50 1 u 0 200 5.5 5.5 0
1 30 1 s 0 200 0 0 0
2 80 1 s 0 200 0 0 0
3 20 1 s 0 200 0 0 0
4 40 1 s 0.5 59.5 0 0 0
5 60 1 s 0 200 0 0 0
6 70 1 s 0 200 0 0 0
7 70 1 s 0 200 0 0 0
8 140 1 s 0 200 0 0 0
6
0 3 : 2 (-1) 0 (1) 1 (1)
0 3 : 5 (-1) 3 (1) 4 (1)
0 3 : 8 (-1) 6 (1) 7 (1)
0 3 : 6 (-1) 0 (1) 3 (1)
0 3 : 7 (-1) 1 (1) 4 (1)
0 3 : 8 (-1) 2 (1) 5 (1)
"""
"""Two rows by two columns with their totals, all whole; the level of the first cell has a half."""


def same(one: LinearSystem, other: LinearSystem) -> bool:
    """Whether two systems are equal to the last bit, terms in the same order."""
    matrices = [getattr(each.relations, part) for each in (one, other) for part in ("indptr", "indices", "data")]
    return (
        all(np.array_equal(mine, theirs) for mine, theirs in zip(matrices[:3], matrices[3:], strict=True))
        and one.relations.shape == other.relations.shape
        and one.decimals == other.decimals
        and all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for name in ("rhs", "value", "cost", "status", "lower", "upper", "lower_level", "upper_level")
        )
    )


@st.composite
def systems(draw: st.DrawFn) -> LinearSystem:
    """Additive by their right-hand sides, with any factors, negative values, open bounds and awkward costs."""
    size, rows = draw(st.integers(1, 6)), draw(st.integers(0, 4))

    def ints(low: int, high: int, count: int = size) -> Any:
        return np.array(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)), dtype=np.int64)

    value = ints(-(10**8), 10**8)
    value[0] = 10 * value[0] + 1  # the last decimal is needed, so that it is read back
    dense = ints(-3, 3, rows * size).reshape(rows, size)
    relations = csr_matrix(dense)
    cost = draw(st.lists(st.floats(1e-300, 1e300, allow_subnormal=False), min_size=size, max_size=size))
    return LinearSystem(
        relations=relations,
        rhs=relations @ value,
        value=value,
        cost=np.array(cost),
        status=np.array(draw(st.lists(st.sampled_from(STATUSES), min_size=size, max_size=size))),
        lower=np.where(ints(0, 1) == 1, -NO_BOUND, value - ints(0, 10**6)),
        upper=np.where(ints(0, 1) == 1, NO_BOUND, value + ints(0, 10**6)),
        lower_level=ints(0, 10**6),
        upper_level=ints(0, 10**6),
        decimals=draw(st.integers(0, 6)),
    )
