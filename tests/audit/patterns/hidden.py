"""Tables with suppressed cells."""

from __future__ import annotations

TABLE = [[10, 20, 30], [40, 50, 60]]
SQUARE = [0, 1, 4, 5]  # rows of four cells: three and their sum
