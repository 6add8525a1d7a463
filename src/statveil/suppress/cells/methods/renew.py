"""A pattern made cheaper by giving up the witnesses round a class and meeting their needs anew, at prices a little other each time.

What is dearer is taken back, what costs the same is kept: the next attempt begins somewhere else (Shaw's large neighbourhood search).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray
from statveil.suppress.cells.classes import Need
from statveil.suppress.cells.heuristic import Cover, Proof, in_order


class RenewTuning(NamedTuple):
    """By judgement."""

    most_needs: int = 24
    """Given up at once."""
    least_rounds: int = 20
    spread: float = 0.5
    """Of the logarithm of prices."""


TUNING = RenewTuning()


def renew(cover: Cover, needs: tuple[Need, ...], rng: np.random.Generator, *, guide: FloatArray | None = None) -> bool:
    """Once for each secondary class on average, unless the time is up; whether it is cheaper now.

    guide: a factor of each class's price, as the bound's point suggests.
    """
    wanted, usual, cost = set(needs), cover.discount, cover.cost
    plain = np.ones(cover.system.size) if guide is None else guide
    for _ in range(max(TUNING.least_rounds, int(np.count_nonzero(cover.suppressed & ~cover.system.free)))):
        secondary = np.flatnonzero(cover.suppressed & ~cover.system.free)
        if not secondary.size or cover.late:
            break
        start = int(rng.choice(secondary))
        given_up = _round(cover, start, wanted, int(rng.integers(2, TUNING.most_needs + 1)))
        cover.discount = (plain if rng.random() < 0.5 else 1.0) * np.exp(TUNING.spread * rng.standard_normal(cover.system.size))
        _meet_anew(cover, given_up, rng)
    cover.discount = usual
    return cover.cost < cost


def _round(cover: Cover, start: int, wanted: set[Need], most: int) -> list[Need]:
    """Needs whose witnesses move this class, then those of classes that these witnesses move, and so on."""
    found: dict[Need, None] = {}
    waiting, seen = [start], {start}
    while waiting and len(found) < most:
        number = waiting.pop(0)
        for need in sorted(cover.users.get(number, ()), key=in_order):
            if need in wanted and need not in found and len(found) < most:
                found[need] = None
                near = [int(each) for each in cover.proofs[need][0] if int(each) not in seen and not cover.system.free[each]]
                seen.update(near)
                waiting += near
    return list(found)


def _meet_anew(cover: Cover, given_up: list[Need], rng: np.random.Generator) -> None:
    """Forget these witnesses and find others; as before where that is dearer."""
    before, cost = cover.suppressed.copy(), cover.cost
    kept: list[tuple[Need, Proof]] = [(need, cover.proofs[need]) for need in given_up]
    for need in given_up:
        cover.suppressed[[each for each in cover.forget(need) if not cover.system.free[each]]] = False
    order = given_up if rng.random() < 0.5 else [given_up[at] for at in rng.permutation(len(given_up))]
    for need in order:
        if need in cover.proofs:
            continue
        cover.meet(need)
        if cover.cost > cost:
            cover.take_back(kept)
            cover.suppressed = before
            return
        cover.tick(cover.proofs[need], tuple(order))
