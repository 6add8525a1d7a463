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
from statveil.suppress.cells.lower_bound import CutLoop
from statveil.suppress.cells.methods.renew import renew

MOST_ROUNDS = 20
"""Of looking for single respondents who can work something out. By judgement: two were needed."""
FRUITLESS = 2
"""Rounds of renewing without anything cheaper before the search ends. By judgement."""
SEED = 1
BOUND_SHARE = 0.45
"""Of the time, for the bound. By judgement."""


class PatternNews(NamedTuple):
    """What a team tells: a pattern with its witnesses, or a bound. own: the secondary cells before anything was mended; -1: not asked."""

    stage: str
    suppressed: BoolArray | None = None
    proofs: dict[Need, Proof] | None = None
    bound: int = 0
    own: int = -1


def finished(cover: Cover, send: Callable[[Any], None], stage: str, *, guide: FloatArray | None = None) -> None:
    """Repair, tell, make cheaper, repair and tell again: what is told is always safe."""
    needs = repaired(cover, cover.system.needs)
    send(PatternNews(stage, cover.suppressed.copy(), dict(cover.proofs)))
    improve(cover, needs)
    needs = repaired(cover, needs)
    send(PatternNews(f"{stage}, made cheaper", cover.suppressed.copy(), dict(cover.proofs)))
    rng, fruitless = np.random.default_rng(SEED), 0
    while fruitless < FRUITLESS and not cover.late:
        fruitless = 0 if renew(cover, needs, rng, guide=guide) else fruitless + 1
        needs = repaired(cover, needs)
        send(PatternNews(f"{stage}, renewed", cover.suppressed.copy(), dict(cover.proofs)))


def repaired(cover: Cover, needs: tuple[Need, ...], *, two: bool = True, other: bool = True) -> tuple[Need, ...]:
    """Meet what single respondents make necessary, until nothing is left; all needs of the pattern.

    two, other: whether a single respondent is kept from cells of another one, and from cells of several.
    """
    if not cover.system.single.any():
        return needs
    for _ in range(MOST_ROUNDS):
        found = (need for need in breaches(cover.system, cover.suppressed) if (two if cover.system.single[need.target] else other))
        new = tuple(need for need in found if need not in cover.proofs)
        if not new:
            break
        cover.meet_all(new)
        needs += new
    return needs


def run_guided(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """Bound first; its point says which classes are wanted anyway."""
    began = time.monotonic()
    loop = CutLoop(system, began + BOUND_SHARE * seconds)
    bound, x = loop.root()
    send(PatternNews("lower bound", bound=bound))
    cover = construct(system, began + seconds, np.maximum(1.0 - x, 0.02))
    cover.discount = np.ones(system.size)
    finished(cover, send, "guided by the bound", guide=np.maximum(1.0 - x, 0.05))


def run_plain(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    finished(construct(system, time.monotonic() + seconds), send, "cheapest deviations")


def run_repair(
    system: ClassSystem, suppressed: BoolArray, proofs: dict[Need, Proof], new: tuple[Need, ...], send: Callable[[Any], None]
) -> None:
    """A pattern with further needs met; single respondents again, because more is suppressed."""
    cover = Cover(system, time.monotonic(), dict(proofs))
    cover.suppressed = suppressed.copy()
    cover.meet_all(new)
    repaired(cover, new)
    send(PatternNews("mended", cover.suppressed, cover.proofs))
