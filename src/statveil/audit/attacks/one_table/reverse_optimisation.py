"""T12: the released table adjusted backwards, as if it were the original (Castro 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.attacks.attacker import TUNING, crossings, plain
from statveil.audit.attacks.case import Case, ReverseProblem, ReverseSolver, SystemOriginals
from statveil.audit.attacks.one_table.minimal_safe_value import SMALLEST_LEVEL, SPARE, allowance, by_chance, in_words
from statveil.audit.attacks.public import ReleasedSystem, released_system
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import BoolArray

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


def reversed_verdict(
    systems: Iterable[tuple[ReleasedSystem, SystemOriginals]], reverse: ReverseSolver | None, cap: float, *, unit: int = 1
) -> Verdict:
    """Solve backwards and count what comes out near the truth; `unit` amounts make one published unit."""
    if reverse is None:
        return not_applicable(THREAT, "No solver of adjustment problems was given.")
    hits, solved, failed, cells, draws = [np.zeros(0, dtype=np.bool_)], 0, 0, 0, 0
    for published, secret in systems:
        if not secret.sensitive.any():
            continue
        guess = reverse(in_published_units(published, secret, unit))
        if guess is None:
            failed += 1
            continue
        solved, cells = solved + 1, cells + secret.value.size
        level = np.where(published.released >= secret.value, secret.upper, secret.lower)
        tellable = secret.sensitive & (level >= SMALLEST_LEVEL * unit)
        hits.append((np.abs(guess * unit - secret.value) <= 0.1 * level)[tellable])
        draws += secret.draws(tellable)
    hit = np.concatenate(hits)
    figures: dict[str, Number] = {"tables": solved, "tables without a solution": failed, "cells": cells, "sensitive cells": int(hit.size)}
    if not hit.size:
        return not_applicable(THREAT, "No table with sensitive cells could be adjusted backwards.", figures)
    allowed = allowance(cap)
    lucky = by_chance(draws, allowed - SPARE)
    figures |= {"recovered within 0.1 p": float(hit.mean()), "allowed": allowed, "recoveries that luck explains": lucky}
    number = f"{percent(float(hit.mean()))} of {hit.size} cells recovered ({in_words(allowed, lucky)})"
    most = max(allowed, lucky)
    return judged(THREAT, passed=float(hit.mean()) <= most, number=number, figures=figures, here=f"at most {percent(most)}")


def in_published_units(published: ReleasedSystem, secret: SystemOriginals, unit: int) -> ReverseProblem:
    """What is released is whole in these; levels are rounded up, and sensitive cells may have moved by them."""
    published = secret.bounds_around(published)
    released = replace(
        published, rhs=published.rhs // unit, released=published.released // unit, low=published.low / unit, high=published.high / unit
    )
    return ReverseProblem(published=released, sensitive=secret.sensitive, lower=-(-secret.lower // unit), upper=-(-secret.upper // unit))


def part_of(
    published: ReleasedSystem, secret: SystemOriginals, most: int, rng: np.random.Generator
) -> tuple[ReleasedSystem, SystemOriginals]:
    """The system, or where it has more cells a part of it around a sensitive cell, with the relations that lie in it as a whole."""
    if secret.value.size <= most or not secret.sensitive.any():
        return published, secret
    inside = _around(published.relations, int(rng.choice(np.flatnonzero(secret.sensitive))), most)
    count = np.diff(published.relations.indptr)
    rows = np.flatnonzero((published.relations.astype(bool).astype(np.int64) @ inside == count) & (count > 0))
    part = {name: getattr(published, name)[inside] for name in ("released", "low", "high")}
    fewer = replace(published, relations=published.relations[rows][:, inside], rhs=published.rhs[rows], **part)
    return fewer, secret.take(inside)


def _around(relations: csr_matrix, start: int, most: int) -> BoolArray:
    """Cells reached from one by relations, ring after ring, as many as are wanted at most."""
    inside = np.zeros(relations.shape[1], dtype=np.bool_)
    inside[start] = True
    links = relations.astype(bool).astype(np.int64)
    while True:
        reached = (links.T @ (links @ inside > 0).astype(np.int64)) > 0
        fresh = np.flatnonzero(reached & ~inside)
        inside[fresh[: most - int(inside.sum())]] = True
        if not fresh.size or inside.sum() >= most:
            return inside


def _published(case: Case, number: int) -> ReleasedSystem:
    attacker = case.attacker
    return released_system(attacker.journal.answers[number].table, attacker.register.dimensions, attacker.catalogue.most_change)
