"""The two sides of an attack: the attacker, who has answers and public knowledge, and the case, which also knows the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from statveil.audit.attacks.journal import Journal, Releases, Sightings, summed_up
from statveil.audit.attacks.public import Catalogue, Door, Register
from statveil.audit.attacks.targets.system import Reverse
from statveil.audit.attacks.truth import TrueCells, Truth
from statveil.core.arrays import AnyArray, BoolArray, IntArray


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
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """Everything an attacker may use: the answers, the register, the catalogue. No value that was not published."""

    journal: Journal
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

    def dice(self, name: str) -> np.random.Generator:
        """Random numbers for one attack: the same seed and name, the same numbers."""
        return np.random.Generator(np.random.PCG64([self.effort.seed, *name.encode()]))


class Workshop(Protocol):
    """The operator's side, where the suite has it: what no reader can do."""

    def reopened(self) -> Sequence[Door]:
        """The server after a restart, and other workers on the same store."""

    def rekeyed(self) -> Door:
        """The server with another key on the same store; must raise a `StatveilError`."""

    def periods(self, count: int) -> Sequence[tuple[Door, Truth]]:
        """The same units in further periods, values changed by less than 1%."""

    def guarded(self) -> int | None:
        """Pairs of cells that the differencing guard refused or logged; None if it does not say."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An attacker, the truth to score the estimates with, and the operator's side if there is one."""

    attacker: Attacker
    truth: Truth
    workshop: Workshop | None = None
    reverse: Reverse | None = None

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

    def seen(self, numbers: Sequence[int] | None = None, *, measure: str, sums: bool = False) -> Seen:
        """What the answers show, once per set of records, with the truth beside it; `sums` over codes of filters only if asked for."""
        journal = self.attacker.journal
        chosen = list(numbers) if sums and numbers is not None else journal.cell_answers(measure, numbers)
        sightings = journal.sightings(chosen)
        releases = summed_up(sightings)
        truth = self.true_cells(sightings.take(releases.first)) if releases.key.size else None
        return Seen(sightings=sightings, releases=releases, truth=truth)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Sightings, what they amount to per set of records, and the truth on each set (None where nothing was seen)."""

    sightings: Sightings
    releases: Releases
    truth: TrueCells | None

    @property
    def sensitive(self) -> BoolArray:
        return np.zeros(0, dtype=np.bool_) if self.truth is None else self.truth.sensitive


def _joined(parts: Sequence[TrueCells]) -> TrueCells:
    names = TrueCells.__dataclass_fields__
    return TrueCells(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def both_signs(key: AnyArray, sign: IntArray) -> AnyArray:
    """The keys that were seen on both sides of the truth."""
    return np.intersect1d(key[sign > 0], key[sign < 0])
