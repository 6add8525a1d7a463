"""Extra keyed blanks against the minimality attack (THREATS M03).

Who knows that a value is blank only because it was rare can work out which it was. So some records that share the open values of a
blanked record, but hold other values where it is blank, are blanked alike: each blank could then hide several values. Which records
is decided by a keyed generator; they come from keys that are not blanked otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from statveil.anonymise import recount
from statveil.anonymise.problem import SuppressionProblem
from statveil.anonymise.suppression import Suppression, known_only, merged
from statveil.anonymise.wildcard import written_codes
from statveil.arrays import IntArray

MOST_ROUNDS = 8


def add_decoys(suppression: Suppression, *, seed: int) -> Suppression:
    """The same suppression with extra blanks, until each blank could hide `candidates` values or nobody is left to join it."""
    problem, rng = suppression.problem, np.random.Generator(np.random.PCG64(seed))
    wanted = problem.coded.keys.candidates
    key, mask, records = suppression.key, suppression.mask, suppression.records
    for _ in range(MOST_ROUNDS):
        key, mask, records = _join(problem, key, mask, records, wanted, rng)
        if problem.coded.keys.rule != "recount":
            break
        units, rounds = recount.add_rounds(problem, key, _units(problem, mask), records)
        key, mask, records = merged(key, problem.fields_of(units), records)
        if len(rounds) == 1:
            break
    key, mask, records = merged(key, known_only(problem, key, mask), records)
    extra = int((np.bitwise_count(mask) * records).sum()) - suppression.total
    short = sum(number for _, _, number in lacking(problem, key, mask, records, wanted))
    notes = {**suppression.notes, "extra blanks": extra, "blanks with fewer candidates": short}
    return replace(suppression, key=key, mask=mask, records=records, notes=notes)


def _units(problem: SuppressionProblem, mask: IntArray) -> IntArray:
    units = np.zeros_like(mask)
    for unit, fields in enumerate(problem.unit_mask):
        if fields:
            units |= np.where(mask & fields, np.int64(1) << unit, 0)
    return units


def lacking(
    problem: SuppressionProblem, key: IntArray, mask: IntArray, records: IntArray, wanted: int
) -> Iterator[tuple[int, IntArray, int]]:
    """Released classes with a blank that could hide fewer than `wanted` values: the mask, its rows, and how many blanks lack them."""
    written = written_codes(problem, key)
    for blank in np.unique(mask[mask != 0]):
        rows = np.flatnonzero(mask == blank)
        fields = [field for field in range(written.shape[0]) if blank >> field & 1]
        shown = [field for field in range(written.shape[0]) if not blank >> field & 1]
        for members in _classes(written[shown][:, rows], rows):
            short = sum(np.unique(written[field, members]).size < _possible(problem, field, wanted) for field in fields)
            if short:
                yield int(blank), members, short * int(records[members].sum())


def _possible(problem: SuppressionProblem, field: int, wanted: int) -> int:
    """A field with fewer values cannot offer more candidates than it has."""
    return min(wanted, problem.maps.size(field, problem.levels[field]))


def _classes(shown: IntArray, rows: IntArray) -> list[IntArray]:
    """Rows with the same open values, as groups."""
    if not shown.size:
        return [rows]
    _, inverse = np.unique(shown, axis=1, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(inverse.ravel()[order])) + 1)


def _join(
    problem: SuppressionProblem, key: IntArray, mask: IntArray, records: IntArray, wanted: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Blank single records of open keys like the classes that lack candidates."""
    written = written_codes(problem, key)
    open_rows, left, joined = np.flatnonzero(mask == 0), records.copy(), list[tuple[int, int]]()
    donors_of: dict[int, dict[bytes, IntArray]] = {}
    for blank, members, _ in list(lacking(problem, key, mask, records, wanted)):
        shown = [field for field in range(written.shape[0]) if not blank >> field & 1]
        if blank not in donors_of:
            classes = _classes(written[shown][:, open_rows], open_rows)
            donors_of[blank] = {written[shown][:, group[0]].tobytes(): group for group in classes if group.size}
        donors = donors_of[blank].get(written[shown][:, members[0]].tobytes(), np.empty(0, dtype=np.int64))
        fields = [field for field in range(written.shape[0]) if blank >> field & 1]
        held = {field: set(written[field, members].tolist()) for field in fields}
        for donor in rng.permutation(donors):
            useful = any(
                len(held[field]) < _possible(problem, field, wanted) and written[field, donor] not in held[field] for field in fields
            )
            if useful and left[donor] > 0 and (written[fields, donor] >= 0).all():
                left[donor] -= 1
                joined.append((int(donor), blank))
                for field in fields:
                    held[field].add(int(written[field, donor]))
    if not joined:
        return key, mask, records
    donors = np.array([donor for donor, _ in joined], dtype=np.int64)
    blanks = np.array([blank for _, blank in joined], dtype=np.int64)
    stay = left > 0
    rows = (np.concatenate([key[stay], key[donors]]), np.concatenate([mask[stay], blanks]))
    return merged(*rows, np.concatenate([left[stay], np.ones(donors.size, dtype=np.int64)]))
