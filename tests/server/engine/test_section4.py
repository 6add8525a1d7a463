"""The paper's second stage: every table is solved for itself with the cube's senses, always answered, never under-protected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.server.cube.depth import Depth
from statveil.server.cube.prepare import prepare_cube
from statveil.server.dataset.layout import resolve
from statveil.server.engine import section4
from statveil.server.engine.section4 import IsolatedSolver, SecondStageTask, second_stage, task_of, warm_up
from statveil.server.engine.stage_one import ServedCells
from tests.server import stuck
from tests.server.engine.test_stage_one import by_labels, cells_of, load, records
from tests.server.village import VILLAGE, Record, ask, key_of

LONG = 300.0
MEMORY = 4096


def task(folder: Path, rows: tuple[Record, ...] = VILLAGE, *dimensions: str) -> tuple[ServedCells, SecondStageTask]:
    data = load(folder, rows, mode="section4")
    asked = dimensions or ("region", "trade")
    _, layout = resolve(ask(*asked), data.dimensions, cells=10**6)
    cube = prepare_cube(data, "turnover", depth=Depth(), key=key_of()).values(layout)
    cells = cells_of(data, *asked)
    at_cells = np.zeros(cells.size, np.int64)
    at_cells[cells.view.cell] = cube[tuple(cells.view.coordinates.T)]
    return cells, task_of(cells, at_cells)


def faults(given: SecondStageTask, released: np.ndarray) -> list[str]:
    sensitive = given.sense != 0
    wrong = {
        "additivity": (given.relations @ released).any(),
        "protection": ((given.sense * (released - given.value))[sensitive] < given.level[sensitive]).any(),
        "vanished": (released < 1).any(),
    }
    return [name for name, found in wrong.items() if found]


def test_the_village_is_protected(tmp_path: Path) -> None:
    cells, given = task(tmp_path)
    released = second_stage(given, seconds=LONG)
    assert faults(given, released) == []
    smith = by_labels(cells)["N1", "metal"]
    assert abs(int(released[smith]) - 900) == 90, "least change puts a lonely cell at its level, as the paper's does"


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=records)
def test_every_table_is_safe_and_answered_and_no_further_off_than_the_cube(tmp_path: Path, drawn: list[tuple[str, str, str, int]]) -> None:
    rows: tuple[Record, ...] = tuple((f"u{number}", *record) for number, record in enumerate(drawn))
    for dimensions in (("region", "trade"), ("region:part",), ("trade",)):
        _, given = task(tmp_path, rows, *dimensions)
        released = second_stage(given, seconds=LONG)
        assert faults(given, released) == []
        weight = 1 / np.maximum(np.abs(given.value), 1)
        assert weight @ np.abs(released - given.value) <= weight @ np.abs(given.cube - given.value) + 1e-9


def test_out_of_time_the_answer_is_the_cube_s(tmp_path: Path) -> None:
    _, given = task(tmp_path)
    assert second_stage(given, seconds=0.0) is given.cube
    assert faults(given, given.cube) == []


def test_bounds_that_are_too_narrow_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section4, "TUNING", section4.TUNING._replace(rooms=(0.0,)))
    _, given = task(tmp_path)
    released = second_stage(given, seconds=LONG)
    assert faults(given, released) == []
    assert (released != given.value).any()


# In a process of its own


@pytest.mark.slow
def test_the_answer_is_the_same_as_without_a_child(tmp_path: Path) -> None:
    warm_up()
    _, given = task(tmp_path)
    assert (second_stage(given, seconds=LONG) == IsolatedSolver(memory_megabytes=MEMORY)(given, seconds=LONG)).all()


@pytest.mark.slow
def test_f06_a_solver_that_sleeps_for_ever_is_killed_and_the_cube_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up()
    _, given = task(tmp_path)
    monkeypatch.setattr(section4, "_solve", stuck.sleep_for_ever)
    assert IsolatedSolver(memory_megabytes=MEMORY)(given, seconds=0.5) is given.cube
    monkeypatch.undo()
    assert IsolatedSolver(memory_megabytes=MEMORY)(given, seconds=LONG) is not given.cube, "the next request has a solver again"


@pytest.mark.slow
@pytest.mark.parametrize("solver", [stuck.eat_memory, stuck.crash])
def test_a_solver_that_eats_memory_or_crashes_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: Callable[..., None]
) -> None:
    _, given = task(tmp_path)
    monkeypatch.setattr(section4, "_solve", solver)
    assert IsolatedSolver(memory_megabytes=MEMORY)(given, seconds=LONG) is given.cube
