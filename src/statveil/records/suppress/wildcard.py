"""Rule `wildcard`: a blank matches every value (sdcMicro's alpha = 1).

For comparison only: it calls files safe in which many records still show a key that was rare. A record that is blank in every field
matches all others, so that k - 1 such records make any file safe for threshold k; that is the optimum of most files. Blanks only raise
counts here, so the blanks of rule `original` are another start; where its tables leave something unsafe more are added, and then each
blank that is not needed is taken back.

Exactly, as an integer program. What was safe stays safe, so only the combinations that are rare in the original matter, and there are two
ways out of each: nobody shows it (each of its records blanks one of its fields), or enough records from outside blank the fields in which
they differ from it, and so match. Where the tables do not hold all parts of each other, a part that a blank leaves is a combination of its
own. Its columns are the ways to blank a key, too many to list beyond small files. They are generated: the linear program over those at
hand gives prices, and ways that are worth their price enter. The same prices give a bound by Lagrange's relaxation, computed here over all
ways, so that no solver is trusted with it. The integer program over the columns at hand then gives the blanks. All that is left out where
`wildcard_bound` shows at once that nothing cheaper exists than what was found before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags_array, hstack, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InfeasibleProblem
from statveil.core.limits import Ending
from statveil.records.frequencies import cell_index
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.integer_programs import ProgramAnswer, settle_ties, solve_each, solve_linear
from statveil.records.suppress.problem import SuppressionProblem, known_only
from statveil.records.suppress.wildcard_bound import TUNING as BOUND_TUNING
from statveil.records.suppress.wildcard_bound import wildcard_bound
from statveil.solve.model import LinearModel


class WildcardTuning(NamedTuple):
    """Limits of the work that do not depend on the clock, all by judgement."""

    pruning_work: int = 4_000_000_000
    """Blanked rows times rows times tables up to which blanks are taken back."""
    most_looks: int = 30_000_000
    """Keys times ways to blank one times rare combinations; beyond, some are left out (the bound still holds, the blanks may not)."""
    most_entries: int = 300_000
    """Entries up to which the whole program is solved at once."""
    rounds: int = 25
    """Rounds of new columns."""
    new_per_key: int = 4
    """Columns that a key may get in one round."""
    nodes: int = 100
    """Nodes of the search for the cost."""
    tie_nodes: int = 1_000
    """Nodes of the search for the second cost."""


TUNING = WildcardTuning()


def wildcard_totals(problem: SuppressionProblem, codes: IntArray, records: IntArray) -> IntArray:
    """For each table and row, the records that are compatible with it: equal in every field, or blank on either side."""
    tables = problem.coded.tables
    total = np.zeros((len(tables), codes.shape[1]), dtype=np.int64)
    for number, (places, _) in enumerate(tables):
        bits = sum(((codes[place] < 0).astype(np.int64) << order) for order, place in enumerate(places))
        for own in np.unique(bits):
            rows = np.flatnonzero(bits == own)
            for other in np.unique(bits):
                total[number, rows] += _matching(problem, codes, records, places, rows, np.flatnonzero(bits == other), int(own | other))
    return total


def _matching(
    problem: SuppressionProblem, codes: IntArray, records: IntArray, places: tuple[int, ...], rows: IntArray, others: IntArray, blank: int
) -> IntArray:
    """Records of `others` that agree with each row in the fields where neither is blank."""
    compared = [place for order, place in enumerate(places) if not blank >> order & 1]
    if not compared:
        return np.full(rows.size, records[others].sum(), dtype=np.int64)
    levels = [problem.levels[place] for place in compared]
    index, _ = cell_index(np.ascontiguousarray(codes[:, np.concatenate([rows, others])]), problem.maps, compared, levels)
    distinct, inverse = np.unique(index, return_inverse=True)
    inverse = inverse.ravel()
    sums = np.bincount(inverse[rows.size :], weights=records[others], minlength=distinct.size)
    return np.asarray(sums[inverse[: rows.size]].astype(np.int64))


def refuse_small(problem: SuppressionProblem) -> None:
    if problem.coded.records < max(threshold for _, threshold in problem.coded.tables):
        raise InfeasibleProblem(
            "The file has fewer records than the threshold: under rule 'wildcard' no blanks make it safe.", hint="Use rule 'original'."
        )


def blank_altogether(problem: SuppressionProblem) -> tuple[IntArray, IntArray, IntArray]:
    """Rows of (key, mask, records): the cheapest k - 1 records blank in every field, so that each combination is matched k times."""
    coded = problem.coded
    every = known_only(problem, np.arange(coded.size), np.full(coded.size, (1 << len(coded.values)) - 1))
    price = problem.mask_cost(every) * problem.record_mass
    left = max(threshold for _, threshold in coded.tables) - 1
    blanked = np.zeros(coded.size, dtype=np.int64)
    for key in np.lexsort((np.arange(coded.size), price)):
        blanked[key] = min(left, coded.count[key])
        left -= int(blanked[key])
        if not left:
            break
    some, rest = np.flatnonzero(blanked), np.flatnonzero(coded.count > blanked)
    masks = np.concatenate([every[some], np.zeros(rest.size, dtype=np.int64)])
    return np.concatenate([some, rest]), masks, np.concatenate([blanked[some], (coded.count - blanked)[rest]])


def add_until_safe(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray) -> IntArray:
    """Blank more until every row is compatible with enough records in every table."""
    thresholds = np.array([threshold for _, threshold in problem.coded.tables])[:, None]
    while True:
        bad = wildcard_totals(problem, problem.blanked(key, problem.fields_of(units)), records) < thresholds
        rows = np.flatnonzero(bad.any(axis=0))
        if not rows.size:
            return units
        units = units.copy()
        for row in rows:
            units[row] |= _one_more(problem, units[row], bad[:, row])


def _one_more(problem: SuppressionProblem, units: np.int64, bad: BoolArray) -> int:
    """The cheapest blanks that touch an open field of every table that is unsafe for the row."""
    open_masks = problem.table_masks & ~units
    pattern = np.zeros((1, (bad.size + 63) // 64), dtype=np.uint64)
    for table in np.flatnonzero(bad & (open_masks != 0)):
        pattern[0, table // 64] |= np.uint64(1) << np.uint64(table % 64)
    return int(cheapest_covers(pattern, open_masks, problem.unit_cost)[0][0])


def take_back(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray) -> IntArray:
    """Take blanks back one by one, dearest units and rows with most blanks first, as long as every row stays safe."""
    units = units.copy()
    codes = problem.blanked(key, problem.fields_of(units))
    blanked = np.flatnonzero(units)
    if blanked.size * units.size * len(problem.coded.tables) > TUNING.pruning_work:
        return units
    written = problem.written_codes(key)
    total = wildcard_totals(problem, codes, records)
    for unit in (int(each) for each in np.argsort(-problem.unit_cost, kind="stable")):
        rows = [int(row) for row in blanked if units[row] >> unit & 1]
        for row in sorted(rows, key=lambda row: (int(records[row]), -int(units[row]).bit_count(), row)):
            if _open_again(problem, codes, written, records, total, row, int(problem.unit_mask[unit])):
                units[row] &= ~(1 << unit)
                for field in range(codes.shape[0]):
                    if problem.unit_mask[unit] >> field & 1:
                        codes[field, row] = problem.coded.codes[field, key[row]]
    return units


def _open_again(
    problem: SuppressionProblem, codes: IntArray, written: IntArray, records: IntArray, total: IntArray, row: int, fields: int
) -> bool:
    """Show the row's fields again if nobody becomes unsafe by it; `total` is brought up to date then."""
    losses: list[tuple[int, IntArray, int]] = []
    for number, (places, threshold) in enumerate(problem.coded.tables):
        shown = [place for place in places if fields >> place & 1 and codes[place, row] < 0 <= written[place, row]]
        if not shown:
            continue
        match = np.ones(records.size, dtype=np.bool_)
        for place in places:
            if codes[place, row] >= 0:
                match &= (codes[place] < 0) | (written[place] == written[place, row])
        still = match.copy()
        for place in shown:
            still &= (codes[place] < 0) | (written[place] == written[place, row])
        still[row] = True
        lost = np.flatnonzero(match & ~still)
        own = int(records[lost].sum())
        if total[number, row] - own < threshold or (total[number, lost] - records[row] < threshold).any():
            return False
        losses.append((number, lost, own))
    for number, lost, own in losses:
        total[number, lost] -= records[row]
        total[number, row] -= own
    return True


class WildcardBlanks(NamedTuple):
    """Rows of (key, mask of fields, records), the bound proved, whether all rare combinations were looked at, and whether no such rows of
    equal cost have a lower second cost."""

    key: IntArray
    mask: IntArray
    records: IntArray
    bound: float
    complete: bool
    settled: bool = False


class _RareCombination(NamedTuple):
    """A combination that too few records match: shown by records whose blanks in `table` are exactly `blank`."""

    table: int
    blank: int
    members: IntArray
    differ: IntArray
    """For each key, the fields it would have to blank in order to match, as bits; 0 for those that match anyway."""
    lack: int


def wildcard_exactly(problem: SuppressionProblem, *, worth: float, seconds: float) -> WildcardBlanks:
    """The optimum of a small file; of a larger one the best found, if it is less than `worth`, and a bound."""
    coded, deadline = problem.coded, time.monotonic() + seconds
    units = [unit for unit, fields in enumerate(problem.unit_mask) if fields]
    most = TUNING.most_looks // (coded.size * 2 ** min(len(units), 30))
    if len(units) > BOUND_TUNING.most_units or not most:
        return _nothing(problem, wildcard_bound(problem, worth=worth, seconds=seconds))
    codes = problem.written_codes(np.arange(coded.size))
    rare = list(islice(_rare(problem, codes), most + 1))
    return _WildcardProgram(problem, units, rare[:most]).solve(deadline, worth=worth, complete=len(rare) <= most)


def _nothing(problem: SuppressionProblem, bound: float) -> WildcardBlanks:
    keys = np.arange(problem.coded.size)
    return WildcardBlanks(keys, np.zeros_like(keys), problem.coded.count, bound, complete=False)


def _parts(tables: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Table, the part of it that is shown, and the threshold; parts that are tables as strict as this one speak for themselves."""
    known = dict(tables)
    for places, threshold in tables:
        for size in range(1, len(places) + 1):
            for shown in combinations(places, size):
                if shown == places or known.get(shown, 0) < threshold:
                    yield places, shown, threshold


def _rare(problem: SuppressionProblem, codes: IntArray) -> Iterator[_RareCombination]:
    count = problem.coded.count
    for places, shown, threshold in _parts(problem.coded.tables):
        values = codes[list(shown)]
        known = (values >= 0).all(axis=0)
        cells, inverse = np.unique(values[:, known], axis=1, return_inverse=True)
        totals = np.bincount(inverse.ravel(), weights=count[known], minlength=cells.shape[1])
        table, own = (sum(1 << place for place in chosen) for chosen in (places, shown))
        for cell in np.flatnonzero(totals < threshold):
            apart = (values >= 0) & (values != cells[:, cell : cell + 1])
            differ = sum(apart[order].astype(np.int64) << place for order, place in enumerate(shown))
            lack = threshold - int(count[differ == 0].sum())
            if lack > 0:
                members = np.flatnonzero(known)[inverse.ravel() == cell]
                yield _RareCombination(table, table & ~own, members, np.asarray(differ, dtype=np.int64), lack)


class _ColumnsChosen(NamedTuple):
    """A program over some columns, the key and mask of each, and its answer."""

    model: LinearModel
    key: IntArray
    mask: IntArray
    answer: ProgramAnswer


class _WildcardProgram:
    """n[key, mask] records with a mask of blanks; open[rare] says whether anybody shows a rare combination."""

    def __init__(self, problem: SuppressionProblem, units: Sequence[int], rare: Sequence[_RareCombination]) -> None:
        self.problem, self.rare, self.count = problem, rare, problem.coded.count
        chosen = [sum(1 << unit for unit in each) for size in range(len(units) + 1) for each in combinations(units, size)]
        self.masks = problem.fields_of(np.array(chosen, dtype=np.int64))
        self.cost = problem.mask_cost(self.masks) * problem.record_mass[:, None]
        self.table = np.array([each.table for each in rare], dtype=np.int64)
        self.blank = np.array([each.blank for each in rare], dtype=np.int64)
        self.lack = np.array([each.lack for each in rare], dtype=np.float64)
        self.differ = np.stack([each.differ for each in rare], axis=1) if rare else np.zeros((self.count.size, 0), dtype=np.int64)
        self.belongs = np.zeros((self.count.size, len(rare)), dtype=np.bool_)
        for place, each in enumerate(rare):
            self.belongs[each.members, place] = True
        self.member, self.cell = np.nonzero(self.belongs)

    def effect(self, key: int, masks: IntArray) -> tuple[BoolArray, BoolArray]:
        """Which rare combinations a record of the key shows, and which it helps, under each mask."""
        show = self.belongs[key] & (((masks[:, None] | self.problem.missing[key]) & self.table) == self.blank)
        differ = self.differ[key]
        return show, (differ != 0) & ((masks[:, None] & differ) == differ)

    def solve(self, deadline: float, *, worth: float, complete: bool) -> WildcardBlanks:
        """Without a solution better than `worth` there are the rows as they are, not complete, and the bound found so far."""
        if self.count.size * self.masks.size * (1 + self.table.size // 4) <= TUNING.most_entries:
            return self._solve_whole(deadline, worth=worth, complete=complete)
        bound = wildcard_bound(self.problem, worth=worth, seconds=(deadline - time.monotonic()) / 2)
        taken = np.tile((np.bitwise_count(self.masks) <= 1) | (self.masks == self.masks.max()), (self.count.size, 1))
        if bound < worth - 1e-9:
            bound = max(bound, self._raised(self._generate(taken, deadline)))
        if bound >= worth - 1e-9:
            return _nothing(self.problem, worth)
        found = self._chosen(taken, deadline)
        return _nothing(self.problem, bound) if found is None else self._rows(found, bound, complete=complete)

    def _solve_whole(self, deadline: float, *, worth: float, complete: bool) -> WildcardBlanks:
        """All ways to blank a key at once; ties are settled then."""
        found = self._chosen(np.ones((self.count.size, self.masks.size), dtype=np.bool_), deadline)
        bound = 0.0 if found is None else self._raised(found.answer.bound)
        if found is None or found.answer.ending is not Ending.OPTIMAL:
            bound = max(bound, wildcard_bound(self.problem, worth=worth, seconds=deadline - time.monotonic()))
        if found is None:
            return _nothing(self.problem, bound)
        mass = self.problem.record_mass[found.key]
        second = np.concatenate([self.problem.tie_cost(self.problem.units_of(found.mask)) * mass, np.zeros(len(self.rare))])
        left = deadline - time.monotonic()
        answer = settle_ties([found.model], [second], [found.answer], seconds=left, nodes=TUNING.tie_nodes)[0]
        return self._rows(found._replace(answer=answer), bound, complete=complete)

    def _chosen(self, taken: BoolArray, deadline: float) -> _ColumnsChosen | None:
        if time.monotonic() >= deadline:
            return None
        model, key, mask = self.model(taken, whole=True)
        left = deadline - time.monotonic()
        found = solve_each([model], seconds=left, nodes=TUNING.nodes) if left > 0 else None
        return None if found is None else _ColumnsChosen(model, key, mask, found[0])

    def _rows(self, found: _ColumnsChosen, bound: float, *, complete: bool) -> WildcardBlanks:
        numbers = found.answer.numbers[: found.key.size]
        used = np.flatnonzero(numbers)
        return WildcardBlanks(found.key[used], found.mask[used], numbers[used], bound, complete, settled=complete and found.answer.settled)

    def _raised(self, bound: float) -> float:
        """Costs that are whole numbers have a whole optimum."""
        return float(math.ceil(bound - 1e-6)) if np.all(self.cost == np.round(self.cost)) else bound

    def _generate(self, taken: BoolArray, deadline: float) -> float:
        """Take in columns that are worth their price until there are none; the best bound that the prices gave."""
        bound = 0.0
        for _ in range(TUNING.rounds):
            model = self.model(taken, whole=False)[0] if time.monotonic() < deadline else None
            left = deadline - time.monotonic()
            prices = solve_linear(model, seconds=left).prices if model is not None and left > 0 else None
            if prices is None:
                break
            found, worth = self._priced(prices, taken)
            bound = max(bound, found)
            if not worth:
                break
        return bound

    def _priced(self, prices: FloatArray, taken: BoolArray) -> tuple[float, bool]:
        """Lagrange's bound at these prices, over all masks; the cheapest of those not taken are taken. Were there any?"""
        keys, pairs = self.count.size, self.member.size
        closing = np.zeros(self.belongs.shape)
        closing[self.member, self.cell] = np.maximum(-prices[keys : keys + pairs], 0.0)
        helping = np.maximum(prices[keys + pairs :], 0.0)
        opening = self.lack * helping - (closing * self.count[:, None]).sum(axis=0)
        bound, worth = float(np.minimum(opening, 0.0).sum()), False
        for key in range(keys):
            show, help_ = self.effect(key, self.masks)
            reduced = self.cost[key] + show @ closing[key] - help_ @ helping
            bound += float(self.count[key] * reduced.min())
            new = [number for number in np.argsort(reduced)[: TUNING.new_per_key] if not taken[key, number]]
            new = [number for number in new if reduced[number] < reduced[taken[key]].min() - 1e-9]
            taken[key, new] = True
            worth |= bool(new)
        return bound, worth

    def model(self, taken: BoolArray, *, whole: bool) -> tuple[LinearModel, IntArray, IntArray]:
        """The program over the columns taken, and the key and mask of each column."""
        key, number = np.nonzero(taken)
        effects = [self.effect(each, self.masks[taken[each]]) for each in range(self.count.size)]
        columns, cells, keys = key.size, len(self.rare), self.count.size
        show, helped = (_stacked([each[side] for each in effects], cells) for side in (0, 1))
        owner = csr_matrix((np.ones(columns), (key, np.arange(columns))), shape=(keys, columns))
        closed = owner[self.member].multiply(show.T.tocsr()[self.cell])  # a member's columns that show the combination
        shape = (self.member.size, cells)
        opened = csr_matrix((-self.count[self.member].astype(np.float64), (np.arange(shape[0]), self.cell)), shape=shape)
        rare = vstack([hstack([closed, opened]), hstack([helped.T, diags_array(-self.lack)])]) if cells else csr_matrix((0, columns))
        model = LinearModel(
            cost=np.concatenate([self.cost[key, number], np.zeros(cells)]),
            matrix=csr_matrix(vstack([hstack([owner, csr_matrix((keys, cells))]), rare])),
            row_lower=np.concatenate([self.count, np.full(shape[0], -np.inf), np.zeros(cells)]).astype(np.float64),
            row_upper=np.concatenate([self.count, np.zeros(shape[0]), np.full(cells, np.inf)]).astype(np.float64),
            lower=np.zeros(columns + cells),
            upper=np.concatenate([self.count[key], np.ones(cells)]).astype(np.float64),
            whole=np.ones(columns + cells, dtype=np.bool_) if whole else None,
        )
        return model, key, self.masks[number]


def _stacked(parts: Sequence[BoolArray], columns: int) -> csr_matrix:
    """Rows of truth values one below the other."""
    rows = np.concatenate([[0], np.cumsum([len(each) for each in parts])])
    places = [np.nonzero(each) for each in parts]
    row = np.concatenate([each[0] + first for each, first in zip(places, rows[:-1], strict=True)])
    column = np.concatenate([each[1] for each in places])
    return csr_matrix((np.ones(row.size), (row, column)), shape=(int(rows[-1]), columns))
