"""Method `auto`: a pattern by cheapest deviations, one need after the other, then made cheaper (docs/suppression.md).

The support of the cheapest deviation that meets a need is suppressed (Kelly, Golden and Assad 1992), where classes suppressed already cost
next to nothing. The deviation is kept in whole numbers as witness, and ticks off every other need it shows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import NoTableFound
from statveil.solve.highs import CirculationProgram
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.witnesses import holds, in_whole_numbers, shown_by

Proof = tuple[IntArray, AnyArray]


class HeuristicTuning(NamedTuple):
    """By judgement."""

    next_to_nothing: float = 1e-7
    """The price of a class that is suppressed already, beside the least other one."""
    widest: float = 1e5
    """Prices lie within this factor of their median either way: a solver that computes in doubles loses its way beyond."""
    flattest: float = 1e-6
    """The same where all other prices are one: the last resort."""
    largest: float = 2.0**53
    program_seconds: float = 60.0


TUNING = HeuristicTuning()


@dataclass
class Cover:
    """A pattern in the making: suppressed classes, and the witness of each need met so far."""

    system: ClassSystem
    deadline: float
    suppressed: BoolArray = field(init=False)
    proofs: dict[Need, Proof] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.suppressed = self.system.free.copy()
        far = TUNING.largest
        down, up = (np.minimum(each.astype(np.float64), far) for each in (self.system.down, self.system.up))
        self.program = CirculationProgram(self.system.relations.astype(np.float64), down, up)
        self.discount = np.ones(self.system.size)

    @property
    def cost(self) -> int:
        return int(self.system.cost[self.suppressed].sum())

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def meet(self, need: Need, dearer: IntArray | None = None) -> None:
        """Suppress what the cheapest deviation for this need moves, and tick off what it shows."""
        found = self.cheapest(need, dearer)
        self.suppressed[found[0][np.flatnonzero(found[1])]] = True
        self.proofs[need] = found

    def cheapest(self, need: Need, dearer: IntArray | None = None) -> Proof:
        """The cheapest deviation that meets the need, in whole numbers."""
        price = self._prices(need.amount, dearer)
        flat = np.where(self.suppressed, TUNING.flattest, 1.0)
        still = np.array(need.known, dtype=np.int64)
        for stretch, prices in ((1.0, price), (1.0 + 1e-6, price), (1.0, flat), (1.0 + 1e-6, flat)):
            amount = need.sense * need.amount * stretch
            deviation = self.program.cheapest(need.target, amount, prices, still=still, seconds=TUNING.program_seconds)
            whole = None if deviation is None else in_whole_numbers(self.system.columns, deviation)
            if whole is not None and holds(self.system, np.ones(self.system.size, dtype=np.bool_), need, *whole):
                return whole
        raise NoTableFound(
            "No pattern was found that protects a sensitive cell to its level, whatever is suppressed; that there is none is not proved.",
            hint="Free frozen cells, widen what is known beforehand, or lower the level.",
        )

    def _prices(self, amount: int, dearer: IntArray | None) -> FloatArray:
        """Cost per unit of deviation: the whole cost where the need or all of the class is moved."""
        system = self.system
        most = np.maximum(np.minimum(np.minimum(np.maximum(system.down, 1), np.maximum(system.up, 1)), amount), 1)
        price = np.maximum(system.cost * self.discount, 1.0) / most
        if dearer is not None:
            price[dearer] = np.maximum(system.cost[dearer], 1) / most[dearer]
        price = np.clip(price / np.median(price), 1 / TUNING.widest, TUNING.widest)
        taken = self.suppressed.copy()
        if dearer is not None:
            taken[dearer] = False
        price[taken] = TUNING.next_to_nothing * price.min(initial=1.0)
        return np.asarray(price)

    def tick(self, proof: Proof, needs: tuple[Need, ...]) -> None:
        """Note every open need that this witness shows too."""
        support, move = proof
        reach = shown_by(self.system, support, move)
        place = {int(each): at for at, each in enumerate(support)}
        for need in needs:
            at = place.get(need.target)
            if need in self.proofs or at is None or any(each in place and move[place[each]] for each in need.known):
                continue
            if reach[0 if need.sense > 0 else 1, at] >= need.amount:
                self.proofs[need] = proof

    def meet_all(self, needs: tuple[Need, ...]) -> None:
        for need in needs:
            if need not in self.proofs:
                self.meet(need)
                self.tick(self.proofs[need], needs)

    def drop_unused(self) -> None:
        """Publish what no witness moves."""
        used = self.system.free.copy()
        for support, move in self.proofs.values():
            used[support[np.flatnonzero(move)]] = True
        self.suppressed = used


def construct(system: ClassSystem, deadline: float, discount: FloatArray | None = None) -> Cover:
    """A safe pattern; the time limit does not end it, because half a pattern is none."""
    cover = Cover(system, deadline)
    if discount is not None:
        cover.discount = discount
    cover.meet_all(system.needs)
    cover.drop_unused()
    return cover


def improve(cover: Cover, needs: tuple[Need, ...]) -> None:
    """Make it cheaper: give up one class after the other, dearest first, meet its needs anew, and keep what costs less."""
    order = np.flatnonzero(cover.suppressed & ~cover.system.free)
    for number in order[np.lexsort((order, -cover.system.cost[order]))].tolist():
        if cover.late:
            return
        if cover.suppressed[number]:
            _give_up(cover, number, needs)


def _give_up(cover: Cover, number: int, needs: tuple[Need, ...]) -> None:
    users = [need for need in needs if need in cover.proofs and _moves(cover.proofs[need], number)]
    before, kept, cost = cover.suppressed.copy(), dict(cover.proofs), cover.cost
    cover.suppressed[number] = False
    for need in users:
        del cover.proofs[need]
    for need in users:
        if need in cover.proofs:
            continue
        cover.meet(need, np.array([number]))
        if cover.cost >= cost or cover.suppressed[number]:
            cover.suppressed, cover.proofs = before, kept
            return
        cover.tick(cover.proofs[need], tuple(users))
    cover.drop_unused()


def _moves(proof: Proof, number: int) -> bool:
    place = np.flatnonzero(proof[0] == number)
    return bool(place.size and proof[1][place[0]])
