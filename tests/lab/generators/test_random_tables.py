"""S0's random tables have the shares, the margins and the ranges that its section 3 gives."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil_lab.generators.random_tables import margin_relations, random_problem, random_table


@pytest.mark.parametrize("shape", [(4, 4), (25, 25), (10, 10, 3), (5, 6, 7)])
def test_every_line_adds_up_to_its_margin(shape: tuple[int, ...]) -> None:
    values = random_table(shape, seed=1).values
    assert values.shape == tuple(size + 1 for size in shape)
    for axis in range(len(shape)):
        parts, total = np.split(values, [-1], axis=axis)
        assert np.array_equal(parts.sum(axis=axis, keepdims=True), total)
    assert not (margin_relations(shape) @ values.ravel()).any()


def test_a_cube_has_one_relation_a_line() -> None:
    assert margin_relations((20, 20, 20)).shape == (3 * 21 * 21, 21**3)


def test_the_shares_are_those_asked_for() -> None:
    table = random_table((20, 20, 20), seed=1)
    inner, marked = table.values[:-1, :-1, :-1], table.sensitive[:-1, :-1, :-1]
    assert table.sensitive.sum() == marked.sum() == 2400
    assert 800 <= (inner == 0).sum() <= 830  # 10%, and what the draw itself made zero
    assert inner[marked].min() > 0
    assert (inner.max(), (inner % 5).any()) == (5000, False)


def test_every_cell_may_move_by_a_fifth_and_zeros_stay() -> None:
    problem = random_problem((6, 6), seed=2)
    assert np.array_equal(5 * (problem.upper - problem.value), problem.value)
    assert np.array_equal(5 * (problem.value - problem.lower), problem.value)
    assert np.array_equal(5 * problem.upper_level[problem.sensitive], problem.value[problem.sensitive])
    assert (problem.can_go_up & problem.can_go_down)[problem.sensitive].all()
    assert problem.variant == "exact"


def test_the_same_seed_gives_the_same_table() -> None:
    assert np.array_equal(random_table((5, 5), seed=7).values, random_table((5, 5), seed=7).values)
    assert not np.array_equal(random_table((5, 5), seed=7).values, random_table((5, 5), seed=8).values)


def test_another_percentage_is_whole_too() -> None:
    problem = random_problem((4, 4), seed=1, percent=15)
    assert np.array_equal(20 * (problem.upper - problem.value), 3 * problem.value)


@pytest.mark.parametrize("wrong", [{"shape": ()}, {"shape": (0, 3)}, {"sensitive": 1.5}, {"zeros": -0.1}, {"percent": 0}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="random_table"):
        random_table(**{"shape": (3, 3), "seed": 1, **wrong})  # type: ignore[arg-type]
