from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import HierarchyError, InputError, TableNotAdditive
from statveil.data.hierarchy import Hierarchy
from statveil.tables.from_cells import table_from_cells
from statveil.tables.relations import relations

ROWS = Hierarchy.flat(["a", "b"])
COLUMNS = Hierarchy.flat(["x", "y"])
INNER = {("a", "x"): 1, ("a", "y"): 2, ("b", "x"): 3, ("b", "y"): 4}


def two_by_two(cells: dict[tuple[str, ...], Any], **options: Any) -> Any:
    return table_from_cells({"row": ROWS, "column": COLUMNS}, cells, **options)


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


def test_given_totals_must_be_sums() -> None:
    assert two_by_two(INNER | {("a", "Total"): 3, ("Total", "Total"): 10}).value[0] == 10
    with pytest.raises(TableNotAdditive, match=r"Cell \('a', 'Total'\) is not the sum of its parts along 'column'; 2 totals"):
        two_by_two(INNER | {("a", "Total"): 4, ("Total", "Total"): 11})
    with pytest.raises(TableNotAdditive, match="along 'row'"):
        two_by_two({("Total", "x"): 5})


def test_ready_numbers_are_exact() -> None:
    table = two_by_two({("a", "x"): "1.50", ("a", "y"): Decimal("-0.25"), ("b", "x"): 2}, decimals=2)
    assert (table.scale, table.value[0]) == (2, 325)
    assert (table.records == -1).all()


@pytest.mark.parametrize("number", [0.5, "x", "1.234", "nan", "inf", None, 2**62])
def test_numbers_that_are_not_exact_are_refused_without_showing_them(number: Any) -> None:
    with pytest.raises(InputError) as caught:
        two_by_two({("a", "x"): number}, decimals=2)
    assert "1.234" not in str(caught.value)


def test_cells_outside_the_table_are_refused() -> None:
    with pytest.raises(HierarchyError, match="no code 'z'"):
        two_by_two({("a", "z"): 1})
    with pytest.raises(InputError, match="1 codes"):
        two_by_two({("a",): 1})


def test_the_same_cells_in_another_order_are_the_same_table() -> None:
    one, other = two_by_two(INNER), two_by_two(dict(reversed(INNER.items())))
    assert (one.input_hash, one.value.tolist()) == (other.input_hash, other.value.tolist())
