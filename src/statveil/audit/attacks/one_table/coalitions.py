"""T13: respondents who put their own contributions together against another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np

from statveil.audit.attacks.attacker import TUNING, Sightings
from statveil.audit.attacks.case import Case, Contributions, Respondents
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, share
from statveil.core.arrays import BoolArray, IntArray

THREAT = Threat(
    id="T13",
    name="coalitions of respondents",
    does="In every sensitive cell every group of one, two or three respondents subtracts its own contributions from the release "
    "and takes the rest for the one respondent it wants to know.",
    mark="|estimate - x_i| >= p% of x_i for every respondent outside the coalition, for coalitions as large as the rule speaks of",
)
SIZES = range(1, TUNING.largest_coalition + 1)


def attack(case: Case) -> Verdict:
    seen = case.seen(measure=case.measure)
    if seen.truth is None:
        return not_applicable(THREAT, "No table was released.")
    small = np.flatnonzero(seen.sensitive & (seen.truth.respondents <= TUNING.most_respondents))[: TUNING.most_coalition_cells]
    rule = max((getattr(each, "coalition", 1) for each in case.truth.rules), default=1)
    parts = _contributions(case, seen.sightings.take(seen.releases.first[small]))
    return put_together(seen.releases.mode[small], parts, rule=rule, near=case.attacker.percent)


def of_cells(released: IntArray, sensitive: BoolArray, respondents: Respondents, rng: np.random.Generator) -> Verdict:
    """The same on cells whose respondents are known."""
    small = np.flatnonzero(sensitive & (respondents.number <= TUNING.most_respondents) & (respondents.number > 1))
    if small.size > TUNING.most_coalition_cells:
        small = np.sort(rng.choice(small, size=TUNING.most_coalition_cells, replace=False))
    parts = respondents.contributions(small)
    return put_together(released[small], parts, rule=respondents.coalition, near=respondents.percent)


def put_together(released: IntArray, parts: Sequence[Contributions], *, rule: int, near: float) -> Verdict:
    """The verdict on cells with these releases and contributions; only coalitions up to that of the rule are judged."""
    found = np.array([[_coalitions(each, int(total), size, near) for size in SIZES] for each, total in zip(parts, released, strict=True)])
    tried, hits = found.reshape(-1, len(SIZES), 2).transpose(2, 0, 1)
    if not tried.sum():
        return not_applicable(THREAT, "No sensitive cell has two respondents, one of them to be protected from the other.")
    figures: dict[str, Number] = {"sensitive cells": len(parts), "coalition of the rule": rule}
    for size in SIZES:
        figures[f"coalitions of {size}"], figures[f"successful, {size}"] = int(tried[:, size - 1].sum()), int(hits[:, size - 1].sum())
    judged_hits, judged_tried = int(hits[:, :rule].sum()), int(tried[:, :rule].sum())
    figures["cells where one succeeds"] = int(np.count_nonzero(hits[:, :rule].any(axis=1)))
    number = f"{judged_hits:,} of {judged_tried:,} coalitions within p% ({share(judged_hits, judged_tried):.1%})"
    return judged(THREAT, passed=judged_hits == 0, number=number, figures=figures)


def _contributions(case: Case, sightings: Sightings) -> list[Contributions]:
    """The holdings' contributions to each sighted cell, an answer at a time."""
    found: dict[int, Contributions] = {}
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
            found[row] = Contributions(amount=sums, protected=np.ones(sums.size, dtype=np.bool_))
    return [found[row] for row in range(len(found))]


def _coalitions(parts: Contributions, released: int, size: int, near: float) -> tuple[int, int]:
    """(coalition, outsider) pairs, and those whose estimate comes closer than `near` of the outsider's value."""
    members = _members(parts.amount.size, size)
    estimate = released - parts.amount[members].sum(axis=1)
    outside = np.broadcast_to(parts.protected & (parts.amount != 0), (members.shape[0], parts.amount.size)).copy()
    np.put_along_axis(outside, members, False, axis=1)
    hits = outside & (np.abs(estimate[:, np.newaxis] - parts.amount) < near * np.abs(parts.amount))
    return int(outside.sum()), int(hits.sum())


@cache
def _members(respondents: int, size: int) -> IntArray:
    return np.array(list(itertools.combinations(range(respondents), size)), dtype=np.int64).reshape(-1, size)
