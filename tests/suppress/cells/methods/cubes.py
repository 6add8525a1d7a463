"""Tables for the methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statveil.suppress.cells.methods.shape import shape_of_parents
from tests.suppress.cells.stories import grid

INNER = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
FLAT = np.array([3, 3, 3, -1])


def shaped(levels, **more):
    """The square of the stories, with its total last in both directions."""
    return replace(grid(INNER, levels, **more), shapes=(shape_of_parents([FLAT, FLAT]),))
