"""Integer programs of rounding: their bounds, and what is not found."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import NoTableFound
from statveil.suppress.rounding import round_table as rounding
from statveil.suppress.rounding.round_table import round_table
from tests.suppress.rounding.rounded import grid


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_tables_in_three_dimensions_are_never_above_what_is_found(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 20, 64).tolist()
    rounded = round_table(grid((4, 4, 4), values), 5, most_steps=2)
    assert rounded.bound <= rounded.cost
    assert rounded.proved
    assert rounded.steps == 0


def test_where_no_table_within_a_base_is_found_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "run_isolated", lambda *_, **__: None)
    with pytest.raises(NoTableFound):
        round_table(grid((2, 2), [1, 2, 3, 4]), 3, most_steps=1)
