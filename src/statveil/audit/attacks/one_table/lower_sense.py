"""T18: a sensitive cell smaller than its level cannot go down without telling."""

from __future__ import annotations

from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import AnyArray, IntArray

THREAT = Threat(
    id="T18",
    name="lower sense with a < p",
    does="Reads a released zero as 0 < a <= p.",
    mark="sense up wherever a - p < 0; 0 released zeros with a > 0",
)


def attack(case: Case) -> Verdict:
    seen = case.seen(measure=case.measure)
    if seen.truth is None:
        return not_applicable(THREAT, "No table was released.")
    truth = seen.truth
    return lowered(seen.releases.lowest, truth.value, truth.lower, truth.sensitive)


def lowered(released: IntArray, value: IntArray, lower: IntArray, sensitive: AnyArray, *, unit: int = 1) -> Verdict:
    """`unit` amounts make one published unit; what rounds to zero may be published as zero."""
    small = sensitive & (value - lower < 0)
    down = small & (released < value)
    vanished = (value > unit // 2) & (released == 0)
    figures: dict[str, Number] = {
        "cells smaller than their level": int(small.sum()),
        "of those released below the truth": int(down.sum()),
        "positive cells released as zero": int(vanished.sum()),
    }
    faults = int(down.sum()) + int(vanished.sum())
    return judged(THREAT, passed=faults == 0, number=f"{faults} faults in {released.size:,} cells", figures=figures)
