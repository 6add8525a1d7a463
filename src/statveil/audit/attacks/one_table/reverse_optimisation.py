"""T12: the released table adjusted backwards, as if it were the original (Castro 2012)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from statveil.audit.attacks.attacker import TUNING, crossings, plain
from statveil.audit.attacks.case import Case, ReverseProblem, ReverseSolver, SystemOriginals
from statveil.audit.attacks.one_table.minimal_safe_value import SMALLEST_LEVEL, allowance
from statveil.audit.attacks.public import ReleasedSystem, released_system
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent

THREAT = Threat(
    id="T12",
    name="reverse optimisation",
    does="Knows the structure, which cells are sensitive, their levels and the bounds, and solves the adjustment problem from the "
    "released table, hoping to arrive at the original.",
    mark="sensitive cells recovered within 0.1 p: at most 0.5 * 0.2 p / (q - p) + 2 pp",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    whole = plain(attacker, case.measure)
    numbers = journal.ask_all([*([whole] if whole else []), *crossings(attacker, case.measure)[: attacker.effort.reversals]])
    candidates = numbers or [number for number, each in enumerate(journal.answers) if each.request.measure == case.measure]
    small = sorted((journal.answers[number].table.values.size, number) for number in candidates)
    chosen = [number for size, number in small if size <= TUNING.most_reversed_cells][: attacker.effort.reversals]
    return reversed_verdict(
        ((_published(case, number), case.truth_of(number).originals) for number in chosen), case.reverse, attacker.catalogue.cap
    )


def reversed_verdict(systems: Iterable[tuple[ReleasedSystem, SystemOriginals]], reverse: ReverseSolver | None, cap: float) -> Verdict:
    """Solve backwards and count what comes out near the truth."""
    if reverse is None:
        return not_applicable(THREAT, "No solver of adjustment problems was given.")
    hits, solved, failed = [np.zeros(0, dtype=np.bool_)], 0, 0
    for published, secret in systems:
        if not secret.sensitive.any():
            continue
        guess = reverse(ReverseProblem(published=published, sensitive=secret.sensitive, lower=secret.lower, upper=secret.upper))
        if guess is None:
            failed += 1
            continue
        solved += 1
        level = np.where(published.released >= secret.value, secret.upper, secret.lower)
        hits.append((np.abs(guess - secret.value) <= 0.1 * level)[secret.sensitive & (level >= SMALLEST_LEVEL)])
    hit = np.concatenate(hits)
    figures: dict[str, Number] = {"tables": solved, "tables without a solution": failed, "sensitive cells": int(hit.size)}
    if not hit.size:
        return not_applicable(THREAT, "No table with sensitive cells could be adjusted backwards.", figures)
    allowed = allowance(cap)
    figures |= {"recovered within 0.1 p": float(hit.mean()), "allowed": allowed}
    number = f"{percent(float(hit.mean()))} of {hit.size} cells recovered (allowed {percent(allowed)})"
    return judged(THREAT, passed=float(hit.mean()) <= allowed, number=number, figures=figures)


def _published(case: Case, number: int) -> ReleasedSystem:
    attacker = case.attacker
    return released_system(attacker.journal.answers[number].table, attacker.register.dimensions, attacker.catalogue.most_change)
