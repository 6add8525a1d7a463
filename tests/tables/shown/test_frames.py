"""Columns of a view as a frame: exact numbers, labels where they say more, no name twice."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.tables.from_cells import table_from_cells
from statveil.tables.shown.frames import InternalTable, amounts, choose_view, free_name

TABLE = table_from_cells({"row": Hierarchy.flat(["a", "b"])}, {("a",): "1.50", ("b",): 2}, decimals=2)


@pytest.mark.parametrize(("decimals", "words"), [(2, ["-1.25", None]), (0, ["-125", None]), (-1, ["-1250", None])])
def test_amounts_are_exact_and_missing_ones_are_null(decimals: int, words: list[str | None]) -> None:
    column = amounts(np.array([-125, 7]), decimals, np.array([False, True]))
    assert column.to_pylist() == [None if word is None else Decimal(word) for word in words]


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    assert free_name({"value": 1, "value_": 2}, "value") == "value__"


def test_the_only_view_needs_no_name_and_an_unknown_one_is_refused() -> None:
    assert choose_view(TABLE.views, None) is TABLE.views[0]
    with pytest.raises(InputError, match="There is no table 'other'"):
        choose_view(TABLE.views, "other")
    with pytest.raises(InputError, match="There are several tables"):
        choose_view([*TABLE.views, *TABLE.views], None)


def test_the_true_cells_are_marked_confidential_and_shown_only_when_asked_for() -> None:
    inside = InternalTable(TABLE)
    assert "confidential" in repr(inside)
    assert "1.5" not in repr(inside)
    frame = inside.to_arrow()
    assert frame.column("value").to_pylist() == [Decimal("3.50"), Decimal("1.50"), Decimal("2.00")]
    assert frame.column("records").to_pylist() == [None] * 3, "cells that came ready tell of no records"
