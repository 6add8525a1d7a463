"""Totals that are held: frozen, or bounded by a share of their value; a sensitive one cannot be."""

from __future__ import annotations

import pytest

from statveil.core.errors import InfeasibleProblem
from statveil.data.hierarchy import Hierarchy
from statveil.risk.assess import assess
from statveil.risk.hold import hold_totals
from statveil.risk.rules.manual import Manual, ManualCell
from statveil.tables.from_cells import table_from_cells

TABLE = table_from_cells({"area": Hierarchy.flat(["p", "q"])}, {("p",): 70, ("q",): 30})
"""The total, 100, is cell 0."""
SAFE = assess(TABLE, [Manual([ManualCell(cell={"area": "p"}, status="sensitive", lower=5, upper=5)])])


def test_a_held_total_is_frozen_and_nothing_else() -> None:
    assert hold_totals(TABLE, SAFE, ["total"]).frozen.tolist() == [True, False, False]


def test_a_total_held_within_a_share_has_bounds_of_its_own() -> None:
    held = hold_totals(TABLE, SAFE, ["total"], within=0.02)
    assert (held.minimum[0], held.maximum[0]) == (98, 102)
    assert held.frozen.tolist() == SAFE.frozen.tolist()


def test_nothing_held_changes_nothing() -> None:
    assert hold_totals(TABLE, SAFE, []) is SAFE


def test_a_sensitive_total_must_move() -> None:
    sensitive = assess(TABLE, [Manual([ManualCell(cell={}, status="sensitive", lower=5, upper=5)])])
    with pytest.raises(InfeasibleProblem, match="is sensitive itself and must move"):
        hold_totals(TABLE, sensitive, ["total"])
