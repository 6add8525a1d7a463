"""The parent's record of a run. It verifies every table itself: a child's word is a claim."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import SolverFailed
from statveil.core.limits import Limits, OnProgress, Progress
from statveil.formats.certificate import ProofSum
from statveil.protect.adjustment import CLAIMED, PROVED, BoundBy, TracePoint
from statveil.protect.bounds.certificate import Certified
from statveil.protect.presolve.components import Components
from statveil.protect.presolve.reduce import Reduction
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.methods import TeamNews
from statveil.protect.search.plain_table import plain_table
from statveil.protect.search_state import (
    NO_MULTIPLIERS,
    ROUNDING,
    DualMultipliers,
    LiftedMultipliers,
    Proof,
    SearchNews,
    renumbered,
    seconds_kept,
    seconds_to_check,
)


class RecordTuning(NamedTuple):
    """By judgement."""

    late: float = 0.1  # of the time, that checking a proof may take beyond it
    together: float = 0.02  # seconds within which improvements of several components are one point of the trace


TUNING = RecordTuning()


class RunRecord:
    """Best tables, bounds and proofs, component by component; their sums are those of the whole."""

    def __init__(self, limits: Limits, on_progress: OnProgress | None) -> None:
        self.limits = limits
        self.infeasible = False
        self.trace: list[TracePoint] = []
        self._tell: Callable[[Progress], None] = on_progress or (lambda _: None)
        self._began = time.monotonic()
        self._parts: list[_ComponentRecord] = []
        self._plain: tuple[float, IntArray | None] = (math.inf, None)
        self._objectives, self._bounds, self._fixed_cost = np.full(1, np.inf), np.zeros(1), 0.0
        self._kept, self._to_check = 0.0, np.zeros(1)

    def start_with(self, problem: ProtectionProblem) -> None:
        """Have a table at once, if there is a plain one: whatever becomes of the search, there is an answer."""
        deviation = plain_table(problem)
        if deviation is not None:
            self._plain = problem.cost(deviation), deviation
            self._record()
            self.say("first table")

    def expect(self, reduction: Reduction, components: Components) -> None:
        """The news to come are about these."""
        self.reduction, self.components = reduction, components
        self._fixed_cost = reduction.fixed_cost + components.whole.cost(components.settled)
        self._parts = [_ComponentRecord(self.limits.gap) for _ in range(len(components))]
        self._objectives, self._bounds = np.full(len(components), np.inf), np.zeros(len(components))
        self._open = len(components)
        self._kept, self._to_check = seconds_kept(reduction.original, self.limits), np.zeros(len(components))
        self._record()

    @contextlib.contextmanager
    def excused(self) -> Iterator[None]:
        """What is done inside does not count in the time."""
        began = time.monotonic()
        yield
        self._began += time.monotonic() - began

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def objective(self) -> float:
        """Infinite until there is a table: a plain one, or one of every component."""
        return min(self._plain[0], self._searched)

    @property
    def _searched(self) -> float:
        return self._fixed_cost + float(self._objectives.sum())

    @property
    def bound(self) -> float:
        """What the multipliers sent so far prove; a solver's word is not told on the way."""
        return self._fixed_cost + float(self._bounds.sum())

    @property
    def has_table(self) -> bool:
        return math.isfinite(self.objective)

    @property
    def kept(self) -> float:
        """Seconds that checking the table, and the proofs at hand, takes after the search."""
        return self._kept + float(self._to_check.sum())

    def is_late(self, *, by: float) -> bool:
        """Whether so many seconds have passed since no more time was left than what is kept."""
        return self.seconds + self.kept >= self.limits.seconds + by

    def in_time(self, proof: Proof) -> bool:
        """Whether what is left of the time, and what it may be passed by, is enough to check the proof."""
        return self.seconds + seconds_to_check(self.reduction.original, proof) <= self.limits.seconds * (1 + TUNING.late)

    def say(self, stage: str) -> None:
        self._tell(Progress(stage, self.seconds, self.objective, self.bound, max(0.0, self.limits.seconds - self.seconds)))

    def hear(self, news: TeamNews) -> bool:
        """Take in a team's news; tell whether the best possible table is known, so that nobody need go on."""
        component, rank, found = news
        part = self._parts[component]
        self.infeasible |= found.infeasible
        part.hear(rank, self.components.problem(component), found)
        if found.proof is not None:
            self._to_check[component] = seconds_to_check(self.components.whole, part.known.proof)
        settled = part.settles(rank)
        self._objectives[component], self._bounds[component] = part.known.objective, part.known.proved
        self._record()
        if not found.ended:
            self.say(found.stage if len(self._parts) == 1 else f"{len(self._parts):,} components")
        self._open -= settled
        return self._open == 0

    def _record(self) -> None:
        point = TracePoint(self.seconds, self.objective, self.bound)
        if self.trace and self.trace[-1][1:] == point[1:]:
            return
        if len(self._parts) > 1 and len(self.trace) > 1 and point.seconds - self.trace[-2].seconds < TUNING.together:
            self.trace.pop()
        self.trace.append(point)

    def table(self) -> IntArray:
        """The best table of all components together, as deviations of the original's cells, checked on the original; or the plain one."""
        cost, plain = self._plain
        if plain is not None and cost < self._searched:
            return plain
        parts = [part.known.best for part in self._parts if part.known.best is not None]
        deviation = self.reduction.expand(self.components.joined(parts))
        if not self.reduction.original.accepts(deviation):
            raise SolverFailed("The table found does not hold on the original.", hint="Nothing was released. This is a fault: report it.")
        return deviation

    def proofs(self) -> list[Proof]:
        """The best proof of the bound for the reduced problem; the best without cases, which is checked sooner; and that of plain
        multipliers, which in whole numbers may prove more."""
        plain = self._plain_proof(range(len(self._parts)))
        if self.components.is_whole:
            return [*self._parts[0].known.beside_plain(), plain]
        by_cases = [number for number, part in enumerate(self._parts) if not isinstance(part.known.proof, DualMultipliers)]
        if not by_cases:
            return [plain]
        rest = self._plain_proof(number for number in range(len(self._parts)) if number not in by_cases)
        return [ProofSum((rest, *(self._lifted(number) for number in by_cases))), plain]

    def _plain_proof(self, numbers: Iterable[int]) -> DualMultipliers:
        """Plain multipliers of these components, in the whole's numbering."""
        chosen = set(numbers)
        return self.components.added_up(
            [part.known.plain if number in chosen else NO_MULTIPLIERS for number, part in enumerate(self._parts)]
        )

    def _lifted(self, component: int) -> Proof:
        """A component's proof in the whole's numbering."""
        parts = self.components
        return renumbered(self._parts[component].known.proof, parts.rows_of(component), parts.cells_of(component), parts.whole.rhs.size)

    def settle(self, objective: float, certified: Certified | None) -> tuple[float, BoundBy]:
        """The bound to report, and what it rests on: the independent checker, unless a solver claims more. It closes the trace."""
        by: BoundBy = "none"
        claims = certified is None or self.components.tried.size > 0 or any(part.known.claimed > part.known.proved for part in self._parts)
        claimed = min(self._fixed_cost + sum(part.known.bound for part in self._parts), objective) if claims else 0.0
        bound = certified.bound if certified is not None else 0.0
        if certified is not None and (bound > 0 or objective == 0):
            by = "tree" if certified.certificate.by_cases else "cuts"
        if claimed > bound * (1 + CLAIMED):
            bound, by = claimed, "solver"
        if self.trace and self.trace[-1].bound != bound:
            self.trace.append(TracePoint(self.seconds, objective, bound))
        self.close("bound checked", objective, bound)
        return bound, by

    def close(self, stage: str, objective: float, bound: float) -> None:
        """The last that is told: what is answered. No time is left of a run that has ended, whatever it was given.

        Whoever stops the run here has his answer: there is nothing left to stop.
        """
        with contextlib.suppress(KeyboardInterrupt):
            self._tell(Progress(stage, self.seconds, objective, bound, 0.0))


class _BestKnown:
    """The best table, bound and proof of one component, as far as some of the teams have told.

    `plain` is the best proof of plain multipliers; `single` the best of copies without cases, if there is one.
    """

    def __init__(self) -> None:
        self.best: IntArray | None = None
        self.objective, self.bound, self.proved, self.claimed = float("inf"), 0.0, 0.0, 0.0
        self.proof: Proof = NO_MULTIPLIERS
        self.plain = NO_MULTIPLIERS
        self.single: LiftedMultipliers | None = None
        self.rank, self._claims_false = 0, False

    def weigh(self, found: SearchNews) -> None:
        """Keep the best bound, the best proof, the best of those without cases, and apart from them the best claim of a solver."""
        if found.bound > found.proved and not self._claims_false:
            self.claimed = max(self.claimed, found.bound)
        self.bound = max(self.bound, found.proved, self.claimed)
        if found.proof is not None and found.proved > self.proved:
            self.proof, self.proved = found.proof, found.proved
            if isinstance(found.proof, DualMultipliers):
                self.plain = found.proof
            elif isinstance(found.proof, LiftedMultipliers):
                self.single = found.proof
        self._drop_false_claim()

    def beside_plain(self) -> list[Proof]:
        """The best proof, and, if that has cases, the best of copies without them, which is checked sooner."""
        alone = [] if self.single is None or self.single is self.proof else [self.single]
        return [each for each in (self.proof, *alone) if not isinstance(each, DualMultipliers)]

    def compare(self, rank: int, objective: float, deviation: IntArray) -> None:
        """Between tables of equal cost the first team's counts, so that the answer does not depend on who was quicker."""
        if (objective, rank) < (self.objective, self.rank):
            self.best, self.objective, self.rank = deviation, objective, rank
            self._drop_false_claim()

    @property
    def seems_best(self) -> bool:
        """Whether a proof, or at least a solver, says that there is nothing better to look for."""
        return self.objective <= max(self.proved * (1 + PROVED), self.claimed * (1 + CLAIMED))

    def _drop_false_claim(self) -> None:
        """A verified table that costs less than a solver's claim shows the claim false: that solver is not believed again here."""
        if self.claimed > max(self.objective * (1 + ROUNDING), self.proved):
            self._claims_false, self.claimed, self.bound = True, 0.0, self.proved


class _ComponentRecord:
    """What is known of one component: from all teams, and from the first alone.

    Where a gap is asked for and the first team proves by itself that it reached it, its answer is the answer, and nothing that others found
    meanwhile counts: who was quicker must not matter. For the same reason an optimum that another team found waits until the first
    one has ended, which may find a table as good.
    """

    def __init__(self, gap: float) -> None:
        self._gap, self._settled, self._first_ended = gap, False, False
        self.known, self._first = _BestKnown(), _BestKnown()

    def hear(self, rank: int, problem: ProtectionProblem, found: SearchNews) -> None:
        """Take in a team's news, unless all is settled."""
        if self._settled:
            return
        self._first_ended |= found.ended and rank == 0
        safe = found.deviation is not None and problem.accepts(found.deviation)
        for known in (self.known, self._first) if rank == 0 else (self.known,):
            known.weigh(found)
            if safe and found.deviation is not None:
                known.compare(rank, problem.cost(found.deviation), found.deviation)

    def settles(self, rank: int) -> bool:
        """Whether enough is known by now, and was not before."""
        if self._settled:
            return False
        if self._gap > 0 and self._first.objective - self._first.proved <= self._gap * self._first.proved:
            self.known, self._settled = self._first, True
        elif self.known.seems_best:
            self._settled = rank == self.known.rank == 0 or self._first_ended
        return self._settled
