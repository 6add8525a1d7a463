"""Stage two in a process of its own: the same answer, and a server that outlives whatever happens there (F06, F07)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import DisclosureRefused, OutOfTime, SolverFailed
from statveil.server.engine.protection import solver_process
from statveil.server.engine.protection.solver_process import SolverApart, warm_up
from statveil.server.engine.protection.stage_two import Solved, no_fences, solve_table
from statveil.solve import processes
from tests.server import stuck
from tests.server.engine.protection.test_stage_one import cells_of, load
from tests.server.village import no_pins

MEMORY = 2_048


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    yield
    processes.dismiss_idle()


def ask(folder: Path, solver: Callable[..., Solved], *, seconds: float = 30) -> Solved:
    data = load(folder, mode="section4")
    cells = cells_of(data, "region", "trade")
    told: dict[str, Any] = {"mode": "section4", "cap": 2.0, "pins": no_pins(cells.size), "fences": no_fences(cells.size)}
    return solver(cells, data.block("turnover"), **told, seconds=seconds)


def test_the_answer_is_the_same_as_without_a_child(tmp_path: Path):
    warm_up()
    here, there = ask(tmp_path, solve_table), ask(tmp_path, SolverApart(memory_megabytes=MEMORY))
    assert (here.value == there.value).all()
    assert (here.sense == there.sense).all()


def test_f06_a_solver_that_sleeps_for_ever_is_killed_a_second_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    warm_up()
    monkeypatch.setattr(solver_process, "_solve", stuck.sleep_for_ever)
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        ask(tmp_path, SolverApart(memory_megabytes=MEMORY), seconds=0.5)
    assert 1.5 <= time.monotonic() - begun < 4
    monkeypatch.undo()
    assert ask(tmp_path, SolverApart(memory_megabytes=MEMORY)).value.size, "the next request has a solver again"


@pytest.mark.parametrize("solver", [stuck.eat_memory, stuck.crash])
def test_a_solver_that_eats_memory_or_crashes_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: Callable[..., None]
):
    monkeypatch.setattr(solver_process, "_solve", solver)
    with pytest.raises(SolverFailed):
        ask(tmp_path, SolverApart(memory_megabytes=MEMORY))


def test_a_refusal_in_the_child_is_a_refusal_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_process, "_solve", stuck.refuse)
    with pytest.raises(DisclosureRefused, match="Not this table"):
        ask(tmp_path, SolverApart(memory_megabytes=MEMORY))


def test_the_child_sees_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_process, "_solve", stuck.look_around)
    seen: Any = ask(tmp_path, SolverApart(memory_megabytes=MEMORY))
    assert seen == [0, 0, 0, 0]
