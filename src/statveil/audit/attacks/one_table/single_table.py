"""T01: one table at a time, released numbers against the truth, in exact integers."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import sums_of
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable
from statveil.core.show import counted

THREAT = Threat(
    id="T01",
    name="single-table safety",
    does="Reads every released table by itself.",
    mark="0 sensitive cells inside their protection interval, 0 broken sums, 0 negative numbers",
)


def attack(case: Case) -> Verdict:
    journal = case.attacker.journal
    if not journal.answers:
        return not_applicable(THREAT, "No table was released.")
    unsafe = broken = negative = cells = sensitive = sums = 0
    for number, answered in enumerate(journal.answers):
        table = answered.table
        truth, released, shown = case.truth_of(number), table.values.reshape(-1), table.shown.reshape(-1)
        inside = int(np.count_nonzero(truth.unsafe(released) & shown))
        unsafe, sums = (unsafe + inside, sums) if journal.shows_cells(number) else (unsafe, sums + inside)
        negative += int(np.count_nonzero((released < 0) & (truth.value >= 0) & shown))
        broken += _broken(case, number)
        cells, sensitive = cells + released.size, sensitive + int(np.count_nonzero(truth.sensitive))
    figures = {
        "tables": len(journal.answers),
        "cells": cells,
        "sensitive cells": sensitive,
        "under-protected": unsafe,
        "broken sums": broken,
        "negative": negative,
        "sums over codes of a filter inside the interval of their records": sums,
    }
    faults = unsafe + broken + negative
    told = f"{counted(faults, 'fault')} in {counted(len(journal.answers), 'table')}"
    return judged(THREAT, passed=faults == 0, number=told, figures=figures)


def _broken(case: Case, number: int) -> int:
    """Sums that do not hold, among those whose cells are all shown."""
    table = case.attacker.journal.answers[number].table
    released, shown = table.values.reshape(-1), table.shown.reshape(-1)
    wrong = 0
    for sums in sums_of(table, case.attacker.register.dimensions):
        complete = shown[sums.total] & shown[sums.parts].all(axis=0)
        wrong += int(np.count_nonzero(complete & (released[sums.total] != released[sums.parts].sum(axis=0))))
    return wrong
