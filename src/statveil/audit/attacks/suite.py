"""All attacks in the order in which they are best made, and the one call that makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

from statveil.audit.attacks.case import Case
from statveil.audit.attacks.many_tables import (
    averaging,
    complement,
    counts,
    differencing,
    identity,
    levels,
    partitions,
    periods,
    ratios,
    senses,
    slivers,
)
from statveil.audit.attacks.one_table import (
    backwards,
    coalitions,
    digits,
    geographies,
    holdings,
    lower_sense,
    minimal,
    single_table,
    singletons,
    zeros,
)
from statveil.audit.attacks.service import rotation, side_channels
from statveil.audit.attacks.verdict import Number, SuiteReport, Verdict
from statveil.core.errors import InputError

_MODULES: Sequence[ModuleType] = (
    averaging, complement, senses, identity, slivers, differencing, geographies, levels, partitions, backwards, ratios, counts,
    side_channels, periods, minimal, coalitions, singletons, holdings, zeros, lower_sense, digits, single_table, rotation,
)  # fmt: skip
"""Those that ask come first; those that read everything that was answered come last, and the other key last of all."""

Attack = Callable[[Case], Verdict]
ATTACKS: Mapping[str, Attack] = {module.THREAT.id: module.attack for module in _MODULES}
THREATS = {module.THREAT.id: module.THREAT for module in sorted(_MODULES, key=lambda module: str(module.THREAT.id))}


def attack_all(case: Case, *, target: str, only: Sequence[str] = (), on_progress: Callable[[str], object] | None = None) -> SuiteReport:
    """Make the attacks (all, or those named) and report them in the order of the catalogue."""
    unknown = [name for name in only if name not in ATTACKS]
    if unknown:
        raise InputError(f"There is no attack {unknown[0]!r}.", hint=f"Known: {', '.join(THREATS)}.")
    found: dict[str, Verdict] = {}
    for name, attack in ATTACKS.items():
        if not only or name in only:
            if on_progress is not None:
                on_progress(f"{name} {THREATS[name].name}")
            found[name] = attack(case)
    verdicts = tuple(found[name] for name in THREATS if name in found)
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
