"""Totals of a tensor, and their adjoint."""

from __future__ import annotations

import numpy as np

from statveil.protect.dense.margins import folded, inner_part, with_margins
from statveil.solve.tensors import Tensors
from tests.protect.dense.full_tables import summed


def test_totals_and_their_adjoint_belong_together() -> None:
    """<with_margins(x), y> = <x, folded(y)>."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (3, 4, 2)), rng.integers(-9, 9, (4, 5, 3))
    full = with_margins(Tensors(0), x)
    assert (full == summed(x)).all()
    assert (inner_part(full) == x).all()
    assert (full * y).sum() == (x * folded(y)).sum()
