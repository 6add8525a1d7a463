"""Extra keyed blanks against the minimality attack (M03).

Who knows that a value is blank only because it was rare can work out which it was: of the values that would make a combination rare with
what the record still shows, the commonest. So further records that share the rest of such a combination are blanked in the same field:
as many that hold the field's commonest value as hold any other, so that the attack is right no more often than a plain guess of the
commonest value, and some that hold yet others, until several values are hidden alike. Which records is decided by a keyed generator;
they come from keys that are not blanked otherwise, as long as the caps allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.records.suppress.problem import Suppression, SuppressionProblem, known_only, merged, row_amount
from statveil.records.suppress.recount_rounds import ReleasedCounts

Rows = tuple[IntArray, IntArray, IntArray]
"""Key, mask of fields and records."""


def add_decoys(suppression: Suppression, *, seed: int) -> Suppression:
    """The same suppression with extra blanks, until each blank could hide `candidates` values or nobody is left to join it."""
    problem, rng = suppression.problem, np.random.Generator(np.random.PCG64(seed))
    rows: Rows = (suppression.key, suppression.mask, suppression.records)
    rows = _join(problem, rows, rng)
    key, mask, records = merged(rows[0], known_only(problem, rows[0], rows[1]), rows[2])
    extra = int((np.bitwise_count(mask) * records).sum()) - suppression.total
    short = sum(group.lacking for group in groups(problem, (key, mask, records)))
    notes = {**suppression.notes, "extra blanks": extra, "blanks with fewer candidates": short}
    found = replace(suppression, key=key, mask=mask, records=records, notes=notes)
    return replace(found, extra_cost=max(0.0, found.cost - suppression.cost))


class ExposedGroup(NamedTuple):
    """Blanks of one field in records that agree in the other fields of a combination, where one of them gives itself away."""

    field: int
    exposed: int
    """Records whose hidden value is among those that would be rare."""
    hidden: dict[int, int]
    """Value to records that hide it."""
    donors: IntArray
    """Rows without blanks that agree with them."""
    common: int
    """The commonest value of the field."""
    wanted: int

    @property
    def commons_lacking(self) -> int:
        others = [number for value, number in self.hidden.items() if value != self.common]
        return max(0, max(others, default=0) - self.hidden.get(self.common, 0))

    @property
    def lacking(self) -> int:
        return self.exposed if self.commons_lacking or len(self.hidden) < self.wanted else 0


def groups(problem: SuppressionProblem, rows: Rows) -> Iterator[ExposedGroup]:
    """The groups of exposed blanks; a blank is looked at in the smallest combination that exposes it."""
    key, mask, records = rows
    written = problem.written_codes(key)
    for (field, places), exposed in sorted(_exposed(problem, rows).items()):
        others = [place for place in places if place != field]
        blank = np.flatnonzero((mask & sum(1 << place for place in places) == 1 << field) & (written[field] >= 0))
        open_rows = np.flatnonzero((mask == 0) & (written[field] >= 0))
        asked = np.concatenate([exposed, blank, open_rows])
        group = np.unique(written[others][:, asked], axis=1, return_inverse=True)[1].ravel() if others else np.zeros(asked.size, np.int64)
        parts = [_by_group(part, ids) for part, ids in zip(
            (exposed, blank, open_rows), np.split(group, [exposed.size, exposed.size + blank.size]), strict=True)]  # fmt: skip
        common = _commonest(problem, field, written[field], mask, records)
        wanted = min(problem.coded.keys.candidates, problem.maps.size(field, problem.levels[field]))
        for number, members in parts[0].items():
            hidden: dict[int, int] = {}
            for row in parts[1][number].tolist():
                hidden[int(written[field, row])] = hidden.get(int(written[field, row]), 0) + int(records[row])
            donors = parts[2].get(number, np.empty(0, dtype=np.int64))
            yield ExposedGroup(field, int(records[members].sum()), hidden, donors, common, wanted)


def _exposed(problem: SuppressionProblem, rows: Rows) -> dict[tuple[int, tuple[int, ...]], IntArray]:
    """(field, combination) to the rows whose blank in that field, the only one there, hides a value rare in the released file."""
    key, mask, records = rows
    codes, amount = problem.coded.codes[:, key], row_amount(problem, key, records)
    seen = np.zeros((codes.shape[0], key.size), dtype=np.bool_)
    found: dict[tuple[int, tuple[int, ...]], IntArray] = {}
    for places, threshold in sorted(problem.coded.tables, key=lambda table: (len(table[0]), table[0])):
        blank = mask & sum(1 << place for place in places)
        single = (blank != 0) & (np.bitwise_count(blank) == 1)
        if not single.any():
            continue
        cell = problem.cells(places, codes)
        _, dense = np.unique(cell, return_inverse=True)
        total = np.bincount(dense.ravel(), weights=np.where((blank == 0) & (cell >= 0), amount, 0))
        rare = single & (cell >= 0) & (total[dense.ravel()] < threshold)
        for field in places:
            hits = np.flatnonzero(rare & (blank == 1 << field) & ~seen[field])
            if hits.size:
                seen[field, hits] = True
                found[field, places] = hits
    return found


def _by_group(rows: IntArray, group: IntArray) -> dict[int, IntArray]:
    order = np.argsort(group, kind="stable")
    parts = np.split(rows[order], np.flatnonzero(np.diff(group[order])) + 1)
    numbers = [int(each) for each in np.unique(group)]
    return dict(zip(numbers, parts, strict=True)) if rows.size else {}


def _commonest(problem: SuppressionProblem, field: int, written: IntArray, mask: IntArray, records: IntArray) -> int:
    """The value that a plain guess names: the one that most released records show."""
    shown = (written >= 0) & ((mask >> field) & 1 == 0)
    return int(np.argmax(np.bincount(written[shown], weights=records[shown], minlength=1)))


class _DecoyRecords:
    """Records taken from open rows, one by one, where enough records go on showing their combinations.

    Otherwise the extra blank would itself look like the blank of a rare value, and under `recount` leave others unsafe. Caps are kept.
    """

    def __init__(self, problem: SuppressionProblem, rows: Rows) -> None:
        self.problem, self.rows, self.left = problem, rows, rows[2].copy()
        self.taken: list[tuple[int, int]] = []
        self.counts = ReleasedCounts(problem, *rows)
        names, self.known = problem.coded.keys.names, ~problem.missing[rows[0]]
        self.room = {names.index(name): cap - int((((rows[1] & self.known) >> names.index(name)) & 1) @ rows[2])
                     for name, cap in problem.coded.keys.caps.items()}  # fmt: skip

    def take(self, donor: int, field: int) -> bool:
        blank = int(self.problem.unit_mask[self.problem.unit_of[field]])
        capped = [place for place in self.room if (blank & int(self.known[donor])) >> place & 1]
        if not self.left[donor] or any(self.room[place] < 1 for place in capped) or not self.counts.hide_one(donor, blank):
            return False
        for place in capped:
            self.room[place] -= 1
        self.left[donor] -= 1
        self.taken.append((donor, blank))
        return True

    def all_rows(self) -> Rows:
        key, mask, _ = self.rows
        if not self.taken:
            return self.rows
        donors, blanks = (np.array(part, dtype=np.int64) for part in zip(*self.taken, strict=True))
        stay = self.left > 0
        keys, masks = np.concatenate([key[stay], key[donors]]), np.concatenate([mask[stay], blanks])
        return merged(keys, masks, np.concatenate([self.left[stay], np.ones(donors.size, dtype=np.int64)]))


def _join(problem: SuppressionProblem, rows: Rows, rng: np.random.Generator) -> Rows:
    """Blank single records of open keys in the field of the groups that lack candidates.

    Holders of the commonest value that a group lacks are taken from other groups of the field: there the attack goes wrong instead.
    """
    written, takers, owing = problem.written_codes(rows[0]), _DecoyRecords(problem, rows), dict[int, int]()
    every = list(groups(problem, rows))
    for group in every:
        if group.lacking:
            owing[group.field] = owing.get(group.field, 0) + _fill(group, written[group.field], takers, rng)
    for group in every:
        holders = group.donors[written[group.field, group.donors] == group.common]
        for donor in rng.permutation(holders).tolist():
            while owing.get(group.field, 0) and takers.take(donor, group.field):
                owing[group.field] -= 1
    return takers.all_rows()


def _fill(group: ExposedGroup, values: IntArray, takers: _DecoyRecords, rng: np.random.Generator) -> int:
    """Holders of the commonest value, then of values not hidden yet; how many of the commonest are still lacking."""
    donors, lacking, hidden = rng.permutation(group.donors), group.commons_lacking, set(group.hidden)
    for donor in donors[values[donors] == group.common].tolist():
        while lacking and takers.take(donor, group.field):
            lacking -= 1
            hidden.add(group.common)
    for donor in donors.tolist():
        if len(hidden) >= group.wanted:
            break
        if int(values[donor]) not in hidden and takers.take(donor, group.field):
            hidden.add(int(values[donor]))
    return lacking
