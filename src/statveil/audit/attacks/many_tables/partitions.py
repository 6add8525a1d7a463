"""T10: the same population cut into cells in many ways; do all the sums agree? (Asghar and Kaafar on TableBuilder)"""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import Attacker, rows_and_columns
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.many_tables.levels import implied_parents
from statveil.audit.attacks.public import RequestAxis, TableRequest
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable, share

THREAT = Threat(
    id="T10",
    name="partitions",
    does="Cuts the same populations into cells by one dimension after another and averages the sums of the parts.",
    mark="all sums of parts equal the released parent: variance 0",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    above, cuts = _requests(attacker, case.measure)
    whole = journal.ask(above) if above is not None else None
    numbers = journal.ask_all(cuts)
    if whole is None or not numbers:
        return not_applicable(THREAT, "No population was released in more than one partition.")
    sums = [implied_parents(attacker, whole, number) for number in numbers]
    complete = np.logical_and.reduce([each for _, each in sums])
    values = np.array([journal.answers[whole].table.values.reshape(-1), *(implied for implied, _ in sums)])[:, complete]
    spread = values.max(axis=0) - values.min(axis=0)
    truth = case.truth_of(whole).take(complete)
    closer = truth.rho(values.mean(axis=0))[truth.sensitive]
    populations, varying = int(complete.sum()), int((spread > 0).sum())
    figures = {
        "populations": populations,
        "partitions": len(numbers),
        "populations whose sums differ": varying,
        "largest spread as a share of the value": float((spread / np.maximum(truth.value, 1)).max(initial=0.0)),
        "sensitive populations": int(closer.size),
        "of those the mean comes within p": int((closer < 1).sum()),
    }
    number = f"{varying} of {populations} populations vary ({share(varying, populations):.0%})"
    return judged(THREAT, passed=varying == 0, number=number, figures=figures)


def _requests(attacker: Attacker, measure: str) -> tuple[TableRequest | None, list[TableRequest]]:
    """The rows alone, then crossed with each other dimension, no totals."""
    found = rows_and_columns(attacker)
    if found is None:
        return None, []
    rows = found[0]
    others = [dimension for dimension in attacker.catalogue.dimensions if dimension is not rows]
    axis = RequestAxis(id=rows.name)
    cuts = [TableRequest(axes=(axis, RequestAxis(id=other.name)), measure=measure, totals=False) for other in others]
    return TableRequest(axes=(axis,), measure=measure, totals=False), cuts
