"""The program with fixed senses: from the last basis or afresh, the same value."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect import fixed_senses
from statveil.protect.fixed_senses import FixedSenses
from statveil_lab.generators.random_tables import random_problem


@pytest.mark.parametrize("shape", [(10, 10), (5, 5, 5)])
def test_an_interior_point_afresh_gives_the_value_of_the_simplex(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(shape, seed=2)
    rng = np.random.default_rng(1)
    choices = [np.where(problem.sensitive, np.where(rng.random(problem.size) < 0.5, 1, -1), 0) for _ in range(4)]
    warm = FixedSenses(problem)
    from_the_last = [warm.solve(senses, seconds=120).objective for senses in choices]
    monkeypatch.setattr(fixed_senses, "TUNING", fixed_senses.TUNING._replace(many_changes=0, fast_simplex=0))
    anew = FixedSenses(problem)
    afresh = [anew.solve(senses, seconds=120).objective for senses in choices]
    assert afresh == pytest.approx(from_the_last, rel=1e-7)
