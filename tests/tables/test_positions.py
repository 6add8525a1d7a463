"""Which positions of a view are cells, which share one, and which are empty or impossible."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import HierarchyError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.tables import positions
from statveil.tables.spec import Dimension
from tests.tables.village import TOWNS, VILLAGE, build, cell


def test_a_zero_with_respondents_is_a_cell_and_an_empty_position_is_not() -> None:
    table = build()
    zero = cell(table, "Almere", "baker")
    assert (table.value[zero], table.records[zero], table.magnitude[zero]) == (0, 2, 1050)
    with pytest.raises(IndexError):
        cell(table, "Ede", "vet")


def test_the_only_vet_is_the_total_of_the_vets() -> None:
    table = build()
    assert cell(table, "Urk", "vet") == cell(table, "Flevoland", "vet") == cell(table, "Total", "vet")


def test_positions_are_in_ascending_order_and_cells_by_first_appearance() -> None:
    view = build().views[0]
    assert view.coordinates.tolist() == sorted(view.coordinates.tolist())
    firsts = [view.cell.tolist().index(number) for number in range(int(view.cell.max()) + 1)]
    assert firsts == sorted(firsts)


def test_alternative_trees_group_the_same_leaves() -> None:
    coast = Hierarchy.from_dict({"Water": ["Urk"], "Land": ["Almere", "Ede"]})
    table = build(dimensions={"town": [TOWNS, coast]})
    assert table.value[cell(table, "Land")] == 700
    assert cell(table, "Water") == cell(table, "Urk")


def test_structural_zeros_are_told_apart_from_empty_positions() -> None:
    view = build(structural_zeros=[{"town": "Gelderland", "trade": "vet"}]).views[0]
    assert [[axis.codes[place] for axis, place in zip(view.dimensions, row, strict=True)] for row in view.structural] == [
        ["Gelderland", "vet"],
        ["Ede", "vet"],
    ]


def test_records_where_none_can_be_are_refused() -> None:
    with pytest.raises(InputError, match="3 records lie where"):
        build(structural_zeros=[{"town": "Flevoland", "trade": "baker"}])
    with pytest.raises(HierarchyError, match="lacks"):
        build(structural_zeros=[{"town": "Oz"}])


def test_too_many_structural_zeros_or_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "TUNING", positions.TUNING._replace(most_structural=1))
    with pytest.raises(InputError, match="narrower"):
        build(structural_zeros=[{"town": "Gelderland", "trade": "vet"}])
    monkeypatch.setattr(positions, "TUNING", positions.TUNING._replace(most_cells=5))
    with pytest.raises(InputError, match="may have 16 cells"):
        build()


def test_a_grid_beyond_integers_is_refused() -> None:
    columns = {f"d{n}": ["0"] for n in range(20)}
    tree = Hierarchy.flat([str(n) for n in range(10)])
    with pytest.raises(InputError, match="too large to number"):
        build(columns, dimensions=dict.fromkeys(columns, tree), measure=None)


def test_one_record_is_one_cell() -> None:
    table = build({name: column[:1] for name, column in VILLAGE.items()})
    assert (table.size, len(table.views[0].cell)) == (1, 6)


def test_every_combination_of_levels_comes_from_a_finer_one() -> None:
    """Two trees over the same leaves; a tree with a leaf higher up; a flat one: the keys are those found from the leaves."""
    north = Hierarchy.from_dict({"North": ["a", "b"], "South": {"Coast": ["c", "d"], "e": None}})
    sea = Hierarchy.from_dict({"Sea": ["a", "c"], "Land": ["b", "d", "e"]})
    grid = positions.Grid(
        dimensions=(
            Dimension(name="area", trees=(north, sea)),
            Dimension(name="trade", trees=(Hierarchy.from_dict({"T": {"u": ["v", "w"]}, "z": None}),)),
            Dimension(name="size", trees=(Hierarchy.flat(["1", "2"]),)),
        )
    )
    leaves = [[dimension.position[code] for code in dimension.trees[0].leaves] for dimension in grid.dimensions]
    coordinates = np.stack([axis.ravel() for axis in np.meshgrid(*leaves, indexing="ij")], axis=1)
    found = [grid.keys(coordinates)]
    for source, axis, up in positions.steps(grid):
        code = grid.coordinates(np.maximum(found[source], 0))[:, axis]
        higher = np.where(found[source] >= 0, up[code], -1)
        found.append(np.where(higher >= 0, found[source] + grid.strides[axis] * (higher - code), -1))
    at_once = {tuple(ancestor) for ancestor in positions.combinations(grid, coordinates)}
    assert len(found) == len(at_once)
    assert {tuple(each) for each in found} == at_once


def test_marks_that_agree_in_the_first_only_stay_apart() -> None:
    marks = (np.array([5, 3, 5, 3, 5]), np.array([1, 1, 2, 1, 1]))
    cell, firsts = positions.merge_marks(marks)
    assert cell.tolist() == [0, 1, 2, 1, 0]
    assert firsts.tolist() == [0, 1, 2]
    assert [each.tolist() for each in positions.merge_marks(marks[:1])] == [[0, 1, 0, 1, 0], [0, 1]]
    assert [each.tolist() for each in positions.merge_marks((np.array([9, 8]),))] == [[0, 1], [0, 1]]
