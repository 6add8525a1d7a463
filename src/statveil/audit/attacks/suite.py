"""All attacks in the order in which they are best made, and the calls that make them: on tables, and on a linear system at rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

import numpy as np

from statveil.audit.attacks import key_rotation, side_channels
from statveil.audit.attacks.case import Case, SystemCase
from statveil.audit.attacks.many_tables import (
    averaging,
    complement,
    contradicting_senses,
    differencing,
    frequency_tables,
    levels,
    overlapping_sets,
    partitions,
    periods,
    ratios,
    zero_value_records,
)
from statveil.audit.attacks.one_table import (
    cell_intervals,
    coalitions,
    holdings,
    last_digits,
    lower_sense,
    minimal_safe_value,
    reverse_optimisation,
    single_table,
    singletons,
    zeros,
)
from statveil.audit.attacks.verdict import Number, SuiteReport, Verdict, judged, not_applicable
from statveil.core.errors import InputError

_MODULES: Sequence[ModuleType] = (
    averaging, complement, contradicting_senses, zero_value_records, overlapping_sets, differencing, cell_intervals, levels, partitions,
    reverse_optimisation, ratios, frequency_tables, side_channels, periods, minimal_safe_value, coalitions, singletons, holdings, zeros,
    lower_sense, last_digits, single_table, key_rotation,
)  # fmt: skip
"""Those that ask come first; those that read everything that was answered come last, and the other key last of all."""
Attack = Callable[[Case], Verdict]
ATTACKS: Mapping[str, Attack] = {module.THREAT.id: module.attack for module in _MODULES}
THREAT_BY_ID = {module.THREAT.id: module.THREAT for module in sorted(_MODULES, key=lambda module: str(module.THREAT.id))}


def attack_all(case: Case, *, target: str, only: Sequence[str] = (), on_progress: Callable[[str], object] | None = None) -> SuiteReport:
    """Make the attacks (all, or those named) and report them in the order of the catalogue."""
    unknown = [name for name in only if name not in ATTACKS]
    if unknown:
        raise InputError(f"There is no attack {unknown[0]!r}.", hint=f"Known: {', '.join(THREAT_BY_ID)}.")
    found: dict[str, Verdict] = {}
    for name, attack in ATTACKS.items():
        if not only or name in only:
            if on_progress is not None:
                on_progress(f"{name} {THREAT_BY_ID[name].name}")
            found[name] = attack(case)
    verdicts = tuple(found[name] for name in THREAT_BY_ID if name in found)
    return SuiteReport(target=target, verdicts=verdicts, facts=_facts(case))


def _facts(case: Case) -> Mapping[str, Number]:
    journal = case.attacker.journal
    refused = [each.kind for each in journal.refusals]
    return {
        "records": case.attacker.register.size,
        "answers": len(journal.answers),
        "refusals": len(refused),
        **{f"refused with {kind}": refused.count(kind) for kind in sorted(set(refused))},
        "seed": case.attacker.effort.seed,
    }


UNKNOWN = "A linear system tells neither records nor respondents, and nobody answers requests."


def attack_system(case: SystemCase, *, target: str) -> SuiteReport:
    """Every attack that a system can be tried with; the others are listed as not applicable."""
    verdicts = tuple(_ATTACKS[name](case) if name in _ATTACKS else not_applicable(threat, UNKNOWN) for name, threat in THREAT_BY_ID.items())
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
    return cell_intervals.intervals(case.published, case.originals, most=case.effort.cells, rng=case.rng("intervals"), facts={})


def _minimal(case: SystemCase) -> Verdict:
    secret, at = case.originals, case.originals.sensitive
    released = case.published.released[at]
    return minimal_safe_value.guessed(released, secret.value[at], secret.lower[at], secret.upper[at], cap=case.cap, rng=case.rng("minimal"))


def _backwards(case: SystemCase) -> Verdict:
    return reverse_optimisation.reversed_verdict([(case.published, case.originals)], case.reverse, case.cap)


def _lower_sense(case: SystemCase) -> Verdict:
    secret = case.originals
    return lower_sense.lowered(case.published.released, secret.value, secret.lower, secret.sensitive)


def _digits(case: SystemCase) -> Verdict:
    return last_digits.last_digits(case.published.released, case.originals.value, case.originals.sensitive, constant=True)


_ATTACKS: Mapping[str, Callable[[SystemCase], Verdict]] = {
    "T01": _safety,
    "T08": _intervals,
    "T11": _minimal,
    "T12": _backwards,
    "T18": _lower_sense,
    "T19": _digits,
}
