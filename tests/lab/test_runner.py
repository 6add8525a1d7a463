"""Runs are kept as they come, read back as they were, and never made twice."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.protect.adjustment import TracePoint
from statveil.protect.search.methods import HOMES
from statveil.protect.system import system_of
from statveil_lab import runner
from statveil_lab.runner import PLAIN, Ledger, Posed, Run, Table, Task, check_plan, every_method, perform, run_all
from statveil_lab.tables import tables_of
from tests.lab.stories import a_run


def tiny() -> Table:
    return tables_of("1", [2])[0]


def test_a_run_is_read_back_as_it_was_written() -> None:
    points = (TracePoint(0.5, math.inf, 3.0), TracePoint(0.44996, 12.0, 10.0))
    found = a_run(objective=12.0, bound=10.0, seconds=0.44996, trace=points)
    none = a_run(objective=math.inf, bound=10.0, ending="none", reason="OutOfTime: too slow")
    assert [Run.of_line(run.line()) for run in (found, none)] == [found, none]


def test_a_ledger_remembers_and_drops_a_line_cut_short(tmp_path: Path) -> None:
    Ledger(tmp_path).keep(a_run(seed=0))
    Ledger(tmp_path).keep(a_run(seed=1))
    path = tmp_path / "runs.jsonl"
    path.write_text(path.read_text() + '{"group": "squ')
    assert [run.seed for run in Ledger(tmp_path).runs.values()] == [0, 1]
    Ledger(tmp_path).keep(a_run(seed=2))
    assert [run.seed for run in Ledger(tmp_path).runs.values()] == [0, 1, 2]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"other": 1}\n')
    with pytest.raises(InputError, match="line 1 is not a run"):
        Ledger(tmp_path)


def test_the_same_plan_makes_no_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Task] = []

    def fake(task: Task, posed: Posed) -> Run:
        made.append(task)
        return a_run(group=task.table.group, table=task.table.name, method=task.method, seed=task.seed, limit=task.limit)

    monkeypatch.setattr(runner, "perform", fake)
    tasks = [Task(tiny(), "random", seed, 1.0) for seed in (0, 1)]
    for _ in range(2):
        runs = list(run_all(tasks, Ledger(tmp_path), tell=lambda words: None, stopped=lambda: False))
        assert [run.seed for run in runs] == [0, 1]
    assert len(made) == 2


def test_a_run_that_was_interrupted_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(runner, "perform", lambda task, posed: a_run())
    runs = list(run_all([Task(tiny(), "random", 0, 1.0)], Ledger(tmp_path), tell=told.append, stopped=lambda: True))
    assert runs == []
    assert Ledger(tmp_path).runs == {}
    assert told[-1] == "Stopped. The same command goes on from here."


@pytest.mark.slow
def test_a_table_counts_only_if_the_audit_passes() -> None:
    table = tiny()
    posed = table.pose(0)
    other = tables_of("1", [2])[0].pose(1)
    assert perform(Task(table, "exact", 0, 60.0), posed).proved
    run = perform(Task(table, "exact", 0, 60.0), Posed(system_of(other.problem), posed.problem))
    assert run.reason.startswith("AuditFailed")
    assert math.isinf(run.objective)


@pytest.mark.slow
def test_plain_highs_claims_the_optimum_of_a_tiny_table_and_is_not_believed() -> None:
    table = tiny()
    ours, theirs = (perform(Task(table, method, 0, 60.0), table.pose(0)) for method in ("exact", PLAIN))
    assert theirs.objective == pytest.approx(ours.objective)
    assert ours.proved
    assert not theirs.proved


def test_every_method_is_compared_but_the_one_that_keeps_given_senses() -> None:
    assert set(every_method()) == set(HOMES) - {"fixed"}
    assert every_method()[-1] == "auto"


@pytest.mark.parametrize(("methods", "seconds", "seeds"), [(["fixed"], 1.0, 1), (["auto"], 0.0, 1), (["auto"], 1.0, 0)])
def test_a_plan_that_cannot_run_is_refused(methods: list[str], seconds: float, seeds: int) -> None:
    with pytest.raises(InputError):
        check_plan(methods, seconds, seeds)
