"""A small table to trade on."""

from __future__ import annotations

import numpy as np

from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of, two_way_relations, with_margins


def market() -> ProtectionProblem:
    """Four towns by four trades; six cells must move by a fifth or more, and up costs as much as down."""
    inner = np.array([[500, 120, 60, 310], [90, 700, 240, 55], [310, 45, 820, 130], [75, 260, 95, 640]])
    value = with_margins(inner).ravel()
    levels = {cell: int(max(1, value[cell] // 5)) for cell in (0, 1, 6, 11, 15, 18)}
    return problem_of(value, two_way_relations(4, 4), levels=levels, lower=np.zeros_like(value), upper=2 * value)
