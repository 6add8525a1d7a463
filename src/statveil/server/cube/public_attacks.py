"""What totals give away that are public elsewhere and held by the cube: they are known exactly, and so is what is added to them.

A total that is published changed hides the changes of its parts. Where it is known, they add up to a known number: whoever knows all of
them but one knows that one, and bounds on the others bound it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.server.cube.attacks import PERCENT, AttackScore, Edition
from statveil.server.cube.floors import TUNING as FLOORS


class PublicAttackTuning(NamedTuple):
    rounds: int = 4
    """How often bounds are handed from one total to the next; by judgement."""
    wander: float = 0.125
    """Safe leaf cells are known to wander by at most this part of their largest contribution."""


TUNING = PublicAttackTuning()


def exact_totals(edition: Edition, rows: Sequence[int], percent: float = PERCENT) -> list[AttackScore]:
    """Attacks with these totals known exactly."""
    return [told_directions(edition, rows), told_by_a_respondent(edition, rows, percent)]


def told_directions(edition: Edition, rows: Sequence[int]) -> AttackScore:
    """Bounds on the parts of each total bound each of its parts: a sensitive cell that can only have gone one way is told (T08).

    The attacker knows the levels, how far floors are above them at most, and where a cell moved further than that.
    """
    lattice, change = edition.lattice, edition.released - edition.lattice.leaf_value
    row = np.maximum(lattice.leaf_row, 0)
    sensitive = (lattice.leaf_row >= 0) & lattice.sensitive[row]
    level = np.where(sensitive, np.minimum(lattice.up, lattice.down)[row], 0)
    furthest = np.ceil((1 + FLOORS.leaf_rise) * np.maximum(lattice.up, lattice.down)[row])
    most = np.where(sensitive, furthest, TUNING.wander * lattice.top[row, 0])
    high = np.maximum(most, np.abs(change)).astype(np.float64)
    low, parts = -high, [_parts(edition, each) for each in rows]
    for _ in range(TUNING.rounds):
        for part in parts:
            _narrow(low, high, part, float(change[part].sum()), level)
    inside = np.zeros(lattice.leaves, np.bool_)
    inside[np.concatenate([np.zeros(0, np.int64), *parts])] = True
    told = sensitive & ((high < level) | (low > -level))
    tried = sensitive & inside
    return AttackScore("public", "sensitive cells whose direction exact totals tell", int((told & tried).sum()), int(tried.sum()), None)


def _parts(edition: Edition, row: int) -> IntArray:
    start, item = edition.lattice.leaves_of
    return item[start[row] : start[row + 1]].astype(np.int64)


def _narrow(low: FloatArray, high: FloatArray, part: IntArray, total: float, level: IntArray) -> None:
    """What the others leave to each part of a total; what cannot have gone one way went the other by its level."""
    least, most = total - (high[part].sum() - high[part]), total - (low[part].sum() - low[part])
    low[part], high[part] = np.maximum(low[part], least), np.minimum(high[part], most)
    high[part] = np.where(high[part] < level[part], np.minimum(high[part], -level[part]), high[part])
    low[part] = np.where(low[part] > -level[part], np.maximum(low[part], level[part]), low[part])


def told_by_a_respondent(edition: Edition, rows: Sequence[int], percent: float = PERCENT) -> AttackScore:
    """One of the two largest single respondents of a total knows its own change, and takes what is left for the other one's."""
    lattice, change = edition.lattice, edition.released - edition.lattice.leaf_value
    row = np.maximum(lattice.leaf_row, 0)
    single = (lattice.leaf_row >= 0) & (lattice.respondents[row] == 1) & (lattice.leaf_magnitude >= 10)
    hits = tries = 0
    for each in rows:
        part = _parts(edition, each)
        alone = part[single[part]]
        two = alone[np.argsort(-lattice.leaf_magnitude[alone], kind="stable")[:2]]
        if two.size == 2:
            left = change[part].sum() - change[two]
            other = two[::-1]  # of the one who knows change[two], the other's
            hits += int((np.abs(left - change[other]) < percent / 2 * lattice.leaf_magnitude[other]).sum())
            tries += 2
    return AttackScore("public", "single respondents within p/2 by a rival that subtracts from an exact total", hits, tries, None)
