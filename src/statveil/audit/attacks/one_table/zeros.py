"""T17: empty cells, cells of value zero, and cells that are zero in one table and not in another."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.case import Case, SystemOriginals
from statveil.audit.attacks.one_table.tiny_cells import Families, families_of_answer, said_tiny, sample_of
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import BoolArray, IntArray

THREAT = Threat(
    id="T17",
    name="zeros",
    does="Compares zeros between tables, and looks for numbers where there is nobody and for zeros that tell of somebody.",
    mark="0 empty cells with a number; 0 cells that are zero in one table and not in another; 0 sensitive zeros that are told",
)


def attack(case: Case) -> Verdict:
    journal = case.attacker.journal
    if not journal.answers:
        return not_applicable(THREAT, "No table was released.")
    ghosts = empty = told = standing_out = 0
    for number in journal.cell_answers(case.measure):
        answered = journal.answers[number]
        released, shown = answered.table.values.reshape(-1), answered.table.shown.reshape(-1)
        nobody = journal.prints(number) == 0
        empty += int((nobody & shown).sum())
        ghosts += int((nobody & shown & (released != 0)).sum())
        truth = case.truth_of(number)
        zero = truth.sensitive & (truth.value == 0) & shown
        told += int((zero & (released == 0)).sum())
        families = families_of_answer(answered.table, case.attacker.register.dimensions)
        standing_out += zeros_standing_out(np.where(shown, released, 0), zero, families, case.attacker.rng("zeros"))
    seen = case.seen(measure=case.measure)
    both = int(((seen.releases.lowest == 0) & (seen.releases.highest > 0)).sum())
    figures: dict[str, Number] = {
        "empty positions": empty,
        "empty positions with a number": ghosts,
        "cells zero in one table and not in another": both,
        "sensitive zeros released as zero": told,
        "sensitive zeros that stand out (T27)": standing_out,
    }
    faults = ghosts + both + told + standing_out
    return judged(THREAT, passed=faults == 0, number=f"{faults} faults", figures=figures)


def zeros_standing_out(released: IntArray, zero: BoolArray, families: Families, rng: np.random.Generator) -> int:
    """Of the sensitive cells whose truth is zero, those released as a number that the attacker of T27 takes for one."""
    cells = sample_of(np.flatnonzero(zero & (released != 0)), families, rng)
    return int(said_tiny(released, families, cells).sum())


def zeros_of_cells(released: IntArray, secret: SystemOriginals, families: Families, rng: np.random.Generator) -> Verdict:
    """The same where every cell is somebody's and is seen once."""
    zero = secret.sensitive & (secret.value == 0)
    told, standing_out = int((zero & (released == 0)).sum()), zeros_standing_out(released, zero, families, rng)
    figures: dict[str, Number] = {
        "sensitive zeros": int(zero.sum()),
        "sensitive zeros released as zero": told,
        "sensitive zeros that stand out (T27)": standing_out,
    }
    return judged(THREAT, passed=told + standing_out == 0, number=f"{told + standing_out} faults", figures=figures)
