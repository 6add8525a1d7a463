"""One table on its way from the records to the store: what the store knows of its cells, the guard's word, the numbers, their audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from statveil.audit.answers import AnswerEvidence, audit_answer
from statveil.core.arrays import IntArray
from statveil.core.errors import AuditFailed
from statveil.core.secret import SecretKey
from statveil.server.engine.dataset import MeasureBlock, ServedData
from statveil.server.engine.keyed import among
from statveil.server.engine.layout import Layout
from statveil.server.engine.protection.differencing_guard import (
    DifferencingGuard,
    PublishedPopulation,
    Slivers,
    fact_name,
    read_populations,
    sensitive_sliver,
    write_populations,
)
from statveil.server.engine.protection.stage_one import ServedCells, tabulate_cells
from statveil.server.engine.protection.stage_two import Fences, Pins, SolvedTable, StageTwoTask, no_fences, reference_if_safe
from statveil.server.store.protocol import CellRow, Pin, Recording, StoreReader

OTHER_TABLE = "Ask for other dimensions or a higher level."
POPULATION_REFUSED = "population refused"
FAULT = "The check of the answer found a fault; nothing was released."

Solver = Callable[..., SolvedTable]
"""`solve_table`, or the same in a process of its own."""


@dataclass(kw_only=True, repr=False)
class Attempt:
    """One table on its way: its cells, what the store knows of them, the numbers found."""

    data: ServedData
    layout: Layout
    block: MeasureBlock
    client: str
    key: SecretKey
    solver: Solver
    cells: ServedCells = field(init=False)
    known: dict[bytes, Pin] = field(default_factory=dict)
    populations: list[PublishedPopulation] = field(default_factory=list)
    pins: Pins = field(init=False)
    slivers: Slivers = field(init=False)
    fences: Fences = field(init=False)
    solved: SolvedTable = field(init=False)

    def __post_init__(self) -> None:
        ids = [dimension.id for dimension in self.data.dimensions]
        self.axes = [ids.index(dimension.id) for dimension in self.layout.dimensions]
        self.cells = tabulate_cells(self.key, self.block, self.layout, self.axes)
        self.last_seen, self.inside = -1, 0

    @property
    def spender(self) -> str:
        """The client as the store knows it."""
        return self.key.digest("client", self.client.encode(), size=8).hex()

    def look(self, store: StoreReader, guard: DifferencingGuard) -> bool:
        """Read what was published of these cells and near them; tells whether anything is new since the last look."""
        guard.learn(store.seen(self.block.space, guard.last))
        populations = read_populations(store.fact(fact_name(self.key, self.block))) if self.layout.populations else []
        if guard.last == self.last_seen and populations == self.populations:
            return False  # cells are only ever added: where none is, nothing else has changed
        first, self.last_seen = self.last_seen < 0, guard.last
        known = store.pins(self.cells.ids)
        found = [known.get(each, Pin(0, -1)) for each in self.cells.ids]
        value = np.array([each.value for each in found], dtype=np.int64)
        pins = Pins(np.array([each.sense for each in found], dtype=np.int64), value >= 0, value)
        slivers = guard.find(self.cells, ~pins.published)
        if not first and known == self.known and populations == self.populations and all(map(np.array_equal, slivers, self.slivers)):
            return False  # what came does not touch this table
        self.known, self.populations, self.pins, self.slivers, self.guard = known, populations, pins, slivers, guard
        self.inside = guard.within(self.cells, ~self.pins.published)
        virtual = self.data.part.guard_action == "virtual"
        self.fences = guard.fences(self.cells, slivers) if virtual else no_fences(self.cells.size)
        return True

    def objection(self, store: StoreReader) -> str:
        """Why the guard wants the request refused: by the officer's word, because a budget is spent, or because there are more pairs than
        it can look at; empty if it does not.

        A population that comes too near to what was published is always refused: readers make as many of them as they like.
        """
        if self.layout.populations and (
            not self.slivers.inside.all() or sensitive_sliver(self.data, self.block, self.layout, self.populations)
        ):
            return POPULATION_REFUSED
        return self.too_near(store)

    def too_near(self, store: StoreReader) -> str:
        """Under the lock as well: budgets are spent by all measures and all processes."""
        pairs, limits = self.slivers.size, self.data.part.guard
        if not pairs:
            return ""
        if self.slivers.too_many:
            return "more near-duplicates than can be looked at"
        if self.data.part.guard_action == "refuse":
            return "differences refused"
        budgets = (("", limits.budget), (self.spender, limits.budget_per_client))
        over = any(budget is not None and store.spent(client) + pairs > budget for client, budget in budgets)
        return "budget of near-duplicates spent" if over else ""

    def solve(self, seconds: float) -> None:
        """The reference itself where that is safe, which needs no solver; else the closest safe table."""
        part = self.data.part
        task = StageTwoTask(self.cells, self.block, part.mode, float(part.cap), self._fixed(), self.fences)
        self.solved = reference_if_safe(task) or self.solver(task, seconds=seconds)

    def _fixed(self) -> Pins:
        """What was published, and what is settled: a table of a population must not move what others will ask for."""
        settled = among(*self.block.settled, self.cells.low, self.cells.high) & ~self.pins.published
        return Pins(self.pins.sense, self.pins.published | settled, np.where(settled, self.cells.reference, self.pins.value))

    def audited(self) -> IntArray:
        """The numbers in the shape of the table, once the independent audit has passed."""
        shape, cells = self.layout.shape, self.cells
        evidence = AnswerEvidence(
            dimensions=self.layout.cuts,
            places=np.stack([level.position[self.block.leaf[axis]] for axis, level in zip(self.axes, self.layout.levels, strict=True)]),
            amounts=self.block.value,
            true=spread(shape, cells, cells.table.value),
            released=spread(shape, cells, self.solved.value),
            sense=spread(shape, cells, self.solved.sense),
            level=spread(shape, cells, self.solved.floor),
            pinned=spread(shape, cells, self.pins.sense),
            smallest=self.block.smallest,
            counts=self.block.counts,
        )
        if not audit_answer(evidence).passed:
            raise AuditFailed(FAULT, hint=OTHER_TABLE)
        return evidence.released

    def record(self, recording: Recording) -> None:
        """Insert or ignore, read back, and compare: what is answered is what the store holds."""
        cells, solved = self.cells, self.solved
        prints = np.stack([cells.low.astype("<u8"), cells.high.astype("<u8")], axis=1).tobytes()
        columns = zip(cells.ids, solved.sense.tolist(), solved.value.tolist(), cells.table.records.tolist(), strict=True)
        recording.add_cells(
            [
                CellRow(id_, self.block.space, sense, value, records, prints[16 * place : 16 * place + 16])
                for place, (id_, sense, value, records) in enumerate(columns)
                if id_ not in self.known
            ]
        )
        back = recording.pins(cells.ids)
        senses = np.array([back[each].sense for each in cells.ids], dtype=np.int64)
        values = np.array([back[each].value for each in cells.ids], dtype=np.int64)
        told = np.ones(cells.size, np.bool_) if self.data.part.mode == "anchored" else ~self.pins.published
        if (senses != solved.sense).any() or (values != solved.value)[told].any():
            raise AuditFailed(FAULT, hint=OTHER_TABLE)
        if self.layout.populations:
            recording.set_fact(fact_name(self.key, self.block), write_populations([*self.populations, PublishedPopulation.of(self.layout)]))
        if self.slivers.size:
            recording.spend("", self.slivers.size)
            recording.spend(self.spender, self.slivers.size)
        for kind, detail in self.alarms():
            recording.add_alarm(kind, self.spender, detail)

    def alarms(self) -> list[tuple[str, str]]:
        """What the officer is told of: differences of one respondent, and how they ended."""
        near = self.guard.not_apart(self.slivers, self.solved.value)
        ending = f"{self.detail()}; {near} not kept apart; gave way: {self.solved.gave_way or 'nothing'}"
        return [("differences", ending)] if self.slivers.size or self.inside else []

    def detail(self) -> str:
        pairs = self.slivers.size + self.inside
        return f"{self.layout.query.canonical()}: {pairs} near-duplicates, {self.inside} of them within the table"


def spread(shape: tuple[int, ...], cells: ServedCells, values: IntArray) -> IntArray:
    """Cells at their positions; zero where there are none."""
    spread = np.zeros(shape, dtype=np.int64)
    spread[tuple(cells.view.coordinates.T)] = values[cells.view.cell]
    return spread
