"""Method `auto`: a pattern by cheapest deviations, one need after the other, then made cheaper (docs/suppression.md).

The support of the cheapest deviation that meets a need is suppressed (Kelly, Golden and Assad 1992), where classes suppressed already cost
next to nothing. The deviation is kept in whole numbers as witness, and ticks off every other need it shows.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import NoTableFound
from statveil.solve.highs import CirculationProgram
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.lower_bound import FlowPart, parts_of
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
    near: tuple[tuple[int, int], ...] = ((3, 1500), (6, 6000))
    """How far round a class a deviation is looked for first, in sums, and how many classes at most; then in all of them."""


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
        self.room = tuple(np.minimum(each.astype(np.float64), far) for each in (self.system.down, self.system.up))
        self.discount = np.ones(self.system.size)
        self.users: dict[int, set[Need]] = {}
        for need, proof in self.proofs.items():
            self._use(need, proof)

    @cached_property
    def program(self) -> CirculationProgram:
        """Of all classes."""
        return CirculationProgram(self.system.relations.astype(np.float64), *self.room)

    @property
    def cost(self) -> int:
        return int(self.system.cost[self.suppressed].sum())

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def take(self, need: Need, proof: Proof) -> None:
        """Keep a witness, and which classes it moves."""
        self.proofs[need] = proof
        self._use(need, proof)

    def _use(self, need: Need, proof: Proof) -> None:
        for number in moved(proof):
            self.users.setdefault(number, set()).add(need)

    def forget(self, need: Need) -> list[int]:
        """Give up a witness; the classes that no other one moves now."""
        idle = []
        for number in moved(self.proofs.pop(need)):
            self.users[number].discard(need)
            if not self.users[number]:
                idle.append(number)
        return idle

    def take_back(self, kept: list[tuple[Need, Proof]]) -> None:
        """These witnesses again, in place of others."""
        for need, proof in kept:
            if need in self.proofs:
                self.forget(need)
            self.take(need, proof)

    def meet(self, need: Need, dearer: IntArray | None = None) -> None:
        """Suppress what the cheapest deviation for this need moves, and tick off what it shows."""
        found = self.cheapest(need, dearer)
        self.suppressed[moved(found)] = True
        self.take(need, found)

    def cheapest(self, need: Need, dearer: IntArray | None = None) -> Proof:
        """The cheapest deviation that meets the need, in whole numbers: near its class if there is one."""
        price = self._prices(need.amount, dearer)
        for hops, most in TUNING.near:
            if most >= self.system.size:
                break
            found = self._near(need, price, hops, most)
            if found is not None:
                return found
        return self._anywhere(need, price)

    def _anywhere(self, need: Need, price: FloatArray) -> Proof:
        flat = np.where(self.suppressed, TUNING.flattest, 1.0)
        still = np.array(need.known, dtype=np.int64)
        for stretch, prices in ((1.0, price), (1.0 + 1e-6, price), (1.0, flat), (1.0 + 1e-6, flat)):
            amount = need.sense * need.amount * stretch
            deviation = self.program.cheapest(need.target, amount, prices, still=still, seconds=TUNING.program_seconds)
            found = None if deviation is None else self.believed(need, np.arange(self.system.size), deviation)
            if found is not None:
                return found
        raise NoTableFound(
            "No pattern was found that protects a sensitive cell to its level, whatever is suppressed; that there is none is not proved.",
            hint="Free frozen cells, widen what is known beforehand, or lower the level.",
        )

    def _near(self, need: Need, price: FloatArray, hops: int, most: int) -> Proof | None:
        """The cheapest deviation of classes near this one; None where there is none, or none that could be shown."""
        near = self.neighbours(need.target, price, hops, most)
        part = self.system.columns[:, near]
        rows, number = np.unique(part.indices, return_inverse=True)
        touched = csc_matrix((part.data.astype(np.float64), number, part.indptr), shape=(rows.size, near.size))
        program = CirculationProgram(touched.tocsr(), self.room[0][near], self.room[1][near])
        at = {int(number): place for place, number in enumerate(near)}
        still = np.array([at[each] for each in need.known if each in at], dtype=np.int64)
        here = price[near] / np.median(price[near])
        deviation = program.cheapest(at[need.target], need.sense * need.amount, here, still=still, seconds=TUNING.program_seconds)
        if deviation is None:
            return None
        return self.believed(need, near, deviation)

    def neighbours(self, target: int, price: FloatArray, hops: int, most: int) -> IntArray:
        """Classes at most so many sums away; where they are too many, the cheapest of the last ones."""
        matrix, columns = self.system.relations, self.system.columns
        inside, frontier = np.zeros(self.system.size, dtype=np.bool_), np.array([target], dtype=np.int64)
        inside[target] = True
        for _ in range(hops):
            rows, beside = np.zeros(matrix.shape[0], dtype=np.bool_), np.zeros(self.system.size, dtype=np.bool_)
            rows[_entries(columns.indptr, columns.indices, frontier)] = True
            beside[_entries(matrix.indptr, matrix.indices, np.flatnonzero(rows))] = True
            frontier = np.flatnonzero(beside & ~inside)
            room = most - int(np.count_nonzero(inside))
            if frontier.size > room:
                frontier = frontier[np.argsort(price[frontier], kind="stable")[:room]]
            inside[frontier] = True
        return np.flatnonzero(inside)

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
                self.take(need, proof)

    def meet_all(self, needs: tuple[Need, ...]) -> None:
        by_target: dict[int, list[Need]] = {}
        for need in needs:
            by_target.setdefault(need.target, []).append(need)
        for need in needs:
            if need not in self.proofs:
                self.meet(need)
                found = self.proofs[need]
                self.tick(found, tuple(each for number in moved(found) for each in by_target.get(number, ())))

    def meet_within(self, needs: tuple[Need, ...]) -> None:
        """Find witnesses among the suppressed classes, as cheap ones as there are; needs without one stay open."""
        for part in parts_of(self.system, np.flatnonzero(self.suppressed), needs):
            rows = csr_matrix(csr_matrix(self.system.columns[:, part.classes])[part.rows])
            program = CirculationProgram(rows.astype(np.float64), self.room[0][part.classes], self.room[1][part.classes])
            for need in part.needs:
                if need not in self.proofs:
                    self._meet_in(part, program, need)

    def _meet_in(self, part: FlowPart, program: CirculationProgram, need: Need) -> None:
        price = self._prices(need.amount, part.classes)[part.classes]
        price = np.where(self.system.free[part.classes], TUNING.next_to_nothing, price / np.median(price))
        at = int(np.flatnonzero(part.classes == need.target)[0])
        still = np.flatnonzero(np.isin(part.classes, need.known))
        deviation = program.cheapest(at, need.sense * need.amount, price, still=still, seconds=TUNING.program_seconds)
        found = None if deviation is None else self.believed(need, part.classes, deviation)
        if found is not None:
            self.take(need, found)
            self.tick(found, tuple(part.needs))

    def believed(self, need: Need, classes: IntArray, deviation: FloatArray) -> Proof | None:
        """The deviation of these classes in whole numbers; None where it shows the need in none."""
        full = np.zeros(self.system.size)
        full[classes] = deviation
        whole = in_whole_numbers(self.system.columns, full)
        good = whole is not None and holds(self.system, np.ones(self.system.size, dtype=np.bool_), need, *whole)
        return whole if good else None

    def drop_unused(self) -> None:
        """Publish what no witness moves."""
        used = self.system.free.copy()
        used[[number for number, needs in self.users.items() if needs]] = True
        self.suppressed = used


def in_order(need: Need) -> tuple[int, int, int, tuple[int, ...]]:
    """Largest first."""
    return -need.amount, need.target, -need.sense, need.known


def moved(proof: Proof) -> list[int]:
    """The classes that a witness moves."""
    return [int(each) for each in proof[0][np.flatnonzero(proof[1])]]


def _entries(ends: AnyArray, indices: AnyArray, chosen: IntArray) -> IntArray:
    """All entries of these rows of a sparse matrix (or columns)."""
    first, count = ends[chosen].astype(np.int64), (ends[chosen + 1] - ends[chosen]).astype(np.int64)
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.asarray(indices[np.repeat(first, count) + step], dtype=np.int64)


def construct(system: ClassSystem, deadline: float, discount: FloatArray | None = None) -> Cover:
    """A safe pattern; the time limit does not end it, because half a pattern is none."""
    cover = Cover(system, deadline)
    if discount is not None:
        cover.discount = discount
    cover.meet_all(system.needs)
    cover.drop_unused()
    return cover


def improve(cover: Cover, needs: tuple[Need, ...], until: float = math.inf) -> None:
    """Make it cheaper until then: give up one class after the other, dearest first, meet its needs anew, and keep what costs less."""
    order = np.flatnonzero(cover.suppressed & ~cover.system.free)
    for number in order[np.lexsort((order, -cover.system.cost[order]))].tolist():
        if cover.late or time.monotonic() > until:
            return
        if cover.suppressed[number]:
            _give_up(cover, number, needs)


def _give_up(cover: Cover, number: int, needs: tuple[Need, ...]) -> None:
    """Publish a class, meet the needs that used it anew; taken back unless it is cheaper."""
    asked = set(needs)
    users = sorted((need for need in cover.users.get(number, ()) if need in asked), key=in_order)
    before, kept, cost = cover.suppressed.copy(), [(need, cover.proofs[need]) for need in users], cover.cost
    for need in users:
        cover.suppressed[[each for each in cover.forget(need) if not cover.system.free[each]]] = False
    cover.suppressed[number] = False
    for need in users:
        if need in cover.proofs:
            continue
        cover.meet(need, np.array([number]))
        if cover.cost >= cost or cover.suppressed[number]:
            cover.take_back(kept)
            cover.suppressed = before
            return
        cover.tick(cover.proofs[need], tuple(users))
