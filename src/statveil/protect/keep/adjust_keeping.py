"""The verb: adjust a problem so that statistics are kept (S1), from a plain table, by linear programs and tabu search."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Unpack

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import InfeasibleProblem, InputError, NoTableFound, OutOfTime, StatveilError
from statveil.core.limits import Ending, Limits, OnProgress, Progress
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment, TracePoint
from statveil.protect.keep.lower_bound import ConvexRelaxation, likely_senses
from statveil.protect.keep.problems import with_cap
from statveil.protect.keep.programs import ProgramTable, QualityProgram, search_senses
from statveil.protect.keep.result import Quality, missed
from statveil.protect.keep.tabu.measures import Measure
from statveil.protect.keep.tabu.objective import Objective, Pair, Score, moments_of, outcomes
from statveil.protect.keep.tabu.search import TabuSearch, search_from
from statveil.protect.keep.wishes import Keep, Target, targets_of
from statveil.protect.options import AdjustArguments
from statveil.protect.problem import ProtectionProblem
from statveil.solve.processes import Halt, run_isolated

IMPOSSIBLE, ENDED = "impossible", "nothing more to try"
"""What a child says: that no table keeps what is asked, and that it ended by itself, not by the clock."""
NOT_WHOLE = "no whole table next to the programs' solution"
"""And that the programs had solutions, but none that could be made whole."""
BY_PROGRAMS, BY_RELAXATION = "programs", "relaxation"


class KeepingTuning(NamedTuple):
    """How the time is shared out, and what is worth trying on which tables. By judgement; benchmarks/RESULTS.md, "Keeping statistics"."""

    for_plain: float = 0.4
    """Share of the time for the plain table,"""
    least_for_plain: float = 5.0
    """and seconds that it has at the least: without it there is nothing to begin with."""
    for_programs: float = 0.6
    """Share of what is left that the programs may take where tabu search follows;"""
    for_senses: float = 0.8
    """of that, the part until which senses are searched;"""
    for_relaxation: float = 0.7
    """and the part until which the relaxation may show some."""
    least_seconds: float = 0.1
    """What a program is given, however little time is left."""
    grace: float = 2.0
    """Seconds a child may overrun before it is killed."""
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


class KeptTable(NamedTuple):
    table: IntArray
    by: str


def adjust_keeping(
    problem: ProtectionProblem,
    keep: Keep,
    *,
    table: IntArray | None = None,
    pairs: Sequence[Pair] = (),
    targets: Sequence[Target] | None = None,
    wider: Callable[[float], ProtectionProblem] | None = None,
    **run: Unpack[AdjustArguments],
) -> Adjustment:
    """A safe table whose statistics are kept. `table` holds deviations of a safe table to start from; else the method makes one.

    `pairs` of `targets` are variables whose covariances are kept too. `wider` gives the problem with a wider cap.

    The result's `quality` says what became of each statistic and what that cost.
    """
    limits, seed = run.get("limits") or Limits(), run.get("seed", 0)
    together = targets is not None
    targets = targets_of(keep, problem) if targets is None else targets
    began = time.monotonic()
    plain: Adjustment | None = None
    caps: list[float | None] = [None, *keep.widen]
    for_plain = dataclasses.replace(limits, seconds=max(limits.seconds * TUNING.for_plain, TUNING.least_for_plain))
    failure: StatveilError = OutOfTime("No table was looked for.")
    if not targets and not keep.measures:
        return _plain(problem, run, limits, table)
    _refuse_what_must_move(problem, targets)
    _try_measures(problem, keep)
    for place, cap in enumerate(caps):
        eased = problem if cap is None else wider(cap) if wider else with_cap(problem, cap)
        if plain is None:
            try:
                plain = _plain(eased, run, for_plain, table)
            except (InfeasibleProblem, NoTableFound) as error:
                failure = error
                continue
        left = max(limits.seconds - (time.monotonic() - began), 1.0) / (len(caps) - place)
        task = KeepingTask(eased, targets, keep, plain.deviation, plain.objective, left, seed, pairs, together)
        monitor = _KeepingMonitor(task, began, limits, run.get("on_progress"))
        monitor.run()
        found = monitor.found()
        if found is not None:
            return _result(problem, plain, found, cap, monitor)
        failure = monitor.failure()
        if monitor.stopped or monitor.failed is not None:
            break
    raise failure


def _refuse_what_must_move(problem: ProtectionProblem, targets: Sequence[Target]) -> None:
    moves = problem.sensitive & (np.minimum(problem.lower_level, problem.upper_level) > 0)
    for target in targets:
        if target.mean and target.size == 1 and moves[target.cells].all():
            raise InfeasibleProblem(
                f"The mean of {target.words} cannot be kept: that is one cell, which must move.",
                hint="Keep the mean of more cells, or none.",
            )


def _try_measures(problem: ProtectionProblem, keep: Keep) -> None:
    """Whether they give an answer at all, before anything is searched."""
    for measure in keep.measures:
        if isinstance(measure, Measure):
            measure(problem.value, problem.value)


def _plain(problem: ProtectionProblem, run: AdjustArguments, limits: Limits, table: IntArray | None) -> Adjustment:
    """The table to start from: the one given, or the plain adjustment."""
    if table is None:
        return adjust_problem(problem, **(run | {"limits": limits}))
    table = np.asarray(table, dtype=np.int64)
    if table.shape != problem.value.shape or not problem.accepts(table):
        raise InputError("The table to start from is not a safe table of this problem.")
    return Adjustment(
        deviation=table,
        senses=problem.senses_of(table),
        objective=problem.cost(table),
        bound=0.0,
        ending=Ending.FEASIBLE,
        trace=(),
        method=run.get("method", "auto"),
        seed=run.get("seed", 0),
        seconds=0.0,
    )


def _result(problem: ProtectionProblem, plain: Adjustment, found: KeptTable, cap: float | None, monitor: _KeepingMonitor) -> Adjustment:
    targets, cost = monitor.task.targets, problem.cost(found.table)
    quality = Quality(
        plain=outcomes(targets, plain.deviation),
        kept=outcomes(targets, found.table),
        plain_objective=plain.objective,
        objective=cost,
        found_by=found.by,
        cap=cap,
        measures=monitor.losses,
        failed="" if monitor.failed is None else monitor.failed.message.removeprefix("Keep: "),
        without_programs=monitor.unanswered,
    )
    within = problem.accepts(found.table)
    return dataclasses.replace(
        plain,
        deviation=found.table,
        senses=problem.senses_of(found.table),
        objective=cost,
        bound=min(plain.bound, cost) if within else 0.0,
        bound_by=plain.bound_by if within else "none",
        certified_bound=plain.certified_bound if within else 0.0,
        certificate=plain.certificate if within else None,
        ending=Ending.FEASIBLE,
        trace=(*plain.trace, *monitor.trace),
        seconds=monitor.seconds,
        quality=quality,
    )


class _KeepingMonitor:
    """The parent's record of a search. It verifies and judges every table itself: a child's word is a claim."""

    def __init__(self, task: KeepingTask, began: float, limits: Limits, on_progress: OnProgress | None) -> None:
        self.task, self._began, self._limits, self._tell = task, began, limits, on_progress or (lambda _: None)
        self.trace: list[TracePoint] = []
        self.objective = Objective(task.problem, task.targets, task.keep, cost=task.cost, pairs=task.pairs)
        self._best: KeptTable | None = None
        self._score = Score(2**62, float("inf"))
        self._proved, self._ended, self._answered, self._not_whole = False, False, False, False
        self.cut_short, self.stopped = False, False
        """Whether the clock ended the search before it had tried all it knows; whether the user did."""
        self.failed: InputError | None = None
        self._plain_score = self.objective.score(task.plain)
        if task.problem.accepts(task.plain):
            self._weigh(KeptTable(task.plain, "plain"), self._plain_score)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def run(self) -> None:
        """Run the programs and the search: in a child, but for a user's own functions, which only this process knows."""
        task, keep, until = self.task, self.task.keep, time.monotonic() + self.task.seconds
        own = any(not measure.known for measure in keep.measures if isinstance(measure, Measure))
        if own and keep.asked and keep.by == "both":
            task = task._replace(keep=dataclasses.replace(keep, measures=(), by="programs"), seconds=task.seconds * TUNING.for_programs)
        if not own or task is not self.task:
            halt = run_isolated([(search_keeping, (task,))], seconds=task.seconds + TUNING.grace, on_message=self._receive)
            self.stopped, self.cut_short = halt is Halt.INTERRUPTED, not self._ended
        if own and not self.stopped and self.failed is None:
            self._search_here(until)

    def _search_here(self, until: float) -> None:
        if self._best is None:
            return
        try:
            search = TabuSearch(self.objective, self._best.table, seed=self.task.seed)

            def tell(table: IntArray, _: str) -> None:
                self._weigh(KeptTable(table, "tabu"), search.score)
                self._report("tabu")

            search_from(search, more_time=lambda: time.monotonic() < until, tell=tell)
            self.cut_short |= not search.done
        except KeyboardInterrupt:
            self.stopped = True
        except InputError as failure:
            self.failed = failure

    def _receive(self, message: KeepingMessage) -> None:
        if message.table is None:
            self._proved |= message.stage == IMPOSSIBLE
            self._ended |= message.stage == ENDED
            self._not_whole |= message.stage == NOT_WHOLE
        elif message.table.shape == self.task.problem.value.shape and self.task.problem.accepts(message.table):
            self._answered |= message.stage in (BY_PROGRAMS, BY_RELAXATION)
            self._judge(KeptTable(message.table, message.stage))
        self._report(message.stage)

    def _report(self, stage: str) -> None:
        cost = self.task.problem.cost(self._best.table) if self._best else float("inf")
        self._tell(Progress(stage, self.seconds, cost, 0.0, max(0.0, self._limits.seconds - self.seconds)))

    def _judge(self, found: KeptTable) -> None:
        """Weigh a table, unless a measure has no answer to it."""
        try:
            self._weigh(found, self.objective.score(found.table))
        except InputError as failure:
            self.failed = failure

    def _weigh(self, found: KeptTable, score: Score) -> None:
        if score < self._score:
            self._best, self._score = found, score
            self.trace.append(TracePoint(self.seconds, self.task.problem.cost(found.table), 0.0))

    @property
    def losses(self) -> tuple[tuple[str, float, float], ...]:
        """(name, loss of the plain table, loss of the best one) of each measure."""
        names = [each.name for each in self.objective.measures]
        return tuple(zip(names, self._plain_score.losses, self._score.losses, strict=True))

    @property
    def unanswered(self) -> bool:
        """Whether the programs were asked for statistics and gave no table: not even one that is no better than the plain one."""
        return self.task.keep.by != "tabu" and any(target.spread for target in self.task.targets) and not self._answered

    def found(self) -> KeptTable | None:
        """The best table, if it keeps all that is asked.

        Where statistics are asked as close as can be, by the programs alone, the plain table is no answer of theirs.
        """
        keep = self.task.keep
        if self._best is None or self._missed(self._best.table) or (keep.by == "programs" and keep.within is None and self.unanswered):
            return None
        return self._best

    def _missed(self, table: IntArray) -> list[str]:
        return missed(self.task.keep, self.task.targets, table, self.task.pairs)

    def failure(self) -> StatveilError:
        """What could not be kept, and what to widen."""
        if self.failed is not None:
            return self.failed
        keep, targets = self.task.keep, self.task.targets
        what = self._missed(self._best.table) if self._best else [f"the mean of {each.words}" for each in targets if each.mean]
        names = " and ".join(dict.fromkeys(what)) or "what is asked"
        hint = _what_to_widen(self.task)
        if self._proved:
            return NoTableFound(f"{_capital(names)} cannot be kept within the bounds given, by a solver's word.", hint=hint)
        if self.stopped:
            return OutOfTime(f"Stopped before a table was found that keeps {names}.", hint="Nothing was released.")
        if self._not_whole and not self._answered:
            search = " Or let tabu search look too: by='both'." if keep.by == "programs" else ""
            return OutOfTime(f"The linear programs keep {names}, but no whole table was found next to their solution.", hint=hint + search)
        if not self.cut_short:
            return NoTableFound(f"No table was found that keeps {names} within the bounds given.", hint=hint)
        return OutOfTime(f"No table that keeps {names} was found within {self._limits.seconds:g} seconds.", hint=f"Give more time. {hint}")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _what_to_widen(task: KeepingTask) -> str:
    keep = task.keep
    if keep.widen:
        first = f"Widen the bounds, or the caps beyond the {max(keep.widen):g} levels tried."
    elif task.together:
        first = "Give the options wider bounds or a wider cap."
    elif task.problem.variant == "exact":
        first = "Let the sensitive cells move further than exactly their levels: variant 'at-least' with a cap, or Keep(widen=(1.5, 2))."
    else:
        first = "Widen the bounds of the sensitive cells, or their cap where they have one: Keep(widen=(1.5, 2, 3)) tries several."
    return first + (" Or ask for a larger distance `within`." if keep.within is not None else "")


def search_keeping(task: KeepingTask, send: Callable[[KeepingMessage], None]) -> None:
    """The child: programs first, then tabu search from the best table; whatever is better is sent at once."""
    search = _KeepingSearch(task, send)
    if task.keep.by != "tabu" and task.keep.asked:
        search.programs()
    if task.keep.by != "programs" and not search.impossible:
        search.tabu()
    if not search.cut_short:
        send(KeepingMessage(ENDED))


def relaxation_of(task: KeepingTask) -> ConvexRelaxation | None:
    """The relaxation of what is asked, where it is one target's variance or correlation within a distance that is far from the plain
    table's, and the table is small enough."""
    problem, within = task.problem, task.keep.within
    spread = [each for each in task.targets if each.spread]
    if within is None or within <= 0 or len(spread) != 1 or task.pairs or problem.norm != "l1":
        return None
    (target,) = spread
    small = target.size <= TUNING.relaxed_target and problem.size <= TUNING.relaxed_cells
    if not (target.variance or target.correlation) or target.mean or not small:
        return None
    if moments_of(target, task.plain[target.cells].astype(float)).spread <= TUNING.far * within:
        return None
    return ConvexRelaxation(problem, target, within=within, ceiling=TUNING.ceiling * task.cost)


class _KeepingSearch:
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
        relaxation = relaxation_of(self.task)
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

    def tabu(self) -> None:
        if not self.plain_is_safe:
            return
        self._send(KeepingMessage("tabu search"))
        search = TabuSearch(self.objective, self.best, seed=self.task.seed)
        search_from(search, more_time=lambda: self.left() > 0, tell=lambda table, _: self.offer("tabu", table))
        self.cut_short |= not search.done
