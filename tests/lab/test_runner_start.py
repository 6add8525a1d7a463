"""Whether a method improved on the table it began with is told in every row."""

from __future__ import annotations

from typing import Any

from statveil.protect.adjustment import TracePoint
from statveil_lab.runner import PLAIN, Run, in_words
from statveil_lab.summary import percent_table, same_file

NO_TABLE = float("inf")


def run_with(tables: list[float], **changes: Any) -> Run:
    """A run whose best table cost so much, one after the other; at first it had none."""
    trace = (TracePoint(0.1, NO_TABLE, 1.0), *(TracePoint(1.0 + number, cost, 5.0) for number, cost in enumerate(tables)))
    fields = {"group": "unit", "table": "t", "size": 0, "method": "bcd", "seed": 0, "limit": 10.0, "cells": 9, "sensitive": 3}
    fields |= {"relations": 6, "objective": tables[-1] if tables else NO_TABLE, "bound": 5.0, "certified": 5.0}
    return Run(**{**fields, "ending": "feasible", "seconds": 10.0, "trace": trace, **changes})


def test_a_run_that_keeps_its_first_table_is_start_only() -> None:
    assert run_with([8.0]).start_only
    assert not run_with([8.0, 7.0]).start_only
    assert "start only" in in_words(run_with([8.0]))
    assert "start only" not in in_words(run_with([8.0, 7.0]))


def test_a_proved_table_no_table_and_plain_highs_are_not_called_so() -> None:
    assert not run_with([5.0], ending="optimal").start_only
    assert not run_with([], reason="OutOfTime: none").start_only
    assert not run_with([8.0], method=PLAIN).start_only


def test_rows_of_the_comparison_tell_it() -> None:
    lines = percent_table([run_with([8.0]), run_with([8.0, 7.0], method="anneal")], same_file)
    assert "| bcd | 60 (start only) |" in lines
    assert "| anneal | 40 |" in lines
