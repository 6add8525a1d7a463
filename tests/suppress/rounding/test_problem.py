"""Settings of rounding are checked at the door."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.suppress.rounding.problem import rounding_problem
from tests.suppress.rounding.rounded import grid


@pytest.mark.parametrize(("base", "steps"), [(0, 0), (2.5, 0), (3, -1)])
def test_impossible_settings_are_refused(base: int, steps: int) -> None:
    with pytest.raises(InputError):
        rounding_problem(grid((2, 2), [1, 2, 3, 4]), base, zero_restricted=True, steps=steps)
