"""Positive cells that are published as zero."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.one_table.lower_sense import lowered


def test_what_rounds_to_zero_may_be_published_as_zero() -> None:
    value, lower, sensitive = np.array([400, 600]), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=bool)
    assert lowered(np.array([0, 0]), value, lower, sensitive, unit=1000).figures["positive cells released as zero"] == 1
    assert lowered(np.array([0, 0]), value, lower, sensitive).figures["positive cells released as zero"] == 2
