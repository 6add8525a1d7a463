"""The sums that hold in a table of cells with codes: worked out from the labels here, and from nothing that made the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.tables.spec import Dimension


def tree_sums(dimensions: Sequence[Dimension], coordinates: IntArray) -> csr_matrix:
    """A row for each total in each tree that stands there: parts less total. A part that does not stand there is empty: zero."""
    at = {tuple(place): row for row, place in enumerate(coordinates.tolist())}
    terms: list[tuple[int, int, int]] = []
    rows = 0
    for axis, dimension in enumerate(dimensions):
        for parent, children in _families(dimension):
            for total in np.flatnonzero(coordinates[:, axis] == parent).tolist():
                place = coordinates[total].tolist()
                parts = [at.get((*place[:axis], child, *place[axis + 1 :])) for child in children]
                terms += [(rows, total, -1), *((rows, part, 1) for part in parts if part is not None)]
                rows += 1
    row, column, factor = np.array(terms, dtype=np.int64).reshape(-1, 3).T
    return csr_matrix((factor, (row, column)), shape=(rows, coordinates.shape[0]))


def _families(dimension: Dimension) -> list[tuple[int, list[int]]]:
    """Each code with codes below it, in every tree, as places among the dimension's codes."""
    found: dict[tuple[int, str], list[int]] = {}
    for number, tree in enumerate(dimension.trees):
        for code, above in tree.parent.items():
            found.setdefault((number, above), []).append(dimension.position[code])
    return [(dimension.position[above], children) for (_, above), children in found.items()]
