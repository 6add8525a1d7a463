"""Squares of cells to suppress."""

from __future__ import annotations

INNER = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
