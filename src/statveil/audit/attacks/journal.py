"""Everything that was asked and answered, and what the answers say of each set of records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from statveil.audit.attacks.public import Catalogue, Door, PublicTable, Register, Request, Trace
from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import OutOfTime, ServerClosed, StatveilError

PATIENCE = 5.0
"""Seconds: a server that takes longer to refuse a table is not asked for others of the same dimensions."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    request: Request
    table: PublicTable


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A request without an answer; `kind` is the error's name."""

    request: Request
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


class Journal:
    """Asks a server, each request once, and keeps what it said. Without a door it holds releases that were made before."""

    def __init__(self, register: Register, catalogue: Catalogue, door: Door | None = None, answers: Sequence[Answered] = ()) -> None:
        self.register, self.catalogue, self._door = register, catalogue, door
        self.answers = list(answers)
        self.refusals: list[Refusal] = []
        self._heard: dict[Request, int | None] = {each.request: number for number, each in enumerate(answers)}
        self._too_long: set[tuple[str, frozenset[str]]] = set()
        self._prints: dict[int, AnyArray] = {}

    @property
    def open(self) -> bool:
        """Whether there is a server to ask."""
        return self._door is not None

    def ask(self, request: Request) -> int | None:
        """The number of the answer; None where there is none."""
        if request not in self._heard and self._door is not None:
            self._heard[request] = self._ask(request, self._door)
        return self._heard.get(request)

    def ask_all(self, requests: Iterable[Request]) -> list[int]:
        """The numbers of the answers that came."""
        return [number for request in requests if (number := self.ask(request)) is not None]

    def ask_at(self, door: Door, requests: Iterable[Request]) -> list[int]:
        """Ask the same things at another door (another worker, the server after a restart)."""
        return [number for request in requests if (number := self._ask(request, door)) is not None]

    def ask_again(self, request: Request) -> PublicTable | None:
        """The answer to a request that was asked before; it is not kept."""
        try:
            return self._door.ask(request) if self._door is not None else None
        except ServerClosed:
            raise
        except StatveilError:
            return None

    def _ask(self, request: Request, door: Door) -> int | None:
        kind = (request.measure, frozenset(axis.id for axis in request.axes) | {name for name, _ in request.filters})
        if kind in self._too_long:  # the server has no time for tables of these dimensions: do not wait for each of them
            return None
        clock = time.perf_counter()
        try:
            table = door.ask(request)
        except ServerClosed:  # no refusal: who is not let in has not attacked
            raise
        except StatveilError as error:
            self.refusals.append(Refusal(request=request, kind=type(error).__name__))
            long = isinstance(error, OutOfTime) or time.perf_counter() - clock > PATIENCE
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


def _starts(key: AnyArray) -> IntArray:
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else np.zeros(0, dtype=np.int64)


def _modes(key: AnyArray, value: IntArray) -> IntArray:
    """The most frequent value of each key; keys and values are sorted."""
    runs = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]) | (value[1:] != value[:-1])])) if key.size else _NONE
    length = np.diff(np.append(runs, key.size))
    order = np.lexsort((value[runs], -length, key[runs]))
    return value[runs][order][_starts(key[runs][order])]
