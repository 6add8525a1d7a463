"""What risk models need beyond patterns of unsafe combinations: households as a whole, and blanks taken back.

Household risk: the members of a household choose their blanks together, so that its risk keeps the limit. It is one less the product of
(1 - risk) over the members (Benedetti and Franconi, 1998), so that the losses -log(1 - risk) add up. A member's risk is the largest of
the combinations that it still shows, counted in the original file. With the household's shared blanks given, each member has a front of
blanks: cheaper or less risky than all others; fronts are added member by member, and what another sum beats in both is dropped. Only
households that their own cheapest blanks leave too risky are looked at. The answer is the optimum.

Under `recount` the growing program counts what combinations hold, not records alone: where it leaves one that breaks a model, a cut enters
that every combination which obeys the model respects. Where the program does not come to its end, blanks are added in rounds as without
models; some are needless afterwards and are taken back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.records.frequencies import Words
from statveil.records.models import SLACK, HouseholdRisk, IndividualRisk, ModelJudge
from statveil.records.suppress.joint_program import cover_households, shared_units
from statveil.records.suppress.problem import SuppressionProblem, known_only, merged
from statveil.records.suppress.recount import Cell, CellCut, DoubtfulCells, RecountBlanks, RecountProgram, grown
from statveil.records.suppress.recount_rounds import alike_rows


class RiskModelTuning(NamedTuple):
    most_units: int = 12
    """Key fields, linked ones as one, up to which all sets of blanks of a member are looked at: by judgement."""
    most_judged: int = 100_000
    """Groups of rows times tables up to which it is tried to take blanks back: by judgement."""


TUNING = RiskModelTuning()


class _Choice(NamedTuple):
    """Blanks of one member, or of several: what they cost, the loss they leave, and the units of each."""

    cost: float
    loss: float
    units: tuple[int, ...]


def household_limit(problem: SuppressionProblem) -> float | None:
    """The lowest limit of household risk that is asked for."""
    return min((model.most for model in problem.coded.keys.models if isinstance(model, HouseholdRisk)), default=None)


def cover_risky_households(problem: SuppressionProblem, patterns: Words, most: float) -> tuple[IntArray, float]:
    """As `cover_households`, with the risk of every household at most this."""
    homes = problem.coded.households
    assert homes is not None
    units, _ = cover_households(problem, patterns)
    members = _Members(problem, patterns, -np.log1p(-most) * (1 + SLACK) + SLACK if most < 1 else np.inf)
    loss = np.array([members.loss(int(key), int(mask)) for key, mask in zip(homes.key, units, strict=True)])
    total = np.bincount(homes.home, weights=loss, minlength=len(homes.names))
    bounds = np.searchsorted(homes.home, np.arange(len(homes.names) + 1))
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for home in np.flatnonzero(total > members.most).tolist():
        rows = slice(bounds[home], bounds[home + 1])
        keys = tuple(homes.key[rows].tolist())
        if keys not in known:
            known[keys] = members.cheapest(keys)
        units[rows] = known[keys]
    every = problem.units_of(known_only(problem, homes.key, np.full(homes.key.size, (1 << problem.unit_of.size) - 1, dtype=np.int64)))
    return units, float((problem.units_cost(units & every) * problem.record_mass[homes.key]).sum())


class _Members:
    """What the members of households can be blanked, and the loss that it leaves."""

    def __init__(self, problem: SuppressionProblem, patterns: Words, most: float) -> None:
        self.problem, self.most = problem, most
        homes, judge = problem.coded.households, problem.coded.judge
        assert homes is not None
        assert judge is not None
        self.required = {int(key): patterns[row] for row, key in enumerate(homes.key)}
        self.risk = np.stack([judge.risks(problem.cells(places)) for places, _ in problem.coded.tables])
        self.units = [unit for unit, fields in enumerate(problem.unit_mask) if fields]
        self.shared = shared_units(problem)
        self.fronts: dict[tuple[int, int], list[_Choice]] = {}

    def loss(self, key: int, units: int) -> float:
        shown = self.problem.table_masks & units == 0
        risk = float(self.risk[shown, key].max(initial=0.0))
        return float(-np.log1p(-risk)) if risk < 1 else np.inf

    def cheapest(self, keys: Sequence[int]) -> tuple[int, ...]:
        """Of the fronts of the members, for each set of shared blanks, the cheapest sum that keeps the limit."""
        found = [self._with_shared(keys, shared) for shared in _subsets(self.shared)]
        return min((each for each in found if each is not None), key=lambda choice: (choice.cost, choice.loss)).units

    def _with_shared(self, keys: Sequence[int], shared: int) -> _Choice | None:
        sums = [_Choice(0.0, 0.0, ())]
        for key in keys:
            both = [
                _Choice(one.cost + two.cost, one.loss + two.loss, one.units + two.units)
                for one in sums
                for two in self._front(key, shared)
                if one.loss + two.loss <= self.most
            ]
            sums = _front_of(both)
        return sums[0] if sums else None

    def _front(self, key: int, shared: int) -> list[_Choice]:
        if (key, shared) not in self.fronts:
            self.fronts[key, shared] = _front_of(self._choices(key, shared))
        return self.fronts[key, shared]

    def _choices(self, key: int, shared: int) -> list[_Choice]:
        """All blanks in the fields that are not shared, besides the shared ones given; what is unknown costs nothing."""
        if len(self.units) > TUNING.most_units:
            raise InputError(
                f"A household risk with {len(self.units)} key fields, linked ones as one, is more than {TUNING.most_units}.",
                hint="Keep those that an intruder may know.",
            )
        problem = self.problem
        own = [unit for unit in self.units if unit not in self.shared]
        units = np.array([shared | each for each in _subsets(own)], dtype=np.int64)
        tables = problem.table_masks
        open_ = (units[:, None] & tables[None, :]) == 0
        words = self.required[key]
        needed = np.array([bool(words[table // 64] >> np.uint64(table % 64) & np.uint64(1)) for table in range(tables.size)])
        fits = ~(open_ & needed).any(axis=1)
        risk = np.where(open_, self.risk[:, key], 0.0).max(axis=1)
        known = problem.units_of(~problem.missing[[key]] & ((1 << problem.unit_of.size) - 1))[0]
        cost = self._cost(units & known) * float(problem.record_mass[key])
        with np.errstate(divide="ignore"):
            loss = -np.log1p(-risk)
        return [
            _Choice(float(cost[row]), float(loss[row]), (int(units[row]),)) for row in np.flatnonzero(fits & (loss <= self.most)).tolist()
        ]

    def _cost(self, units: IntArray) -> FloatArray:
        """Costs with the second objective in the lowest digits."""
        total = np.zeros(units.size)
        for unit in self.units:
            total += ((units >> unit) & 1) * float(self.problem.unit_cost[unit])
        return total


def _subsets(units: Sequence[int]) -> list[int]:
    return [sum(1 << unit for place, unit in enumerate(units) if number >> place & 1) for number in range(2 ** len(units))]


def _front_of(choices: Sequence[_Choice]) -> list[_Choice]:
    """Cheapest first, each with a lower loss than all before it."""
    found: list[_Choice] = []
    for choice in sorted(choices):
        if not found or choice.loss < found[-1].loss:
            found.append(choice)
    return found


class ModelProgram(RecountProgram):
    """The growing program under risk models; keys are told apart by all that models look at.

    Patterns are those that stay unsafe whatever is blanked elsewhere.
    """

    def __init__(self, problem: SuppressionProblem, patterns: Words) -> None:
        super().__init__(problem, patterns)
        judge = problem.coded.judge
        assert judge is not None
        self.judge = judge
        risky = any(isinstance(model, IndividualRisk) for model in judge.models)
        alike = np.stack([self.kind, *([judge.weight // judge.count] if risky else []), *judge.values.values()])
        _, first, kind = np.unique(alike, axis=1, return_index=True, return_inverse=True)
        self.required, self.kind = [self.required[number] for number in self.kind[first]], kind.ravel()

    def enter(self, key: IntArray, units: IntArray, records: IntArray) -> int:
        """Add the cells that these rows leave with too few records or breaking a model, and the cuts that forbid it; how many."""
        found, judge = super().enter(key, units, records), self.judge.of_rows(key, records)
        for number, mask in enumerate(self.problem.table_masks):
            own = self.cells[number][key]
            shown = np.where(units & mask == 0, own, -1)
            broken = np.unique(shown[judge.broken(shown)])
            if broken.size and not self.too_many:
                self._enter(number, broken)
                found += sum(self._cut((number, int(cell)), key, np.where(shown == cell, records, 0)) for cell in broken)
        return found

    def _cut(self, cell: Cell, key: IntArray, records: IntArray) -> int:
        """Cut off what a cell holds; answers of before are void."""
        here, members = np.flatnonzero(records), np.array(self.members[cell], dtype=np.int64)
        for cut in self.judge.cuts(key[here], records[here], members):
            self.cuts.setdefault(cell, []).append(CellCut(dict(zip(members.tolist(), cut.value.tolist(), strict=True)), cut.least))
        self.solved = {cells: each for cells, each in self.solved.items() if cell not in cells}
        return 1


def models_exactly(problem: SuppressionProblem, patterns: Words, *, seconds: float) -> tuple[RecountBlanks, bool]:
    """The optimum under `recount` and risk models, or rows that are not safe yet, with a bound; and whether they are safe."""
    coded, program = problem.coded, ModelProgram(problem, patterns)
    rows, bound, safe = grown(program, (np.arange(coded.size), program.free, coded.count), time.monotonic() + seconds, ties=False)
    return RecountBlanks(*merged(*rows), bound=bound, cells=len(program.members), open_ties=1), safe


def take_back_judged(problem: SuppressionProblem, units: IntArray, *, seconds: float) -> IntArray:
    """As `take_back`, dearest units first: only combinations that come to be shown gain records, and these are judged anew."""
    judge, key, units = problem.coded.judge, np.arange(problem.coded.size), units.copy()
    cells = DoubtfulCells(problem).cells
    order = [int(unit) for unit in np.argsort(-problem.unit_cost, kind="stable")]
    left, changed, deadline = TUNING.most_judged, True, time.monotonic() + seconds
    assert judge is not None
    while changed:
        changed = False
        for unit in order:
            tables = [number for number, mask in enumerate(problem.table_masks) if mask >> unit & 1]
            for rows in alike_rows(problem, key, units, unit):
                left -= len(tables)
                if left < 0 or time.monotonic() > deadline:
                    return units
                tried = units.copy()
                tried[rows] &= ~(1 << unit)
                if all(_allowed(problem, judge, cells, tried, rows, number) for number in tables):
                    units, changed = tried, True
    return units


def _allowed(problem: SuppressionProblem, judge: ModelJudge, cells: list[IntArray], units: IntArray, rows: IntArray, table: int) -> bool:
    """Whether the combinations that these rows show in a table are safe, shown by all whom these units leave them to."""
    own, mask = cells[table], problem.table_masks[table]
    here = rows[(units[rows] & mask == 0) & (own[rows] >= 0)]
    if not here.size:
        return True
    wanted = np.zeros(int(own.max()) + 1, dtype=np.bool_)
    wanted[own[here]] = True
    local = np.where((own >= 0) & (units & mask == 0) & wanted[own], own, -1)
    total = np.bincount(local[local >= 0], weights=problem.coded.amount[local >= 0])
    return not (total[own[here]] < problem.coded.tables[table][1]).any() and not judge.broken(local).any()
