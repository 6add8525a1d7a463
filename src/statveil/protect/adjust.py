"""Adjust a problem to a close safe table within limits (controlled tabular adjustment)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InfeasibleProblem, InputError, NoTableFound, OutOfTime, SolverFailed
from statveil.core.limits import Limits, OnProgress, check_kind, check_seed
from statveil.protect.adjustment import Adjustment, BoundBy, ending_of
from statveil.protect.bounds.certificate import Certified, Certifier, certify_levels
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.components import Components, components_of
from statveil.protect.presolve.reduce import Reduction, reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.run_record import RunRecord
from statveil.protect.search.methods import Task, check_method, plan_jobs, run_jobs
from statveil.protect.warm_up import KernelSet, make_ready
from statveil.solve.processes import Halt, run_isolated


class AdjustTuning(NamedTuple):
    """How long steps may take beyond their time; all by judgement."""

    grace: float = 1.0  # seconds a child may overrun before it is killed, where there is no table yet
    overrun: float = 0.1  # of the time, the same where there is one: what a late child would add is not worth the wait
    explaining: float = 0.1  # of the time, beyond it, to find why there is no table
    explaining_at_least: float = 0.5  # seconds
    dense_from: int = 300_000  # cells from which a GPU is looked for, for full tables (docs/methods.md, `dense`)


TUNING = AdjustTuning()


def adjust_problem(
    problem: ProtectionProblem,
    *,
    method: str = "auto",
    start: IntArray | None = None,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Adjustment:
    """The best safe table that the method finds within the limits, with a lower bound on the best possible.

    The work is done in processes of its own, killed at the limit. Ctrl-C ends it early; the best table so far is returned.
    `start` holds senses to begin with (+1 up, -1 down, 0 not sensitive); method "fixed" keeps them. `settings` are the
    method's own, such as the number of groups or blocks.
    """
    limits = Limits() if limits is None else limits
    check_kind("limits", limits, Limits)
    _check(problem, start, seed)
    chosen = dict(settings or {})
    check_method(method, chosen, start)
    if start is None and _is_dense(problem, method, chosen):
        from statveil.protect.dense.engine import adjust_dense

        return adjust_dense(problem, settings=chosen, limits=limits, seed=seed, on_progress=on_progress)
    record = RunRecord(limits, on_progress)
    try:
        if method == "auto" and start is None:
            record.start_with(problem)
        return _searched(problem, record, method, chosen, start, seed)
    except KeyboardInterrupt:  # between the processes, which catch it themselves
        if not record.has_table:
            raise
        return _without_search(problem, record, method, seed)


def _is_dense(problem: ProtectionProblem, method: str, settings: dict[str, Any]) -> bool:
    """Whether the table goes to method `dense`, which works in this process: it was asked for, or suits a GPU that is there."""
    if method == "auto" and not settings and problem.size >= TUNING.dense_from:
        from statveil.protect.dense import engine

        return engine.suits(problem)
    return method == "dense"


def _searched(
    problem: ProtectionProblem, record: RunRecord, method: str, settings: dict[str, Any], start: IntArray | None, seed: int
) -> Adjustment:
    """What a search finds; the plain table where the limit ends before there could be one."""
    if _made_ready(record, "search") is not Halt.FINISHED:
        return _without_search(problem, record, method, seed)
    record.say("preparing")
    reduction = reduce_problem(problem)
    components = components_of(reduction.problem)
    record.expect(reduction, components)
    record.say(_in_words(reduction, components))
    halt = _run(record, method, settings, start, seed)
    if not record.has_table or not reduction.feasible:
        raise _no_table(problem, record, halt, record.limits)
    return _answer(problem, record, method, seed)


def _made_ready(record: RunRecord, part: KernelSet) -> Halt:
    """Compile what is not compiled yet: within the limit where there is a table already, else before the clock starts."""
    if record.has_table:
        return make_ready(part, record.say, seconds=max(record.limits.seconds - record.seconds, _grace(record)))
    with record.excused():
        return make_ready(part, record.say)


def _without_search(problem: ProtectionProblem, record: RunRecord, method: str, seed: int) -> Adjustment:
    """The plain table, where the time ended or somebody stopped the run before a search could begin."""
    if not record.has_table:
        raise OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")
    objective = problem.cost(record.table())
    certified = certify_levels(problem, objective)
    bound = certified.bound if certified else 0.0
    record.close("stopped before a search", objective, bound)
    return _adjustment(problem, record, certified, (bound, "cuts" if bound else "none"), method, seed)


def _certified(record: RunRecord, objective: float) -> Certified | None:
    """The certificate that proves most, of those that there is time to check; there is always time for that of plain multipliers."""
    certifier = Certifier(record.reduction, objective)
    *others, plain = record.proofs()
    found = [certifier.certified(proof) for proof in (*filter(record.in_time, others), plain)]
    return max((each for each in found if each is not None), key=lambda each: each.bound, default=None)


def _answer(problem: ProtectionProblem, record: RunRecord, method: str, seed: int) -> Adjustment:
    """The best table found, and the bound as far as it is certified."""
    objective = problem.cost(record.table())
    certified = _certified(record, objective)
    return _adjustment(problem, record, certified, record.settle(objective, certified), method, seed)


def _adjustment(
    problem: ProtectionProblem, record: RunRecord, certified: Certified | None, bound: tuple[float, BoundBy], method: str, seed: int
) -> Adjustment:
    deviation = record.table()
    objective, proved = problem.cost(deviation), certified.bound if certified else 0.0
    return Adjustment(
        deviation=deviation,
        senses=problem.senses_of(deviation),
        objective=objective,
        bound=bound[0],
        bound_by=bound[1],
        certified_bound=proved,
        certificate=certified.certificate if certified else None,
        ending=ending_of(objective, certified=proved, claimed=bound[0]),
        trace=tuple(record.trace),
        method=method,
        seed=seed,
        seconds=record.seconds,
    )


def _run(record: RunRecord, method: str, settings: dict[str, Any], start: IntArray | None, seed: int) -> Halt:
    """Work on all components until they end, the time is up, or nothing better is possible."""
    reduction, components, limits = record.reduction, record.components, record.limits
    if not reduction.feasible:
        record.infeasible = True
        return Halt.FINISHED
    senses = None if start is None else reduction.restrict(start)
    plan = plan_jobs(components, method, settings, Task(senses, limits, seed))
    if any(job.team.method == "network" for jobs in plan for job in jobs):
        halt = _made_ready(record, "network")
        if halt is not Halt.FINISHED:
            return halt
    left = dataclasses.replace(limits, seconds=max(limits.seconds - record.seconds - record.kept, 0.1))
    grace = _grace(record)
    calls = [(run_jobs, (components, jobs, left, time.time())) for jobs in plan]
    try:
        over = partial(record.is_late, by=grace)
        return run_isolated(calls, seconds=left.seconds + grace, on_message=record.hear, over=over)
    except SolverFailed:
        if not record.has_table:
            raise
        record.say("a process failed; the best table so far is kept")
        return Halt.FINISHED


def _grace(record: RunRecord) -> float:
    """How long a child may overrun: seconds, before it is killed."""
    return min(TUNING.grace, TUNING.overrun * record.limits.seconds) if record.has_table else TUNING.grace


def _in_words(reduction: Reduction, components: Components) -> str:
    """What preprocessing found, as a stage of the run."""
    forced = reduction.forced.cell.size
    parts = [f"{reduction.original.size:,} cells reduced to {components.cells.size:,}"]
    parts += [f"{len(components):,} components"] if len(components) > 1 else []
    parts += [f"{forced:,} {'sense' if forced == 1 else 'senses'} forced"] if forced else []
    return ", ".join(parts)


def _check(problem: ProtectionProblem, start: IntArray | None, seed: int) -> None:
    check_seed(seed)
    if start is not None and not np.array_equal(np.abs(start), problem.sensitive.astype(np.int64)):
        raise InputError("The start must hold +1 or -1 for each sensitive cell and 0 for the others.")


def _no_table(problem: ProtectionProblem, record: RunRecord, halt: Halt, limits: Limits) -> Exception:
    """Why there is no answer: "infeasible" only where that is shown in integers, by a clash or by the bounds' own narrowing."""
    if halt is Halt.INTERRUPTED:
        return OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")
    from statveil.protect.infeasible.explain import explain
    from statveil.protect.infeasible.feasibility import TUNING as FEASIBILITY

    ended = halt is Halt.FINISHED and not record.is_late(by=0.0)  # a method that the clock stopped ends by itself too
    record.say("looking for what clashes")
    late = max(TUNING.explaining * limits.seconds, TUNING.explaining_at_least)
    left = max(limits.seconds - record.seconds, 0.0)
    explanation = explain(problem, seconds=min(left + late, FEASIBILITY.explanation_seconds))
    if explanation is not None:
        return InfeasibleProblem("No safe table exists within the bounds given.", hint=explanation.public(), explanation=explanation)
    widen = _ways_out(problem)
    if not record.reduction.feasible:
        return InfeasibleProblem("No safe table exists within the bounds given.", hint=f"{widen}.")
    if record.infeasible:
        return NoTableFound(
            "No safe table was found. A solver says that none exists within the bounds given; that is not proved.",
            hint=f"{widen}, or give more time.",
        )
    if ended:
        return NoTableFound(
            "The method found no safe table. One may exist all the same.",
            hint=f"Try method 'auto' or 'exact', or another seed. {widen}.",
        )
    wider = ", or wider bounds" if _is_bounded(problem) else ""
    return OutOfTime("No safe table was found in the time given.", hint=f"Give more time{wider}.")


def _ways_out(problem: ProtectionProblem) -> str:
    """What somebody could give: only what was set is advised to be widened or freed."""
    frozen = bool((problem.lower == problem.upper).any())
    if _is_bounded(problem):
        return f"Widen the bounds or the cap{', or free frozen cells' if frozen else ''}"
    if frozen:
        return "Free frozen cells"
    return "Let sensitive cells move by more than their level (variant 'at-least')" if problem.variant == "exact" else "Lower the levels"


def _is_bounded(problem: ProtectionProblem) -> bool:
    """Whether somebody set bounds: not only that nothing falls below zero, and that some cells are frozen."""
    set_by_hand = (problem.upper < NO_LIMIT) | (problem.lower > 0)
    return bool((set_by_hand & (problem.lower < problem.upper)).any())
