"""One clock: whoever works for a plan gets no more than what is left of its time, and parameters of the searches are the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import statveil as sv
from statveil.records import plan as plan_module
from statveil.records.coding import code_file
from statveil.records.recode.branch_and_bound import RecodingBoxSearch
from statveil.records.recode.evaluate import Evaluator
from statveil.records.suppress import integer_programs, wildcard_bound
from tests.records.limited_files import ROWS, keys
from tests.records.stories import microdata, released
from tests.reference.files import tables_up_to, unsafe


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["recount", "wildcard"])
def test_a_solver_gets_no_more_than_the_time_that_is_left(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grace of five seconds, and a second at least, were added for each of many solvers: 22 s of 10 s, and no end at 200 s of 60."""
    given: list[float] = []
    for module in (integer_programs, wildcard_bound):
        real: Callable[..., Any] = module.run_isolated
        monkeypatch.setattr(module, "run_isolated", lambda calls, seconds, on_message, real=real: (
            given.append(seconds), real(calls, seconds=seconds, on_message=on_message)))  # fmt: skip
    sv.plan_recoding(microdata(ROWS[:30]), keys(rule=rule, order=2), limits=sv.Limits(seconds=20))
    assert given
    assert max(given) <= 20


@pytest.mark.parametrize("rule", ["original", "recount"])
@pytest.mark.parametrize("method", ["auto", "tabu", "restricted"])
def test_without_time_there_is_a_safe_plan_with_a_bound(rule: str, method: str) -> None:
    coded = code_file(microdata(ROWS), keys(rule=rule))
    plan = sv.plan_recoding(coded, method=method, limits=sv.Limits(seconds=1e-6))
    assert unsafe(*released(plan), tables_up_to(4, 3, 3), rule) == 0
    assert 0 < plan.bound <= plan.cost


@pytest.mark.parametrize(("rule", "kept"), [("original", False), ("recount", True)])
def test_where_counting_is_slow_the_search_leaves_time_for_recounts(rule: str, kept: bool) -> None:
    """600,000 records ended 3 s after their 10 on a busy machine, where each recount took two seconds."""
    planning = plan_module._Planning(
        code_file(microdata(ROWS), keys(rule=rule)), sv.Limits(seconds=60), 0, None, plan_module.time.monotonic()
    )
    assert not planning._searched()
    planning.counting = 11.0
    assert planning._searched() == kept


def test_a_recoding_is_priced_once() -> None:
    """Priced again when its time was up, it had a lower bound, which the proof could not go beyond."""
    evaluator, bounds = Evaluator(coded=code_file(microdata(ROWS), sv.KeyVariables(fields=dict.fromkeys("abcd")))), [4.0, 2.0]
    search = RecodingBoxSearch(evaluator=evaluator, leaf=lambda _levels: (5.0, bounds.pop(0)), blanks=lambda _levels: 1.0,
                               stopped=lambda: False, on_bound=lambda _bound: None)  # fmt: skip
    search.offer((0, 0, 0, 0))
    assert search.run()
    assert (search.value, search.bound, bounds) == (5.0, 4.0, [2.0])


def test_the_time_of_reading_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock starts with the call, not with the search: after a slow reading the rest is short."""
    ticks = iter([0.0])
    monkeypatch.setattr(plan_module.time, "monotonic", lambda: next(ticks, 1e6))
    plan = sv.plan_recoding(microdata(ROWS), keys())
    assert plan.seconds == 1e6
    assert not plan.facts["proved"]
