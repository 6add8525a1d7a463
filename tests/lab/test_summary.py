"""Medians, references and reasons, on figures small enough to check by hand."""

from __future__ import annotations

import math

import pytest

from statveil.protect.adjustment import TracePoint
from statveil_lab.runner import PLAIN
from statveil_lab.summary import (
    contradictions,
    percent_chart,
    percent_table,
    percents,
    reasons,
    same_file,
    same_random_table,
    time_chart,
)
from tests.lab.stories import a_run

NONE = {"objective": math.inf, "ending": "none", "reason": "OutOfTime: too slow"}


def test_percent_is_above_the_best_bound_of_any_method_on_the_same_table() -> None:
    runs = [
        a_run(method="random", seed=0, objective=110.0, bound=50.0),
        a_run(method="auto", seed=0, objective=100.0, bound=100.0, ending="optimal"),
        a_run(method="random", seed=1, objective=300.0, bound=200.0),
    ]
    assert percents(runs, same_random_table)["random", "4x4"] == pytest.approx(30)  # median of 10 and 50
    assert percents(runs, same_file)["random", "4x4"] == pytest.approx(25)  # against 200 both times: 0 and 50


def test_what_plain_highs_claims_is_no_reference() -> None:
    runs = [a_run(objective=110.0, bound=100.0), a_run(method=PLAIN, objective=109.0, bound=109.0)]
    assert percents(runs, same_file)["random", "4x4"] == pytest.approx(10)


def test_a_solvers_word_counts_only_for_a_proved_optimum() -> None:
    claimed = a_run(objective=120.0, bound=110.0, certified=100.0)
    assert percents([claimed], same_file)["random", "4x4"] == pytest.approx(20)
    proved = a_run(method="exact", objective=110.0, bound=110.0, certified=100.0, ending="optimal")
    assert percents([claimed, proved], same_file)["random", "4x4"] == pytest.approx(100 / 11)


def test_methods_without_a_table_are_shown_with_their_reason() -> None:
    runs = [a_run(seed=0), a_run(seed=1), a_run(seed=2, **NONE), a_run(method="sat", seed=0, **NONE), a_run(method="sat", seed=1, **NONE)]
    assert percent_table(runs, same_random_table) == [
        "| method | 4x4 |",
        "|---|---|",
        "| random | 10 (2 of 3) |",
        "| sat | none |",
        "| *optimum proved* | no |",
    ]
    assert reasons(runs) == ["- random: OutOfTime: too slow (4x4, seed 2)", "- sat: OutOfTime: too slow (4x4, seeds 0, 1)"]


def test_a_table_below_a_lower_bound_is_a_fault() -> None:
    runs = [a_run(objective=99.0, bound=90.0), a_run(method="auto", objective=110.0, bound=100.0)]
    assert contradictions(runs, same_file) == ["- **Fault**: random on 4x4, seed 0, is below a lower bound of this table."]
    assert contradictions([a_run()], same_file) == []


def test_charts_leave_out_what_has_no_table() -> None:
    chart = percent_chart([a_run(), a_run(method="sat", **NONE)], title="Title", axis="N")
    assert "random" in chart
    assert "sat" not in chart
    assert percent_chart([a_run(**NONE)], title="Title", axis="N") == ""


def test_the_objective_over_time_ends_where_the_run_ended_and_shows_the_bound() -> None:
    run = a_run(method="auto", seconds=2.0, trace=(TracePoint(0.1, math.inf, 80.0), TracePoint(1.0, 120.0, 100.0)))
    chart = time_chart([run, a_run(method="sat", **NONE)], title="Time")
    assert "bound (auto)" in chart
    assert "sat" not in chart
    assert time_chart([a_run(**NONE)], title="Time") == ""
