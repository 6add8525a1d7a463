"""The attacker: what it asks, from public knowledge alone, what it was answered, and what the answers say of each set of records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from statveil.audit.attacks.public import AnswerTable, Catalogue, Register, RequestAxis, TableRequest, TableServer, Trace
from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import OutOfTime, ServerClosed, StatveilError
from statveil.tables.spec import Dimension


class AttackTuning(NamedTuple):
    """Limits of single attacks, beside the effort that the user asks for; all by judgement."""

    patience: float = 5.0
    """Seconds: a server that takes longer to refuse a table is not asked for others of the same dimensions."""
    narrow: int = 12
    """Dimensions with at most this many finest codes are filtered code by code (T07)."""
    requests_repeated: int = 60
    """Requests repeated in each variant (T03)."""
    most_dominant: int = 500
    """Dominant holdings whose value is estimated (T06)."""
    fewest_sets: int = 5
    """Different sets that a holding must dominate (T06)."""
    counts_share: int = 5
    """Counts get this part of the effort that magnitudes get (T24)."""
    most_union_cells: int = 20_000
    """Distinct cells in one union of tables; further tables are left out (T08)."""
    most_reversed_cells: int = 100_000
    """Cells of a table that is adjusted backwards (T12)."""
    most_respondents: int = 12
    """Respondents of a cell whose coalitions are tried (T13)."""
    most_coalition_cells: int = 3_000
    """Cells whose coalitions are tried (T13)."""
    most_singleton_tables: int = 200
    """Tables in which single respondents are looked for (T14)."""
    most_holding_tables: int = 50
    """Tables in which holdings are looked for (T15)."""
    most_pairs: int = 2_000_000
    """Pairs of single respondents that are looked at (T14)."""
    most_tiny_cells: int = 20_000
    """Sensitive cells that are compared with their neighbours (T27)."""
    most_neighbours: int = 10_000_000
    """Neighbours that all of these together may have (T27)."""
    neighbours_at_once: int = 4_000_000
    """Neighbours that are held in memory (T27)."""
    most_digits: int = 50_000
    """Numbers whose last digits are compared (T19)."""
    fewest_digits: int = 100
    """Numbers on each side of a comparison (T19)."""
    largest_coalition: int = 3
    """Respondents of a coalition (T13)."""
    timed_rows: int = 2
    """Rows of the tables whose times are compared (T20)."""
    timed_columns: int = 3
    """Columns of the tables whose times are compared (T20)."""
    top: int = 4
    """Largest contributions kept per cell."""
    promised: float = 300.0
    """Seconds to wait for a table that a live server promised."""


TUNING = AttackTuning()


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to attack: numbers of requests, targets and programs."""

    tables: int = 1_000
    """Different tables that contain the same cells (T02, T04)."""
    rows: int = 6
    """Rows that all of them contain."""
    sets: int = 400
    """Overlapping populations asked for (T06)."""
    pairs: int = 1_000
    """Pairs of tables whose times are compared (T20)."""
    cells: int = 200
    """Sensitive cells whose interval is computed (T08)."""
    reversals: int = 3
    """Tables that are adjusted backwards (T12)."""
    periods: int = 12
    """Editions whose releases are averaged (T21)."""
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """Everything an attacker may use: the answers, the register, the catalogue. No value that was not published."""

    journal: AttackJournal
    effort: Effort

    @property
    def register(self) -> Register:
        return self.journal.register

    @property
    def catalogue(self) -> Catalogue:
        return self.journal.catalogue

    @property
    def percent(self) -> float:
        """The p of the p% rule as a share."""
        return self.catalogue.percent / 100

    def rng(self, name: str) -> np.random.Generator:
        """Random numbers for one attack: the same seed and name, the same numbers."""
        return np.random.Generator(np.random.PCG64([self.effort.seed, *name.encode()]))


@dataclass(frozen=True, kw_only=True)
class Answered:
    request: TableRequest
    table: AnswerTable


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A request without an answer; `kind` is the error's name."""

    request: TableRequest
    kind: str


@dataclass(frozen=True, kw_only=True)
class Sightings:
    """Every shown cell of some answers, flat: its set of records, the number published, and where it was seen."""

    key: AnyArray = field(repr=False)
    value: IntArray = field(repr=False)
    answer: IntArray = field(repr=False)
    place: IntArray = field(repr=False)

    def take(self, chosen: AnyArray) -> Sightings:
        return Sightings(key=self.key[chosen], value=self.value[chosen], answer=self.answer[chosen], place=self.place[chosen])


class AttackJournal:
    """Asks a server, each request once, and keeps what it said. Without a server it holds releases that were made before."""

    def __init__(
        self, register: Register, catalogue: Catalogue, server: TableServer | None = None, answers: Sequence[Answered] = ()
    ) -> None:
        self.register, self.catalogue, self._server = register, catalogue, server
        self.answers = list(answers)
        self.refusals: list[Refusal] = []
        self._heard: dict[TableRequest, int | None] = {each.request: number for number, each in enumerate(answers)}
        self._too_long: set[tuple[str, frozenset[str]]] = set()
        self._prints: dict[int, AnyArray] = {}

    @property
    def open(self) -> bool:
        """Whether there is a server to ask."""
        return self._server is not None

    def ask(self, request: TableRequest) -> int | None:
        """The number of the answer; None where there is none."""
        if request not in self._heard and self._server is not None:
            self._heard[request] = self._ask(request, self._server)
        return self._heard.get(request)

    def ask_all(self, requests: Iterable[TableRequest]) -> list[int]:
        """The numbers of the answers that came."""
        return [number for request in requests if (number := self.ask(request)) is not None]

    def ask_at(self, server: TableServer, requests: Iterable[TableRequest]) -> list[int]:
        """Ask the same things at another server (another worker, the server after a restart)."""
        return [number for request in requests if (number := self._ask(request, server)) is not None]

    def ask_again(self, request: TableRequest) -> AnswerTable | None:
        """The answer to a request that was asked before; it is not kept."""
        try:
            return self._server.ask(request) if self._server is not None else None
        except ServerClosed:
            raise
        except StatveilError:
            return None

    def _ask(self, request: TableRequest, server: TableServer) -> int | None:
        kind = (request.measure, frozenset(axis.id for axis in request.axes) | {name for name, _ in request.filters})
        if kind in self._too_long:  # the server has no time for tables of these dimensions: do not wait for each of them
            return None
        clock = time.perf_counter()
        try:
            table = server.ask(request)
        except ServerClosed:  # no refusal: who is not let in has not attacked
            raise
        except StatveilError as error:
            self.refusals.append(Refusal(request=request, kind=type(error).__name__))
            long = isinstance(error, OutOfTime) or time.perf_counter() - clock > TUNING.patience
            self._too_long |= {kind} if long else set()
            return None
        seconds = time.perf_counter() - clock
        trace = table.trace or Trace(seconds=seconds)
        self.answers.append(Answered(request=request, table=replace(table, trace=trace)))
        return len(self.answers) - 1

    def shows_cells(self, number: int) -> bool:
        """Whether the numbers of an answer are cells, and not sums of cells over several codes of a filter."""
        for name, codes in self.answers[number].request.filters:
            if not self.catalogue.makes_population(name) and 1 < len(codes) < len(self.catalogue.dimension(name).trees[0].leaves):
                return False
        return not self.answers[number].table.sums

    def cell_answers(self, measure: str, numbers: Iterable[int] | None = None) -> list[int]:
        """The answers (of those given, or of all) about a measure that show cells."""
        chosen = range(len(self.answers)) if numbers is None else numbers
        return [each for each in chosen if self.answers[each].request.measure == measure and self.shows_cells(each)]

    def prints(self, number: int) -> AnyArray:
        """The sets of records of an answer's cells."""
        if number not in self._prints:
            answered = self.answers[number]
            self._prints[number] = self.register.prints(answered.request, answered.table)
        return self._prints[number]

    def sightings(self, numbers: Iterable[int]) -> Sightings:
        """What these answers show of non-empty cells. A key stands for records, whatever was measured of them."""
        parts = [self._seen(number) for number in numbers]
        empty = Sightings(key=np.zeros(0, np.uint64), value=_NONE, answer=_NONE, place=_NONE)
        joined = {name: np.concatenate([getattr(part, name) for part in [empty, *parts]]) for name in ("key", "value", "answer", "place")}
        return Sightings(**joined)

    def _seen(self, number: int) -> Sightings:
        table, key = self.answers[number].table, self.prints(number)
        place = np.flatnonzero(table.shown.reshape(-1) & (key != 0))
        return Sightings(key=key[place], value=table.values.reshape(-1)[place], answer=np.full(place.size, number), place=place)


_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """What was published of each of some sets of records: one row per set, from all sightings of it."""

    key: AnyArray
    times: IntArray
    mean: AnyArray
    midrange: AnyArray
    mode: IntArray
    lowest: IntArray
    highest: IntArray
    first: IntArray
    """A sighting of each set, as a place in the sightings that were summed up."""


def summed_up(seen: Sightings) -> Releases:
    """Mean, midrange and mode of what was published of each set of records; of equally frequent values the smallest is the mode."""
    order = np.lexsort((seen.value, seen.key))
    key, value = seen.key[order], seen.value[order]
    start = _starts(key)
    times = np.diff(np.append(start, key.size))
    total = np.add.reduceat(value.astype(np.float64), start) if start.size else np.zeros(0)
    lowest, highest = value[start], value[start + times - 1]
    return Releases(
        key=key[start],
        times=times,
        mean=total / np.maximum(times, 1),
        midrange=(lowest + highest) / 2,
        mode=_modes(key, value),
        lowest=lowest,
        highest=highest,
        first=order[start],
    )


def expanded(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers of all ranges one after the other (each from `start[i]`, `count[i]` of them), and the number i of the range of each."""
    owner = np.repeat(np.arange(count.size), count)
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return owner, np.repeat(start, count) + within


def _starts(key: AnyArray) -> IntArray:
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else np.zeros(0, dtype=np.int64)


def _modes(key: AnyArray, value: IntArray) -> IntArray:
    """The most frequent value of each key; keys and values are sorted."""
    runs = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]) | (value[1:] != value[:-1])])) if key.size else _NONE
    length = np.diff(np.append(runs, key.size))
    order = np.lexsort((value[runs], -length, key[runs]))
    return value[runs][order][_starts(key[runs][order])]


def rows_and_columns(attacker: Attacker) -> tuple[Dimension, Dimension] | None:
    """The second largest dimension and the largest; None where there are not two."""
    dimensions = attacker.catalogue.by_size
    return (dimensions[1], dimensions[0]) if len(dimensions) > 1 else None


def plain(attacker: Attacker, measure: str, *, totals: bool = True) -> TableRequest | None:
    """The table of the two largest dimensions, finest codes."""
    found = rows_and_columns(attacker)
    return (
        TableRequest(axes=tuple(RequestAxis(id=dimension.name) for dimension in found), measure=measure, totals=totals) if found else None
    )


def shared_rows(attacker: Attacker) -> tuple[str, ...]:
    """The rows that every table of `crossings` contains: half of them those with most records, half those with fewest."""
    found = rows_and_columns(attacker)
    if found is None:
        return ()
    rows = found[0]
    count = np.bincount(attacker.register.codes[rows.name], minlength=len(rows.codes))
    leaves = [rows.position[code] for code in rows.trees[0].leaves]
    by_size = sorted((place for place in leaves if count[place]), key=lambda place: (-int(count[place]), place))
    large = (attacker.effort.rows + 1) // 2
    chosen = {*by_size[:large], *by_size[max(len(by_size) - attacker.effort.rows + large, 0) :]}
    return tuple(rows.codes[place] for place in sorted(chosen))


def crossings(attacker: Attacker, measure: str) -> list[TableRequest]:
    """Different tables with the same rows complete and other rows beside them, drawn at random (T02, T04)."""
    found, kept = rows_and_columns(attacker), shared_rows(attacker)
    if found is None:
        return []
    rows, columns = found
    others = [code for code in rows.trees[0].leaves if code not in kept]
    rng = attacker.rng("crossings")

    def drawn() -> TableRequest:
        extra = rng.permutation(len(others))[: int(rng.integers(0, min(len(others), 2 * len(kept)) + 1))]
        codes = tuple(sorted([*kept, *(others[place] for place in extra.tolist())]))
        return TableRequest(axes=(RequestAxis(id=rows.name, codes=codes), RequestAxis(id=columns.name)), measure=measure)

    return different_requests(drawn, attacker.effort.tables, draws=4 * attacker.effort.tables)


def different_requests(drawn: Callable[[], TableRequest], wanted: int, *, draws: int) -> list[TableRequest]:
    """So many different requests, or as many as the draws give."""
    requests = dict[TableRequest, None]()
    for _ in range(draws):
        if len(requests) == wanted:
            break
        requests[drawn()] = None
    return list(requests)


def less_one_code(attacker: Attacker, measure: str) -> list[TableRequest]:
    """The table of the two largest dimensions, again without each single code of each narrow one, and for each code: nested sets."""
    whole = plain(attacker, measure)
    return [] if whole is None else [whole, *_with_filters(attacker, whole)]


def _with_filters(attacker: Attacker, whole: TableRequest) -> Iterator[TableRequest]:
    shown = {axis.id for axis in whole.axes}
    for name in attacker.catalogue.filters:
        leaves = attacker.catalogue.dimension(name).trees[0].leaves
        if name not in shown and len(leaves) <= TUNING.narrow:
            others = [tuple(code for code in leaves if code != left_out) for left_out in leaves]
            for codes in dict.fromkeys([*others, *((code,) for code in leaves)]):
                yield TableRequest(axes=whole.axes, measure=whole.measure, filters=((name, codes),), totals=whole.totals)


def overlapping(attacker: Attacker, measure: str) -> list[TableRequest]:
    """The shared rows for many random populations: some of the filters, each of their codes kept with probability 0.7 (T06)."""
    found = rows_and_columns(attacker)
    shown = {dimension.name for dimension in found or ()}
    names = [name for name in attacker.catalogue.filters if name not in shown]
    if found is None or not names:
        return []
    axes = (RequestAxis(id=found[0].name, codes=shared_rows(attacker)), RequestAxis(id=found[1].name))
    rng = attacker.rng("overlapping")

    def drawn() -> TableRequest:
        used = rng.permutation(len(names))[: int(rng.integers(1, len(names) + 1))]
        kept = [(names[place], _drawn(attacker.catalogue.dimension(names[place]), rng)) for place in sorted(used.tolist())]
        return TableRequest(axes=axes, measure=measure, filters=tuple((name, codes) for name, codes in kept if codes))

    return different_requests(drawn, attacker.effort.sets, draws=4 * attacker.effort.sets)


def _drawn(dimension: Dimension, rng: np.random.Generator) -> tuple[str, ...]:
    leaves = dimension.trees[0].leaves
    return tuple(code for code, kept in zip(leaves, rng.random(len(leaves)) < 0.7, strict=True) if kept)
