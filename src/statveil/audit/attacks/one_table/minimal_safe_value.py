"""T11: the attacker knows that released values sit as close to the truth as they may."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from statveil.audit.attacks.case import Case, SystemOriginals
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.core.arrays import IntArray

THREAT = Threat(
    id="T11",
    name="minimal safe value",
    does="Knows the rule and the level p of every sensitive cell, and guesses x - p or x + p by the toss of a coin; what is counted is "
    "what such guesses hit on average.",
    mark="at most 1% of the sensitive releases lie exactly at p; guesses within 0.1 p at most 0.5 min(1, 0.2 p / (q - p)) + 2 pp",
)

LEAST_CAP = 2.0
MANY_CELLS = 1_000
"""From here on the mark is the mark, by judgement."""
SMALLEST_LEVEL = 10
"""In units: below it a tenth of the level is less than a unit, and whole numbers meet the level by chance."""


ON_THE_LEVEL = 2.5
"""Over the level in units: how often a level drawn uniformly up to 1.4 times the rule's falls on that itself, amounts being whole."""


SPARE = 0.02
"""Two points above what chance gives."""


def attack(case: Case) -> Verdict:
    seen = case.seen(measure=case.measure)
    if seen.truth is None or not seen.sensitive.any():
        return not_applicable(THREAT, "No sensitive cell was released.")
    truth = seen.truth.take(seen.sensitive)
    released = seen.releases.mode[seen.sensitive]
    attacker = case.attacker
    return guessed(released, truth.originals, cap=attacker.catalogue.cap)


def guessed(released: IntArray, secret: SystemOriginals, *, cap: float, unit: int = 1) -> Verdict:
    """The verdict on sensitive cells; `unit` amounts make one published unit, and levels between two of those are met by the next."""
    value, lower, upper = secret.value, secret.lower, secret.upper
    tellable = np.minimum(lower, upper) >= SMALLEST_LEVEL * unit
    if not tellable.any():
        return not_applicable(THREAT, f"No sensitive cell has a level of {SMALLEST_LEVEL} units or more.")
    released, value, lower, upper = (each[tellable] for each in (released, value, lower, upper))
    moved = released - value
    level = np.where(moved >= 0, upper, lower)
    exact = float(((np.abs(moved) >= level) & (np.abs(moved) < level + unit)).mean())
    hit = float(np.mean([np.abs(guess - value) <= 0.1 * level for guess in guesses(released, lower, upper)]))
    allowed = allowance(cap)
    lucky = 0.5 * by_chance(secret.draws(tellable), 2 * (allowed - SPARE))
    often = 0.01 + float(np.minimum(ON_THE_LEVEL * unit / level, 1.0).mean())
    exact_allowed = max(often, by_chance(secret.draws(tellable), min(often, 1.0)))
    figures: dict[str, Number] = {
        "sensitive cells": int(released.size),
        "left out, level too small": int((~tellable).sum()),
        "exactly at the level": exact,
        "exactly at the level, allowed": exact_allowed,
        "best factor, told afterwards": best_factor(moved, level),
        "guesses within 0.1 p": hit,
        "guesses allowed": allowed,
        "guesses that luck explains": lucky,
        "cap q / p": cap,
    }
    number = f"{percent(exact)} exactly at p, {percent(hit)} guessed ({in_words(allowed, lucky)})"
    passed = exact <= exact_allowed and hit <= max(allowed, lucky)
    here = f"at most {percent(exact_allowed)} at p, {percent(max(allowed, lucky))} guessed"
    return judged(THREAT, passed=passed, number=number, figures=figures, here=here)


def best_factor(moved: IntArray, level: IntArray) -> float:
    """The share of cells within a tenth of their level for the one factor of it that, as it turns out, would have been guessed best.

    Half of it, for the sign. It is told, not judged: levels drawn uniformly up to a cap q leave 0.5 x 0.2 / (q - 1) of it.
    """
    ratio = np.sort(np.abs(moved) / level)
    window = np.searchsorted(ratio, ratio + 0.2, side="right") - np.arange(ratio.size)
    return 0.5 * float(window.max()) / ratio.size


def guesses(released: IntArray, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
    """x - upper level if the cell went up, x + lower level if it went down, and nobody knows which: half a guess each."""
    return released - upper, released + lower


def by_chance(draws: int, rate: float) -> float:
    """The share that one release in fifty has by luck alone with so few draws, were each a hit at this rate.

    With many draws luck explains nothing beyond the two points.
    """
    return float(binom.ppf(0.98, draws, rate)) / draws if draws < MANY_CELLS else 0.0


def in_words(allowed: float, lucky: float) -> str:
    """What is allowed, and of a few cells what luck explains."""
    return f"allowed {percent(allowed)}" if lucky <= allowed else f"allowed {percent(allowed)}, of so few cells {percent(lucky)}"


def allowance(cap: float) -> float:
    """What a guess would hit anyway were the floor uniform between p and q, plus two points.

    A cap below 2p excuses nothing: who leaves a release less room than that is measured by what 2p would allow.
    """
    return 0.5 * min(1.0, 0.2 / (max(cap, LEAST_CAP) - 1)) + SPARE
