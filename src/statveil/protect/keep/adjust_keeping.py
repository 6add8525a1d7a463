"""The verb: adjust a problem so that statistics are kept (S1), from a plain table, by linear programs and tabu search."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Unpack

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InfeasibleProblem, InputError, NoTableFound, OutOfTime, StatveilError
from statveil.core.limits import Ending, Limits, OnProgress, Progress, stages
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment, TracePoint
from statveil.protect.keep.keeping_search import (
    BY_PROGRAMS,
    BY_RELAXATION,
    DEAR,
    ENDED,
    IMPOSSIBLE,
    NOT_WHOLE,
    TUNING,
    KeepingMessage,
    KeepingTask,
    prove_dear,
    relaxation_of,
    search_keeping,
)
from statveil.protect.keep.problems import with_cap
from statveil.protect.keep.result import Quality, missed
from statveil.protect.keep.tabu.measures import Measure
from statveil.protect.keep.tabu.objective import Objective, Pair, Score, outcomes
from statveil.protect.keep.tabu.search import TabuSearch, search_from
from statveil.protect.keep.verdict import refuse_the_impossible
from statveil.protect.keep.wishes import Keep, Target, targets_of
from statveil.protect.options import AdjustArguments
from statveil.protect.problem import ProtectionProblem
from statveil.protect.warm_up import make_ready_first
from statveil.solve.processes import Halt, run_isolated


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
    make_ready_first(("search", "keep"), stages(run.get("on_progress"), limits))
    together = targets is not None
    targets = targets_of(keep, problem) if targets is None else targets
    began = time.monotonic()
    plain: Adjustment | None = None
    caps: list[float | None] = [None, *keep.widen]
    failure: StatveilError = OutOfTime("No table was looked for.")
    if not targets and not keep.measures:
        return _plain(problem, run, limits, table)
    _try_measures(problem, keep)
    for place, cap in enumerate(caps):
        eased = problem if cap is None else wider(cap) if wider else with_cap(problem, cap)
        try:
            refuse_the_impossible(eased, targets, keep, seconds=limits.seconds, hint=_what_to_widen(eased, keep, together=together))
            plain = plain or plain_in_time(eased, run, limits, table)
        except (InfeasibleProblem, NoTableFound) as error:
            failure = error
            continue
        left = max(limits.seconds - (time.monotonic() - began), TUNING.least_seconds) / (len(caps) - place)
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


def plain_in_time(problem: ProtectionProblem, run: AdjustArguments, limits: Limits, table: IntArray | None = None) -> Adjustment:
    """The plain table in its share of the time or, where none is found in that, in most of what is left: all begins with it."""
    began, first = time.monotonic(), seconds_for_plain(limits.seconds)
    try:
        return _plain(problem, run, dataclasses.replace(limits, seconds=first), table)
    except OutOfTime:
        passed = time.monotonic() - began
        left = TUNING.for_more * (limits.seconds - passed)
        if passed < first or left <= first * TUNING.for_plain:  # stopped by the user, or hardly any time to go on
            raise
        return _plain(problem, run, dataclasses.replace(limits, seconds=left), table)


def seconds_for_plain(seconds: float) -> float:
    """The plain table's share of a run's time."""
    return min(max(TUNING.for_plain * seconds, TUNING.least_for_plain), TUNING.most_for_plain * seconds)


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
        self.dear = False
        """Whether it is proved that no table keeps what is asked within `TUNING.dearer` plain tables' change."""
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
            calls = [(search_keeping, (task,)), *([(prove_dear, (task,))] if relaxation_of(task, TUNING.dearer, means=True) else [])]
            most = task.seconds + TUNING.grace + TUNING.grace_share * self._limits.seconds
            halt = run_isolated(calls, seconds=most, on_message=self._receive)
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

    def _receive(self, message: KeepingMessage) -> bool:
        """Take notice; tells whether that is all that need be heard."""
        if message.table is None:
            self._proved |= message.stage == IMPOSSIBLE
            self.dear |= message.stage == DEAR
            self._ended |= message.stage == ENDED
            self._not_whole |= message.stage == NOT_WHOLE
        elif message.table.shape == self.task.problem.value.shape and self.task.problem.accepts(message.table):
            self._answered |= message.stage in (BY_PROGRAMS, BY_RELAXATION)
            self._judge(KeptTable(message.table, message.stage))
        self._report(message.stage)
        return self._ended and (self.dear or self.found() is not None)

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
        wider = " Or ask for a larger distance `within`." if keep.within is not None else ""
        hint = _what_to_widen(self.task.problem, keep, together=self.task.together) + wider
        if self.stopped:
            return OutOfTime(f"Stopped before a table was found that keeps {names}.", hint="Nothing was released.")
        if self._proved or self.dear or not (self.cut_short or self._without_whole):
            return NoTableFound(self._without_proof(names), hint=hint)
        if self._without_whole:
            search = " Or let tabu search look too: by='both'." if keep.by == "programs" else ""
            return OutOfTime(f"The linear programs keep {names}, but no whole table was found next to their solution.", hint=hint + search)
        return OutOfTime(f"No table that keeps {names} was found within {self._limits.seconds:g} seconds.", hint=f"Give more time. {hint}")

    @property
    def _without_whole(self) -> bool:
        return self._not_whole and not self._answered

    def _without_proof(self, names: str) -> str:
        """Why there is no table, where it is not proved that there can be none."""
        if self._proved:
            return f"{_capital(names)} cannot be kept within the bounds given, by a solver's word."
        if self.dear:
            more = f"{TUNING.dearer - 1:.0%}"
            return f"No table was found that keeps {names}; it is proved that none does with up to {more} more change than the plain one."
        return f"No table was found that keeps {names} within the bounds given."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _what_to_widen(problem: ProtectionProblem, keep: Keep, *, together: bool) -> str:
    if keep.widen:
        return f"Widen the bounds, or the caps beyond the {max(keep.widen):g} levels tried."
    if together:
        return "Give the options wider bounds or a wider cap."
    if problem.variant == "exact":
        return "Let the sensitive cells move further than exactly their levels: variant 'at-least' with a cap, or Keep(widen=(1.5, 2))."
    return "Widen the bounds of the sensitive cells, or their cap where they have one: Keep(widen=(1.5, 2, 3)) tries several."
