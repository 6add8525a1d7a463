"""A released linear system at rest (a JJ file and its solution): the attacks that need no records and nobody to ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from statveil.audit.attacks.case import Effort
from statveil.audit.attacks.one_table import backwards, digits, geographies, lower_sense, minimal, single_table
from statveil.audit.attacks.suite import THREATS
from statveil.audit.attacks.targets.system import Originals, Published, Reverse
from statveil.audit.attacks.verdict import SuiteReport, Verdict, judged, not_applicable

UNKNOWN = "A linear system tells neither records nor respondents, and nobody answers requests."


@dataclass(frozen=True, kw_only=True)
class SystemCase:
    """A released system, its originals, and how far (in levels) its sensitive cells may have moved."""

    published: Published
    originals: Originals
    cap: float
    effort: Effort
    reverse: Reverse | None = None

    def dice(self, name: str) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.effort.seed, *name.encode()]))


def attack_system(case: SystemCase, *, target: str) -> SuiteReport:
    """Every attack that a system can be tried with; the others are listed as not applicable."""
    verdicts = tuple(_ATTACKS[name](case) if name in _ATTACKS else not_applicable(threat, UNKNOWN) for name, threat in THREATS.items())
    facts = {
        "cells": int(case.originals.value.size),
        "sensitive cells": int(case.originals.sensitive.sum()),
        "relations": int(case.published.rhs.size),
        "seed": case.effort.seed,
    }
    return SuiteReport(target=target, verdicts=verdicts, facts=facts)


def _safety(case: SystemCase) -> Verdict:
    """T01 in exact integers."""
    secret, released = case.originals, case.published.released
    moved = released - secret.value
    unsafe = int((secret.sensitive & (moved > -secret.lower) & (moved < secret.upper)).sum())
    broken = int((case.published.relations.astype(np.int64) @ released != case.published.rhs).sum())
    negative = int(((released < 0) & (secret.value >= 0)).sum())
    figures = {"cells": int(released.size), "under-protected": unsafe, "broken sums": broken, "negative": negative}
    faults = unsafe + broken + negative
    return judged(single_table.THREAT, passed=faults == 0, number=f"{faults} faults", figures=figures)


def _intervals(case: SystemCase) -> Verdict:
    return geographies.intervals(case.published, case.originals, most=case.effort.cells, dice=case.dice("intervals"), facts={})


def _minimal(case: SystemCase) -> Verdict:
    secret, at = case.originals, case.originals.sensitive
    released = case.published.released[at]
    return minimal.guessed(released, secret.value[at], secret.lower[at], secret.upper[at], cap=case.cap, dice=case.dice("minimal"))


def _backwards(case: SystemCase) -> Verdict:
    return backwards.reversed_verdict([(case.published, case.originals)], case.reverse, case.cap)


def _lower_sense(case: SystemCase) -> Verdict:
    secret = case.originals
    return lower_sense.lowered(case.published.released, secret.value, secret.lower, secret.sensitive)


def _digits(case: SystemCase) -> Verdict:
    return digits.last_digits(case.published.released, case.originals.value, case.originals.sensitive, constant=True)


_ATTACKS: Mapping[str, Callable[[SystemCase], Verdict]] = {
    "T01": _safety,
    "T08": _intervals,
    "T11": _minimal,
    "T12": _backwards,
    "T18": _lower_sense,
    "T19": _digits,
}
