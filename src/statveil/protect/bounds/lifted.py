"""A lower bound from products of signs: one copy of the table for each sensitive cell (docs/science.md, section 5, the lifted relaxation).

The relaxation is `bounds.copy_model`; here its root is worked out as long as it promises more, and what it says of the signs is tried:
senses drawn from the products X, as Goemans and Williamson (1995) round them.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.bounds.copy_model import CopyModel, Worth, kept
from statveil.protect.bounds.copy_steps import CopyNode
from statveil.protect.search_state import Search


class LiftedTuning(NamedTuple):
    """What steers the lifted bound; by judgement, but for what is said."""

    share_of_time: float = 0.35  # of the time left
    steps: int = 50  # between looks at the bound and the clock
    hopeless: float = 1.002  # times the bound so far: what the relaxation must promise after `looks` looks to go on
    looks: int = 6
    patience: int = 16  # looks in a row that raise the bound by less than `settled`: half as many left hier16 at 61,999 of some 62,070
    settled: float = 1e-4
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
    node = model.root()
    best = kept(model.worth(node, node.relations, node.cuts, node.triangles))
    root, idle, before = LiftedRoot(model, node, best), 0, max(known.bound, search.proved)
    for look in range(1, 2**31):
        found = model.step(node, TUNING.steps)
        idle = 0 if found.bound > root.worth.bound * (1 + TUNING.settled) else idle + 1
        if found.bound > root.worth.bound:
            root = LiftedRoot(model, node, kept(found))
        if root.worth.bound > search.proved * (1 + TUNING.settled):
            search.offer_bound(root.worth.bound, model.proof(root.node, root.worth))
        if look >= TUNING.looks and found.promised < before * TUNING.hopeless:
            return None
        node = model.with_triangles(node)
        if search.done or (idle >= TUNING.patience and look > TUNING.looks) or time.monotonic() > end:
            break
    search.offer_bound(root.worth.bound, model.proof(root.node, root.worth))
    return root._replace(node=root.node._replace(inside=node.inside, size=node.size, sign=node.sign))


def draw_senses(search: Search, root: LiftedRoot) -> None:
    """Price the best of many senses drawn from the products of signs."""
    problem, model = search.problem, root.model
    search.enter("rounding products of signs")
    level = np.where(problem.sensitive, np.maximum(problem.lower_level, problem.upper_level), 0)[model.cells].astype(np.float64)
    part = problem.relations[:, model.cells].astype(np.float64)
    drawn = _drawn(search, root.node.sign.astype(np.float64))
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
