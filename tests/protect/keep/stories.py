"""A search that keeps statistics, in this process and soon at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from statveil.protect.keep import adjust_keeping as keeping
from statveil.protect.keep.tabu import search
from statveil.solve.processes import Call, Halt


def keep_soon(patch: pytest.MonkeyPatch) -> None:
    """Programs and search in this process, and few kicks without a better table: what holds of a table holds of the first good one."""

    def one_after_the_other(calls: Sequence[Call], *, seconds: float, on_message: Callable[[Any], object]) -> Halt:
        for function, arguments in calls:
            function(*arguments, on_message)
        return Halt.FINISHED

    patch.setattr(keeping, "run_isolated", one_after_the_other)
    patch.setattr(search, "TUNING", search.TUNING._replace(fruitless=10))
