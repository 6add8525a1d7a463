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
from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.records.frequencies import Words
from statveil.records.models import SLACK, HouseholdRisk, IndividualRisk
from statveil.records.suppress.integer_programs import SAME_COST, ProgramAnswer
from statveil.records.suppress.joint_program import cover_households, shared_units
from statveil.records.suppress.problem import SuppressionProblem, known_only, merged, row_amount
from statveil.records.suppress.recount import Cell, CellCut, DoubtfulCells, RecountBlanks, RecountProgram, grown, price, relaxed_bound
from statveil.records.suppress.recount_annealing import Blanked
from statveil.records.suppress.recount_rounds import alike_rows
from statveil.solve.processes import run_isolated


class RiskModelTuning(NamedTuple):
    most_units: int = 12
    """Key fields, linked ones as one, up to which all sets of blanks of a member are looked at: by judgement."""
    most_judged: int = 100_000
    """Groups of rows times tables up to which it is tried to take blanks back: by judgement."""
    piece: int = 20
    """Keys that are chosen anew together, at first;"""
    largest_piece: int = 160
    """and at the most, doubled each time when"""
    patience: int = 30
    """pieces in all have brought nothing since the last that did."""
    nodes: int = 300
    """Nodes of a piece's program."""
    relaxed: float = 0.3
    """Share of the time of the program with cuts in which its linear form gives a first bound."""


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
        known = self.cuts.setdefault(cell, [])
        found = (CellCut(dict(zip(members.tolist(), each.value.tolist(), strict=True)), each.least)
                 for each in self.judge.cuts(key[here], records[here], members))  # fmt: skip
        known += [each for each in found if each not in known]
        self.solved = {cells: each for cells, each in self.solved.items() if cell not in cells}
        return 1


def models_exactly(problem: SuppressionProblem, patterns: Words, *, seconds: float) -> tuple[RecountBlanks, bool]:
    """The optimum under `recount` and risk models, or rows that are not safe yet, with a bound; and whether they are safe."""
    coded, program, began = problem.coded, ModelProgram(problem, patterns), time.monotonic()
    first = (np.arange(coded.size), program.free, coded.count)
    least = relaxed_bound(program, first, began + TUNING.relaxed * seconds)
    rows, bound, safe = grown(program, first, began + seconds, ties=False)
    return RecountBlanks(*merged(*rows), bound=max(bound, least), cells=len(program.members), open_ties=1), safe


def improved_in_pieces(
    problem: SuppressionProblem, patterns: Words, starts: Sequence[Blanked], *, enough: float, seconds: float
) -> list[Blanked]:
    """Safe rows from these, each cheaper than those before, by a search in a process of its own; until one costs no more than `enough`."""
    heard = list[Blanked]()

    def hear(news: tuple[float, Blanked]) -> bool:
        heard.append(news[1])
        return news[0] <= enough * (1 + SAME_COST)

    if seconds > 0:
        run_isolated([(_improve_in_pieces, (problem, patterns, list(starts), seconds))], seconds=seconds, on_message=hear)
    return heard[-1:]


def _improve_in_pieces(
    problem: SuppressionProblem, patterns: Words, starts: Sequence[Blanked], seconds: float, send: Callable[[tuple[float, Blanked]], None]
) -> None:
    search = PieceSearch(ModelProgram(problem, patterns), seconds)
    for rows in starts:
        search.offer(search.mended(rows), send)
    while search.best is not None and search.seconds_left > 0:
        search.offer(search.improved(search.best), send)


class PieceSearch:
    """The growing program for a few keys at a time, all others held as they are: from rows that need not be safe to safe ones, and from
    these to cheaper ones (large neighbourhood search, Shaw 1998)."""

    def __init__(self, program: ModelProgram, seconds: float) -> None:
        self.program, self._deadline = program, time.monotonic() + seconds
        program.enter(np.arange(program.problem.coded.size), program.free, program.problem.coded.count)
        self.best: Blanked | None = None
        self._cost, self._size, self._failed = np.inf, TUNING.piece, 0
        self._rng = np.random.Generator(np.random.PCG64(0))

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def offer(self, rows: Blanked | None, send: Callable[[tuple[float, Blanked]], None]) -> None:
        if rows is not None and price(self.program, rows) < self._cost * (1 - SAME_COST):
            self.best, self._cost = rows, price(self.program, rows)
            send((self._cost, rows))

    def mended(self, rows: Blanked) -> Blanked | None:
        """What is unsafe in these rows chosen anew for the keys that show it, and for those that share cells with them where these alone
        will not do. None where that takes more keys than a piece may have."""
        program, chosen = self.program, set[int]()
        while program.enter(*rows):
            chosen.update(key for cell in program.broken for key in program.members.get(cell, ()))
            found = self._anew(rows, chosen) if len(chosen) <= TUNING.largest_piece else None
            while found is None and self._spread(chosen):
                found = self._anew(rows, chosen)
            if found is None:
                return None
            rows = found
        return rows

    def _spread(self, chosen: set[int]) -> bool:
        """Choose the keys that share cells with these too; whether these are more, and not too many."""
        program, before = self.program, len(chosen)
        chosen.update(key for cell in {each for own in chosen for each in program.doubts[own]} for key in program.members[cell])
        return before < len(chosen) <= TUNING.largest_piece and self.seconds_left > 0

    def improved(self, rows: Blanked) -> Blanked | None:
        """These safe rows with some keys chosen anew; cells that this breaks enter, until it breaks none. None where nothing is cheaper."""
        chosen = self._piece()
        while self.seconds_left > 0:
            found = self._anew(rows, chosen)
            if found is None or price(self.program, found) >= price(self.program, rows) * (1 - SAME_COST):
                self._failed += 1
                if self._failed % TUNING.patience == 0:
                    self._size = min(2 * self._size, TUNING.largest_piece)
                return None
            if not self.program.enter(*found):
                self._failed = 0
                return found
        return None

    def _piece(self) -> set[int]:
        """Keys that share cells: those of cells drawn by chance, each next to one drawn before."""
        program, chosen, cells = self.program, set[int](), sorted(self.program.members)
        cell = cells[int(self._rng.integers(len(cells)))]
        for _ in range(self._size):
            members = program.members[cell]
            room = self._size - len(chosen)
            chosen.update(members if len(members) <= room else self._rng.choice(members, room, replace=False).tolist())
            if len(chosen) >= self._size:
                break
            near = sorted({each for key in chosen for each in program.doubts[key]})
            cell = near[int(self._rng.integers(len(near)))]
        return chosen

    def _anew(self, rows: Blanked, chosen: Set[int]) -> Blanked | None:
        """The cheapest rows in which only these keys are blanked in another way; None where there are none, or not in time."""
        from statveil.solve.highs import solve

        program, cells = self.program, sorted({cell for key in chosen for cell in self.program.doubts[key]})
        kinds = program.kinds(sorted(chosen))
        if kinds is None:
            return None
        others = ~np.isin(rows[0], sorted(chosen))
        held = tuple(each[others] for each in rows)
        model, _ = program.model(kinds, cells, {cell: self._shown(cell, *held) for cell in cells})
        found = solve(model, seconds=self.seconds_left, nodes=TUNING.nodes)
        if found.x is None:
            return None
        answer = ProgramAnswer(np.round(found.x).astype(np.int64), 0.0, found.ending)
        own = np.array(program.dealt(kinds, answer), dtype=np.int64).T
        return merged(*np.concatenate([np.stack(held), own], axis=1))

    def _shown(self, cell: Cell, key: IntArray, units: IntArray, records: IntArray) -> dict[int, int]:
        """The records of each of these keys that a cell shows."""
        table, number = cell
        here = (self.program.cells[table][key] == number) & (units & self.program.problem.table_masks[table] == 0)
        found = Counter[int]()
        for own, count in zip(key[here].tolist(), records[here].tolist(), strict=True):
            found[own] += count
        return found


def take_back_judged(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray, *, seconds: float) -> IntArray:
    """As `take_back`, dearest units first: only combinations that come to be shown gain records, and these are judged anew."""
    released = _ReleasedCells(problem, key, records)
    units = units.copy()
    order = [int(unit) for unit in np.argsort(-problem.unit_cost, kind="stable")]
    left, changed, deadline = TUNING.most_judged, True, time.monotonic() + seconds
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
                if all(released.allow(tried, rows, number) for number in tables):
                    units, changed = tried, True
    return units


class _ReleasedCells:
    """The cells of rows in each table, and what they hold."""

    def __init__(self, problem: SuppressionProblem, key: IntArray, records: IntArray) -> None:
        judge = problem.judge_of(key, records)
        assert judge is not None
        self.problem, self.judge, self.amount = problem, judge, row_amount(problem, key, records)
        self.cells = [cells[key] for cells in DoubtfulCells(problem).cells]

    def allow(self, units: IntArray, rows: IntArray, table: int) -> bool:
        """Whether the combinations that these rows show in a table are safe, shown by all whom these units leave them to."""
        own, mask = self.cells[table], self.problem.table_masks[table]
        here = rows[(units[rows] & mask == 0) & (own[rows] >= 0)]
        if not here.size:
            return True
        wanted = np.zeros(int(own.max()) + 1, dtype=np.bool_)
        wanted[own[here]] = True
        local = np.where((own >= 0) & (units & mask == 0) & wanted[own], own, -1)
        total = np.bincount(local[local >= 0], weights=self.amount[local >= 0])
        return not (total[own[here]] < self.problem.coded.tables[table][1]).any() and not self.judge.broken(local).any()
