"""Method `scatter`: the scatter search of S0 section 4 over the groups of Hybrid-With-Swaps, in place of its MILP.

A point says which groups go up; its cost is that of the continuous problem with those senses. S0 describes what its optimiser
did, and Laguna and Marti's book, which it cites, how: a reference set of good and diverse points; pairs of them combined, the
best two up to five times, the worst two once; newcomers admitted by cost and by Euclidean distance from the members; and, when
combining brings no newcomer, the set rebuilt around a small elite with points far from it. How points are improved before they enter
S0 does not say (its optimiser did it unseen): that one pass over the groups, which keeps every turn that pays, is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.fixed_senses import adjust_with_senses
from statveil.protect.search.papers import hybrid_swaps
from statveil.protect.search.papers.hybrid import group_counts
from statveil.protect.search_state import Search


class ScatterTuning(NamedTuple):
    """Sizes of S0's scatter search that it leaves open; all by judgement."""

    most_children: int = 5  # of the best two points
    pool: int = 3  # the first reference set is chosen from this many times as many points
    search_share: float = 0.8  # the rest of a run's time is kept for making its best table whole


TUNING = ScatterTuning()


def run(search: Search, *, groups: int = 16, runs: int = 8, reference: int = 10, rebuilds: int = 2) -> None:
    """The best table over M = groups, groups - 1, ... (`runs` values, S0: 16 to 9), `reference` points in the set.

    With as many groups as cells the search is over single senses. A start given is priced, and seeds the first points by each
    group's majority. All up and all down are always among the points; if no point has a table, the method ends with none.
    """
    if reference < 2 or rebuilds < 0:
        raise InputError("Method 'scatter' needs a reference set of 2 or more and rebuilds of 0 or more.")
    if search.start is not None:
        search.try_senses(search.start)
    for count, seconds in group_counts(search, groups, runs):
        search.enter(f"scatter search over {count} groups")
        until = search.seconds_left - TUNING.search_share * seconds
        group = hybrid_swaps.swapped_groups(search, count, seconds=hybrid_swaps.TUNING.swaps_share * seconds)
        ScatterSearch(search, group, until=until).run(reference, rebuilds)


class ScatterPoint(NamedTuple):
    """Which groups go up, and what that costs (infinite: no table)."""

    up: BoolArray
    cost: float


class ReferenceSet:
    """Points sorted by cost, no two closer than `closest` apart."""

    def __init__(self, size: int, *, closest: float) -> None:
        self.size, self.closest = size, closest
        self.members: list[ScatterPoint] = []

    def consider(self, point: ScatterPoint) -> bool:
        """Admit a point that is cheaper than the dearest member; one too close to members only if it is cheaper than they are."""
        rivals = [member for member in self.members if distance(member.up, point.up) < self.closest]
        if not rivals and len(self.members) >= self.size:
            rivals = [self.members[-1]]
        if any(point.cost >= rival.cost for rival in rivals):
            return False
        kept = [member for member in self.members if not any(member is rival for rival in rivals)]
        self.members = sorted([*kept, point], key=lambda member: member.cost)
        return True

    def add_most_distant(self, pool: list[ScatterPoint]) -> None:
        """Fill up with the points of the pool whose nearest member is farthest away."""
        pool = list(pool)
        while pool and len(self.members) < self.size:
            reach = [min((distance(member.up, point.up) for member in self.members), default=np.inf) for point in pool]
            farthest = int(np.argmax(reach))
            if reach[farthest] < self.closest:
                return
            self.members = sorted([*self.members, pool.pop(farthest)], key=lambda member: member.cost)

    def keep_elite(self, count: int) -> None:
        self.members = self.members[:count]


def distance(one: BoolArray, two: BoolArray) -> float:
    """Euclidean distance of two points with 0/1 elements."""
    return float(np.sqrt(np.count_nonzero(one != two)))


def diverse_points(seed: BoolArray) -> Iterator[BoolArray]:
    """Glover's generator: the seed and its opposite, then every h-th element turned, from each place, each with its opposite."""
    yield seed
    yield ~seed
    for step in range(2, seed.size + 1):
        for first in range(step if step > 2 else 1):
            turned = seed.copy()
            turned[first::step] ^= True
            yield turned
            yield ~turned


def children_of(first: int, second: int, size: int) -> int:
    """How often the members of these ranks (0: the best) are combined: the best two five times, the worst two once."""
    return TUNING.most_children - round((TUNING.most_children - 1) * (first + second - 1) / max(2 * size - 4, 1))


def combine(one: ScatterPoint, two: ScatterPoint, rng: np.random.Generator) -> BoolArray:
    """A convex combination, the cheaper parent with the larger weight, rounded at random: what both agree on stays."""
    if np.isinf(one.cost) and np.isinf(two.cost):
        share = 0.5
    else:
        share = 1.0 if np.isinf(two.cost) else 0.0 if np.isinf(one.cost) else two.cost / (one.cost + two.cost)
    mixture: FloatArray = share * one.up + (1 - share) * two.up
    return np.asarray(rng.random(mixture.size) < mixture)


class ScatterSearch:
    """One scatter search over given groups, until its time is over or nothing new comes."""

    def __init__(self, search: Search, group: IntArray, *, until: float) -> None:
        self.search, self.group, self.until = search, group, until
        problem = search.problem
        self.count = int(group.max(initial=-1)) + 1
        self.choice = problem.choices
        self.rest = problem.all_up()
        self.priced: dict[bytes, float] = {}
        self.combined: set[bytes] = set()
        self.cheapest = ScatterPoint(np.zeros(self.count, dtype=np.bool_), float("inf"))

    @property
    def over(self) -> bool:
        return self.search.done or self.search.seconds_left <= self.until

    def run(self, size: int, rebuilds: int) -> None:
        """S0 section 4 as a list of steps."""
        best = ReferenceSet(size, closest=float(np.sqrt(max(1, self.count // 8))))
        self._found(best, self._priced(islice(diverse_points(self._seed()), TUNING.pool * size)))
        while not self.over:
            if self._combine_all(best):
                continue
            if rebuilds == 0:
                break
            rebuilds -= 1
            self._rebuild(best)
        self._settle()

    def _found(self, best: ReferenceSet, pool: list[ScatterPoint]) -> None:
        """The first set: half by quality, improved; half by distance from those."""
        self._settle()
        pool.sort(key=lambda point: point.cost)
        for point in pool[: best.size // 2]:
            if not self.over:
                best.consider(self.improved(point))
        best.add_most_distant(pool)
        self._settle()

    def _combine_all(self, best: ReferenceSet) -> bool:
        """Combine every pair not combined before, the best first; whether a child was admitted."""
        members = list(best.members)
        admitted = False
        for first, second in sorted(combinations(range(len(members)), 2), key=sum):
            pair = members[first].up.tobytes() + members[second].up.tobytes()
            times = 0 if pair in self.combined else children_of(first, second, len(members))
            for _ in range(times):
                if self.over:
                    return False
                admitted |= self._admit(best, combine(members[first], members[second], self.search.rng))
            self.combined.add(pair)
        self._settle()
        return admitted

    def _admit(self, best: ReferenceSet, up: BoolArray) -> bool:
        """Price a child; improve and admit it if it is new and no dearer than the set."""
        if up.tobytes() in self.priced:
            return False
        child = ScatterPoint(up, self.cost(up, worth=best.members[-1].cost))
        return bool(np.isfinite(child.cost)) and best.consider(self.improved(child))

    def _rebuild(self, best: ReferenceSet) -> None:
        """Keep an elite; fill up with points far from it, made by the generator from the best point in a new order of groups."""
        best.keep_elite(max(1, best.size // 3))
        order = self.search.rng.permutation(self.count)
        seed = best.members[0].up[order] if best.members else self._seed()
        back = np.argsort(order)
        fresh = (up[back] for up in islice(diverse_points(seed), TUNING.pool * best.size))
        best.add_most_distant(self._priced(up for up in fresh if up.tobytes() not in self.priced))

    def _priced(self, ups: Iterator[BoolArray]) -> list[ScatterPoint]:
        points = []
        for up in ups:
            if self.over:
                break
            points.append(ScatterPoint(up, self.cost(up)))
        return points

    def _seed(self) -> BoolArray:
        """All down, or the majority of the start's senses in each group."""
        if self.search.start is None:
            return np.zeros(self.count, dtype=np.bool_)
        return np.bincount(self.group, weights=self.search.start[self.choice], minlength=self.count) > 0

    def improved(self, point: ScatterPoint) -> ScatterPoint:
        """One pass over the groups in random order; a turn that makes the point cheaper is kept."""
        for turn in self.search.rng.permutation(self.count):
            if self.over:
                break
            up = point.up.copy()
            up[turn] ^= True
            cost = self.cost(up, worth=point.cost)
            point = ScatterPoint(up, cost) if cost < point.cost else point
        return point

    def cost(self, up: BoolArray, *, worth: float = np.inf) -> float:
        """The price of a point, each worked out once; infinite if it must be `worth` or more."""
        key = up.tobytes()
        if key not in self.priced:
            cost = price(self.search, self._senses(up), worth=worth)
            if np.isinf(cost) and np.isfinite(worth):
                return cost  # only known to be dear
            self.priced[key] = cost
            self.cheapest = min(self.cheapest, ScatterPoint(up, cost), key=lambda point: point.cost)
        return self.priced[key]

    def _senses(self, up: BoolArray) -> IntArray:
        senses = self.rest.copy()
        senses[self.choice] = np.where(up[self.group], 1, -1)
        return senses

    def _settle(self) -> None:
        """Offer the cheapest point's table. Not done at every point, for making a table whole may take longer than pricing it."""
        if self.cheapest.cost < self.search.objective:
            self.search.try_senses(self._senses(self.cheapest.up))


def price(search: Search, senses: IntArray, *, worth: float) -> float:
    """Least cost with these senses, not yet whole; infinite if there is none or none below `worth`."""
    program, seconds = search.program, max(search.seconds_left, 0.1)
    if search.problem.norm == "l2":
        deviation = adjust_with_senses(program, senses, seconds=seconds, worth=worth)
        return float("inf") if deviation is None else search.problem.cost(deviation)
    solution = program.solve(senses, seconds=seconds, worth=worth)
    cost = float("inf") if solution.x is None else solution.objective * program.unit / program.price
    return cost if cost < worth else float("inf")
