"""T07: two cells that differ by one record, both released as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.audit.attacks.attacker import Attacker, less_one_code
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import IntArray

THREAT = Threat(
    id="T07",
    name="differencing nested sets",
    does="Asks for a table, again without each code of a third dimension and for each code alone; where two cells differ by one "
    "record, subtracts them.",
    mark="0 records of value >= 10 recovered within p/2",
)
WORTH = 10
"""Records of smaller value than this are not worth the attack."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Cells of two answers, the second without one record of the first."""

    large: IntArray
    small: IntArray
    record: IntArray


def attack(case: Case) -> Verdict:
    return differenced(case, THREAT, case.measure, worth=WORTH)


def differenced(case: Case, threat: Threat, measure: str, *, worth: int) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    requests = less_one_code(attacker, measure)
    numbers = journal.ask_all(requests) if journal.open else list(range(len(journal.answers)))
    asked = {"requests": len(requests), "answered": len(numbers)}
    if journal.open and len(requests) < 2:
        return not_applicable(threat, "The server lets nobody choose populations: no filters.", asked)
    pairs = nested_pairs(attacker, numbers)
    if len(numbers) < 2 and journal.open:
        return judged(threat, passed=True, number="every nested population refused", figures=asked)
    seen = journal.sightings(numbers)
    truth = case.true_cells(seen) if seen.key.size else None
    if truth is None or not pairs.record.size:
        return not_applicable(threat, "No two released cells differ by one record.", asked)
    exact = case.truth.values[measure][pairs.record]
    aimed = ~truth.sensitive[pairs.large] & ~truth.sensitive[pairs.small] & (exact >= worth)
    error = np.abs(seen.value[pairs.large] - seen.value[pairs.small] - exact)[aimed] / np.maximum(exact[aimed], 1)
    records = int(np.unique(pairs.record[aimed]).size)
    near = error <= attacker.percent / 2
    cells = np.array([journal.shows_cells(number) for number in range(len(journal.answers))])
    of_cells = int((cells[seen.answer[pairs.large]] & cells[seen.answer[pairs.small]])[aimed].sum())
    figures = {
        **asked,
        "pairs": int(aimed.sum()),
        "pairs of cells": of_cells,
        "records": records,
        "exact": int((error == 0).sum()),
        "within p/2": int(near.sum()),
        "within p": int((error <= attacker.percent).sum()),
    }
    number = f"{int((error == 0).sum()):,} of {int(aimed.sum()):,} exact, {percent(float(near.mean()) if near.size else 0.0)} within p/2"
    return judged(threat, passed=not near.any(), number=number, figures=figures)


def nested_pairs(attacker: Attacker, numbers: list[int]) -> Pairs:
    """All pairs of different sets in these answers that differ by one record: one print less the record's mark is the other."""
    journal, marks = attacker.journal, attacker.register.marks
    keys, first = np.unique(journal.sightings(numbers).key, return_index=True)
    met, found = set[int](), [_NO_PAIRS]
    for number in numbers:
        answered, prints = journal.answers[number], journal.prints(number)
        fresh = np.flatnonzero(~np.isin(prints, np.fromiter(met, dtype=np.uint64, count=len(met))) & answered.table.shown.reshape(-1))
        met.update(prints[fresh].tolist())
        records, cells = attacker.register.members(answered.request, answered.table)
        inside = np.isin(cells, fresh)
        records, cells = records[inside], cells[inside]
        without = prints[cells] - marks[records]
        at = np.minimum(np.searchsorted(keys, without), max(keys.size - 1, 0))
        hit = (keys[at] == without) if keys.size else np.zeros(0, dtype=np.bool_)
        found.append(np.array([first[np.searchsorted(keys, prints[cells[hit]])], first[at[hit]], records[hit]]))
    large, small, record = np.unique(np.concatenate(found, axis=1), axis=1)
    return Pairs(large=large, small=small, record=record)


_NO_PAIRS = np.zeros((3, 0), dtype=np.int64)
