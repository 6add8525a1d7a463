"""What a user chooses is checked at the door, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.protect.options import Bounds, GivingCells, Method, Options, Repair, TableRepair, method_of


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Bounds(percent_up=-1), "percent_up must be a number of percent"),
        (lambda: Bounds(minimum=float("nan")), "minimum must be a finite number"),
        (lambda: Bounds(minimum=2, maximum=1), "minimum is above maximum"),
        (lambda: Repair(order=()), "each class once, and at least one"),
        (lambda: Repair(order=("inner", "inner")), "each class once"),
        (lambda: Repair(order=("protection",)), "both the repair order and the flag"),
        (lambda: Repair(weaken_protection=True), "both the repair order and the flag"),
        (lambda: TableRepair(order=("relations",)), "sums of a table from records do not give"),
        (lambda: TableRepair(only=("A",)), "must be a list of GivingCells"),
        (lambda: GivingCells(cells="A"), "must be a list of {dimension: code}"),
        (lambda: Options(cap=0.5), "one or more"),
        (lambda: Options(hold="total"), "a list of totals is needed"),
        (lambda: Options(hold_within=0.1), "of the totals that hold names"),
        (lambda: Options(hold=["total"], hold_within=1), "from 0 to less than 1"),
        (lambda: Options(norm="l3"), "l3"),
        (lambda: method_of(3), "a name or a Method, not int"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_a_method_is_a_name_or_what_it_is_already() -> None:
    chosen = Method(name="anneal", seed=3)
    assert method_of(chosen) is chosen
    assert method_of("anneal") == Method(name="anneal")
