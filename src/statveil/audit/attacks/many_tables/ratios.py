"""T23: the ratio of two variables of a single respondent."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import plain
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent

THREAT = Threat(
    id="T23",
    name="ratio of two variables",
    does="Divides two released variables of a single respondent: a factor that both share cancels.",
    mark="relative error of the ratio >= p% for every single respondent, or documented as accepted",
)


def attack(case: Case) -> Verdict:
    catalogue, journal = case.attacker.catalogue, case.attacker.journal
    measures = [each for each in catalogue.measures if each != catalogue.counts][:2]
    tables = [plain(case.attacker, measure) for measure in measures]
    numbers = journal.ask_all([each for each in tables if each is not None])
    if len(numbers) < 2:
        return not_applicable(THREAT, "The data set has not two variables to divide.")
    one, other = (journal.answers[number].table.values.reshape(-1) for number in numbers)
    upper, lower = (case.truth_of(number) for number in numbers)
    usable = (upper.respondents == 1) & (upper.value > 0) & (lower.value > 0) & (other > 0)
    if not usable.any():
        return not_applicable(THREAT, "No cell has a single respondent with both variables.")
    exact = upper.value[usable] / lower.value[usable]
    error = np.abs(one[usable] / other[usable] - exact) / exact
    near, wanted = float((error < case.attacker.percent).mean()), case.attacker.percent
    same = float((error < wanted / 10).mean())
    figures: dict[str, Number] = {
        "single respondents": int(usable.sum()),
        "within p%": near,
        "within a tenth of p%": same,
        "median error": float(np.median(error)),
    }
    number = f"{percent(near)} of {int(usable.sum())} ratios within p%, median error {percent(float(np.median(error)))}"
    return judged(THREAT, passed=near == 0, number=number, figures=figures)
