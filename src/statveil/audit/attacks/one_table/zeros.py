"""T17: empty cells, cells of value zero, and cells that are zero in one table and not in another."""

from __future__ import annotations

from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable

THREAT = Threat(
    id="T17",
    name="zeros",
    does="Compares zeros between tables, and looks for numbers where there is nobody and for zeros that tell of somebody.",
    mark="0 empty cells with a number; 0 cells that are zero in one table and not in another",
)


def attack(case: Case) -> Verdict:
    journal = case.attacker.journal
    if not journal.answers:
        return not_applicable(THREAT, "No table was released.")
    ghosts = empty = told = 0
    for number in journal.cell_answers(case.measure):
        answered = journal.answers[number]
        released, shown = answered.table.values.reshape(-1), answered.table.shown.reshape(-1)
        nobody = journal.prints(number) == 0
        empty += int((nobody & shown).sum())
        ghosts += int((nobody & shown & (released != 0)).sum())
        truth = case.truth_of(number)
        told += int((truth.sensitive & (truth.value == 0) & (released == 0) & shown).sum())
    seen = case.seen(measure=case.measure)
    both = int(((seen.releases.lowest == 0) & (seen.releases.highest > 0)).sum())
    figures: dict[str, Number] = {
        "empty positions": empty,
        "empty positions with a number": ghosts,
        "cells zero in one table and not in another": both,
        "sensitive zeros released as zero": told,
    }
    faults = ghosts + both + told
    return judged(THREAT, passed=faults == 0, number=f"{faults} faults", figures=figures)
