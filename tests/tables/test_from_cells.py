"""Tables from numbers that are ready: exact, complete and additive, or refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from statveil.core.errors import HierarchyError, InputError, TableNotAdditive
from tests.tables.two_by_two import INNER, two_by_two


def test_given_totals_must_be_sums() -> None:
    assert two_by_two(INNER | {("a", "Total"): 3, ("Total", "Total"): 10}).value[0] == 10
    with pytest.raises(TableNotAdditive, match=r"Cell \('a', 'Total'\) is not the sum of its parts along 'column'; 2 totals"):
        two_by_two(INNER | {("a", "Total"): 4, ("Total", "Total"): 11})
    with pytest.raises(TableNotAdditive, match="along 'row'"):
        two_by_two({("Total", "x"): 5})


def test_ready_numbers_are_exact() -> None:
    table = two_by_two({("a", "x"): "1.50", ("a", "y"): Decimal("-0.25"), ("b", "x"): 2}, decimals=2)
    assert (table.scale, table.value[0]) == (2, 325)
    assert (table.records == -1).all()


@pytest.mark.parametrize("number", [0.5, "x", "1.234", "nan", "inf", None, 2**62])
def test_numbers_that_are_not_exact_are_refused_without_showing_them(number: Any) -> None:
    with pytest.raises(InputError) as caught:
        two_by_two({("a", "x"): number}, decimals=2)
    assert "1.234" not in str(caught.value)


def test_cells_outside_the_table_are_refused() -> None:
    with pytest.raises(HierarchyError, match="no code 'z'"):
        two_by_two({("a", "z"): 1})
    with pytest.raises(InputError, match="1 codes"):
        two_by_two({("a",): 1})


def test_the_same_cells_in_another_order_are_the_same_table() -> None:
    one, other = two_by_two(INNER), two_by_two(dict(reversed(INNER.items())))
    assert (one.input_hash, one.value.tolist()) == (other.input_hash, other.value.tolist())
