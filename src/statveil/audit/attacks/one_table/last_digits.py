"""T19: do last digits tell which numbers were touched?"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency

from statveil.audit.attacks.attacker import TUNING
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import BoolArray, IntArray

THREAT = Threat(
    id="T19",
    name="last digits",
    does="Compares the last digits of numbers that were changed with those of numbers that were not, and of sensitive cells with others.",
    mark="the number of decimals is constant, and not more than the true values have; chi-square p > 0.01",
)
LARGE_ENOUGH = 1_000
"""Last digits of smaller numbers are not uniform anyway."""


def attack(case: Case) -> Verdict:
    decimals = {(each.request.measure, each.table.decimals) for each in case.attacker.journal.answers}
    constant = len(decimals) == len({measure for measure, _ in decimals})
    seen = case.seen(measure=case.measure)
    if seen.truth is None:
        return not_applicable(THREAT, "No table was released.")
    most = max(decimal for _, decimal in decimals)
    return last_digits(seen.releases.mode, seen.truth.value, seen.sensitive, constant=constant, decimals=most)


def last_digits(released: IntArray, value: IntArray, sensitive: BoolArray, *, constant: bool, decimals: int = 0, unit: int = 1) -> Verdict:
    """Amounts have `decimals` decimals; `unit` of them make one published unit.

    What lies half-way between two of those is rounded to the even one, which tells of rounding and not of protection: it is left out.
    """
    halfway = (unit > 1) & (2 * (value % unit) == unit)
    large = np.flatnonzero((released >= LARGE_ENOUGH * unit) & ~halfway)[: TUNING.most_digits]
    digit, touched = released[large] // unit % 10, (np.abs(released - value) >= unit)[large]
    compared = {"touched against untouched": _chance(digit, touched), "sensitive against other": _chance(digit, sensitive[large])}
    finer = finer_than(released, value, decimals)
    figures: dict[str, Number] = {"cells": int(large.size), "touched": int(touched.sum()), "decimals constant": "yes" if constant else "no"}
    figures |= {"numbers with more decimals than the values": finer, "left out, rounded from half-way": int(np.count_nonzero(halfway))}
    figures |= {f"p of {words}": "too few" if chance is None else chance for words, chance in compared.items()}
    chances = [chance for chance in compared.values() if chance is not None]
    if finer:
        return judged(THREAT, passed=False, number=f"{finer:,} numbers have more decimals than the values", figures=figures)
    if constant and not chances:
        return not_applicable(THREAT, f"Fewer than {TUNING.fewest_digits} numbers on one side of each comparison.", figures)
    worst = min(chances, default=0.0)
    return judged(THREAT, passed=constant and worst > 0.01, number=f"chi-square p = {worst:.2g}", figures=figures)


def finer_than(released: IntArray, value: IntArray, decimals: int) -> int:
    """Released numbers with more decimals than any true value has, where amounts may have so many."""
    spare = max((power for power in range(decimals + 1) if not (value % 10**power).any()), default=0)
    return int(np.count_nonzero(released % 10**spare))


def _chance(digit: IntArray, group: BoolArray) -> float | None:
    """The p of the chi-square test that both groups have the same last digits; None where a group is too small to tell."""
    if min(int(group.sum()), int((~group).sum())) < TUNING.fewest_digits:
        return None
    counts = np.array([np.bincount(digit[each], minlength=10) for each in (group, ~group)])
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
