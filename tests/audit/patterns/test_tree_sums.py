"""Sums from labels alone."""

from __future__ import annotations

import numpy as np

from statveil.audit.patterns.tree_sums import tree_sums
from statveil.data.hierarchy import Hierarchy
from statveil.tables.spec import Dimension


def test_a_total_of_what_stands_there() -> None:
    """Total = A + B, A = A1 + A2; A2 is empty and not in the table."""
    tree = Hierarchy(parent={"A": "Total", "B": "Total", "A1": "A", "A2": "A"}, total="Total")
    dimension = Dimension(name="area", trees=(tree,))
    codes = ["Total", "A", "B", "A1"]
    found = tree_sums([dimension], np.array([[dimension.position[code]] for code in codes])).toarray()
    assert sorted(found.tolist()) == [[-1, 1, 1, 0], [0, -1, 0, 1]]


def test_no_sum_where_no_total_stands() -> None:
    dimension = Dimension(name="area", trees=(Hierarchy(parent={"A": "Total"}, total="Total"),))
    assert tree_sums([dimension], np.array([[dimension.position["A"]]])).shape == (0, 1)
