"""T02: the same cell in many tables, averaged."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import crossings
from statveil.audit.attacks.case import Case, both_signs
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable, percent

THREAT = Threat(
    id="T02",
    name="averaging the same cell",
    does="Asks for many different tables with the same sensitive cells; takes mean, midrange and mode of what is published of each.",
    mark="rho >= 1 for all three estimators and all targets; one sign per target",
)
ESTIMATORS = ("mean", "midrange", "mode")


def attack(case: Case) -> Verdict:
    return averaged(case, THREAT, case.measure)


def averaged(case: Case, threat: Threat, measure: str) -> Verdict:
    """Targets are the sensitive cells seen most often: in half as many tables as the one seen in most, and at least twice."""
    attacker = case.attacker
    numbers = attacker.journal.ask_all(crossings(attacker, measure))
    seen = case.seen(numbers if attacker.journal.open else None, measure=measure)
    times = seen.releases.times
    chosen = seen.sensitive & (times >= max(2, int(times.max(initial=0)) // 2))
    if seen.truth is None or not chosen.any():
        return not_applicable(threat, "No sensitive cell was released in two tables.")
    truth = seen.truth.take(chosen)
    rho = {name: truth.rho(getattr(seen.releases, name)[chosen]) for name in ESTIMATORS}
    cells = case.true_cells(seen.sightings)
    sign = np.where(cells.sensitive, np.sign(seen.sightings.value - cells.value), 0)
    contradicted = np.intersect1d(both_signs(seen.sightings.key, sign), truth.key).size
    worst = min(float(each.min()) for each in rho.values())
    below = np.logical_or.reduce([each < 1 for each in rho.values()])
    figures = {
        "tables": len(np.unique(seen.sightings.answer)),
        "targets": int(chosen.sum()),
        "tables per target, median": float(np.median(times[chosen])),
        **{f"least rho, {name}": float(each.min()) for name, each in rho.items()},
        **{f"median rho, {name}": float(np.median(each)) for name, each in rho.items()},
        "targets with rho < 1": int(below.sum()),
        "targets with two signs": contradicted,
    }
    number = f"least rho {worst:.2f}, {percent(float(below.mean()))} of {int(chosen.sum())} targets below 1"
    return judged(threat, passed=worst >= 1 and contradicted == 0, number=number, figures=figures)
