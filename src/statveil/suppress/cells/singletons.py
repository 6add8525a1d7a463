"""Who alone knows a suppressed class, and could work out another from it.

The respondent alone in class s recovers class q exactly where d_q is the same multiple of d_s in every deviation that keeps the sums: where
the two are in one proportion in random vectors of the null space (docs/audit.md). What is found so is met by a need of its own.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.elimination import null_vectors, proportions
from statveil.core.arrays import BoolArray
from statveil.suppress.cells.classes import ClassSystem, Need


def breaches(system: ClassSystem, suppressed: BoolArray) -> tuple[Need, ...]:
    """Needs that keep every sensitive class from the one who alone knows another: to be met as well."""
    columns = np.flatnonzero(suppressed)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, key in zip(columns.tolist(), proportions(null_vectors(csr_matrix(system.columns[:, columns]))), strict=True):
        if any(key):
            groups.setdefault(key, []).append(number)
    return tuple(need for members in groups.values() for need in _needs_within(system, members))


def _needs_within(system: ClassSystem, members: list[int]) -> list[Need]:
    knowing = [each for each in members if system.single[each]]
    pairs = [(target, known) for known in knowing for target in members if target != known and system.sensitive[target]]
    return [Need(target, 1 if system.up[target] > 0 else -1, 1, (known,)) for target, known in pairs]
