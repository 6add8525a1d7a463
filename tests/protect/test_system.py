"""Linear systems as protection problems, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.protect.system import problem_of
from tests.formats.systems import VILLAGE
from tests.protect.problems import small_problems

DOWN = np.array([-50, -50, 0, 0])
"""The vets go down by their level of 5, in tenths, and so does the total."""


@pytest.fixture
def village(tmp_path: Path) -> Path:
    (tmp_path / "village.jj").write_text(VILLAGE)
    return tmp_path / "village.jj"


@pytest.mark.parametrize(
    ("weights", "norm", "objective"),
    [
        ("file", "l1", 5 + 10),
        ("unit", "l1", 5 + 5),
        ("unit", "l2", 25 + 25),
        ("value", "l1", 500 + 302.5),
        ("inverse", "l1", 5 / 100 + 5 / 60.5),
        ("file", "l2", 25 + 50),
    ],
)
def test_the_objective_is_in_the_files_own_amounts(village: Path, weights: Any, norm: Any, objective: float) -> None:
    assert sv.read_jj(village, weights=weights, norm=norm).cost(DOWN) == pytest.approx(objective)


def test_the_vets_are_sensitive_and_the_baker_is_fixed(village: Path) -> None:
    problem = sv.read_jj(village)
    assert problem.sensitive.tolist() == [False, True, False, False]
    assert problem.lower[3] == problem.upper[3] == problem.value[3]
    assert problem.accepts(DOWN)


def test_a_cell_that_may_move_must_cost_something(village: Path) -> None:
    village.write_text(VILLAGE.replace("30 1 s", "30 0 s"))
    with pytest.raises(sv.InputError, match="Cell 2 costs nothing to move"):
        sv.read_jj(village)
    assert sv.read_jj(village, weights="unit").weight[2] > 0
    village.write_text(VILLAGE.replace("9.5 1 z", "9.5 0 z"))
    assert sv.read_jj(village).weight[3] > 0


@pytest.mark.parametrize("wrong", [{"weights": "own"}, {"variant": "loose"}, {"norm": "l3"}])
def test_unknown_words_are_refused_with_the_known_ones(village: Path, wrong: Any) -> None:
    with pytest.raises(sv.InputError, match=r"Unknown .* Known: "):
        sv.read_jj(village, **wrong)
    with pytest.raises(sv.InputError, match=r"Unknown .* Known: "):
        sv.systems.SystemOptions(**wrong)


def test_a_system_and_its_problem_write_the_same_cells(village: Path, tmp_path: Path) -> None:
    sv.systems.write_jj(sv.systems.read_system(village), tmp_path / "system.jj")
    sv.systems.write_jj(sv.read_jj(village), tmp_path / "problem.jj", decimals=1)
    one, other = sv.read_jj(tmp_path / "system.jj"), sv.read_jj(tmp_path / "problem.jj")
    assert np.array_equal(one.value, other.value)
    assert np.allclose(one.weight, other.weight, rtol=1e-12)


@given(problem=small_problems(additive=False), decimals=st.sampled_from([0, 2]))
def test_a_problem_reads_back(problem: sv.ProtectionProblem, decimals: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "problem.jj"
    sv.systems.write_jj(problem, path, decimals=decimals)
    system = sv.systems.read_system(path, decimals="all", non_additive=True)
    again, step = problem_of(system, variant=problem.variant), 10 ** (decimals - system.decimals)
    assert np.array_equal(again.value * step, problem.value)
    assert np.array_equal(again.sensitive, problem.sensitive)
    assert np.array_equal(again.lower_level[again.sensitive] * step, problem.lower_level[problem.sensitive])
    assert np.allclose(again.weight / step, problem.weight, rtol=1e-12)
    assert (again.relations != problem.relations).nnz == 0
