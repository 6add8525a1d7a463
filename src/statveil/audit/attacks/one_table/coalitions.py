"""T13: respondents who put their own contributions together against another."""

from __future__ import annotations

import itertools

import numpy as np

from statveil.audit.attacks.attacker import TUNING, Sightings
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, share
from statveil.core.arrays import IntArray

THREAT = Threat(
    id="T13",
    name="coalitions of respondents",
    does="In every sensitive cell every group of one, two or three respondents subtracts its own contributions from the release "
    "and takes the rest for the one respondent it wants to know.",
    mark="|estimate - x_i| >= p% of x_i for every respondent outside the coalition, for coalitions as large as the rule speaks of",
)


def attack(case: Case) -> Verdict:
    seen = case.seen(measure=case.measure)
    if seen.truth is None:
        return not_applicable(THREAT, "No table was released.")
    small = np.flatnonzero(seen.sensitive & (seen.truth.respondents <= TUNING.most_respondents))[: TUNING.most_coalition_cells]
    rule = max((getattr(each, "coalition", 1) for each in case.truth.rules), default=1)
    tried, hits, cells = [0] * (TUNING.largest_coalition + 1), [0] * (TUNING.largest_coalition + 1), set[int]()
    for row, parts in zip(small.tolist(), _contributions(case, seen.sightings.take(seen.releases.first[small])), strict=True):
        for size in range(1, TUNING.largest_coalition + 1):
            found, near = _coalitions(parts, int(seen.releases.mode[row]), size, case.attacker.percent)
            tried[size], hits[size] = tried[size] + found, hits[size] + near
            if near and size <= rule:
                cells.add(row)
    if not sum(tried):
        return not_applicable(THREAT, "No sensitive cell has two respondents.")
    figures: dict[str, Number] = {"sensitive cells": int(small.size), "coalition of the rule": rule}
    for size in range(1, TUNING.largest_coalition + 1):
        figures[f"coalitions of {size}"], figures[f"successful, {size}"] = tried[size], hits[size]
    judged_hits, judged_tried = sum(hits[1 : rule + 1]), sum(tried[1 : rule + 1])
    figures["cells where one succeeds"] = len(cells)
    number = f"{judged_hits:,} of {judged_tried:,} coalitions within p% ({share(judged_hits, judged_tried):.1%})"
    return judged(THREAT, passed=judged_hits == 0, number=number, figures=figures)


def _contributions(case: Case, sightings: Sightings) -> list[IntArray]:
    """The holdings' contributions to each sighted cell, an answer at a time."""
    found: dict[int, IntArray] = {}
    journal, register = case.attacker.journal, case.attacker.register
    for number in np.unique(sightings.answer).tolist():
        answered = journal.answers[number]
        rows = np.flatnonzero(sightings.answer == number)
        places = sightings.place[rows]
        records, cells = register.members(answered.request, answered.table)
        wanted = np.isin(cells, places)
        records, cells = records[wanted], cells[wanted]
        order = np.argsort(cells, kind="stable")
        records, cells = records[order], cells[order]
        amounts = case.truth.values[answered.request.measure]
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            inside = records[np.searchsorted(cells, place) : np.searchsorted(cells, place, side="right")]
            _, which = np.unique(register.owner[inside], return_inverse=True)
            sums = np.zeros(int(which.max(initial=-1)) + 1, dtype=np.int64)
            np.add.at(sums, which, amounts[inside])
            found[row] = sums
    return [found[row] for row in range(len(found))]


def _coalitions(parts: IntArray, released: int, size: int, near: float) -> tuple[int, int]:
    """(coalition, outsider) pairs, and those whose estimate comes closer than `near` of the outsider's value."""
    tried = hits = 0
    for members in itertools.combinations(range(parts.size), size):
        estimate = released - int(parts[list(members)].sum())
        for other, amount in enumerate(parts.tolist()):
            if other not in members and amount > 0:
                tried += 1
                hits += abs(estimate - amount) < near * amount
    return tried, hits
