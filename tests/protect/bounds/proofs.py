"""Small tables, and their proofs."""

from __future__ import annotations

import numpy as np

from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of, two_way_relations, with_margins


def table(seed: int, size: int = 4, **changes: object) -> ProtectionProblem:
    """A square table with a third of its inner cells sensitive."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(10, 90, (size, size))
    cells = rng.choice(size * (size + 1), size=size * size // 3, replace=False)
    return problem_of(
        with_margins(inner).ravel(), two_way_relations(size, size), levels={int(cell): int(rng.integers(2, 9)) for cell in cells}, **changes
    )
