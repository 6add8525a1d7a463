"""A safe table without a search, checked by hand and on random tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.formats.jj import read_text
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import parts_of
from statveil.protect.search import plain_table
from statveil.protect.search.plain_table import plain_table as find
from statveil.protect.system import problem_of as problem_of_system
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of


def shops(**changes: object) -> ProtectionProblem:
    """Two shops and their total, 20 + 80 = 100; the first must move by five."""
    arrays = {
        "relations": csr_matrix([[1, 1, -1]]),
        "rhs": np.zeros(1, dtype=np.int64),
        "value": np.array([20, 80, 100]),
        "weight": np.ones(3),
        "lower": np.zeros(3, dtype=np.int64),
        "upper": np.full(3, NO_LIMIT),
        "sensitive": np.array([True, False, False]),
        "lower_level": np.array([5, 0, 0]),
        "upper_level": np.array([5, 0, 0]),
    }
    return ProtectionProblem(**{**arrays, **changes})  # type: ignore[arg-type]


def test_the_part_goes_up_and_takes_its_total_along() -> None:
    assert find(shops()).tolist() == [5, 0, 5]  # type: ignore[union-attr]


def test_where_the_total_is_fixed_the_other_shop_gives() -> None:
    fixed = np.array([NO_LIMIT, NO_LIMIT, 100])
    assert find(shops(upper=fixed)).tolist() == [5, -5, 0]  # type: ignore[union-attr]


def test_nothing_sensitive_is_a_table_at_rest() -> None:
    assert find(shops(sensitive=np.zeros(3, dtype=np.bool_))).tolist() == [0, 0, 0]  # type: ignore[union-attr]


def test_a_cell_without_room_up_goes_down() -> None:
    assert find(shops(upper=np.array([22, NO_LIMIT, NO_LIMIT]))).tolist()[0] == -5  # type: ignore[union-attr]


def test_a_cell_without_room_either_way_has_no_table() -> None:
    assert find(shops(lower=np.array([18, 0, 0]), upper=np.array([22, NO_LIMIT, NO_LIMIT]))) is None


def test_exact_amounts_are_kept() -> None:
    assert find(shops(variant="exact")).tolist()[0] == 5  # type: ignore[union-attr]


def two_ways(**changes: object) -> ProtectionProblem:
    """20 + 80 = 100 = 40 + 60, by kind and by place: some part follows from the others, so that raising parts may lower a cell.

    The total cannot rise; one shop and one place must move by five.
    """
    return problem_of(
        [20, 80, 40, 60, 100],
        [[1, 1, 0, 0, -1], [0, 0, 1, 1, -1]],
        levels={0: 5, 2: 5},
        **{"upper": np.array([NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, 100]), **changes},
    )


def test_a_program_finds_who_gives_where_a_total_is_broken_down_twice() -> None:
    problem = two_ways()
    deviation = find(problem)
    assert deviation is not None
    assert problem.accepts(deviation)
    assert deviation[[0, 2]].tolist() == [5, 5]
    assert deviation[4] <= 0


def test_senses_are_looked_for_where_not_all_can_go_up() -> None:
    """Shops of 20 and 80 both sensitive below a total that stays: one of them must go down, whichever."""
    problem = problem_of(
        [20, 80, 100], [[1, 1, -1]], levels={0: 5, 1: 5}, lower=np.array([0, 0, 100]), upper=np.array([NO_LIMIT, NO_LIMIT, 100])
    )
    deviation = find(problem)
    assert deviation is not None
    assert problem.accepts(deviation)
    assert sorted(np.sign(deviation).tolist()) == [-1, 0, 1]


def test_no_table_is_none() -> None:
    """Only the first shop can move, and its total cannot."""
    assert find(shops(lower=np.array([0, 80, 100]), upper=np.array([NO_LIMIT, 80, 100]))) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([(3, 4), (2, 3, 4), (7, 6)]), st.booleans())
def test_what_a_program_finds_is_always_safe(seed: int, shape: tuple[int, ...], exact: bool) -> None:
    """Tables whose grand total is fixed: whatever comes out is accepted, and with few cells something mostly does."""
    drawn = random_problem(shape, seed=seed, zeros=0.2)
    upper, largest = np.full(drawn.size, NO_LIMIT), int(np.argmax(drawn.value))
    upper[largest] = drawn.value[largest]
    problem = replace(drawn, upper=upper, variant="exact" if exact else "at-least")
    parts = parts_of(problem)
    assert parts is not None
    deviation = plain_table.by_program(problem, parts, seconds=60)
    event("a table" if deviation is not None else "none")
    assert deviation is None or problem.accepts(deviation)


@pytest.mark.shared
def test_every_public_instance_has_one(shared_data: Path) -> None:
    files = sorted((shared_data / "csplib").glob("*.jj"))
    assert len(files) == 14
    for file in files:
        problem = problem_of_system(read_text(file))
        deviation = find(problem)
        assert deviation is not None, file.name
        assert problem.accepts(deviation)


def test_a_table_whose_cells_hang_together_otherwise_is_doubled() -> None:
    """Two cells that must stay equal in sum to two others: no cell is a total, and no part can be raised alone."""
    crossed = shops(
        relations=csr_matrix([[1, 1, -1, -1]]),
        value=np.array([20, 80, 60, 40]),
        weight=np.ones(4),
        lower=np.zeros(4, dtype=np.int64),
        upper=np.full(4, NO_LIMIT),
        sensitive=np.array([True, False, False, False]),
        lower_level=np.array([5, 0, 0, 0]),
        upper_level=np.array([5, 0, 0, 0]),
    )
    deviation = plain_table._several_times(crossed)
    assert deviation is not None
    assert deviation.tolist() == [20, 80, 60, 40]


def test_no_multiple_of_a_zero_is_safe() -> None:
    assert plain_table._several_times(shops(value=np.array([0, 100, 100]))) is None


@pytest.mark.parametrize("together", [False, True])
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([(3, 4), (2, 3, 4), (7, 6)]))
def test_tables_without_tight_bounds_always_have_one(together: bool, seed: int, shape: tuple[int, ...]) -> None:
    drawn = random_problem(shape, seed=seed, zeros=0.2)
    problem = replace(drawn, upper=np.full(drawn.size, NO_LIMIT), variant="at-least")
    chosen = plain_table.TUNING._replace(one_by_one=-1 if together else 10**6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_table, "TUNING", chosen)
        deviation = find(problem)
    assert deviation is not None
    assert problem.accepts(deviation)
