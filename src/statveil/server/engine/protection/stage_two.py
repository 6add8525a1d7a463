"""Stage two: the table that is answered, with every sense fixed (S2 section 4; docs/threats.md, section 8).

The safe, additive, whole table that is closest to the reference: in the anchored mode the sums of the changed values, in the
paper's mode the true ones. What was published before keeps its sense, and in the anchored mode its value. Where that clashes,
things give in a stated order; protection and published values never do.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import DisclosureRefused, OutOfTime
from statveil.core.limits import Ending
from statveil.jobs.server_config import Mode
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import parts_of, round_by_parts
from statveil.risk.rules.base import share
from statveil.server.engine.dataset import NO_PRINTS, MeasureBlock
from statveil.server.engine.protection.stage_one import ServedCells
from statveil.solve.model import LinearModel
from statveil.solve.processes import Halt, Send, run_isolated
from statveil.tables.relations import relations

NO_TABLE = "This table cannot be published together with what was published before."
ASK_OTHERWISE = "Ask for a higher level, fewer dimensions, or without totals of single codes."
_NOTHING = np.zeros(0, dtype=np.int64)


class StageTwoTuning(NamedTuple):
    """All by judgement."""

    inner_share: int = 4
    """In the first attempt an inner cell that is not sensitive stays within a quarter of its reference."""
    margin_cost: float = 16.0
    """A total costs this much more to move, relative to its size, than its parts: totals stand in many tables."""
    tie_share: float = 1e-6
    """How much the ids of cells decide between tables that are equally close."""
    whole_nodes: int = 2_000
    """Nodes of the integer program."""
    whole_gap: float = 1e-4
    """Its relative gap."""
    flip_rounds: int = 8
    """How often new senses are turned."""
    short_cost: float = 10.0
    """What a unit short of a floor costs, in units of the dearest cell."""
    nothing: float = 1e-6
    """A cell is short of its floor by more than this."""
    grace_seconds: float = 1.0
    """After its time the solver's process has so long to end by itself."""
    warm_up_seconds: float = 60.0
    """For a solver's process to start and import."""


TUNING = StageTwoTuning()


class Pins(NamedTuple):
    """What the store knows of the cells: sense (0: none yet), whether a value was published, and which."""

    sense: IntArray
    published: BoolArray
    value: IntArray


class Fences(NamedTuple):
    """Bounds that the differencing guard puts on single cells."""

    low: IntArray
    high: IntArray


class StageTwoTask(NamedTuple):
    """A table to be solved: its cells, what the store knows of them, and the guard's fences."""

    cells: ServedCells
    block: MeasureBlock
    mode: Mode
    cap: float
    pins: Pins
    fences: Fences


@dataclass(frozen=True, kw_only=True)
class SolvedTable:
    """The numbers to answer, cell by cell; `gave_way` is the last thing that gave, for the officer (never for the reader)."""

    value: IntArray
    sense: IntArray
    floor: IntArray
    gave_way: str


def no_fences(size: int) -> Fences:
    return Fences(np.full(size, -NO_LIMIT), np.full(size, NO_LIMIT))


def reference_if_safe(task: StageTwoTask) -> SolvedTable | None:
    """The reference, or what was published already, if that is a safe table as it is."""
    stage = _StageTwo(task)
    return stage.solved(stage.target, "") if stage.target_is_safe() else None


def solve_table(task: StageTwoTask, *, seconds: float) -> SolvedTable:
    """The closest safe table; DisclosureRefused where there is none that keeps what was published."""
    stage = _StageTwo(task)
    deadline = time.monotonic() + seconds
    program = _ClosestTable(stage, deadline)
    for gave_way, low, high in stage.attempts():
        found = program.solve(low, high)
        if found is not None:
            return stage.solved(found, gave_way)
    return _with_new_senses(stage, deadline)


class _StageTwo:
    """Senses, floors, target and bounds of every cell."""

    def __init__(self, task: StageTwoTask) -> None:
        cells, block, mode, cap, pins, self.fences = task
        self.cells, self.block, self.pins = cells, block, pins
        self.value, self.sensitive = cells.table.value, cells.sensitivity.sensitive
        self.relations = _sorted_relations(cells)
        self.margin = np.zeros(cells.size, dtype=np.bool_)
        self.margin[self.relations.indices[self.relations.data < 0]] = True
        anchored = mode == "anchored"
        self.kept = pins.published if anchored else np.zeros(cells.size, np.bool_)
        self.up_level, self.down_level = cells.sensitivity.upper_level, cells.sensitivity.lower_level
        self.caps = tuple(share(level, Fraction(str(cap))) for level in (self.down_level, self.up_level))
        raised = block.floor[cells.leader] * (cap - 1) if anchored else np.zeros(cells.size)
        moved = cells.reference - self.value
        self.up_floor = _floor(self.up_level, raised, moved)
        self.down_floor = _floor(self.down_level, raised, -moved)
        keyed = np.where(np.array([each[-1] & 1 for each in cells.ids], dtype=np.bool_), 1, -1)
        wanted = np.where(moved == 0, keyed, np.sign(moved)) if anchored else keyed
        self.target = np.where(self.kept, pins.value, cells.reference)
        self.may_vanish = ((self.value < block.smallest) | (self.target == 0)) & (block.counts and anchored)
        self.must_rise = (self.value - self.down_floor < block.smallest) & ~self.may_vanish
        wanted = np.where(self.must_rise, 1, wanted)
        self.sense = np.where(self.sensitive, np.where(pins.sense != 0, pins.sense, wanted), 0).astype(np.int64)
        size = np.maximum(np.abs(self.target), 1)
        tie = np.array([int.from_bytes(each[:4], "little") for each in cells.ids], dtype=np.float64) / 2**32
        self.cost = TUNING.margin_cost ** _height(cells, self.relations) / size * (1.0 + TUNING.tie_share * tie)

    def protected(self, sense: IntArray) -> tuple[IntArray, IntArray]:
        """What never gives: protection, what was published, signs, small counts."""
        low = np.full(self.value.size, self.block.smallest, dtype=np.int64)
        high = np.full(self.value.size, NO_LIMIT, dtype=np.int64)
        low = np.where(sense > 0, np.maximum(low, self.value + self.up_floor), low)
        high = np.where(sense < 0, self.value - self.down_floor, high)
        zero = self.may_vanish & ((sense < 0) | ((sense == 0) & (self.target == 0)))
        fixed = np.where(self.kept, self.pins.value, 0)
        return np.where(self.kept | zero, fixed, low), np.where(self.kept | zero, fixed, high)

    def required(self) -> tuple[IntArray, IntArray]:
        """What never gives, and the fences of the guard where they leave room."""
        low, high = self.protected(self.sense)
        fenced = np.maximum(low, self.fences.low), np.minimum(high, self.fences.high)
        room = fenced[0] <= fenced[1]
        return np.where(room, fenced[0], low), np.where(room, fenced[1], high)

    def target_is_safe(self) -> bool:
        low, high = self.required()
        inside = (self.target >= low) & (self.target <= high)
        return bool(inside.all()) and not (self.relations @ self.target).any()

    def attempts(self) -> Iterator[tuple[str, IntArray, IntArray]]:
        """Bounds of the attempts, each wider than the one before (docs/threats.md, section 8): what gives, lowest and highest values."""
        required = self.required()
        inner = ~self.sensitive & ~self.margin
        room = -(-self.target // TUNING.inner_share)
        lowest = np.where(self.sense < 0, self.value - self.caps[0], -NO_LIMIT)
        highest = np.where(self.sense > 0, self.value + self.caps[1], NO_LIMIT)
        capped = _within(required, lowest, highest, self.target)
        near = _within(required, self.target - room, self.target + room, self.target)
        still = _within(required, self.target, self.target, self.target)
        bounds = [np.select([self.margin & ~self.sensitive, inner], [still[end], near[end]], capped[end]) for end in (0, 1)]
        yield "", bounds[0], bounds[1]
        for gave_way, opened in (("overshoot", self.sensitive), ("inner bounds", inner), ("margins", np.ones_like(inner))):
            bounds = [np.where(opened, required[end], bounds[end]) for end in (0, 1)]
            yield gave_way, bounds[0], bounds[1]
        yield "differences", *self.protected(self.sense)

    def solved(self, value: IntArray, gave_way: str) -> SolvedTable:
        floor = np.select([self.sense > 0, self.sense < 0], [self.up_level, self.down_level], 0)
        return SolvedTable(value=value, sense=self.sense, floor=floor.astype(np.int64), gave_way=gave_way)


def _floor(level: IntArray, raised: FloatArray, moved: IntArray) -> IntArray:
    """The level, raised by the key (T11): unless the reference lies between the two, which is drawn by the key as well."""
    floor = np.maximum(np.ceil(level * (1.0 + raised)).astype(np.int64), level)
    return np.where(moved >= level, np.minimum(floor, moved), floor)


def _height(cells: ServedCells, matrix: csr_matrix) -> IntArray:
    """How many sums above the inner cells each cell is: 0 for inner ones."""
    height = np.zeros(cells.size, dtype=np.int64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    part, total = matrix.data > 0, matrix.data < 0
    while True:
        tallest = np.zeros(matrix.shape[0], dtype=np.int64)
        np.maximum.at(tallest, rows[part], height[matrix.indices[part]] + 1)
        taller = height.copy()
        np.maximum.at(taller, matrix.indices[total], tallest[rows[total]])
        if (taller == height).all():
            return height
        height = taller


def _within(required: tuple[IntArray, IntArray], low: IntArray, high: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
    """The narrower bounds, widened to what is required and to the target if that is allowed; never wider than required."""
    aim = np.clip(target, required[0], required[1])
    return np.minimum(np.maximum(low, required[0]), aim), np.maximum(np.minimum(high, required[1]), aim)


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


class _ClosestTable:
    """The linear program of the closest table; attempts differ in bounds only, so each starts where the last one ended."""

    def __init__(self, stage: _StageTwo, deadline: float) -> None:
        from statveil.solve.highs import WarmProgram

        self.stage, self.deadline = stage, deadline
        self.unit = _unit(stage)
        self.residual = -(stage.relations @ stage.target)
        matrix = stage.relations.astype(np.float64)
        size = stage.value.size
        self.price = float(np.median(stage.cost))
        cost = np.concatenate([stage.cost, stage.cost]) / self.price
        self.model = LinearModel(
            cost=cost,
            matrix=hstack([matrix, -matrix], format="csr"),
            row_lower=self.residual / self.unit,
            row_upper=self.residual / self.unit,
            lower=np.zeros(2 * size),
            upper=np.zeros(2 * size),
        )
        self.warm = WarmProgram(self.model, first="simplex")

    def columns(self, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of rises and falls from bounds of values."""
        down, up = _deviation(low, self.stage.target) / self.unit, _deviation(high, self.stage.target) / self.unit
        lower = np.concatenate([np.maximum(down, 0.0), np.maximum(-up, 0.0)])
        return lower, np.concatenate([np.maximum(up, 0.0), np.maximum(-down, 0.0)])

    def solve(self, low: IntArray, high: IntArray) -> IntArray | None:
        """Whole values within the bounds, closest to the target; None where there are none."""
        found = self.warm.solve(*self.columns(low, high), seconds=seconds_left(self.deadline))
        if found.ending is Ending.OUT_OF_TIME:
            seconds_left(-np.inf)
        if found.x is None:
            return None
        half = self.stage.value.size
        return self._whole((found.x[:half] - found.x[half:]) * self.unit, low, high)

    def _whole(self, deviation: FloatArray, low: IntArray, high: IntArray) -> IntArray | None:
        """The vertex itself where it is whole; else rounded by its parts, else an integer program (docs/threats.md, section 10)."""
        stage = self.stage
        value = stage.target + np.rint(deviation).astype(np.int64)
        if _keeps(stage, value, low, high):
            return value
        problem = ProtectionProblem(
            relations=stage.relations,
            rhs=np.zeros(stage.relations.shape[0], dtype=np.int64),
            value=stage.target,
            weight=stage.cost,
            lower=low,
            upper=high,
            sensitive=np.zeros(stage.value.size, np.bool_),
            lower_level=np.zeros(stage.value.size, np.int64),
            upper_level=np.zeros(stage.value.size, np.int64),
        )
        parts = parts_of(problem)
        rounded = None if parts is None else round_by_parts(problem, parts, np.zeros(stage.value.size, np.int64), deviation)
        if rounded is not None and _keeps(stage, stage.target + rounded, low, high):
            return stage.target + rounded
        return self._integer_program(low, high)

    def _integer_program(self, low: IntArray, high: IntArray) -> IntArray | None:
        from statveil.solve import highs

        lower, upper = self.columns(low, high)
        model = replace(
            self.model,
            row_lower=self.residual.astype(np.float64),
            row_upper=self.residual.astype(np.float64),
            lower=lower * self.unit,
            upper=upper * self.unit,
            whole=np.ones(lower.size, np.bool_),
        )
        found = highs.solve(model, seconds=seconds_left(self.deadline), gap=TUNING.whole_gap, nodes=TUNING.whole_nodes)
        if found.x is None:
            return None
        half = self.stage.value.size
        value = self.stage.target + np.rint(found.x[:half] - found.x[half:]).astype(np.int64)
        return value if _keeps(self.stage, value, low, high) else None


def _with_new_senses(stage: _StageTwo, deadline: float) -> SolvedTable:
    """Turn senses that nobody has seen yet (S2 section 4: decided where the cell appears first, and recorded).

    Each round finds the table whose new sensitive cells fall short of their floors the least, and turns those that do.
    """
    for _ in range(TUNING.flip_rounds):
        short = _short_cells(stage, deadline)
        if not short.size:
            break
        stage.sense[short] *= -1
        *_, (gave_way, low, high) = stage.attempts()
        found = _ClosestTable(stage, deadline).solve(low, high)
        if found is not None:
            return stage.solved(found, f"{gave_way}, new senses")
    raise DisclosureRefused(NO_TABLE, hint=ASK_OTHERWISE)


def _short_cells(stage: _StageTwo, deadline: float) -> IntArray:
    """Cells whose sense may still turn and that fall short of their floors in the table where that is least."""
    from statveil.solve import highs

    free = np.flatnonzero(stage.sensitive & (stage.pins.sense == 0) & ~stage.must_rise)
    low, high = stage.protected(stage.sense)
    if not free.size:
        return np.zeros(0, dtype=np.int64)
    program = _ClosestTable(stage, deadline)
    lower, upper = program.columns(low, high)
    back = stage.relations[:, free].astype(np.float64) @ diags(-stage.sense[free].astype(np.float64))
    room = np.where(stage.sense[free] > 0, (low - stage.block.smallest)[free] / program.unit, np.inf)
    model = replace(
        program.model,
        cost=np.concatenate([program.model.cost, np.full(free.size, TUNING.short_cost * float(program.model.cost.max()))]),
        matrix=hstack([program.model.matrix, back], format="csr"),
        lower=np.concatenate([lower, np.zeros(free.size)]),
        upper=np.concatenate([upper, room]),
    )
    found = highs.solve(model, seconds=seconds_left(deadline))
    if found.x is None:
        return np.zeros(0, dtype=np.int64)
    return free[found.x[2 * stage.value.size :] > TUNING.nothing]


def _keeps(stage: _StageTwo, value: IntArray, low: IntArray, high: IntArray) -> bool:
    return bool((value >= low).all() and (value <= high).all()) and not (stage.relations @ value).any()


def seconds_left(deadline: float) -> float:
    """Seconds left, if there are any; OutOfTime otherwise."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise OutOfTime("The table was not protected in the time allowed.", hint=ASK_OTHERWISE)
    return seconds


def _deviation(bound: IntArray, target: IntArray) -> FloatArray:
    return np.where(bound >= NO_LIMIT, np.inf, np.where(bound <= -NO_LIMIT, -np.inf, bound - target))


def _unit(stage: _StageTwo) -> float:
    """A power of two that brings what is moved near one."""
    levels = np.maximum(stage.up_level, stage.down_level)[stage.sensitive]
    typical = float(np.median(levels)) if levels.size else 1.0
    return float(2.0 ** round(np.log2(max(typical, 1.0))))


@dataclass(frozen=True, kw_only=True)
class IsolatedSolver:
    """`solve_table` in a process of its own: solvers hang, crash and eat memory, and then only that process is lost (F06).

    The child gets the cells of one table and nothing else: no key, no handle of the store, no records. It may use so much memory and
    so much time; one second later it is killed (docs/threats.md, section 10).
    """

    memory_megabytes: int

    def __call__(self, task: StageTwoTask, *, seconds: float) -> SolvedTable:
        found: list[SolvedTable] = []
        call = (_solve, (task._replace(block=_without_records(task.block)), seconds, self.memory_megabytes << 20))
        halt = run_isolated([call], seconds=seconds + TUNING.grace_seconds, on_message=found.append)
        if halt is not Halt.FINISHED or not found:
            raise OutOfTime("The table was not protected in the time allowed.", hint=ASK_OTHERWISE)
        return found[0]


def warm_up() -> None:
    """Start a child and let it import what it needs, so that the first request does not wait for that."""
    run_isolated([(_ready, ())], seconds=TUNING.warm_up_seconds, on_message=lambda _: False)


def _ready(send: Send) -> None:
    """In the child: what this module imports is there by now, but for the solver."""
    import statveil.solve.highs

    send(statveil.solve.highs.__name__)


def _without_records(block: MeasureBlock) -> MeasureBlock:
    """What stage two asks about a measure; it does not ask about records."""
    unused: dict[str, Any] = dict.fromkeys(("start", "leaf", "value", "reference", "low", "high", "sign", "tie"), _NOTHING)
    return replace(block, **unused, settled=NO_PRINTS)


def _solve(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    """In the child."""
    limit_child(memory)
    send(solve_table(task, seconds=seconds))


def limit_child(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
