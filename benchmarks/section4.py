"""The server's mode section4 beside static tables: how far cells that are not sensitive move, with the cube's senses and the best found.

python benchmarks/section4.py [records] [seconds for each static table]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from statveil.core.limits import Limits
from statveil.jobs.server_config import read_config
from statveil.protect.adjust import adjust_problem
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.demo import write_demo
from statveil.server.engine import section4
from statveil.server.engine.section4 import SecondStageTask
from statveil.server.engine.service import TableService

SIZE = ("size", "class of persons employed")
TABLES = (
    (("region", "district"), SIZE),
    (("region", "part"), ("industry", "class")),
    (("region", "region"), ("industry", "group")),
    (("region", "district"), ("industry", "division")),
    (("region", "district"), ("industry", "class")),
    (("region", "region"), ("industry", "division"), SIZE),
    (("region", "district"), ("industry", "section"), SIZE),
    (("region", "part"), ("industry", "class"), SIZE),
)


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    solved: list[tuple[SecondStageTask, np.ndarray]] = []

    def solver(task: SecondStageTask, *, seconds: float) -> np.ndarray:
        solved.append((task, section4.second_stage(task, seconds=seconds)))
        return solved[-1][1]

    with tempfile.TemporaryDirectory() as folder:
        path = write_demo(Path(folder), records=records)
        config = read_config(path)
        part = {**config.datasets[0].model_dump(mode="json", exclude_none=True), "mode": "section4"}
        service = TableService.open(config.changed(dataset=[part]), config.key(), solver=solver)
        for chosen in TABLES:
            choices = tuple(DimensionChoice(id=name, level=level) for name, level in chosen)
            service.answer(TableQuery(dataset=config.datasets[0].id, measure="turnover", dimensions=choices))
        service.close()
    changes = [_compared(*each, seconds) for each in solved]
    ours, static = (float(np.concatenate(parts).mean()) for parts in zip(*changes, strict=True))
    print(f"all: section4 {ours:.3%}, static {static:.3%}, ratio {ours / static:.2f}")


def _compared(task: SecondStageTask, released: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Relative changes of the cells that are not sensitive: as answered, and of a static table of its own."""
    *_, problem = section4.problems(task)
    deviation = adjust_problem(problem, limits=Limits(seconds=seconds)).deviation
    safe = (task.sense == 0) & (task.value != 0)
    ours, static = (np.abs(change[safe] / task.value[safe]) for change in (released - task.value, deviation))
    words = f"{task.value.size:>6} cells: section4 {ours.mean():.3%} (at most {ours.max():.0%}), static {static.mean():.3%}"
    print(words + ("" if released is not task.cube else "; the cube's own numbers"), flush=True)
    return ours, static


if __name__ == "__main__":
    main()
