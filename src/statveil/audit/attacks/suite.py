"""All attacks in the order in which they are best made, and the calls that make them: on tables, and on a linear system at rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np

from statveil.audit.attacks import key_rotation, side_channels
from statveil.audit.attacks.case import Case, SystemCase, SystemOriginals
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
    tiny_cells,
    zeros,
)
from statveil.audit.attacks.verdict import Number, SuiteReport, Verdict, judged, not_applicable
from statveil.core.errors import InputError

_MODULES: Sequence[ModuleType] = (
    averaging, complement, contradicting_senses, zero_value_records, overlapping_sets, differencing, cell_intervals, levels, partitions,
    reverse_optimisation, ratios, frequency_tables, side_channels, periods, minimal_safe_value, coalitions, singletons, holdings, zeros,
    tiny_cells, lower_sense, last_digits, single_table, key_rotation,
)  # fmt: skip
"""Those that ask come first; those that read everything that was answered come last, and the other key last of all."""
Attack = Callable[[Case], Verdict]
ATTACKS: Mapping[str, Attack] = {module.THREAT.id: module.attack for module in _MODULES}
THREAT_BY_ID = {module.THREAT.id: module.THREAT for module in sorted(_MODULES, key=lambda module: str(module.THREAT.id))}


def attack_all(case: Case, *, target: str, only: Sequence[str] = (), on_progress: Callable[[str], object] | None = None) -> SuiteReport:
    """Make the attacks (all, or those named) and report them in the order of the catalogue."""
    check_names(only)
    found: dict[str, Verdict] = {}
    for name, attack in ATTACKS.items():
        if not only or name in only:
            if on_progress is not None:
                on_progress(f"{name} {THREAT_BY_ID[name].name}")
            found[name] = attack(case)
    verdicts = tuple(found[name] for name in THREAT_BY_ID if name in found)
    return SuiteReport(target=target, verdicts=verdicts, facts=_facts(case))


def check_names(only: Sequence[str]) -> None:
    unknown = [name for name in only if name not in ATTACKS]
    if unknown:
        raise InputError(f"There is no attack {unknown[0]!r}.", hint=f"Known: {', '.join(THREAT_BY_ID)}.")


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


def attack_system(
    case: SystemCase, *, target: str, only: Sequence[str] = (), on_progress: Callable[[str], object] | None = None
) -> SuiteReport:
    """Every attack (or those named) that a system can be tried with; the others are listed as not applicable."""
    verdicts = tuple(_tried(case, name, on_progress) for name in THREAT_BY_ID if not only or name in only)
    facts = {
        "cells": int(case.originals.value.size),
        "sensitive cells": int(case.originals.sensitive.sum()),
        "relations": int(case.published.rhs.size),
        "seed": case.effort.seed,
    }
    return SuiteReport(target=target, verdicts=verdicts, facts=facts)


def _tried(case: SystemCase, name: str, on_progress: Callable[[str], object] | None) -> Verdict:
    if name not in _ATTACKS:
        return not_applicable(THREAT_BY_ID[name], UNKNOWN)
    if on_progress is not None:
        on_progress(f"{name} {THREAT_BY_ID[name].name}")
    return _ATTACKS[name](case)


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
    at = case.originals.sensitive
    return minimal_safe_value.guessed(case.published.released[at], case.originals.take(at), cap=case.cap, unit=case.unit)


def _backwards(case: SystemCase) -> Verdict:
    part = reverse_optimisation.part_of(case.published, case.originals, case.most_reversed, case.rng("backwards"))
    return reverse_optimisation.reversed_verdict([part], case.reverse, case.cap, unit=case.unit)


def _coalitions(case: SystemCase) -> Verdict:
    if case.respondents is None:
        return not_applicable(coalitions.THREAT, UNKNOWN)
    return coalitions.of_cells(case.published.released, case.originals.sensitive, case.respondents, case.rng("coalitions"))


def _singletons(case: SystemCase) -> Verdict:
    if case.respondents is None:
        return not_applicable(singletons.THREAT, UNKNOWN)
    secret, who = case.originals, case.respondents
    single = (who.number == 1) & (secret.value != 0)
    victim = single & secret.sensitive & who.protected
    cells = singletons.Singles(released=case.published.released, value=secret.value, single=single, victim=victim)
    families = _families(case)
    error = singletons.errors(families.row, families.part, cells, case.rng("singletons"))
    return singletons.beside(error, near=who.percent, tables=1)


def _families(case: SystemCase) -> tiny_cells.Families:
    """By the sums that readers see."""
    relations = case.published.relations
    if case.shown is not None:
        hidden = relations.astype(bool).astype(np.int64) @ (~case.shown).astype(np.int64)
        relations = relations[np.flatnonzero(hidden == 0)]
    return tiny_cells.families_of_relations(relations, case.level)


def _of_shown(case: SystemCase) -> SystemOriginals:
    secret = case.originals
    return secret if case.shown is None else replace(secret, sensitive=secret.sensitive & case.shown)


def _zeros(case: SystemCase) -> Verdict:
    return zeros.zeros_of_cells(case.published.released, _of_shown(case), _families(case), case.rng("zeros"))


def _tiny(case: SystemCase) -> Verdict:
    secret = _of_shown(case)
    found = tiny_cells.counted(case.published.released, secret.value, secret.sensitive, _families(case), case.rng("tiny"))
    return tiny_cells.tiny_verdict(*found.tolist())


def _lower_sense(case: SystemCase) -> Verdict:
    secret = case.originals
    return lower_sense.lowered(case.published.released, secret.value, secret.lower, secret.sensitive, unit=case.unit)


def _digits(case: SystemCase) -> Verdict:
    secret, released = case.originals, case.published.released
    return last_digits.last_digits(released, secret.value, secret.sensitive, constant=True, decimals=case.decimals, unit=case.unit)


_ATTACKS: Mapping[str, Callable[[SystemCase], Verdict]] = {
    "T01": _safety,
    "T08": _intervals,
    "T11": _minimal,
    "T12": _backwards,
    "T13": _coalitions,
    "T14": _singletons,
    "T17": _zeros,
    "T18": _lower_sense,
    "T19": _digits,
    "T27": _tiny,
}
