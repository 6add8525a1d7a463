"""T21: the same units period after period; the mean over periods."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import AttackJournal, plain
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent

THREAT = Threat(
    id="T21",
    name="repeated periods",
    does="Averages the releases of the same cell over periods in which its units hardly change.",
    mark="rho >= 1 for every sensitive cell: direction and size of a unit's change are permanent",
)


def attack(case: Case) -> Verdict:
    whole = plain(case.attacker, case.measure)
    if case.operator is None or whole is None:
        return not_applicable(THREAT, "Further periods of the same units are needed; only the operator can make them.")
    tables, truths = [], []
    for server, truth in case.operator.periods(case.attacker.effort.periods):
        journal = AttackJournal(case.attacker.register, server.catalogue, server)
        if journal.ask(whole) is not None:
            answered = journal.answers[0]
            tables.append(answered.table.values.reshape(-1))
            truths.append(truth.cells(answered.request, answered.table))
    if len(tables) < 2:
        return not_applicable(THREAT, "Fewer than two periods could be asked.")
    sensitive = np.logical_and.reduce([truth.sensitive for truth in truths])
    if not sensitive.any():
        return not_applicable(THREAT, "No cell is sensitive in every period.")
    mean = np.mean(tables, axis=0)[sensitive]
    signs = np.array([np.sign(table - truth.value)[sensitive] for table, truth in zip(tables, truths, strict=True)])
    exact = np.mean([truth.value for truth in truths], axis=0)[sensitive]
    level = np.mean([np.minimum(truth.lower, truth.upper) for truth in truths], axis=0)[sensitive]
    rho = np.abs(mean - exact) / np.maximum(level, 1)
    turned = int((signs.min(axis=0) != signs.max(axis=0)).sum())
    below = float((rho < 0.99).mean())
    figures: dict[str, Number] = {
        "periods": len(tables),
        "cells sensitive throughout": int(sensitive.sum()),
        "least rho": float(rho.min()),
        "median rho": float(np.median(rho)),
        "cells with rho < 1": int((rho < 0.99).sum()),
        "cells whose direction turned": turned,
    }
    number = f"least rho {rho.min():.2f}, {percent(below)} of {int(sensitive.sum())} cells below 1"
    return judged(THREAT, passed=below == 0 and turned == 0, number=number, figures=figures)
