"""The search for a table that keeps statistics, as a child process runs it: programs first (S1 section 3), then tabu search (section 4);
and, beside it, the proof that every such table is dear."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.keep.lower_bound import ConvexRelaxation, likely_senses, proved_least
from statveil.protect.keep.programs import ProgramTable, QualityProgram, search_senses
from statveil.protect.keep.tabu.objective import Objective, Pair, moments_of
from statveil.protect.keep.tabu.search import TabuSearch, search_from
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem

IMPOSSIBLE, ENDED = "impossible", "nothing more to try"
"""What a child says: that no table keeps what is asked, and that it ended by itself, not by the clock."""
NOT_WHOLE = "no whole table next to the programs' solution"
"""And that the programs had solutions, but none that could be made whole."""
DEAR = "every table that keeps what is asked is dear"
"""And, of a child beside it, that this is proved."""
BY_PROGRAMS, BY_RELAXATION = "programs", "relaxation"


class KeepingTuning(NamedTuple):
    """How the time is shared out, and what is worth trying on which tables. By judgement; benchmarks/RESULTS.md, "Keeping statistics"."""

    for_plain: float = 0.4
    """Share of the time for the plain table,"""
    least_for_plain: float = 5.0
    """seconds that it has at the least,"""
    most_for_plain: float = 0.8
    """unless that is more than this share;"""
    for_more: float = 0.7
    """and the share of what is left that it gets where there is none by then."""
    for_programs: float = 0.6
    """Share of what is left that the programs may take where tabu search follows;"""
    for_senses: float = 0.8
    """of that, the part until which senses are searched;"""
    for_relaxation: float = 0.7
    """and the part until which the relaxation may show some."""
    least_seconds: float = 0.1
    """What a program is given, however little time is left."""
    grace: float = 0.5
    """Seconds a child may overrun before it is killed,"""
    grace_share: float = 0.05
    """beside this share of the time."""
    dearer: float = 1.1
    """Where no table is found: up to so many plain tables' change it is shown that none exists, if it can be, beside the search."""
    relaxed_target: int = 1_000
    """Cells of a target,"""
    relaxed_cells: int = 10_000
    """and of a table, up to which there is time for a relaxation."""
    far: float = 4.0
    """Where the changes' variance is that many distances, the plain table's senses will not do;"""
    ceiling: float = 2.0
    """and how dear a table is looked for, in plain tables."""
    free_up_to: int = 40
    """Cells with a choice up to which senses are left to the mixed-integer program."""


TUNING = KeepingTuning()


class KeepingTask(NamedTuple):
    """What a child is asked: a problem, what is wanted of it, and a table to start from."""

    problem: ProtectionProblem
    targets: Sequence[Target]
    keep: Keep
    plain: IntArray
    cost: float
    seconds: float
    seed: int
    pairs: Sequence[Pair] = ()
    together: bool = False
    """Whether several variables stand side by side, whose caps cannot be widened here."""


class KeepingMessage(NamedTuple):
    """A table with how it was found; or, without one, what is being done, or how it ended."""

    stage: str
    table: IntArray | None = None


def search_keeping(task: KeepingTask, send: Callable[[KeepingMessage], None]) -> None:
    """The child: programs first, then tabu search from the best table; whatever is better is sent at once."""
    search = KeepingSearch(task, send)
    if task.keep.by != "tabu" and task.keep.asked:
        search.programs()
    if task.keep.by != "programs" and not search.impossible:
        search.tabu()
    if not search.cut_short:
        send(KeepingMessage(ENDED))


def prove_dear(task: KeepingTask, send: Callable[[KeepingMessage], None]) -> None:
    """Another child: shows that no table up to a little more change than the plain one's keeps what is asked, if that is so."""
    relaxation = relaxation_of(task, TUNING.dearer, means=True)
    if relaxation is not None and proved_least(relaxation, seconds=task.seconds) >= relaxation.ceiling:
        send(KeepingMessage(DEAR))


def relaxation_of(task: KeepingTask, ceiling: float, *, means: bool = False) -> ConvexRelaxation | None:
    """The relaxation of what is asked up to so many plain tables' change, where it is one target's variance or correlation (with its
    mean: where `means` says so) within a distance that is far from the plain table's, and the table is small enough."""
    problem, within = task.problem, task.keep.within
    spread = [each for each in task.targets if each.spread]
    if within is None or within <= 0 or len(spread) != 1 or task.pairs or problem.norm != "l1":
        return None
    (target,) = spread
    small = target.size <= TUNING.relaxed_target and problem.size <= TUNING.relaxed_cells
    if not (target.variance or target.correlation) or (target.mean and not means) or not small:
        return None
    if moments_of(target, task.plain[target.cells].astype(float)).spread <= TUNING.far * within:
        return None
    return ConvexRelaxation(problem, target, within=within, ceiling=ceiling * task.cost)


class KeepingSearch:
    def __init__(self, task: KeepingTask, send: Callable[[KeepingMessage], None]) -> None:
        self.task, self._send = task, send
        self._began = time.monotonic()
        self.objective = Objective(task.problem, task.targets, task.keep, cost=task.cost, pairs=task.pairs)
        self.best, self.score = task.plain, self.objective.score(task.plain)
        self.plain_is_safe, self.impossible = task.problem.accepts(task.plain), False
        self.cut_short, self.answered = False, False
        """Whether the clock ended something that might have found more; whether the programs gave a whole table."""

    def left(self, share: float = 1.0) -> float:
        return share * self.task.seconds - (time.monotonic() - self._began)

    def offer(self, stage: str, table: IntArray, *, anyway: bool = False) -> None:
        """Send a table that is better than the best so far, or `anyway`."""
        score = self.objective.score(table)
        better = score < self.score or not self.plain_is_safe
        if better:
            self.best, self.score, self.plain_is_safe = table, score, True
        if better or anyway:
            self._send(KeepingMessage(stage, table))

    def programs(self) -> None:
        """Fixed senses; then, as asked, the mixed-integer program or a search over senses."""
        task, keep = self.task, self.task.keep
        share = TUNING.for_programs if keep.by == "both" else 1.0
        program = QualityProgram(task.problem, task.targets, within=keep.within, pairs=task.pairs)
        self._send(KeepingMessage("linear programs"))
        choices = int((task.problem.can_go_up & task.problem.can_go_down).sum())
        searched = keep.senses == "searched" or (keep.senses == "auto" and choices > TUNING.free_up_to)
        if not searched or keep.within is None:
            self._answer(program, task.problem.senses_of(task.plain), task.plain if keep.within is not None else None, share)
        if keep.senses == "free" or (keep.senses == "auto" and not searched):
            self._free(program, share)
        if searched:
            self._search(program, share)
        if program.not_whole and not self.answered:
            self._send(KeepingMessage(NOT_WHOLE))
        self.cut_short |= program.hurried or self.left(share) <= 0

    def _take(self, stage: str, answer: ProgramTable | None) -> None:
        """What the programs gave, if it is a table: the first one is sent anyway, to show that they gave one."""
        if answer is not None:
            self.offer(stage, answer.deviation, anyway=not self.answered)
            self.answered = True

    def _relaxed(self, program: QualityProgram, share: float) -> None:
        """Senses shown by the relaxation, where those of the plain table are far from what is asked."""
        relaxation = relaxation_of(self.task, TUNING.ceiling)
        if relaxation is None:
            return
        self._send(KeepingMessage("relaxation"))
        likely = likely_senses(relaxation, lambda: self.left(share * TUNING.for_relaxation))
        self.cut_short |= self.left(share * TUNING.for_relaxation) <= 0
        for senses in likely:
            if self.left(share * TUNING.for_senses) <= 0:
                return
            table = program.cheapest(senses, seconds=max(self.left(share), TUNING.least_seconds))
            if table is not None:
                self._take(BY_RELAXATION, program.whole(senses, table, seconds=max(self.left(share), TUNING.least_seconds)))

    def _search(self, program: QualityProgram, share: float) -> None:
        task, keep = self.task, self.task.keep
        self._relaxed(program, share)
        self._send(KeepingMessage("searching senses"))
        left = lambda: self.left(share * TUNING.for_senses)  # noqa: E731
        found = search_senses(program, self.objective, task.problem.senses_of(self.best), seconds_left=left, seed=task.seed)
        self.cut_short |= self.left(share * TUNING.for_senses) <= 0
        if found is not None:
            self._take(BY_PROGRAMS, program.whole(found.senses, found.table, seconds=max(self.left(), TUNING.least_seconds)))
            self._answer(program, found.senses, found.table if keep.within is not None else None, share)

    def _answer(self, program: QualityProgram, senses: IntArray, near: AnyArray | None, share: float) -> None:
        self._take(BY_PROGRAMS, program.with_senses(senses, seconds=max(self.left(share), TUNING.least_seconds), near=near))

    def _free(self, program: QualityProgram, share: float) -> None:
        self._send(KeepingMessage("mixed-integer program"))
        senses, self.impossible = program.free_senses(seconds=max(self.left(share), TUNING.least_seconds))
        if self.impossible:
            self._send(KeepingMessage(IMPOSSIBLE))
        if senses is not None:
            self._answer(program, senses, None, share)

    def tabu(self, *, chunks: int | None = None) -> None:
        """Tabu search from the best table, until its time is over or it ends by itself; or for so many chunks of moves."""
        if not self.plain_is_safe:
            return
        self._send(KeepingMessage("tabu search"))
        search = TabuSearch(self.objective, self.best, seed=self.task.seed)
        looked = count()

        def more_time() -> bool:
            return self.left() > 0 and (chunks is None or next(looked) < chunks)

        search_from(search, more_time=more_time, tell=lambda table, _: self.offer("tabu", table))
        self.cut_short |= not search.done
