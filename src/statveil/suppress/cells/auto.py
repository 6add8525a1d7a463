"""The two teams of method `auto`: a bound beside a plain pattern, and patterns guided by cuts; neither hears the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.gate import breaches
from statveil.suppress.cells.heuristic import Cover, Proof, construct, improve
from statveil.suppress.cells.lower_bound import CutLoop
from statveil.suppress.cells.methods.regions import CutPool, RegionSearch

SEED = 1


class AutoTuning(NamedTuple):
    """By judgement."""

    repairs: int = 20
    """Rounds of looking for single respondents who can work something out: two were needed."""
    first_bound: float = 0.12
    """Of the time, for the bound whose cuts guide a pattern."""
    wanted_anyway: float = 0.02
    """The price of a class that the bound's point wants whole, beside its own: it is found cheap, not free."""
    uneven: float = 20.0
    """How many times the middle cost the largest is, where single classes are much of the whole: each is then looked at first."""
    one_by_one: float = 0.5
    """Of the time, when that ends."""
    told: float = 0.1
    """Of the time, between two patterns that are told."""
    telling: float = 0.02
    """Of the time, for the last one to be repaired and told."""


TUNING = AutoTuning()


class PatternNews(NamedTuple):
    """What a team tells: a pattern with its witnesses, or a bound. own: the secondary cells before anything was mended; -1: not asked."""

    stage: str
    suppressed: BoolArray | None = None
    proofs: dict[Need, Proof] | None = None
    bound: int = 0
    own: int = -1


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


def run_plain(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """A pattern at once; all other time is for the bound."""
    deadline = time.monotonic() + seconds
    cover = construct(system, deadline)
    repaired(cover, system.needs)
    _tell(cover, send, "cheapest deviations")
    CutLoop(system, deadline).root(lambda bound: send(PatternNews("lower bound", bound=bound)))


def run_guided(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """A short bound; its point says which classes a first pattern is made of, its cuts which others are worth a look, region by region."""
    began = time.monotonic()
    loop = CutLoop(system, began + TUNING.first_bound * seconds)
    bound, x = loop.root()
    cover = Cover(system, began + (1 - TUNING.telling) * seconds)
    cover.discount = np.maximum(1.0 - x, TUNING.wanted_anyway)
    cover.meet_all(system.needs)
    cover.drop_unused()
    cover.discount = np.ones(system.size)
    needs = repaired(cover, system.needs)
    _tell(cover, send, "guided by the bound")
    if _uneven(system):
        improve(cover, needs, began + TUNING.one_by_one * seconds)
        needs = repaired(cover, needs)
        _tell(cover, send, "the dearest first")
    pool = CutPool([*loop.cuts, *loop.spare], system.size)
    search = RegionSearch(cover, pool, np.maximum(1.0 - x, TUNING.wanted_anyway) * system.cost, SEED)
    going = cover.cost > bound
    while going:
        going = search.run(needs, time.monotonic() + TUNING.told * seconds) and cover.cost > bound
        needs = repaired(cover, needs)
        _tell(cover, send, "region by region")


def _uneven(system: ClassSystem) -> bool:
    cost = system.cost[~system.free]
    return bool(cost.size and cost.max() > TUNING.uneven * max(float(np.median(cost)), 1.0))


def _tell(cover: Cover, send: Callable[[Any], None], stage: str) -> None:
    send(PatternNews(stage, cover.suppressed.copy(), dict(cover.proofs)))


def run_repair(
    system: ClassSystem, suppressed: BoolArray, proofs: dict[Need, Proof], new: tuple[Need, ...], send: Callable[[Any], None]
) -> None:
    """A pattern with further needs met; single respondents again, because more is suppressed."""
    cover = Cover(system, time.monotonic(), dict(proofs))
    cover.suppressed = suppressed.copy()
    cover.meet_all(new)
    repaired(cover, new)
    send(PatternNews("mended", cover.suppressed, cover.proofs))
