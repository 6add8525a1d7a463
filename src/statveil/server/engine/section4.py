"""The second stage of S2 (section 4): each table solved for itself, closest to the truth, with every sense fixed beforehand.

S2 decides the sense of a cell by what is local to it, or where it appears first, and says that later tables may then have no solution; to
decide over all possible tables beforehand is named as the way out, and as too large. The cube is that: its senses are those of a safe,
additive table of everything that can be asked, so that every single table has a solution, the cube's own numbers at least.

Bounds are soft, in steps, as S2 asks: where a cell cannot stay near its value it may go further, for as little change in all as can be
(weights are relative, as of a table at rest). Protection and additivity never give. Consistent senses alone do not protect against many
requests (docs/server-protection.md): this mode is the paper's.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.answers import AnswerEvidence, audit_answer
from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import AuditFailed, SolverFailed
from statveil.core.secret import SecretKey
from statveil.protect.fixed_senses import FixedSenses, adjust_with_senses
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.server.dataset.dataset import ServedData
from statveil.server.dataset.layout import Layout
from statveil.server.engine.stage_one import ServedCells, tabulate_cells
from statveil.solve.processes import Halt, Send, run_isolated
from statveil.tables.relations import relations

FAULT = "The check of the answer found a fault; nothing was released."


class Section4Tuning(NamedTuple):
    """All by judgement."""

    rooms: tuple[float, ...] = (0.25, 1.0, 4.0)
    """How far cells may move, as shares of their value (sensitive ones of their value above their level); then without bound."""
    grace_seconds: float = 1.0
    """After its time the solver's process has so long to end by itself."""
    warm_up_seconds: float = 60.0
    """For a solver's process to start and import."""


TUNING = Section4Tuning()


class SecondStageTask(NamedTuple):
    """A table to be solved: neither records nor labels. `sense` is 0 where a cell is not sensitive; `cube` is a solution."""

    relations: csr_matrix
    value: IntArray
    level: IntArray
    sense: IntArray
    cube: IntArray


Solver = Callable[..., IntArray]
"""`second_stage`, or the same in a process of its own."""


def protected_table(key: SecretKey, data: ServedData, layout: Layout, cube: IntArray, *, solver: Solver, seconds: float) -> IntArray:
    """The numbers of a layout in the paper's mode, audited; `cube` holds those of the cube in the same shape."""
    cells = _cells(key, data, layout)
    at_cells = np.zeros(cells.size, dtype=np.int64)
    at_cells[cells.view.cell] = cube[tuple(cells.view.coordinates.T)]
    task = task_of(cells, at_cells)
    return _audited(data, layout, cells, task, solver(task, seconds=seconds))


def task_of(cells: ServedCells, cube: IntArray) -> SecondStageTask:
    """Senses as the cube has them; levels by sense."""
    value, found = cells.table.value, cells.sensitivity
    sense = np.where(found.sensitive, np.sign(cube - value), 0).astype(np.int64)
    level = np.select([sense > 0, sense < 0], [found.upper_level, found.lower_level], 0).astype(np.int64)
    return SecondStageTask(_sorted_relations(cells), value, level, sense, cube)


def second_stage(task: SecondStageTask, *, seconds: float) -> IntArray:
    """The closest safe table within the narrowest bounds that hold one; out of time the cube's own numbers."""
    deadline = time.monotonic() + seconds
    for problem in problems(task):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        found = adjust_with_senses(FixedSenses(problem), task.sense, seconds=left)
        if found is not None and problem.accepts(found):
            return task.value + found
    return task.cube


def problems(task: SecondStageTask) -> Iterator[ProtectionProblem]:
    """From narrow bounds to none. Those of the other side keep zeros and signs; the cube's own number is always inside the last."""
    value, size = task.value, np.maximum(np.abs(task.value), 1)
    signs = np.where(value > 0, 1, -NO_LIMIT), np.where(value < 0, -1, NO_LIMIT)
    for room in (*TUNING.rooms, None):
        far = NO_LIMIT if room is None else np.ceil(room * size).astype(np.int64) + task.level
        low = np.maximum(signs[0], value - far) if room is not None else np.minimum(signs[0], task.cube)
        high = np.minimum(signs[1], value + far) if room is not None else np.maximum(signs[1], task.cube)
        yield ProtectionProblem(
            relations=task.relations,
            rhs=np.zeros(task.relations.shape[0], dtype=np.int64),
            value=value,
            weight=1.0 / size,
            lower=low,
            upper=high,
            sensitive=task.sense != 0,
            lower_level=task.level,
            upper_level=task.level,
        )


def _cells(key: SecretKey, data: ServedData, layout: Layout) -> ServedCells:
    return tabulate_cells(key, data.block(layout.measure), layout, _axes(data, layout))


def _axes(data: ServedData, layout: Layout) -> list[int]:
    ids = [dimension.id for dimension in data.dimensions]
    return [ids.index(dimension.id) for dimension in layout.dimensions]


def _audited(data: ServedData, layout: Layout, cells: ServedCells, task: SecondStageTask, value: IntArray) -> IntArray:
    """The numbers in the shape of the table, once the independent audit has passed."""
    block = data.block(layout.measure)
    evidence = AnswerEvidence(
        dimensions=layout.cuts,
        places=np.stack([level.position[block.leaf[axis]] for axis, level in zip(_axes(data, layout), layout.levels, strict=True)]),
        amounts=block.value,
        true=spread(layout.shape, cells, task.value),
        released=spread(layout.shape, cells, value),
        sense=spread(layout.shape, cells, task.sense),
        level=spread(layout.shape, cells, task.level),
    )
    if not audit_answer(evidence).passed:
        raise AuditFailed(FAULT, hint="Tell the operator.")
    return evidence.released


def spread(shape: tuple[int, ...], cells: ServedCells, values: IntArray) -> IntArray:
    """Cells at their positions; zero where there are none."""
    spread = np.zeros(shape, dtype=np.int64)
    spread[tuple(cells.view.coordinates.T)] = values[cells.view.cell]
    return spread


def true_cells(key: SecretKey, data: ServedData, layout: Layout) -> tuple[IntArray, BoolArray]:
    """For the office only: true values and sensitivity at the positions of a layout."""
    cells = _cells(key, data, layout)
    sensitive = spread(layout.shape, cells, cells.sensitivity.sensitive.astype(np.int64))
    return spread(layout.shape, cells, cells.table.value), sensitive.astype(np.bool_)


def _sorted_relations(cells: ServedCells) -> csr_matrix:
    """The relations in an order that the ids of their cells decide (cells are in that order already), so that labels do not."""
    matrix = relations(cells.table)
    matrix.sort_indices()
    if matrix.shape[0] == 0:
        return matrix
    first = matrix.indices[matrix.indptr[:-1]]
    last = matrix.indices[matrix.indptr[1:] - 1]
    total = np.add.reduceat(matrix.indices.astype(np.int64) * matrix.data, matrix.indptr[:-1])
    return matrix[np.lexsort((total, np.diff(matrix.indptr), last, first))]


@dataclass(frozen=True, kw_only=True)
class IsolatedSolver:
    """`second_stage` in a process of its own: solvers hang, crash and eat memory, and then only that process is lost (F06).

    The child gets the cells of one table and nothing else: no key, no handle of the store, no records. It may use so much memory and
    so much time; one second later it is killed, and the cube's own numbers are the answer.
    """

    memory_megabytes: int

    def __call__(self, task: SecondStageTask, *, seconds: float) -> IntArray:
        found: list[IntArray] = []
        call = (_solve, (task, seconds, self.memory_megabytes << 20))
        with suppress(SolverFailed):
            if run_isolated([call], seconds=seconds + TUNING.grace_seconds, on_message=found.append) is Halt.FINISHED and found:
                return found[0]
        return task.cube


def warm_up() -> None:
    """Start a child and let it import what it needs, so that the first request does not wait for that."""
    run_isolated([(_ready, ())], seconds=TUNING.warm_up_seconds, on_message=lambda _: False)


def _ready(send: Send) -> None:
    """In the child: what this module imports is there by now, but for the solver."""
    import statveil.solve.highs

    send(statveil.solve.highs.__name__)


def _solve(task: SecondStageTask, seconds: float, memory: int, send: Send) -> None:
    """In the child."""
    limit_child(memory)
    send(second_stage(task, seconds=seconds))


def limit_child(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
