"""Tables whose signs hang together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statveil.core.limits import Limits
from statveil.protect.bounds.certificate import Certified
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.bounds.lifted import bound_by_copies
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import NO_MULTIPLIERS, Search, SearchNews
from statveil_lab.generators.random_tables import random_problem
from tests.protect.certify import certify


def three_way(seed: int = 0) -> ProtectionProblem:
    """4 x 4 x 4 with ten sensitive cells and no bounds."""
    drawn = random_problem((4, 4, 4), seed=seed, sensitive=0.15)
    return replace(drawn, lower=np.zeros_like(drawn.value), upper=np.full(drawn.size, NO_LIMIT), variant="at-least")


def bounds_of(problem: ProtectionProblem, *, worth: float = 1e6) -> tuple[float, float, Certified | None]:
    """What cuts prove, what copies do, and what the checker makes of the last proof."""
    heard: list[SearchNews] = []
    reduction = reduce_problem(problem)
    search = Search(reduction.problem, Limits(seconds=1_200), 0, heard.append)  # on a busy machine too: compiling counts
    bound_by_cuts(search)
    cuts = search.proved
    bound_by_copies(search)
    proof = [NO_MULTIPLIERS, *(found.proof for found in heard if found.proof is not None)][-1]
    return cuts + reduction.fixed_cost, search.proved + reduction.fixed_cost, certify(reduction, proof, worth)
