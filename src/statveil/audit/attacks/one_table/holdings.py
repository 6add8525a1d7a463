"""T15: two records of one holding are one respondent."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import TUNING
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import Register
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import BoolArray

THREAT = Threat(
    id="T15",
    name="holdings",
    does="Looks at cells that are safe record by record but dominated, or filled, by one holding.",
    mark="0 of those released inside their protection interval",
)


def attack(case: Case) -> Verdict:
    journal, register = case.attacker.journal, case.attacker.register
    if np.unique(register.owner).size == register.size:
        return not_applicable(THREAT, "No holding has two records.")
    blind = case.truth.blind(_one_by_one(register))
    only, unsafe, tables = 0, 0, 0
    for number in journal.cell_answers(case.measure)[: TUNING.most_holding_tables]:
        answered = journal.answers[number]
        by_holding, by_record = case.truth_of(number), blind.cells(answered.request, answered.table, journal.prints(number))
        hidden: BoolArray = by_holding.sensitive & ~by_record.sensitive & answered.table.shown.reshape(-1)
        only += int(hidden.sum())
        unsafe += int((by_holding.unsafe(answered.table.values.reshape(-1)) & hidden).sum())
        tables += 1
    if not only:
        return not_applicable(THREAT, "No released cell is sensitive because of holdings alone.", {"tables": tables})
    figures: dict[str, Number] = {"tables": tables, "cells sensitive by holdings alone": only, "under-protected": unsafe}
    return judged(THREAT, passed=unsafe == 0, number=f"{unsafe} of {only} under-protected", figures=figures)


def _one_by_one(register: Register) -> Register:
    """The register as one sees it who does not know the holdings."""
    return Register(list(register.dimensions.values()), register.codes, np.arange(register.size))
