"""Tables whose costs lie on few cells (docs/science.md, section 4), as offices have them: costs are values, over nine decades.

Of hundreds of choices some dozens carry nearly all that a table costs. Two teams work on such a table:
- `cases` (`bounds.branch_and_bound`): the tree of cases, which branches on the dear cells first: a few dozen bring the bound close to the
  best table, and what they lean to is a better one;
- `program` (here): a solver's branch and bound on the whole program in our scaling, from the best table known, so that nothing a plain
  solver finds in the same time is missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray
from statveil.protect.bounds.branch_and_bound import Polish
from statveil.protect.search.exact import Disjunctions, slim
from statveil.protect.search_state import Search


class HeavyTuning(NamedTuple):
    """How the time is shared; by judgement."""

    program_share: float = 0.95  # of the time left, for the solver's branch and bound; the rest polishes what it found


TUNING = HeavyTuning()


def solve_program(search: Search, *, polish: Polish | None = None) -> None:
    """The solver on the whole program, as it comes: its points are proposals, whose senses are priced again and verified; those that
    make a better table are given to `polish`.
    """
    from statveil.solve import highs

    search.enter("the whole program")
    program = Disjunctions(search)
    model = slim(search, program.model)

    def improved(columns: FloatArray, _: float) -> None:
        senses = program.senses(columns)
        if search.try_senses(senses) and polish is not None:
            polish(senses)

    start = None if search.best is None else program.columns(search.best)
    seconds = TUNING.program_share * search.seconds_left
    solution = highs.solve(model, seconds=seconds, start=start, on_incumbent=improved, options=highs.AS_IT_COMES)
    if solution.x is not None:
        search.try_senses(program.senses(solution.x))
    if np.isfinite(solution.bound) and not program.truncated:
        search.offer_bound(program.in_costs(solution.bound))
