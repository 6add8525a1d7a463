"""What adds up: a relation for each total with its parts."""

from __future__ import annotations

import numpy as np

from statveil.data.hierarchy import Hierarchy
from statveil.tables.from_cells import table_from_cells
from statveil.tables.relations import relations
from tests.tables.two_by_two import INNER, two_by_two


def test_a_table_of_two_by_two_has_six_relations() -> None:
    table = two_by_two(INNER)
    matrix = relations(table)
    assert table.value.tolist() == [10, 4, 6, 3, 1, 2, 7, 3, 4]
    assert matrix.shape == (6, 9)
    assert matrix.dtype == np.int64
    assert matrix[0].toarray().tolist() == [[-1, 0, 0, 1, 0, 0, 1, 0, 0]]
    assert not (matrix @ table.value).any()


def test_a_total_with_one_part_gives_no_relation() -> None:
    table = table_from_cells({"row": Hierarchy.from_dict({"A": {"B": ["c"]}, "D": None})}, {("c",): 1, ("D",): 2})
    assert (table.size, relations(table).toarray().tolist()) == (3, [[-1, 1, 1]])


def test_empty_cells_leave_their_relations() -> None:
    table = two_by_two({("a", "x"): 1, ("b", "y"): 2})
    assert table.value.tolist() == [3, 1, 2]
    assert relations(table).toarray().tolist() == [[-1, 1, 1]]


def test_an_empty_table_has_no_relations() -> None:
    assert relations(two_by_two({})).shape == (0, 0)


def test_alternative_trees_both_add_up() -> None:
    trees = [Hierarchy.from_dict({"A": ["1", "2"], "B": ["3", "4"]}), Hierarchy.from_dict({"odd": ["1", "3"], "even": ["2", "4"]})]
    table = table_from_cells({"code": trees}, {("1",): 1, ("2",): 2, ("3",): 4, ("4",): 8})
    assert relations(table).shape == (6, 9)
    assert not (relations(table) @ table.value).any()
