"""Problems from tables: costs, frozen cells, nothing sensitive."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.suppress.cells.options import SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells
from tests.suppress.cells.squares import INNER
from tests.suppress.cells.stories import grid

pytestmark = pytest.mark.slow


def test_a_sum_of_frozen_cells_around_a_sensitive_one_is_refused():
    with pytest.raises(sv.InfeasibleProblem, match="cannot be protected"):
        suppress_cells(grid(INNER, {0: 4}, frozen=(1, 2, 3)), None, "auto")


def test_a_table_without_sensitive_cells_loses_nothing():
    found = suppress_cells(grid(INNER, {}), None)
    assert not found.suppressed.any()
    assert found.gap == 0.0


def test_a_table_is_audited_by_sums_from_its_labels_and_costs_what_the_options_say():
    trees = {
        "area": sv.Hierarchy.flat(["A", "B", "C"]),
        "trade": sv.Hierarchy(parent={"a": "T", "b": "T", "a1": "a", "a2": "a"}, total="T"),
    }
    inner = {(area, trade): 10 + 7 * place for place, (area, trade) in enumerate((a, t) for a in "ABC" for t in ("a1", "a2", "b"))}
    table = sv.table_from_cells(trees, inner)
    secret = sv.rules.assess(
        table, [sv.rules.Manual([sv.rules.ManualCell(cell={"area": "A", "trade": "a1"}, status="sensitive")], level=30)]
    )
    by_count = suppress_cells(table, secret, "optimal")
    by_value = suppress_cells(table, secret, "optimal", options=SuppressionOptions(cost="value"))
    assert by_count.secondary.sum() == 3
    assert table.value[by_value.secondary].sum() <= table.value[by_count.secondary].sum()
    assert by_value.cost == table.value[by_value.secondary].sum()
    assert all(by_count.reasons_of(cell) for cell in np.flatnonzero(by_count.secondary))
