"""T14: the only respondent of a cell knows how far it was moved, and looks for the counterweight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.audit.attacks.attacker import TUNING, expanded
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import parts_of_sums
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import AnyArray, BoolArray, IntArray

THREAT = Threat(
    id="T14",
    name="singletons beside singletons",
    does="The only respondent of a cell knows its own value, hence how far its cell was moved; in every sum it is a part of it takes "
    "another single respondent's cell for the counterweight.",
    mark="|estimate - x_i| >= p% of x_i for every other single respondent whose cell is sensitive",
)


@dataclass(frozen=True, kw_only=True)
class Singles:
    """Cells with what was released and what is true of them; `single`: of one respondent, `victim`: one to be protected as well."""

    released: IntArray
    value: IntArray
    single: BoolArray
    victim: BoolArray


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    numbers = journal.cell_answers(case.measure)[: TUNING.most_singleton_tables]
    error = np.concatenate([np.zeros(0), *(_errors(case, number) for number in numbers)])
    return beside(error, near=attacker.percent, tables=len(numbers))


def beside(error: AnyArray, *, near: float, tables: int) -> Verdict:
    """The verdict on relative errors, one for each pair of single respondents in a sum."""
    if not error.size:
        return not_applicable(THREAT, "No sum has two cells with a single respondent each.")
    close = error < near
    figures: dict[str, Number] = {
        "tables": tables,
        "pairs of singletons": int(error.size),
        "exact": int((error == 0).sum()),
        "within p%": int(close.sum()),
        "share within p%": float(close.mean()),
    }
    number = f"{percent(float(close.mean()))} of {error.size:,} pairs within p%, {int((error == 0).sum()):,} exact"
    return judged(THREAT, passed=not close.any(), number=number, figures=figures)


def _errors(case: Case, number: int) -> AnyArray:
    table, truth = case.attacker.journal.answers[number].table, case.truth_of(number)
    single = (truth.respondents == 1) & (truth.value > 0) & table.shown.reshape(-1)
    cells = Singles(released=table.values.reshape(-1), value=truth.value, single=single, victim=single & truth.sensitive)
    return errors(*parts_of_sums(table, case.attacker.register.dimensions), cells, case.attacker.rng("singletons"))


def errors(row: IntArray, part: IntArray, cells: Singles, rng: np.random.Generator) -> AnyArray:
    """Relative error of x_other + (x_own - a_own) for every ordered pair of singletons in a sum; of too many sums, some at random."""
    kept = cells.single[part]
    order = np.argsort(row[kept], kind="stable")
    row, part = row[kept][order], part[kept][order]
    _, start, count = np.unique(row, return_index=True, return_counts=True)
    chosen = rng.permutation(np.flatnonzero(count > 1))
    chosen = chosen[: int(np.searchsorted(np.cumsum(count[chosen] ** 2), TUNING.most_pairs)) + 1]
    group, at = expanded(start[chosen], count[chosen])
    owner, beside_ = expanded(start[chosen][group], count[chosen][group])
    own, other = part[at[owner]], part[beside_]
    pair = (own != other) & cells.victim[other]
    own, other = own[pair], other[pair]
    estimate = cells.released[other] + cells.released[own] - cells.value[own]
    return np.asarray(np.abs(estimate - cells.value[other]) / np.abs(cells.value[other]))
