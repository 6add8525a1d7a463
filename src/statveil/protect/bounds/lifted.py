"""A lower bound from products of signs: one copy of the table for each sensitive cell (docs/science.md, section 5, the lifted relaxation).

The relaxation is `bounds.copy_model`; here its root is worked out as long as it promises more, and what it says of the signs is tried:
senses drawn from the products X, as Goemans and Williamson (1995) round them.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.bounds.ascent import Ascent
from statveil.protect.bounds.copy_model import CopyModel, Worth
from statveil.protect.bounds.copy_steps import CopyNode
from statveil.protect.search_state import Search


class LiftedTuning(NamedTuple):
    """What steers the lifted bound; by judgement, but for what is said."""

    share_of_time: float = 0.35  # of the time left
    looks: int = 6  # of 50 steps each, until multipliers are made to fit
    hopeless: float = 1.002  # times the bound so far: what the relaxation must promise then to go on
    patience: int = 2  # times in a row that this raises the bound by less than `settled`
    settled: float = 3e-4
    draws: int = 512  # of senses from the products
    priced: int = 4  # of them, those that leave the least imbalance


TUNING = LiftedTuning()


class LiftedRoot(NamedTuple):
    """The relaxation, where the method stands in it, and the best multipliers."""

    model: CopyModel
    node: CopyNode
    worth: Worth

    def far(self, times: float) -> bool:
        """Whether the bound is beyond so many times that of the cuts."""
        return self.worth.bound > times * self.model.known.bound


def bound_by_copies(search: Search) -> LiftedRoot | None:
    """Raise the search's bound by the lifted relaxation, as long as it promises more; None where it promised too little."""
    known = search.cuts
    if (model := CopyModel.of(search.problem, known)) is None or known is None:
        return None
    search.enter("lifting the bound")
    end = time.monotonic() + TUNING.share_of_time * search.seconds_left
    ascent, before, idle = Ascent(model, model.root()), max(known.bound, search.proved), 0
    while idle < TUNING.patience and not search.done and time.monotonic() < end:
        last = ascent.best.bound
        if not _looked(ascent, end) or ascent.last.promised < before * TUNING.hopeless:
            return None
        ascent.fit()
        idle = 0 if ascent.best.bound > last * (1 + TUNING.settled) else idle + 1
        if ascent.best.bound > search.proved * (1 + TUNING.settled):
            search.offer_bound(*model.proof(ascent.held, ascent.best))
    search.offer_bound(*model.proof(ascent.held, ascent.best))
    return LiftedRoot(model, ascent.state(), ascent.best)


def _looked(ascent: Ascent, end: float) -> bool:
    """Whether there was time for all the looks after which multipliers are mended; if not, that shows early."""
    for left in reversed(range(TUNING.looks)):
        began = time.monotonic()
        ascent.look()
        now = time.monotonic()
        if now + left * (now - began) > end:
            return False
    return True


def draw_senses(search: Search, root: LiftedRoot) -> None:
    """Price the best of many senses drawn from the products of signs."""
    problem, model = search.problem, root.model
    search.enter("rounding products of signs")
    level = np.where(problem.sensitive, np.maximum(problem.lower_level, problem.upper_level), 0)[model.cells].astype(np.float64)
    part = problem.relations[:, model.cells].astype(np.float64)
    of_cluster = _drawn(search, root.node.sign.astype(np.float64))
    drawn = of_cluster[:, root.node.cluster[model.cells]] * np.rint(root.node.turn[model.cells]).astype(np.int64)
    left = np.abs(part @ (drawn * level).T - problem.residual[:, np.newaxis]).sum(axis=0)
    for number in np.argsort(left, kind="stable")[: TUNING.priced].tolist():
        if search.done:
            return
        senses = problem.all_up()
        both = (problem.can_go_up & problem.can_go_down)[model.cells]
        senses[model.cells[both]] = drawn[number][both]
        search.try_senses(senses)


def _drawn(search: Search, products: FloatArray) -> IntArray:
    """Signs of random directions in a space where the cells' angles have these cosines: a row for each draw, each with its opposite."""
    values, vectors = np.linalg.eigh(products)
    place = vectors * np.sqrt(np.maximum(values, 0.0))
    signs = np.where(search.rng.standard_normal((TUNING.draws, values.size)) @ place.T >= 0, 1, -1)
    return np.vstack([signs, -signs])
