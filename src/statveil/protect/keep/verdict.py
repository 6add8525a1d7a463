"""Wishes that no table can grant are refused before anything is searched, with the smallest distance that is not out of reach.

Of a small problem all safe tables are listed, and the verdict is exact; of others `reach` says what it can prove.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
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
    most_listed: int = 40
    """Cells of a problem all safe tables of which are listed, at most,"""
    most_tables: int = 300_000
    """parts of tables that are looked at at once,"""
    listing: float = 0.4
    """and share of a verdict's time that this may take."""


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
    tables = safe_tables(problem, lambda: time.monotonic() > until - (1 - TUNING.listing) * seconds)
    for place, target in enumerate(targets):
        asked = target if within is not None else dataclasses.replace(target, variance=False, correlation=False, slope=False)
        shown = None if tables is None else _exceeded_by_all(tables, asked, distance)
        if shown is not None:
            send(OutOfReach(place, shown))
        for way in () if tables is not None else (Reach, ReachInTable) if problem.size <= REACH.most_cells else (Reach,):
            if asked.mean or asked.spread:
                more = way(problem, asked).least_within(shown or distance, lambda: until - time.monotonic())
                shown = shown if more is None else more
            if shown is not None:
                send(OutOfReach(place, shown))
        if shown is not None:
            return


def safe_tables(problem: ProtectionProblem, stopped: Callable[[], bool] = lambda: False) -> IntArray | None:
    """Deviations of all safe tables, one a row; None where they may be too many. Cell by cell: what a relation leaves to its last cell is
    not tried, and beginnings that no relation can complete are dropped."""
    if problem.size > TUNING.most_listed:
        return None
    matrix: IntArray = problem.relations.toarray().astype(np.int64)
    if (matrix != problem.relations.toarray()).any():
        return None
    tables, left = np.zeros((1, problem.size), dtype=np.int64), list(range(problem.size))
    while left and len(tables):
        if stopped():
            return None
        cell, last_of = _next_cell(problem, matrix, left)
        left.remove(cell)
        following = _with_all_values(problem, tables, cell) if last_of is None else _with_the_rest(problem, matrix, tables, cell, last_of)
        if following is None:
            return None
        tables = following[_completable(problem, matrix, following, left)]
    return tables


def _next_cell(problem: ProtectionProblem, matrix: IntArray, left: Sequence[int]) -> tuple[int, int | None]:
    """A cell that is the last of a relation, and which; or the one with the fewest values."""
    open_ = matrix[:, left] != 0
    last = np.flatnonzero(open_.sum(axis=1) == 1)
    if last.size:
        return left[int(np.argmax(open_[last[0]]))], int(last[0])
    return min(left, key=lambda cell: int(problem.free.high[cell]) - int(problem.free.low[cell])), None


def _with_all_values(problem: ProtectionProblem, tables: IntArray, cell: int) -> IntArray | None:
    low, high = int(problem.free.low[cell]), int(problem.free.high[cell])
    if (high - low + 1) * len(tables) > TUNING.most_tables:
        return None
    values = np.arange(low, high + 1)
    values = values[_allowed(problem, cell, values)]
    found = np.repeat(tables, values.size, axis=0)
    found[:, cell] = np.tile(values, len(tables))
    return found


def _with_the_rest(problem: ProtectionProblem, matrix: IntArray, tables: IntArray, cell: int, relation: int) -> IntArray:
    factor, rest = int(matrix[relation, cell]), np.asarray(problem.residual[relation] - tables @ matrix[relation], dtype=np.int64)
    whole = rest % factor == 0
    found, value = tables[whole].copy(), rest[whole] // factor
    found[:, cell] = value
    return np.asarray(found[_allowed(problem, cell, value)])


def _allowed(problem: ProtectionProblem, cell: int, value: IntArray) -> BoolArray:
    ranges = (problem.down, problem.up) if problem.sensitive[cell] else (problem.free,)
    return np.asarray(np.logical_or.reduce([(value >= each.low[cell]) & (value <= each.high[cell]) for each in ranges]))


def _completable(problem: ProtectionProblem, matrix: IntArray, tables: IntArray, left: Sequence[int]) -> BoolArray:
    """Whether the cells that are left can bring what each relation lacks."""
    ends = [matrix[:, left] * each[left].astype(np.float64) for each in problem.free]
    low, high = (pick(*ends).sum(axis=1) for pick in (np.minimum, np.maximum))
    lacks = problem.residual - tables.astype(np.float64) @ matrix.T.astype(np.float64)
    return np.asarray(((lacks > low - 0.5) & (lacks < high + 0.5)).all(axis=1))


def _exceeded_by_all(tables: IntArray, target: Target, distance: Fraction) -> Fraction | None:
    """The distance that every table exceeds, if that is more than the one asked; one where none keeps the mean. Figures of doubles are good
    to a millionth and better: values are taken from one of them."""
    moves = tables[:, target.cells]
    if target.mean:
        moves = moves[moves.sum(axis=1) == 0]
    if not len(tables) or not (target.mean or target.spread):
        return None
    if not len(moves) or not target.spread:
        return None if len(moves) else Fraction(1)
    value = target.value - target.value[0]
    centred, off = value - value.mean(), moves - moves.mean(axis=1, keepdims=True)
    scatter = centred @ centred
    linear, square = off @ centred / scatter, (off**2).sum(axis=1) / scatter
    ratio = 1 + 2 * linear + square
    correlation = np.where((1 + linear > 0) & (ratio > 0), (1 + linear) / np.sqrt(np.maximum(ratio, 1e-300)), 0.0)
    off_by = {"slope": np.abs(linear), "variance": np.abs(ratio - 1), "correlation": 1 - correlation}
    worst = float(np.max([each for what, each in off_by.items() if getattr(target, what)], axis=0).min())
    return min(Fraction(1), Fraction(math.floor(worst * 10**6) - 1, 10**6)) if worst > float(distance) + 1e-6 else None


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
