"""Searches that say what they are told to."""

from __future__ import annotations

import numpy as np

from tests.protect.problems import problem_of

ROW = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})
CHEAP = np.array([4, -4, 0, 0])
"""Costs 8, the best there is."""
