"""The search for a table that keeps statistics: when a relaxation may help, and how far it goes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import statveil as sv
from statveil.protect.keep.keeping_search import TUNING, KeepingMessage, KeepingSearch, KeepingTask, relaxation_of
from statveil.protect.keep.wishes import Keep, targets_of
from tests.protect.keep.tables import AMPLE, small_table

pytestmark = pytest.mark.slow  # the plain table is found in a process of its own
S = "sensitive"


def task(**wish: Any) -> KeepingTask:
    problem, keep = small_table(), Keep(**wish)
    found = sv.adjust(problem, method="exact", limits=AMPLE)
    return KeepingTask(problem, targets_of(keep, problem), keep, found.deviation, found.objective, 300.0, 0)


@pytest.mark.parametrize(
    "wish", [{"slope": S, "within": 0.001}, {"variance": S}, {"variance": S, "mean": S, "within": 0.001}, {"variance": S, "within": 0.9}]
)
def test_there_is_no_relaxation_of_a_slope_without_a_distance_with_the_mean_or_near_the_plain_table(wish: Any) -> None:
    assert relaxation_of(task(**wish), TUNING.ceiling) is None


def test_a_variance_far_from_the_plain_tables_has_a_relaxation() -> None:
    asked = task(variance=S, within=0.001)
    relaxation = relaxation_of(asked, TUNING.ceiling)
    assert relaxation is not None
    assert relaxation.ceiling == TUNING.ceiling * asked.cost
    assert relaxation_of(asked._replace(together=True, pairs=()), TUNING.ceiling) is not None
    squares = dataclasses.replace(asked.problem, norm="l2")
    assert relaxation_of(asked._replace(problem=squares), TUNING.ceiling) is None


def test_only_tables_that_are_better_are_sent_in_so_many_chunks() -> None:
    heard: list[KeepingMessage] = []
    search = KeepingSearch(task(slope=S), heard.append)
    search.offer("again", search.best)
    assert not heard
    search.tabu(chunks=1)
    assert heard[0].stage == "tabu search"
    tables = [news.table for news in heard if news.table is not None]
    scores = [search.objective.score(table) for table in tables]
    assert scores == sorted(scores, reverse=True)
    assert all(search.task.problem.accepts(table) for table in tables)
