"""Wishes that no table can grant are refused before anything is searched, with the smallest distance that is not out of reach."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.errors import InfeasibleProblem, OutOfTime
from statveil.protect.keep.reach import TUNING as REACH
from statveil.protect.keep.reach import Reach, ReachInTable
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem
from statveil.solve.processes import Halt, run_isolated


class VerdictTuning(NamedTuple):
    """Time for a verdict. By judgement: it is to be there within five seconds, the start of a process included."""

    share: float = 0.2
    """Of the time of the whole run,"""
    most_seconds: float = 3.5
    """and no more than this."""
    for_start: float = 0.1
    """Share of the time that the start of the child may take, beside that: on a busy machine seconds,"""
    most_for_start: float = 6.0
    """and no more than so many."""


TUNING = VerdictTuning()


class OutOfReach(NamedTuple):
    """A target (by its place) that no table keeps within the distance, nor within any smaller one. One: its mean cannot be kept."""

    place: int
    least: Fraction


def refuse_the_impossible(problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, *, seconds: float, hint: str) -> None:
    """Raise `InfeasibleProblem` where it is proved in whole numbers that no table keeps what is asked of some target."""
    _refuse_what_must_move(problem, targets)
    if not any(target.mean or (target.spread and keep.within is not None) for target in targets):
        return
    found: list[OutOfReach] = []
    for_verdict, for_start = min(TUNING.share * seconds, TUNING.most_seconds), min(TUNING.for_start * seconds, TUNING.most_for_start)
    calls = [(judge, (problem, list(targets), keep.within, for_verdict))]
    halt = run_isolated(calls, seconds=for_verdict + for_start, on_message=found.append)
    if halt is Halt.INTERRUPTED:
        raise OutOfTime("Stopped before a table was looked for.", hint="Nothing was released.")
    if found:
        raise _refusal(targets[found[-1].place], keep, found[-1].least, hint)


def judge(
    problem: ProtectionProblem, targets: Sequence[Target], within: float | None, seconds: float, send: Callable[[OutOfReach], None]
) -> None:
    """The child: the first target that is out of reach, by its cells alone or in the table; the smaller the table, the more is tried."""
    until = time.monotonic() + seconds
    distance = Fraction(0) if within is None else Fraction(str(within))
    for place, target in enumerate(targets):
        asked = target if within is not None else dataclasses.replace(target, variance=False, correlation=False, slope=False)
        shown: Fraction | None = None
        for way in (Reach, ReachInTable) if problem.size <= REACH.most_cells else (Reach,):
            if asked.mean or asked.spread:
                more = way(problem, asked).least_within(shown or distance, lambda: until - time.monotonic())
                shown = shown if more is None else more
            if shown is not None:
                send(OutOfReach(place, shown))
        if shown is not None:
            return


def _refuse_what_must_move(problem: ProtectionProblem, targets: Sequence[Target]) -> None:
    moves = problem.sensitive & (np.minimum(problem.lower_level, problem.upper_level) > 0)
    for target in targets:
        if target.mean and target.size == 1 and moves[target.cells].all():
            raise InfeasibleProblem(
                f"The mean of {target.words} cannot be kept: that is one cell, which must move.",
                hint="Keep the mean of more cells, or none.",
            )


def _refusal(target: Target, keep: Keep, least: Fraction, hint: str) -> InfeasibleProblem:
    if least >= 1:
        return InfeasibleProblem(f"The mean of {target.words} cannot be kept within the bounds given, which is proved.", hint=hint)
    names = [what for what in ("slope", "variance", "correlation") if getattr(target, what)]
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    at_least = math.ceil(least * 10**6 + 1) / 10**6
    return InfeasibleProblem(
        f"The {listed} of {target.words} cannot be kept within {keep.within:g}{' together with the mean' if target.mean else ''}: "
        f"no safe table comes nearer than {at_least:.6g}, which is proved.",
        hint=f"Ask for within = {_rounded_up(at_least)} or more{', or for less at once' if len(names) > 1 or target.mean else ''}. {hint}",
    )


def _rounded_up(distance: float) -> str:
    """A distance to three digits, never a smaller one."""
    unit = 10.0 ** (math.floor(math.log10(distance)) - 2)
    return f"{math.ceil(distance / unit - 1e-9) * unit:.3g}"
