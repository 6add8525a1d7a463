"""The audit of perturbed counts finds each fault."""

from __future__ import annotations

import numpy as np

from statveil.audit.classical.cell_key import MagnitudeNoise, audit_cell_key, audit_cell_key_magnitudes

P = np.array([[0.25, 0.5, 0.25]])
"""Noise of -1, 0 and 1."""


def faults(counts: list[int], sums: list[int], released: list[int], p: np.ndarray = P, js: int = 0) -> set[str]:
    report = audit_cell_key(np.array(counts), np.array(sums), np.array(released), p, js=js, bits=4)
    return {check.name for check in report.checks if not check.passed}


def test_each_fault_has_its_check() -> None:
    """Keys of 4 bits: 0 to 3 lower a count, 4 to 11 keep it, 12 to 15 raise it."""
    assert faults([0, 5, 5, 5], [0, 3, 8, 15], [0, 4, 5, 6]) == set()
    assert faults([0], [0], [1]) == {"zeros"}
    assert faults([5], [15], [8]) == {"noise"}
    assert faults([5], [3], [6]) == {"keys"}
    assert faults([5], [3], [-1]) == {"noise", "signs"}
    assert faults([2], [3], [1], js=1) == {"small"}
    assert faults([5], [8], [5], np.array([[0.2, 0.5, 0.3]])) == {"table"}


def test_magnitudes_that_moved_too_far_or_changed_sign_are_found() -> None:
    asked = MagnitudeNoise(most=0.3, shares=(1.0,))
    values, top = np.array([0, 100, 100]), np.array([[0], [50], [50]])
    assert audit_cell_key_magnitudes(values, top, np.array([0, 115, 85]), asked).passed
    wrong = audit_cell_key_magnitudes(values, top, np.array([1, 117, -3]), asked)
    assert {check.name: check.faults for check in wrong.checks} == {"zeros": 1, "signs": 1, "noise": 3}
