"""T04: neighbours by their most frequent release, the target as total minus the rest."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import Attacker, Releases, crossings
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import sums_of
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import AnyArray

THREAT = Threat(
    id="T04",
    name="complement of the neighbours",
    does="Takes the most frequent release of every neighbour as its true value and computes the target as total minus the rest, "
    "in each of many tables; median, mode and mean of that.",
    mark="best rho of the three >= 0.5 for all targets and >= 1 for 99% of them",
)


def attack(case: Case) -> Verdict:
    attacker = case.attacker
    numbers = attacker.journal.ask_all(crossings(attacker, case.measure))
    numbers = numbers if attacker.journal.open else list(range(len(attacker.journal.answers)))
    seen = case.seen(numbers, measure=case.measure)
    targets = seen.releases.key[seen.sensitive & (seen.releases.times > 1)]
    guesses = estimates(attacker, numbers, seen.releases, targets)
    if seen.truth is None or not guesses:
        return not_applicable(THREAT, "No sensitive cell stood beside all its neighbours in two tables.")
    keys = np.array(sorted(guesses), dtype=np.uint64)
    truth = seen.truth.take(np.searchsorted(seen.releases.key, keys))
    best = np.min([truth.rho(np.array([guesses[key][which] for key in keys.tolist()])) for which in range(3)], axis=0)
    shown = truth.rho(seen.releases.mode[np.searchsorted(seen.releases.key, keys)])
    figures = {
        "tables": len(numbers),
        "targets": int(keys.size),
        "least rho": float(best.min()),
        "median rho": float(np.median(best)),
        "targets with rho < 0.1": int((best < 0.1).sum()),
        "targets with rho < 0.5": int((best < 0.5).sum()),
        "targets with rho < 1": int((best < 1).sum()),
        "least rho of the released value": float(shown.min()),
    }
    passed = bool(best.min() >= 0.5) and float((best >= 1).mean()) >= 0.99
    number = f"{percent(float((best < 0.1).mean()))} of {keys.size:,} targets within 0.1 p, least rho {best.min():.2f}"
    return judged(THREAT, passed=passed, number=number, figures=figures)


def estimates(attacker: Attacker, numbers: list[int], releases: Releases, targets: AnyArray) -> dict[int, tuple[float, float, float]]:
    """Median, mode and mean of (released total - modal releases of the other parts), per target, over all sums it is a part of."""
    found: dict[int, list[float]] = {}
    for number in numbers:
        table, keys = attacker.journal.answers[number].table, attacker.journal.prints(number)
        modal = _modal(releases, keys)
        hit = np.isin(keys, targets) & table.shown.reshape(-1)
        for sums in sums_of(table, attacker.register.dimensions):
            rest = table.values.reshape(-1)[sums.total] - modal[sums.parts].sum(axis=0)
            for part, column in zip(*np.nonzero(hit[sums.parts]), strict=True):
                cell = sums.parts[part, column]
                found.setdefault(int(keys[cell]), []).append(float(rest[column] + modal[cell]))
    return {key: _three(np.array(values)) for key, values in found.items() if len(values) > 1}


def _modal(releases: Releases, keys: AnyArray) -> AnyArray:
    """The modal release of each cell; empty cells are zero."""
    at = np.minimum(np.searchsorted(releases.key, keys), max(releases.key.size - 1, 0))
    return np.where(releases.key[at] == keys, releases.mode[at], 0)


def _three(values: AnyArray) -> tuple[float, float, float]:
    different, times = np.unique(values, return_counts=True)
    return float(np.median(values)), float(different[np.argmax(times)]), float(values.mean())
