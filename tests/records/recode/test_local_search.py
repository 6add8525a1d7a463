"""Searches of recodings: their parameters, and a valley that some leave and some do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.recode.local_search import RecodingSpace, annealing, tabu
from tests.records.limited_files import ROWS, keys
from tests.records.stories import microdata


def test_parameters_of_the_searches_are_the_users() -> None:
    coded = code_file(microdata(ROWS), keys())

    def evaluations(method: str, **options: Any) -> int:
        search = sv.recode.RecodingSearchOptions(**options)
        return int(sv.plan_recoding(coded, method=method, search=search, seed=1).facts["searched"])

    assert evaluations("annealing", steps=1) < evaluations("annealing", steps=40)
    assert evaluations("tabu", patience=1) < evaluations("tabu", patience=200)
    assert evaluations("repeated-improvement", restarts=1) < evaluations("repeated-improvement", restarts=10)


def test_heat_leads_annealing_and_a_long_tenure_tabu_search_out_of_a_valley() -> None:
    """Prices rise from a corner of a square of levels: how far each gets from there."""

    def farthest(search: Callable[[RecodingSpace, tuple[int, ...]], object], **options: Any) -> int:
        seen: list[int] = []

        def price(levels: tuple[int, ...]) -> float:
            seen.append(sum(levels))
            return float(sum(levels))

        rng, chosen = np.random.default_rng(0), sv.recode.RecodingSearchOptions(**options)
        search(RecodingSpace(menu=(10, 10), price=price, rng=rng, options=chosen), (0, 0))
        return max(seen)

    assert farthest(annealing, hottest=1e-6, coldest=1e-6) == 1
    assert farthest(annealing, hottest=100.0, coldest=100.0) > 10
    assert farthest(tabu, tenure=1, patience=15) < farthest(tabu, tenure=50, patience=15)


@pytest.mark.parametrize("wrong", [{"restarts": 0}, {"tenure": 0}, {"patience": 1.5}, {"steps": True}, {"coldest": 0.0}, {"hottest": 1e-9}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(sv.InputError):
        sv.recode.RecodingSearchOptions(**wrong)
