"""T14: the only respondent of a cell knows how far it was moved, and looks for the counterweight."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import TUNING
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import sums_of
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import AnyArray

THREAT = Threat(
    id="T14",
    name="singletons beside singletons",
    does="The only respondent of a cell knows its own value, hence how far its cell was moved; in every sum it is a part of it takes "
    "another single respondent's cell for the counterweight.",
    mark="|estimate - x_i| >= p% of x_i for every other single respondent",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    numbers = journal.cell_answers(case.measure)[: TUNING.most_singleton_tables]
    error = np.concatenate([np.zeros(0), *(_errors(case, number) for number in numbers)])
    if not error.size:
        return not_applicable(THREAT, "No sum has two cells with a single respondent each.")
    near = error < attacker.percent
    figures: dict[str, Number] = {
        "tables": len(numbers),
        "pairs of singletons": int(error.size),
        "exact": int((error == 0).sum()),
        "within p%": int(near.sum()),
        "share within p%": float(near.mean()),
    }
    number = f"{percent(float(near.mean()))} of {error.size:,} pairs within p%, {int((error == 0).sum()):,} exact"
    return judged(THREAT, passed=not near.any(), number=number, figures=figures)


def _errors(case: Case, number: int) -> AnyArray:
    """Relative error of x_other + (x_own - a_own) for every ordered pair of singletons in a sum of the answer."""
    table, truth = case.attacker.journal.answers[number].table, case.truth_of(number)
    released, shown = table.values.reshape(-1), table.shown.reshape(-1)
    single = (truth.respondents == 1) & (truth.value > 0) & shown
    found = [np.zeros(0)]
    for sums in sums_of(table, case.attacker.register.dimensions):
        part, column = np.nonzero(single[sums.parts])
        order = np.argsort(column, kind="stable")
        cells, column = sums.parts[part, column][order], column[order]
        for start, end in zip(*_runs(column), strict=True):
            own, other = (each.reshape(-1) for each in np.meshgrid(cells[start:end], cells[start:end]))
            own, other = own[own != other], other[own != other]
            estimate = released[other] + released[own] - truth.value[own]
            found.append(np.abs(estimate - truth.value[other]) / truth.value[other])
    return np.concatenate(found)


def _runs(sorted_numbers: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Where runs of equal numbers begin and end."""
    edges = np.flatnonzero(np.diff(sorted_numbers) != 0) + 1
    bounds = np.concatenate([[0], edges, [sorted_numbers.size]]) if sorted_numbers.size else np.zeros(1, dtype=np.int64)
    return bounds[:-1], bounds[1:]
