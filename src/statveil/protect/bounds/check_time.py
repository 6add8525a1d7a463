"""What it takes to turn a proof into a certificate once the search is over: a run's clock keeps so much of its time.

A tree of relative signs may have hundreds of leaves, each with a copy of the table for each sign that is open. The estimate grows with
what is at hand; by it a search stops in time, a tree grows no larger than can be checked, and what came too late is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import LiftedMultipliers, Proof, leaves_of


class CheckTimeTuning(NamedTuple):
    """Measured where nothing is said, with room (benchmarks/RESULTS.md)."""

    share: float = 0.03  # of the time, whatever the proof; by judgement
    per_cell: float = 3.5e-6  # seconds, beside that share
    uneven_per_cell: float = 7e-6  # where weights differ: their products need integers of more than 64 bits
    most_of_the_time: float = 0.35  # the largest share; by judgement
    leaf_per_entry: float = 9e-7  # for each leaf of a tree, and of the table's cells and relations
    leaf_per_factor: float = 1.2e-7  # and of its factors of copies: to be told, translated, checked and written


TUNING = CheckTimeTuning()


def seconds_kept(problem: ProtectionProblem, limits: Limits) -> float:
    """What is kept of the time in any case, for a table of this size."""
    even = bool((problem.weight == problem.weight[:1]).all())
    per_cell = TUNING.per_cell if even else TUNING.uneven_per_cell
    return min(TUNING.share * limits.seconds + per_cell * problem.size, TUNING.most_of_the_time * limits.seconds)


def seconds_for_leaves(problem: ProtectionProblem, leaves: int, factors: int) -> float:
    """What so many leaves of a tree take, with so many factors of copies in all of them."""
    return TUNING.leaf_per_entry * (problem.size + problem.rhs.size) * leaves + TUNING.leaf_per_factor * factors


def seconds_to_check(problem: ProtectionProblem, proof: Proof) -> float:
    """What a proof for this problem, or for a part of it, takes to be checked and written."""
    leaves = leaves_of(proof)
    return seconds_for_leaves(problem, len(leaves), sum(leaf.copies.size for leaf in leaves if isinstance(leaf, LiftedMultipliers)))
