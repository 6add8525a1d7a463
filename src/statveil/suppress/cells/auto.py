"""The two teams of method `auto`: one guided by the linear program of the bound, one without; neither hears the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.gate import breaches
from statveil.suppress.cells.heuristic import Cover, Proof, construct, improve
from statveil.suppress.cells.lower_bound import CutLoop, in_proportion
from statveil.suppress.cells.methods.covering import cheap_cover, cut_rows
from statveil.suppress.cells.methods.renew import renew
from statveil.suppress.cells.problem import COST_UNITS

SEED = 1


class AutoTuning(NamedTuple):
    """By judgement."""

    repairs: int = 20
    """Rounds of looking for single respondents who can work something out: two were needed."""
    fruitless: int = 2
    """Rounds of renewing without anything cheaper before the search ends."""
    first_bound: float = 0.25
    """Of the time, when the bound ends in systems of few classes: there its cuts are a better start."""
    covers: float = 0.5
    """When the search for cheap points of its cuts ends there."""
    most_classes: int = 6_000
    """Of a system of few classes."""
    whole_bound: float = 0.7
    """Of the time, when the bound of others ends."""
    worth_a_start: float = 0.3
    """The share of a class in the bound's point from which on it is chosen at first."""
    most_covers: int = 200
    cover_steps: int = 2
    """Of one search, for each class."""
    nested: int = 4
    """Cuts of one need at once, of points in whole numbers."""


TUNING = AutoTuning()


class PatternNews(NamedTuple):
    """What a team tells: a pattern with its witnesses, or a bound. own: the secondary cells before anything was mended; -1: not asked."""

    stage: str
    suppressed: BoolArray | None = None
    proofs: dict[Need, Proof] | None = None
    bound: int = 0
    own: int = -1


def finished(cover: Cover, send: Callable[[Any], None], stage: str, *, seed: int, guide: FloatArray | None = None) -> None:
    """Repair, tell, make cheaper, repair and tell again: what is told is always safe."""
    needs = repaired(cover, cover.system.needs)
    send(PatternNews(stage, cover.suppressed.copy(), dict(cover.proofs)))
    rng, fruitless = np.random.default_rng(seed), 0
    while fruitless < TUNING.fruitless and not cover.late:
        fruitless = 0 if renew(cover, needs, rng, guide=guide) else fruitless + 1
        needs = repaired(cover, needs)
        send(PatternNews(f"{stage}, renewed", cover.suppressed.copy(), dict(cover.proofs)))
    improve(cover, needs)
    needs = repaired(cover, needs)
    send(PatternNews(f"{stage}, made cheaper", cover.suppressed.copy(), dict(cover.proofs)))


def repaired(cover: Cover, needs: tuple[Need, ...], *, two: bool = True, other: bool = True) -> tuple[Need, ...]:
    """Meet what single respondents make necessary, until nothing is left; all needs of the pattern.

    two, other: whether a single respondent is kept from cells of another one, and from cells of several.
    """
    if not cover.system.single.any():
        return needs
    for _ in range(TUNING.repairs):
        found = (need for need in breaches(cover.system, cover.suppressed) if (two if cover.system.single[need.target] else other))
        new = tuple(need for need in found if need not in cover.proofs)
        if not new:
            break
        cover.meet_all(new)
        needs += new
    return needs


def run_guided(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """The bound first; its cuts say which patterns are worth a look, and its point which classes are wanted anyway."""
    began, small = time.monotonic(), system.size <= TUNING.most_classes
    loop = CutLoop(system, began + (TUNING.first_bound if small else TUNING.whole_bound) * seconds)
    x = _bounded(loop, send)
    cover = Cover(system, began + seconds)
    cover.discount = np.maximum(1.0 - x, 0.02)
    if small:
        loop.deadline = began + TUNING.covers * seconds
        cover.suppressed = covered(loop, x)
        cover.meet_within(system.needs)
    cover.meet_all(system.needs)
    cover.drop_unused()
    cover.discount = np.ones(system.size)
    finished(cover, send, "guided by the bound", seed=SEED + 1, guide=np.maximum(1.0 - x, 0.05))


def _bounded(loop: CutLoop, send: Callable[[Any], None]) -> FloatArray:
    """The point of the bound, which is told round by round."""
    return loop.root(lambda bound: send(PatternNews("lower bound", bound=bound)))[1]


def covered(loop: CutLoop, x: FloatArray) -> BoolArray:
    """Cheap points of the cuts, each asked for further cuts that it breaks, until it breaks none or the time is up; the last of them."""
    system, cuts = loop.system, [*loop.cuts, *loop.spare]
    cost, steps = system.cost / COST_UNITS, TUNING.cover_steps * system.size
    chosen = np.asarray(x > TUNING.worth_a_start)
    loop.nested = TUNING.nested
    for number in range(TUNING.most_covers):
        least = np.array([float(cut.least > 0) for cut in cuts])
        chosen = cheap_cover(cut_rows(in_proportion(cuts, system.size), least), cost, chosen, system.free, steps=steps, seed=SEED + number)
        new = [] if loop.late else loop.separate(chosen.astype(np.float64))
        if not new:
            break
        cuts += new
    return chosen


def run_plain(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """A pattern at once, and all the time for making it cheaper; where that ends early, the bound."""
    deadline = time.monotonic() + seconds
    finished(construct(system, deadline), send, "cheapest deviations", seed=SEED)
    _bounded(CutLoop(system, deadline), send)


def run_repair(
    system: ClassSystem, suppressed: BoolArray, proofs: dict[Need, Proof], new: tuple[Need, ...], send: Callable[[Any], None]
) -> None:
    """A pattern with further needs met; single respondents again, because more is suppressed."""
    cover = Cover(system, time.monotonic(), dict(proofs))
    cover.suppressed = suppressed.copy()
    cover.meet_all(new)
    repaired(cover, new)
    send(PatternNews("mended", cover.suppressed, cover.proofs))
