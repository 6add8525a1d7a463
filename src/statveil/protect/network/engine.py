"""Method `network`: tables that are networks, up to millions of cells (docs/science.md, sections 3 to 5).

A first table in seconds; a lower bound by one more flow, raised by polygons where it is far; then, until the time or the gap is
reached: senses annealed per subtable from seed after seed, each priced by one flow, every subtable keeping the senses that were
cheapest in it (recombination); and exact flips where subtables are still far from their bound.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.protect.network import anneal
from statveil.protect.network.bounds import TUNING as BOUND_TUNING
from statveil.protect.network.bounds.lower_bound import LowerBound
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.network.detect import Network, detect, in_lowest_terms
from statveil.protect.network.exact_flips import cool_squares, flips_of, groups_of, polish
from statveil.protect.network.flow import COST_BITS, LARGEST_PENALTY, FlowProgram, soft_bounds, whole_costs
from statveil.protect.network.squares import SensesProgram, SquaresProgram
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search

ROLES = ("all", "tables", "bound")


class NetworkTuning(NamedTuple):
    """What steers method `network`: by judgement, but where results are named (benchmarks/RESULTS.md)."""

    quick: int = 5  # sweeps of the annealing that follows greedy balance: "Senses by greedy balance and five cool sweeps" there
    quick_heat: float = 0.03  # its first temperature: with it, five sweeps are as good as twenty from chance
    sweeps: int = 800  # visits of each cell in an annealing
    early_flips: int = 20_000  # choices up to which exact flips are tried before many seeds have been
    descent: tuple[float, ...] = (0.0,)  # temperatures of exact flips, in shares of a typical level's cost
    cooling: tuple[float, ...] = (0.3, 0.1, 0.03, 0.0)  # the same, after a descent
    exact_sweeps: int = 60  # visits of each cell in exact annealing
    coarse_sweeps: int = 100  # the same in the coarse table
    cooling_steps: int = 20
    moves_at_once: int = 100  # moves between two looks at the clock
    heats: tuple[float, ...] = (1.0, 1.0, 0.1)
    """First temperatures of annealing in turn: twice from chance, with either energy, then from the best so far."""
    last_share: float = 0.8  # of the time left, what a last annealing may take so that its senses are still priced
    patience: int = 4  # rounds in a row that bring nothing and are the last
    coarse_share: float = 0.2  # of all the time, for annealing the coarse table where totals are sensitive
    exact_share: float = 0.7  # of all the time, for each exact annealing of all senses
    seeds: int = 12  # annealings a round
    seeds_under_totals: int = 3  # where the totals' senses are settled: exact annealing brings more than many seeds
    work_a_second: float = 1e8  # nodes and arcs that the pivots of exact annealing look at in a second
    sizes_share: float = 0.2  # of the time left, for a search in absolute changes where squares are to be least


TUNING = NetworkTuning()


def run(search: Search, *, sweeps: int = TUNING.sweeps, seeds: int = 0, role: str = "all") -> None:
    """Method `network`. `seeds` annealings of so many `sweeps` are recombined in each round; it ends when rounds bring nothing.

    With zero seeds there are as many as suit the table. Where totals are sensitive the bound takes long: one process can look for
    `tables` while another raises the `bound`. Where a gap is asked for, tables and bound stay together, since when to stop must not
    depend on which process was quicker.
    """
    search = in_lowest_terms(search)
    network = detect(search.problem)
    if isinstance(network, str):
        raise InputError(f"Method 'network' needs a table that is a network. {network}", hint="Use method 'auto'.")
    engine = NetworkSearch(search, network)
    engine.first_table()
    if search.best is not None:
        with contextlib.suppress(InputError):  # numbers that grow too large for exact computing end the search: what was found stands
            engine.bound.by_cover()
            if role == "bound":
                engine.bound.raise_further(share=1.0)
            else:
                bounded = role == "tables" and search.limits.gap == 0
                engine.improve(sweeps, seeds or (TUNING.seeds_under_totals if engine.mixed else TUNING.seeds), bounded=bounded)


def bound_takes_long(problem: ProtectionProblem) -> bool:
    """Whether the bound of a table that fits is worth a process of its own: it has sensitive totals, and not too many cells."""
    if problem.norm != "l1" or problem.size > BOUND_TUNING.most_for_cases:
        return False
    network = detect(problem)
    return isinstance(network, Network) and bool((problem.sensitive & Coarsening(problem, network).totals).any())


def fits(problem: ProtectionProblem) -> bool:
    """Whether the problem is a network, and exact computing is safe."""
    if (problem.rhs.size + 1) << COST_BITS >= LARGEST_PENALTY:
        return False
    try:
        whole_costs(problem.weight)
        soft_bounds(*problem.free)
    except InputError:
        return False
    return isinstance(detect(problem), Network)


class NetworkSearch:
    """What the stages share: the flow, the best senses, what each subtable costs with them, and the bound."""

    def __init__(self, search: Search, network: Network) -> None:
        self.search, self.problem, self.network = search, search.problem, network
        self.program = FlowProgram(search.problem, network)
        self.pricing: SensesProgram = self.program if search.problem.norm == "l1" else SquaresProgram(self.program)
        self.open = search.problem.choices
        self.senses = search.problem.all_up() if search.start is None else search.start.copy()
        self.costs: FloatArray | None = None
        even = bool(np.ptp(self.problem.weight) < 1e-9 * self.problem.weight.max(initial=1.0))
        self.kinds = (anneal.MATCHED, anneal.LARGER) if even else (anneal.SUM, anneal.LARGER)
        self.coarse = Coarsening(search.problem, network)
        self.bound = LowerBound(search, network, self.coarse)
        self.choices = anneal.choices_of(search.problem, network, ~self.coarse.totals)
        self.mixed = self.bound.mixed
        self.pace = 0.0
        """Seconds that the visit of one cell took in the annealing before."""
        self.margins: IntArray | None = None
        """Where totals are sensitive: how far the totals of inner rows go in the coarse table, then in the best one."""
        self.table_of = self.bound.table_of

    # --- first table

    def first_table(self) -> None:
        """A table with all cells up in proportion; then balanced senses, or all up; where no flow keeps the bounds, flips until one does.

        Where totals are sensitive all up comes first: its flow is found soon, and the other goes on from its tree several times quicker.
        """
        self.search.enter("first table")
        self.search.offer(self.program.grown(self.problem.all_up()))
        given = [] if self.search.start is None else [self.search.start]
        tried = [self.balanced(), self.problem.all_up()]
        found = [*given, *(tried[::-1] if self.mixed else tried)]
        for senses in found:
            if self.price(senses) and not self.mixed:
                return
        if self.search.best is not None:
            return
        for senses in found:
            if self.repair(senses):
                return

    def repair(self, senses: IntArray) -> bool:
        """Descend by flips, the flow paying a penalty for each unit outside its bounds, until it pays none."""
        flips, rest, senses = flips_of(self.program, self.open), np.zeros(2), senses.copy()
        self.program.solve(senses)
        for _ in range(20):
            before = self.program.flow.outside
            for _ in range(0, 4 * self.open.size, TUNING.moves_at_once):
                if self.search.seconds_left > 0 and self.program.flow.outside > 0:
                    polish(self.program, flips, senses, steps=TUNING.moves_at_once, temperature=rest, seed=self.draw())
            if self.program.flow.outside in (0, before):
                break
        return self.price(senses)

    # --- pricing

    def price(self, senses: IntArray) -> bool:
        """One flow for these senses; the best are kept, with their cost in each subtable. Tells whether there is a table."""
        deviation = self.pricing.solve(senses)
        if deviation is None:
            return False
        self.last_costs = self.costs_of(deviation)
        if self.search.offer(deviation) or self.costs is None:
            self.senses, self.costs = senses.copy(), self.last_costs
        return True

    def costs_of(self, deviation: IntArray) -> FloatArray:
        """Cost per subtable; a cell between two counts half in each, the ground's nowhere."""
        network = self.network
        size = np.abs(deviation).astype(np.float64)
        cost = self.problem.weight * (size if self.problem.norm == "l1" else size * size)
        tables = int(network.subtable.max(initial=-1)) + 2
        halves = [np.bincount(network.subtable[ends] + 1, weights=cost, minlength=tables)[1:] for ends in (network.tail, network.head)]
        return np.asarray(halves[0] + halves[1]) / 2

    def draw(self) -> int:
        return int(self.search.rng.integers(2**31))

    # --- totals first

    def settle_totals(self) -> None:
        """Senses of sensitive totals by exact annealing of the coarse table; then those inside subtables, given what totals pass on."""
        if self.search.done or self.problem.norm != "l1":
            return
        program, cheapest = self.coarse.program(), np.inf
        coarse, totals, kept = program.problem, np.flatnonzero(self.coarse.totals), self.senses.copy()
        choices = coarse.choices
        if choices.size == 0:
            return
        for senses in self.cooled(program, choices, coarse.all_up(), TUNING.coarse_sweeps, share=TUNING.coarse_share):
            if program.flow.outside == 0 and program.value < cheapest:
                cheapest = program.value
                self.senses[totals] = senses[: totals.size]
                self.margins = np.zeros(self.problem.size, dtype=np.int64)
                self.margins[totals] = program.flow.flow[: totals.size]
        found, self.senses = self.annealed(self.kinds[0], TUNING.sweeps), kept
        self.price(found)

    # --- annealing and recombination

    def balanced(self) -> IntArray:
        """Senses by greedy balance inside the subtables, annealed for a moment."""
        choices, senses = self.choices, self.senses.copy()
        resting = self.resting(senses)
        resting[choices.cell] = 0
        up = anneal.greedy_balance(choices, anneal.imbalance(self.network, choices, resting), self.draw())
        senses[choices.cell] = np.where(up > 0, 1, -1)
        return self.annealed(self.kinds[0], TUNING.quick, TUNING.quick_heat, start=senses)

    def annealed(self, kind: int, sweeps: int, heat: float = 1.0, start: IntArray | None = None) -> IntArray:
        """Senses annealed inside the subtables that are far from the bound, from chance or (with less heat) from the start or the best."""
        choices, senses = self.choices, (self.senses if start is None else start).copy()
        if choices.cell.size == 0:
            return senses
        far = self.bound.far()
        chance = self.search.rng.integers(0, 2, size=choices.cell.size)
        up = np.where(far[self.table_of[choices.cell]] & (heat == 1.0), chance, senses[choices.cell] > 0)
        senses[choices.cell] = np.where(up > 0, 1, -1)
        lacks = anneal.imbalance(self.network, choices, self.resting(senses))
        cells = max(int(far[self.table_of[choices.cell]].sum()), 1)
        sweeps, began = self.fitting(sweeps, cells), time.monotonic()
        up = anneal.anneal(choices, up, lacks, far[:-1], anneal.AnnealingPlan(kind, sweeps, heat, self.draw()))
        self.pace = (time.monotonic() - began) / (sweeps * cells)
        senses[choices.cell] = np.where(up > 0, 1, -1)
        return senses

    def fitting(self, sweeps: int, cells: int) -> int:
        """So many sweeps, or, for the last annealing before the time is up, as many as it still holds: one cut off is all lost."""
        held = TUNING.last_share * self.search.seconds_left / (self.pace * cells) if self.pace > 0 else math.inf
        return sweeps if held >= sweeps else max(int(held), TUNING.quick)

    def resting(self, senses: IntArray) -> IntArray:
        """Every sensitive cell at its level, but where totals of inner rows are sensitive all those where the margins are."""
        problem = self.problem
        level = np.where(senses > 0, problem.up.low, np.where(senses < 0, problem.down.high, 0))
        return level if self.margins is None else np.where(self.coarse.totals, self.margins, level)

    def recombine(self, senses: IntArray) -> None:
        """Price new senses, then the mixture in which every subtable keeps the cheaper of the best and the new."""
        best, costs = self.senses, self.costs
        if costs is None or not self.price(senses):
            return
        better = np.append(self.last_costs < costs, False)[self.table_of]
        if better[self.open].any() and not better[self.open].all():
            self.price(np.where(better, senses, best))

    def improve(self, sweeps: int, seeds: int, *, bounded: bool = False) -> None:
        """Rounds of seeds, polygons and flips. One that brings nothing is followed by a more thorough one, a few times.

        `bounded`: the bound under sensitive totals is raised elsewhere.
        """
        idle = 0
        if self.problem.norm == "l2":
            self.start_by_sizes(sweeps, seeds)
            self.flip_squares()
        if self.mixed:
            self.settle_totals()
            if not bounded:
                self.bound.raise_further()
        while not self.search.done and idle < TUNING.patience:
            before = self.search.objective
            for number in range(seeds):
                if self.search.done or self.choices.cell.size == 0:
                    break
                self.search.enter(f"balancing subtables, seed {number + 1}")
                self.recombine(self.annealed(self.kinds[number % 2], sweeps, TUNING.heats[number % 3]))
                if number == 1 and not self.mixed:
                    self.flip(TUNING.descent if self.open.size <= TUNING.early_flips else ())
                    self.bound.raise_further()
            if self.problem.norm == "l2":
                self.flip_squares()
            elif self.mixed:
                self.cool(self.open, TUNING.exact_sweeps)
            else:
                self.flip(TUNING.descent)
                self.flip(TUNING.cooling)
            idle = 0 if self.search.objective < before else idle + 1
            sweeps *= 2 if idle else 1

    # --- least squares

    def start_by_sizes(self, sweeps: int, seeds: int) -> None:
        """The senses that a short search in absolute changes ends with."""
        if self.search.done:
            return
        self.search.enter("senses by absolute changes")
        limits = Limits(seconds=max(TUNING.sizes_share * self.search.seconds_left, 0.01))
        other = NetworkSearch(Search(dataclasses.replace(self.problem, norm="l1"), limits, self.draw(), lambda _: None), self.network)
        other.first_table()
        if other.search.best is not None:
            other.bound.by_cover()
            other.improve(sweeps, seeds)
            self.price(other.senses)

    def flip_squares(self) -> None:
        """Exact flips in least squares, those of sensitive totals first."""
        if self.search.done:
            return
        self.search.enter(f"annealing {self.open.size:,} senses")
        groups = groups_of(self.open, self.coarse.totals)
        for senses in cool_squares(self.pricing, self.senses, groups, self.search.rng, ended=lambda: self.search.done):
            self.price(senses)

    # --- exact flips

    def flip(self, shares: tuple[float, ...]) -> None:
        """Exact flips of the cells in subtables that are still far from the bound."""
        search = self.search
        cells = self.open[self.bound.far()[self.table_of[self.open]]]
        if cells.size == 0 or search.done or search.best is None or self.problem.norm != "l1":
            return
        search.enter("flipping senses")
        flips = flips_of(self.program, cells)
        senses = self.senses.copy()
        self.program.solve(senses)
        typical = float(np.median(self.problem.weight[cells] * (self.problem.up.low - self.problem.down.high)[cells]))
        for share in shares:
            for part in range(0, 3 * cells.size, TUNING.moves_at_once):
                if search.seconds_left <= 0:
                    break
                count = min(TUNING.moves_at_once, 3 * cells.size - part)
                polish(self.program, flips, senses, steps=count, temperature=np.full(2, share * typical), seed=self.draw())
            if self.program.flow.outside == 0 and self.program.value < search.objective * (1 - 1e-9):
                self.price(senses)

    def cool(self, cells: IntArray, sweeps: int) -> None:
        """Exact annealing of these senses from the best table on, where totals are sensitive too: large levels settle first."""
        if self.search.done or cells.size == 0 or self.problem.norm != "l1":
            return
        for senses in self.cooled(self.program, cells, self.senses, sweeps, TUNING.exact_share):
            if self.program.flow.outside == 0 and self.program.value < self.search.objective * (1 - 1e-9):
                self.price(senses)

    def cooled(self, program: FlowProgram, cells: IntArray, start: IntArray, sweeps: int, share: float) -> Iterator[IntArray]:
        """The senses at the end of each temperature of exact annealing, until it is cold.

        What does not fit into this share of all the time is left out at each temperature alike. It is counted in work, not by the
        clock, so that a run which ends by its gap repeats; only near the end of the time the clock cuts in.
        """
        search = self.search
        search.enter(f"annealing {cells.size:,} senses")
        flips, senses = flips_of(program, cells), start.copy()
        program.solve(senses)
        costs = program.problem.weight[cells] * (program.problem.up.low - program.problem.down.high)[cells]
        ladder = np.geomspace(0.3 * np.quantile(costs, 0.9), 0.02 * np.median(costs), TUNING.cooling_steps + 1)
        steps, pairs = sweeps * cells.size // TUNING.cooling_steps, [*pairwise(ladder), (0.0, 0.0), (0.0, 0.0)]
        end = work_of(program) + share * rounded_time(search.limits.seconds) * TUNING.work_a_second
        for left, pair in zip(range(len(pairs), 0, -1), pairs, strict=True):  # the cold ones have their share too
            enough = work_of(program) + max(end - work_of(program), 0.0) / left
            late = search.seconds_left * (1 - 1 / left)
            for part in range(0, steps, TUNING.moves_at_once):
                if work_of(program) >= enough or search.seconds_left <= late:
                    break
                count = min(TUNING.moves_at_once, steps - part)
                polish(program, flips, senses, steps=count, temperature=np.array(pair), seed=self.draw())
            yield senses


def work_of(program: FlowProgram) -> int:
    """Nodes moved and arcs looked at so far."""
    return int(program.flow.tree.counter[1] + program.flow.tree.counter[2])


def rounded_time(seconds: float) -> float:
    """The time as a power of 1.25: what is left for a search differs a little from run to run, and the work given must not."""
    return float(1.25 ** math.floor(math.log(max(seconds, 1e-3), 1.25)))
