"""A case to attack: the attacker, who has answers and public knowledge, and the truth, which only the scoring of an estimate sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from statveil.audit.attacks.attacker import TUNING, Attacker, Effort, Releases, Sightings, summed_up
from statveil.audit.attacks.public import AnswerTable, Register, ReleasedSystem, TableRequest, TableServer
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.data.microdata import Microdata
from statveil.data.queries.tabulation import read_coded
from statveil.risk.assess import assess
from statveil.risk.rules import MinimumFrequency, Rule
from statveil.tables.coding import weighted_units
from statveil.tables.columns import check_columns
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.table import Table


def read_records(
    data: Microdata, dimensions: Sequence[Dimension], specs: Sequence[TableSpec], *, order: Sequence[str] = ()
) -> tuple[Register, dict[str, IntArray], dict[str, int]]:
    """The register, by the names of the tables what each record adds to a cell in units of the last decimal, and those decimals.

    The tables share holding and weight. Records come in the order of the columns `order`, if any are given.
    """
    with data.engine.session() as session:
        columns = check_columns(session, data, specs)
        amounts = [weighted_units(spec, columns) for spec in specs]
        names = [each.name for each in dimensions]
        found = read_coded(session, data.engine, names, [each for each, _ in amounts], owner=specs[0].holding, order=order)
    places = {each.name: _places(found[f"code{place}"], each) for place, each in enumerate(dimensions)}
    owners: IntArray = found["owner"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    values = {spec.name: found[f"amount{place}"].to_numpy().astype(np.int64) for place, spec in enumerate(specs)}
    return Register(tuple(dimensions), places, owners), values, {spec.name: each for spec, (_, each) in zip(specs, amounts, strict=True)}


def _places(codes: object, dimension: Dimension) -> IntArray:
    encoded = codes.combine_chunks().dictionary_encode()  # type: ignore[attr-defined]
    of_code = np.array([dimension.position[code] for code in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(of_code[encoded.indices.to_numpy()], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class JudgedCells:
    """Secret: the office's own table in the shape of an answer, flat: values, what is sensitive, and how far it must move."""

    value: IntArray = field(repr=False)
    respondents: IntArray = field(repr=False)
    sensitive: BoolArray = field(repr=False)
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class TrueCells(JudgedCells):
    """The truth on the cells of one answer, flat, in published units. `top[i, j]` is the (j+1)-th largest holding's part of cell i."""

    key: AnyArray = field(repr=False)
    records: IntArray = field(repr=False)
    top: IntArray = field(repr=False)
    leader: IntArray = field(repr=False)
    """The owner with the largest contribution, -1 where the cell is empty."""

    def take(self, chosen: AnyArray) -> TrueCells:
        return TrueCells(**{each.name: getattr(self, each.name)[chosen] for each in fields(self)})

    @property
    def originals(self) -> SystemOriginals:
        """The part that a linear system has too."""
        return SystemOriginals(value=self.value, sensitive=self.sensitive, lower=self.lower, upper=self.upper)

    def level(self, towards: AnyArray) -> AnyArray:
        """The protection level on the side of the truth where `towards` lies."""
        return np.where(towards >= self.value, self.upper, self.lower)

    def rho(self, estimate: AnyArray) -> AnyArray:
        """|estimate - truth| / level: below 1 the estimate is closer than the protection promises."""
        return np.abs(estimate - self.value) / np.maximum(self.level(estimate), 1)

    def unsafe(self, released: IntArray) -> BoolArray:
        """Sensitive cells released inside the protection interval: exact integers, no tolerance."""
        moved = released - self.value
        return np.asarray(self.sensitive & (moved > -self.lower) & (moved < self.upper))


class Truth:
    """Values of the records, and the office's rules: sensitivity by brute force, holding by holding."""

    def __init__(
        self,
        register: Register,
        values: Mapping[str, IntArray],
        rules: Sequence[Rule],
        *,
        zeros_count: bool = False,
        counts: str | None = None,
    ) -> None:
        """`values[measure][i]`: record i in whole units of the published decimal.

        `zeros_count`: whether a record of value zero is a respondent. A server must not count it: the cell with and the cell without
        it are the same to a reader, and must be judged the same (T05). `counts` names a measure that counts records: of the rules only
        those about frequencies speak of it.
        """
        self.register, self.values, self.rules = register, dict(values), tuple(rules)
        self.zeros_count, self.counts = zeros_count, counts
        self._known: dict[str, TrueCells] = {}

    def cells(self, request: TableRequest, table: AnswerTable, key: AnyArray | None = None) -> TrueCells:
        """The truth on every cell of the answer; sets of records judged before are not judged again. `key`: its prints, if known."""
        key = self.register.prints(request, table) if key is None else key
        known = self._known.get(request.measure)
        missing = np.unique(key if known is None else key[~_is_in(key, known.key)])
        if missing.size:
            known = self._learn(request, table, key, missing, known)
        assert known is not None
        return known.take(np.searchsorted(known.key, key))

    def blind(self, register: Register) -> Truth:
        """The same judged by who belongs together in another register."""
        return Truth(register, self.values, self.rules, zeros_count=self.zeros_count, counts=self.counts)

    def rules_of(self, measure: str) -> tuple[Rule, ...]:
        return self.rules if measure != self.counts else tuple(rule for rule in self.rules if isinstance(rule, MinimumFrequency))

    def substance(self, request: TableRequest, table: AnswerTable) -> AnyArray:
        """Prints of the sets of records whose value is not zero."""
        return self.register.prints(request, table, self.values[request.measure] != 0)

    def _learn(self, request: TableRequest, table: AnswerTable, key: AnyArray, missing: AnyArray, known: TrueCells | None) -> TrueCells:
        places = np.flatnonzero(np.isin(key, missing))
        _, first = np.unique(key[places], return_index=True)
        places = places[first]  # one cell per set of records
        found = self._judge(request, table, key, places)
        if known is not None:
            found = _joined([known, found])
        self._known[request.measure] = found.take(np.argsort(found.key, kind="stable"))
        return self._known[request.measure]

    def _judge(self, request: TableRequest, table: AnswerTable, key: AnyArray, places: IntArray) -> TrueCells:
        records, cells = self.register.members(request, table)
        number = np.full(table.values.size, -1, dtype=np.int64)
        number[places] = np.arange(places.size)
        wanted = number[cells] >= 0
        records, cells = records[wanted], number[cells[wanted]]
        amounts = self.values[request.measure][records]
        if not self.zeros_count:
            records, cells, amounts = records[amounts != 0], cells[amounts != 0], amounts[amounts != 0]
        value = np.zeros(places.size, dtype=np.int64)
        np.add.at(value, cells, amounts)
        part = _holding_shares(cells, self.register.owner[records], amounts, places.size)
        verdict = assess(_as_table(value, np.bincount(cells, minlength=places.size), part), self.rules_of(request.measure))
        return TrueCells(
            key=key[places],
            value=value,
            records=np.bincount(cells, minlength=places.size),
            respondents=part.respondents,
            sensitive=np.array(verdict.sensitive),
            lower=np.array(verdict.lower_level),
            upper=np.array(verdict.upper_level),
            top=part.top,
            leader=part.leader,
        )


class TabulatedTruth(Truth):
    """The truth on releases at rest, as the jobs that made them judged their tables: by weights, shadow variables, requests, waivers,
    cells named by hand. Values of records (weighted, where the table is) only say who is large in a cell."""

    def __init__(
        self,
        register: Register,
        values: Mapping[str, IntArray],
        judged: Sequence[tuple[AnswerTable, JudgedCells]],
        *,
        by_record: Callable[[], Sequence[tuple[AnswerTable, JudgedCells]]],
    ) -> None:
        """`judged` has an entry for every answer; `by_record` gives the same by someone who does not know the holdings."""
        super().__init__(register, values, (), zeros_count=True)
        self._judged, self._by_record = judged, by_record

    def cells(self, request: TableRequest, table: AnswerTable, key: AnyArray | None = None) -> TrueCells:
        judged = next(cells for answer, cells in self._judged if answer is table)
        return replace(super().cells(request, table, key), **vars(judged))

    def blind(self, register: Register) -> Truth:
        return TabulatedTruth(register, self.values, self._by_record(), by_record=self._by_record)


@dataclass(frozen=True, kw_only=True)
class _HoldingShares:
    respondents: IntArray
    magnitude: IntArray
    top: IntArray
    leader: IntArray


def _is_in(key: AnyArray, known: AnyArray) -> BoolArray:
    """Which keys are among the known ones, which are sorted and not none."""
    at = np.minimum(np.searchsorted(known, key), known.size - 1)
    found: BoolArray = known[at] == key
    return found


def _holding_shares(cells: IntArray, owner: IntArray, amounts: IntArray, count: int) -> _HoldingShares:
    """Contributions of holdings: sums per (cell, owner), ranked within the cell."""
    order = np.lexsort((owner, cells))
    cells, owner, amounts = cells[order], owner[order], amounts[order]
    new = np.ones(cells.size, dtype=np.bool_)
    new[1:] = (np.diff(cells) != 0) | (np.diff(owner) != 0)
    start = np.flatnonzero(new)
    share = np.abs(np.add.reduceat(amounts, start)) if start.size else np.zeros(0, dtype=np.int64)
    cell, holder = cells[start], owner[start]
    ranked = np.lexsort((holder, -share, cell))
    cell, holder, share = cell[ranked], holder[ranked], share[ranked]
    respondents = np.bincount(cell, minlength=count)
    rank = np.arange(cell.size) - np.repeat(np.cumsum(respondents) - respondents, respondents)
    top = np.zeros((count, TUNING.top), dtype=np.int64)
    among = rank < TUNING.top
    top[cell[among], rank[among]] = share[among]
    leader = np.full(count, -1, dtype=np.int64)
    leader[cell[rank == 0]] = holder[rank == 0]
    magnitude = np.zeros(count, dtype=np.int64)
    np.add.at(magnitude, cell, share)
    return _HoldingShares(respondents=respondents, magnitude=magnitude, top=top, leader=leader)


def _as_table(value: IntArray, records: IntArray, part: _HoldingShares) -> Table:
    """The cells in the words that the rules understand; nobody waived and nobody asked."""
    nobody = np.full(value.size, -1, dtype=np.int64)
    return Table(
        views=(),
        value=value,
        scale=0,
        decimals=0,
        records=records,
        respondents=part.respondents,
        frequency=part.respondents,
        frequency_scale=0,
        magnitude=part.magnitude,
        top=part.top,
        largest_unwaived=np.where(part.respondents > 0, part.top[:, 0], -1),
        largest_requested=nobody,
        rule_scale=0,
        has_shadow=False,
        input_hash="",
    )


class OperatorSide(Protocol):
    """The operator's side, where the suite has it: what no reader can do."""

    def reopened(self) -> Sequence[TableServer]:
        """The server after a restart, and other workers on the same store."""

    def rekeyed(self) -> TableServer:
        """The server with another key on the same store; must raise a `StatveilError`."""

    def periods(self, count: int) -> Sequence[tuple[TableServer, Truth]]:
        """The same units in further periods, values changed by less than 1%."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An attacker, the truth to score the estimates with, and the operator's side if there is one."""

    attacker: Attacker
    truth: Truth
    operator: OperatorSide | None = None
    reverse: ReverseSolver | None = None

    @property
    def measure(self) -> str:
        """The first measure that is not a count."""
        measures = [each for each in self.attacker.catalogue.measures if each != self.attacker.catalogue.counts]
        return (measures or list(self.attacker.catalogue.measures))[0]

    def true_cells(self, seen: Sightings) -> TrueCells:
        """The truth on each sighting."""
        key = np.unique(seen.answer)
        parts = [self.truth_of(int(number)) for number in key]
        offset = np.cumsum([0, *(part.key.size for part in parts)])
        at = offset[np.searchsorted(key, seen.answer)] + seen.place
        return _joined(parts).take(at)

    def truth_of(self, number: int) -> TrueCells:
        journal = self.attacker.journal
        answered = journal.answers[number]
        return self.truth.cells(answered.request, answered.table, journal.prints(number))

    def seen(self, numbers: Sequence[int] | None = None, *, measure: str, sums: bool = False) -> ScoredSightings:
        """What the answers show, once per set of records, with the truth beside it; `sums` over codes of filters only if asked for."""
        journal = self.attacker.journal
        chosen = list(numbers) if sums and numbers is not None else journal.cell_answers(measure, numbers)
        sightings = journal.sightings(chosen)
        releases = summed_up(sightings)
        truth = self.true_cells(sightings.take(releases.first)) if releases.key.size else None
        return ScoredSightings(sightings=sightings, releases=releases, truth=truth)


@dataclass(frozen=True, kw_only=True)
class ScoredSightings:
    """Sightings, what they amount to per set of records, and the truth on each set (None where nothing was seen)."""

    sightings: Sightings
    releases: Releases
    truth: TrueCells | None

    @property
    def sensitive(self) -> BoolArray:
        return np.zeros(0, dtype=np.bool_) if self.truth is None else self.truth.sensitive


def _joined(parts: Sequence[TrueCells]) -> TrueCells:
    return TrueCells(**{each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(TrueCells)})


def both_signs(key: AnyArray, sign: IntArray) -> AnyArray:
    """The keys that were seen on both sides of the truth."""
    return np.intersect1d(key[sign > 0], key[sign < 0])


@dataclass(frozen=True, kw_only=True)
class SystemOriginals:
    """Secret: the true values, which are sensitive, how far each had to move, and a number for who leads each cell, where it is known."""

    value: IntArray = field(repr=False)
    sensitive: BoolArray = field(repr=False)
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)
    leader: AnyArray | None = field(default=None, repr=False)

    def take(self, cells: AnyArray) -> SystemOriginals:
        """The same of some cells."""
        given: dict[str, Any] = {name: array[cells] for name, array in vars(self).items() if array is not None}
        return SystemOriginals(**given)

    def bounds_around(self, published: ReleasedSystem) -> ReleasedSystem:
        """The released system with bounds that its sensitive cells keep: they moved by their levels, whatever the bounds of others."""
        low = np.where(self.sensitive, np.minimum(published.low, published.released - self.upper), published.low)
        high = np.where(self.sensitive, np.maximum(published.high, published.released + self.lower), published.high)
        return replace(published, low=np.where(published.low >= 0, np.maximum(low, 0), low), high=high)

    def draws(self, cells: AnyArray) -> int:
        """How many of these cells are moved independently of each other: levels are drawn from who leads."""
        return int(np.count_nonzero(cells)) if self.leader is None else int(np.unique(self.leader[cells]).size)


@dataclass(frozen=True, kw_only=True)
class ReverseProblem:
    """What the attacker of T12 is granted: the released system, which cells are sensitive, their levels, and bounds."""

    published: ReleasedSystem
    sensitive: BoolArray
    lower: IntArray
    upper: IntArray


ReverseSolver = Callable[[ReverseProblem], IntArray | None]
"""Adjusts a released system as if it were the original; None where that fails. The solver of adjustments is given from outside."""


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """Secret: what each respondent gives to a cell, and who of them has not waived protection."""

    amount: IntArray = field(repr=False)
    protected: BoolArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Respondents:
    """Secret: who is behind each cell, as the rules see it. `protected`: somebody in it has not waived protection.

    `percent` is the p of the p% rule as a share, `coalition` the largest that a rule speaks of. `contributions` gives those of cells.
    """

    number: IntArray = field(repr=False)
    protected: BoolArray = field(repr=False)
    percent: float
    coalition: int
    contributions: Callable[[IntArray], Sequence[Contributions]] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class SystemCase:
    """A released system, its originals, and how far (in levels) its sensitive cells may have moved.

    Amounts have `decimals` decimals, and `unit` of them make one published unit. Of a table from records more is known: the `level`
    that each cell lies on, whether it is `shown` (a set of cells judged as one is not), and its `respondents`.
    """

    published: ReleasedSystem
    originals: SystemOriginals
    cap: float
    effort: Effort
    reverse: ReverseSolver | None = None
    unit: int = 1
    decimals: int = 0
    level: IntArray | None = field(default=None, repr=False)
    shown: BoolArray | None = field(default=None, repr=False)
    respondents: Respondents | None = field(default=None, repr=False)
    most_reversed: int = TUNING.most_reversed_cells
    """Cells that are adjusted backwards (T12); of a larger system a part."""

    def rng(self, name: str) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.effort.seed, *name.encode()]))
