"""Why there is no safe table: the sets told are checked by trying out everything."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from statveil.core.errors import InfeasibleProblem
from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.build import CellNumbers
from statveil.protect.infeasible.explain import Explanation, explain, minimal_clash
from statveil.protect.infeasible.feasibility import (
    Clash,
    TableFound,
    all_requirements,
    check_feasibility,
)
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import read_jj
from tests.protect.infeasible.clashes import STUCK_NEIGHBOUR, kinds_and_places, told
from tests.protect.problems import problem_of, small_problems
from tests.reference.clashes import can_be_met


@pytest.mark.slow
def test_names_the_cell_its_neighbours_and_the_relation_and_nothing_else() -> None:
    found = told(STUCK_NEIGHBOUR)
    assert found.minimal
    bounds = {(side, cell) for side in ("lower", "upper") for cell in (0, 2)}
    assert kinds_and_places(found) == {("protection", 1), ("relation", 0), *bounds}


@pytest.mark.slow
def test_the_public_words_hold_no_value_and_the_internal_ones_do() -> None:
    found = told(STUCK_NEIGHBOUR)
    public = found.public()
    assert "cell 1 must move by its protection level or more" in public
    assert "cell 2 must stay within its bounds" in public
    assert "relation 0 (cell 0, cell 1, cell 2) must add up" in public
    assert not any(amount in public for amount in ("20", "25", "15", "29", "31", "12"))
    assert "from 20 to 15 or below, or to 25 or above" in found.internal()
    assert "from 2.0 to 1.5 or below" in found.internal(CellNumbers(STUCK_NEIGHBOUR, decimals=1))


@pytest.mark.slow
def test_the_number_told_is_that_of_the_lines() -> None:
    headline, *lines = told(STUCK_NEIGHBOUR).public().splitlines()
    assert headline == "These 4 requirements cannot be met together, but any one fewer can:"
    assert len([line for line in lines if line.startswith("- ")]) == 4


@pytest.mark.slow
def test_input_that_does_not_add_up_is_part_of_the_words() -> None:
    broken = problem_of([31, 20, 10], [[-1, 1, 1]], levels={}, lower=np.array([31, 20, 10]), upper=np.array([31, 20, 10]))
    words = told(broken).public()
    assert "must add up, which it does not in the input" in words
    assert "cell 0 may not go" in words
    assert "mend the input" in words


@pytest.mark.slow
def test_the_error_of_an_adjustment_carries_the_explanation() -> None:
    with pytest.raises(InfeasibleProblem, match="No safe table exists") as failure:
        adjust_problem(STUCK_NEIGHBOUR, limits=Limits(seconds=60))
    assert isinstance(failure.value.explanation, Explanation)
    assert "These 4 requirements cannot be met together, but any one fewer can" in failure.value.hint


@settings(max_examples=25, deadline=None)
@given(problem=small_problems(additive=False))
def test_what_is_told_clashes_and_any_one_fewer_does_not(problem: ProtectionProblem) -> None:
    """The reference tries every choice of senses with an integer program each."""
    asked = frozenset(all_requirements(problem))
    answer = check_feasibility(problem, asked, tries=2_000)
    if isinstance(answer, TableFound):
        assert problem.accepts(np.array([answer.deviation[cell] for cell in range(problem.size)]))
        return
    assert not can_be_met(problem, asked)
    smallest, minimal = minimal_clash(problem, answer.requirements, tries=2_000)
    assert minimal
    assert not can_be_met(problem, smallest)
    for each in smallest:
        assert can_be_met(problem, smallest - {each})


SMALL = ("cox_kelly_4x9", "targus", "cox3", "hier13x7x7d", "table7", "hier13x13x7d", "table8")


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", SMALL)
def test_public_tables_with_tight_bounds_are_explained(shared_data: Path, name: str) -> None:
    loose = read_jj(shared_data / "csplib" / f"{name}.jj", weights="unit")
    reach = np.where(loose.sensitive, NO_LIMIT // 2, np.abs(loose.value) // 1000)
    tight = dataclasses.replace(
        loose, lower=np.maximum(loose.lower, loose.value - reach), upper=np.minimum(loose.upper, loose.value + reach)
    )
    found = explain(tight, seconds=300)
    assert found is not None
    assert found.minimal
    assert isinstance(check_feasibility(tight, found.requirements, tries=2_000), Clash)
    for left_out in itertools.islice(found.requirements, 10):
        assert isinstance(check_feasibility(tight, set(found.requirements) - {left_out}, tries=2_000), TableFound)
