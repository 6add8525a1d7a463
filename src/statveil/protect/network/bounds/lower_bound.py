"""The lower bound of a network, and how far each subtable is from it (docs/science.md, section 5): the cover as one more flow, polygons
where that is far, capacities where those bind, and the coarse table's where totals are sensitive.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.network.bounds import TUNING
from statveil.protect.network.bounds.capacity_bound import CapacityProgram, CoarseBound
from statveil.protect.network.bounds.cover_bound import cover_multipliers, dual_bound, shortages
from statveil.protect.network.bounds.polygon_bound import PolygonBlocks, chosen_cuts, joined_cuts
from statveil.protect.network.bounds.sense_tree import SenseTree
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.network.detect import Network
from statveil.protect.search_state import DualMultipliers, Search


class LowerBound:
    """The multipliers that prove the bound of a search, raised from stage to stage."""

    def __init__(self, search: Search, network: Network, coarse: Coarsening) -> None:
        self.search, self.problem, self.network, self.coarse = search, search.problem, network, coarse
        self.mixed = bool((self.problem.sensitive & coarse.totals).any())
        self.table_of = np.maximum(network.subtable[network.tail], network.subtable[network.head])
        self.shortage = shortages(search.problem)
        self.blocks: PolygonBlocks | None = None
        self.knows_capacities = False

    def by_cover(self) -> None:
        self.search.enter("lower bound")
        if self.problem.norm != "l1":
            bound_by_cuts(self.search)
        else:
            multipliers = cover_multipliers(self.problem, self.network, self.shortage)
            self.blocks = PolygonBlocks(self.problem, self.shortage, multipliers, worth=self.search.objective)
            self.tell_bound()

    def tell_bound(self) -> None:
        assert self.blocks is not None
        self.offer_bound(self.blocks.multipliers)

    def offer_bound(self, multipliers: DualMultipliers) -> None:
        bound = dual_bound(self.problem, multipliers, self.shortage, worth=self.search.objective)
        self.search.offer_bound(bound, multipliers)

    def raise_further(self, share: float = 0.5) -> None:
        """Polygons, then capacities if the bound is still far; where totals are sensitive, their relations and the coarse table first.

        The program with capacities may take this share of the time.
        """
        if not self.mixed:
            self.by_polygons()
            if self._worth_a_program():
                self.by_capacities(share)
        elif self.blocks is not None and not self.search.done:
            self.by_cases(share)

    def _worth_a_program(self) -> bool:
        """Whether a program of the whole table may bring much, and can be had."""
        far = self.search.objective > self.search.bound * (1 + TUNING.far_large)
        return (
            far and not (self.knows_capacities or self.search.done or self.blocks is None) and self.problem.size <= TUNING.most_for_capacity
        )

    def by_cases(self, share: float) -> None:
        """The coarse table's bound, then cases of senses: of all in a small table, whose program is quick, else of the totals'. Where those
        bring little at first, as with weights that fall with values, the program with capacities brings more.
        """
        assert self.blocks is not None, "it begins with known cuts"
        search, small = self.search, self.problem.size <= TUNING.whole_block
        search.enter("bounding with totals")
        bound = CoarseBound(self.coarse, self.shortage)
        if small:  # beyond, the coarse table has the same cuts where they matter
            self.blocks.raise_block(np.arange(self.problem.rhs.size), self.likely(), seconds=search.seconds_left / 8)
            self.tell_bound()
        multipliers = bound.multipliers(seconds=search.seconds_left / 2)
        if multipliers is not None:
            self.offer_bound(multipliers)
        cases = self.by_capacities(share / 2, bound).by_cases() if small else bound.by_cases()
        if search.done:
            return
        search.enter("bounding by cases")
        tree = SenseTree(search, cases, self.shortage)
        if not small and self.problem.size <= TUNING.most_for_capacity:
            tree.run(seconds=TUNING.first_cases * share * search.seconds_left)
            if not tree.pays and not search.done:
                self.by_capacities(share, bound)
        tree.run(seconds=share * search.seconds_left)

    def by_capacities(self, share: float = 0.5, coarse: CoarseBound | None = None) -> CapacityProgram:
        """The polygon program that keeps relations and bounds as well, with the cuts known; for relations of totals, the coarse table's."""
        assert self.blocks is not None, "it begins with known cuts"
        self.knows_capacities = True  # another time would bring the same
        self.search.enter("bounding with capacities")
        cuts = self.blocks.multipliers
        if coarse is not None:
            cuts = joined_cuts(coarse.all_cuts, chosen_cuts(cuts, ~np.isin(cuts.cut_relation, coarse.relations)))
        program = CapacityProgram(self.problem, self.network.relation[:-1], self.shortage, cuts)
        self.offer_bounds(program.rounds(seconds=share * self.search.seconds_left))
        return program

    def offer_bounds(self, rounds: Iterable[DualMultipliers]) -> None:
        for multipliers in rounds:
            self.offer_bound(multipliers)
            if self.search.done:
                return

    def by_polygons(self) -> None:
        """Polygons: the table as a whole if it is small, else the subtables with the widest gaps, and then with their neighbours."""
        search, blocks = self.search, self.blocks
        enough = TUNING.far_small if self.problem.size <= TUNING.whole_block else TUNING.far_large
        if blocks is None or search.objective <= search.bound * (1 + enough) or search.done:
            return
        search.enter("raising the bound")
        likely = self.likely()
        if self.problem.size <= TUNING.whole_block:
            blocks.raise_block(np.arange(self.problem.rhs.size), likely, seconds=search.seconds_left / 2)
            self.tell_bound()
            return
        for table in np.flatnonzero(self.far()):
            if search.seconds_left <= 0:
                return
            blocks.raise_block(self.relations_of(np.array([table])), likely, seconds=search.seconds_left)
        self.tell_bound()
        blocks.raise_block(self.relations_of(self.around(np.flatnonzero(self.far()))), likely, seconds=search.seconds_left / 2)
        self.tell_bound()

    def likely(self) -> BoolArray:
        """Cells that may be above their least size in a cheap table: those of the best one, sensitive ones, and those between subtables."""
        network, best = self.network, self.search.best
        between = network.subtable[network.tail] != network.subtable[network.head]
        return np.asarray(self.problem.sensitive | between | ((best != 0) if best is not None else True))

    def around(self, tables: IntArray) -> IntArray:
        """These subtables and those above and below them."""
        network = self.network
        first, second = network.subtable[network.tail], network.subtable[network.head]
        between = (first != second) & (first >= 0) & (second >= 0)
        among = np.isin(np.arange(network.subtable.max(initial=0) + 1), tables)
        return np.unique(np.concatenate([tables, second[between & among[first]], first[between & among[second]]]))

    def relations_of(self, tables: IntArray) -> IntArray:
        network = self.network
        return np.sort(network.relation[np.isin(network.subtable, tables) & (network.relation >= 0)])

    def far(self) -> BoolArray:
        """Subtables that carry more than a negligible part of the gap; all where nothing is known. The last entry is the ground's."""
        tables = int(self.network.subtable.max(initial=-1)) + 1
        if self.blocks is None or self.search.best is None:
            return np.append(np.ones(tables, dtype=np.bool_), False)
        gap = self.gap_by_table()
        return np.append(gap > TUNING.negligible * gap.sum() / max(tables, 1), False)

    def gap_by_table(self) -> FloatArray:
        assert self.blocks is not None, "gaps are known once there is a bound"
        assert self.search.best is not None, "and a table"
        by_cell, by_relation = self.blocks.gap_at(np.abs(self.search.best).astype(np.float64))
        network = self.network
        tables = int(network.subtable.max(initial=-1)) + 1
        inner = network.relation >= 0
        gap = np.bincount(network.subtable[inner], weights=by_relation[network.relation[inner]], minlength=tables)
        return np.asarray(gap + np.bincount(np.maximum(self.table_of, 0), weights=by_cell, minlength=tables))
