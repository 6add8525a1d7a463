"""The papers' tables have the counts that the papers give."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil_lab.tables import LINKED_CODES, check_figures, linked_problem, tables_of


def test_linked_codes_in_three_dimensions_have_the_counts_of_the_papers() -> None:
    problem = linked_problem(3, seed=0)
    assert (problem.size, problem.rhs.size, problem.relations.nnz) == (2197, 3549, 11661)  # S3, table 1: hier13x13x13d
    assert 80 <= problem.sensitive.sum() <= 130  # S1: "approximately 100"


def test_a_sum_of_one_sensitive_cell_and_zeros_is_sensitive_too() -> None:
    problem = linked_problem(1, seed=4)
    cells = problem.value[:6]
    for code, parts in LINKED_CODES.items():
        alone = [part for part in parts if part <= 6 and cells[part - 1]]
        if all(part <= 6 for part in parts) and len(alone) == 1:
            assert problem.sensitive[code - 1] == problem.sensitive[alone[0] - 1]
    assert problem.sensitive.sum() >= 1


def test_linked_tables_add_up_and_differ_by_seed() -> None:
    one, other = linked_problem(2, seed=0), linked_problem(2, seed=1)
    assert not one.residual.any()
    assert not np.array_equal(one.value, other.value)


def test_code_seven_is_the_sum_of_three_one_two_four_five_and_six() -> None:
    value = linked_problem(1, seed=3).value
    assert value[6] == value[:6].sum()
    assert value[11] == value[0] + value[5]


@pytest.mark.parametrize(
    ("figure", "size", "name", "cells"), [("1", 4, "4x4", 25), ("4", 5, "5x5", 36), ("2", 3, "10x10x3", 484), ("3", 5, "5x5x5", 216)]
)
def test_figures_of_s0_have_their_shapes_with_all_margins(figure: str, size: int, name: str, cells: int) -> None:
    table = tables_of(figure, [size])[0]
    posed = table.pose(0)
    assert (table.name, posed.problem.size) == (name, cells)
    assert posed.problem.variant == "exact"
    assert np.array_equal(posed.system.value, posed.problem.value)


def test_unknown_figures_and_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown figure '9'"):
        check_figures(["1", "9"])
    with pytest.raises(InputError, match="from 1 to 40"):
        tables_of("3", [5, 4000])
