"""Simple tables: one family of codes in each dimension, sums first, the highest first."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.suppress.cells.methods.shape import MOST_POSITIONS, GridShape, shape_of, shape_of_parents, simple_tables, tables_with
from statveil.tables.spec import Dimension

TREE = sv.Hierarchy(parent={"a": "T", "b": "T", "a1": "a", "a2": "a"}, total="T")


def two() -> GridShape:
    rows, columns = Dimension(name="area", trees=(TREE,)), Dimension(name="trade", trees=(sv.Hierarchy.flat(["x", "y"], total="T"),))
    places = np.array([(row, column) for row in range(5) for column in range(3)])
    return shape_of([rows, columns], places, np.arange(15))


def test_families_and_simple_tables_from_the_top():
    shape = two()
    assert [[family.codes.tolist() for family in families] for families in shape.families] == [[[0, 1, 4], [1, 2, 3]], [[0, 1, 2]]]
    assert shape.hierarchies == [0]
    tables = simple_tables([shape])
    assert [table.depth for table in tables] == [0, 1]
    assert tables[1].cells.tolist() == [[3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert tables_with(tables, 15)[3] == [0, 1]
    assert tables_with(tables, 15)[14] == [0]


def test_parents_alone_tell_the_same():
    shape = shape_of_parents([np.array([-1, 0, 1, 1, 0]), np.array([-1, 0, 0])])
    assert np.array_equal(shape.cells, two().cells)
    assert [table.cells.tolist() for table in simple_tables([shape])] == [table.cells.tolist() for table in simple_tables([two()])]


def test_positions_without_a_cell_and_too_many_positions():
    rows = Dimension(name="area", trees=(sv.Hierarchy.flat(["x", "y"], total="T"),))
    assert shape_of([rows], np.array([[0], [1]]), np.array([0, 1])).cells.tolist() == [0, 1, -1]
    wide = Dimension(name="wide", trees=(sv.Hierarchy.flat([str(each) for each in range(400)]),))
    assert MOST_POSITIONS < 401**3
    with pytest.raises(sv.InputError, match="too many for methods"):
        shape_of([wide] * 3, np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64))
