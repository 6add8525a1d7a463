"""T11: the attacker knows that released values sit as close to the truth as they may."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import AnyArray, IntArray

THREAT = Threat(
    id="T11",
    name="minimal safe value",
    does="Knows the rule and the level p of every sensitive cell, and guesses x - p or x + p by the toss of a coin.",
    mark="at most 1% of the sensitive releases lie exactly at p; guesses within 0.1 p at most 0.5 min(1, 0.2 p / (q - p)) + 2 pp",
)

SMALLEST_LEVEL = 10
"""In units: below it a tenth of the level is less than a unit, and whole numbers meet the level by chance."""


def attack(case: Case) -> Verdict:
    seen = case.seen(measure=case.measure)
    if seen.truth is None or not seen.sensitive.any():
        return not_applicable(THREAT, "No sensitive cell was released.")
    truth = seen.truth.take(seen.sensitive)
    released = seen.releases.mode[seen.sensitive]
    attacker = case.attacker
    return guessed(released, truth.value, truth.lower, truth.upper, cap=attacker.catalogue.cap, rng=attacker.rng("minimal"))


def guessed(released: IntArray, value: IntArray, lower: IntArray, upper: IntArray, *, cap: float, rng: np.random.Generator) -> Verdict:
    tellable = np.minimum(lower, upper) >= SMALLEST_LEVEL
    if not tellable.any():
        return not_applicable(THREAT, f"No sensitive cell has a level of {SMALLEST_LEVEL} units or more.")
    released, value, lower, upper = (each[tellable] for each in (released, value, lower, upper))
    guess = guesses(released, lower, upper, rng)
    moved = released - value
    level = np.where(moved >= 0, upper, lower)
    exact = float((np.abs(moved) == level).mean())
    hit = float((np.abs(guess - value) <= 0.1 * level).mean())
    allowed = allowance(cap)
    figures: dict[str, Number] = {
        "sensitive cells": int(released.size),
        "left out, level too small": int((~tellable).sum()),
        "exactly at the level": exact,
        "guesses within 0.1 p": hit,
        "guesses allowed": allowed,
        "cap q / p": cap,
    }
    number = f"{percent(exact)} exactly at p, {percent(hit)} guessed (allowed {percent(allowed)})"
    return judged(THREAT, passed=exact <= 0.01 and hit <= allowed, number=number, figures=figures)


def guesses(released: IntArray, lower: IntArray, upper: IntArray, rng: np.random.Generator) -> AnyArray:
    """x - upper level if the cell went up, x + lower level if it went down, and nobody knows which."""
    up = rng.random(released.size) < 0.5
    return np.where(up, released - upper, released + lower)


def allowance(cap: float) -> float:
    """What a guess would hit anyway were the floor uniform between p and q, plus two points."""
    return 0.5 * min(1.0, 0.2 / (cap - 1)) + 0.02 if cap > 1 else 0.52
