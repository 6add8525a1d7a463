"""T05: the same contributors with and without records of value zero."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import less_one_code
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable
from statveil.core.arrays import AnyArray, IntArray

THREAT = Threat(
    id="T05",
    name="records of value zero",
    does="Asks for a cell with and without records that contribute nothing to it, hoping for two different answers about the same value.",
    mark="sign and value identical: 0 differences; in one table at rest, where a sensitive zero must rise into its total, 0 opposite signs",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    numbers = journal.ask_all(less_one_code(attacker, case.measure)) if journal.open else None
    seen = journal.sightings(journal.cell_answers(case.measure, numbers))
    if seen.key.size == 0:
        return not_applicable(THREAT, "No table was released.")
    truth = case.true_cells(seen)
    substance = np.zeros(seen.key.size, dtype=np.uint64)
    for number in np.unique(seen.answer).tolist():
        here, answered = seen.answer == number, journal.answers[number]
        substance[here] = case.truth.substance(answered.request, answered.table)[seen.place[here]]
    sensitive = truth.sensitive & (substance != 0)
    both, signs, values = _compared(
        substance[sensitive], seen.key[sensitive], seen.value[sensitive], np.sign(seen.value - truth.value)[sensitive]
    )
    if not both:
        return not_applicable(THREAT, "No sensitive cell was released with and without records of value zero.")
    figures = {"sensitive cells seen both ways": both, "opposite signs": signs, "different values": values}
    told = values if journal.open else signs
    return judged(THREAT, passed=told == 0, number=f"{values} differences, {signs} opposite signs, of {both} cells", figures=figures)


def _compared(substance: AnyArray, key: AnyArray, value: IntArray, sign: IntArray) -> tuple[int, int, int]:
    """How many substances were seen as several record sets; of those with two signs; with two values."""
    both = signs = values = 0
    order = np.argsort(substance, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(substance[order])) + 1):
        if np.unique(key[group]).size > 1:
            both += 1
            signs += int(np.unique(sign[group]).size > 1)
            values += int(np.unique(value[group]).size > 1)
    return both, signs, values
