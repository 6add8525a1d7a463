"""T06: many overlapping sets around one dominant holding, the others subtracted, averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.audit.attacks.attacker import TUNING, overlapping
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import AnyArray, IntArray

THREAT = Threat(
    id="T06",
    name="overlapping sets",
    does="Asks for many populations in which the same holding dominates a cell; subtracts the small contributions, which it is "
    "granted to know exactly, and averages.",
    mark="relative error of the holding's value >= p% for 99% of the targets",
)


@dataclass(frozen=True, kw_only=True)
class GrantedKnowledge:
    """Granted to the attacker beyond the public: per release whom it is about, and what all others contribute.

    A target is a holding with the same of its records inside: what it contributes is the same in all the sets.
    """

    target: IntArray
    released: IntArray
    others: IntArray


def attack(case: Case) -> Verdict:
    return overlapped(case, THREAT, case.measure)


def overlapped(case: Case, threat: Threat, measure: str) -> Verdict:
    attacker = case.attacker
    requests = overlapping(attacker, measure)
    if attacker.journal.open and not requests:
        return not_applicable(threat, "The server lets nobody choose populations: no filters.")
    numbers = attacker.journal.ask_all(requests)
    if attacker.journal.open and not numbers:
        return not_applicable(threat, "Every population was refused.", {"requests": len(requests)})
    seen = case.seen(numbers if attacker.journal.open else None, measure=measure, sums=True)
    if seen.truth is None or not seen.sensitive.any():
        return not_applicable(threat, "No sensitive cell was released.", {"requests": len(requests), "answered": len(numbers)})
    dominant = seen.sensitive & (seen.truth.top[:, 0] > 0)
    truth, released = seen.truth.take(dominant), seen.releases.mode[dominant]
    _, first, target_of = np.unique(np.array([truth.leader, truth.top[:, 0]]), axis=1, return_index=True, return_inverse=True)
    known = GrantedKnowledge(target=target_of.reshape(-1), released=released, others=truth.value - truth.top[:, 0])
    target, estimate, sets = estimates(known, attacker.percent)
    exact = truth.top[first[target], 0]
    if not target.size:
        return not_applicable(threat, f"No holding dominated {TUNING.fewest_sets} different sets.", {"answered": len(numbers)})
    error = np.abs(estimate - exact) / exact
    wanted = attacker.percent
    figures = {
        "requests": len(requests),
        "answered": len(numbers),
        "targets": int(target.size),
        "sets per target, median": float(np.median(sets)),
        "sets per target, most": int(sets.max()),
        "median error": float(np.median(error)),
        "within 5%": float((error < 0.05).mean()),
        "within p%": float((error < wanted).mean()),
    }
    number = f"median error {percent(float(np.median(error)))}, {percent(figures['within 5%'])} of {target.size} targets within 5%"
    return judged(threat, passed=float((error >= wanted).mean()) >= 0.99, number=number, figures=figures)


def estimates(known: GrantedKnowledge, dominated: float) -> tuple[IntArray, AnyArray, IntArray]:
    """Targets, the mean of (released - others) over the sets they dominate, and how many sets; those with most sets first.

    Sets in which the others have more than that share of what is left for the target are no use: their own change would blur it.
    """
    clear = known.others <= dominated * (known.released - known.others)
    known = GrantedKnowledge(target=known.target[clear], released=known.released[clear], others=known.others[clear])
    target, sets = np.unique(known.target, return_counts=True)
    chosen = np.lexsort((target, -sets))[: TUNING.most_dominant]
    target, sets = target[chosen], sets[chosen]
    target, sets = target[sets >= TUNING.fewest_sets], sets[sets >= TUNING.fewest_sets]
    alone = (known.released - known.others).astype(np.float64)
    return target, np.array([alone[known.target == each].mean() for each in target]), sets
