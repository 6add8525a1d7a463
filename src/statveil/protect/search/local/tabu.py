"""Dual-priced tabu (docs/science.md, section 4): flips as long as they bring something, then the least dear flip although it costs.

A cell just flipped keeps its sense for a while, so that the search does not fall back at once. Prices are those of `flips`; every step
is one program from the last basis.
"""

from __future__ import annotations

import numpy as np

from statveil.core.limits import Ending
from statveil.protect.fixed_senses import make_whole
from statveil.protect.search.local import anneal
from statveil.protect.search.local.flips import flip_while_better, prices
from statveil.protect.search_state import Search


def run(search: Search, *, tenure: int = 10, patience: int = 200) -> None:
    """Method `tabu`: from the start given or from annealed senses; ends once `patience` steps in a row have found nothing better."""
    anneal.begin(search)
    if search.best is not None:
        search.enter("flipping senses")
        flip_while_better(search, search.problem.senses_of(search.best))
        search.enter("flipping on")
        roam(search, tenure=tenure, patience=patience)


def roam(search: Search, *, tenure: int, patience: int) -> None:
    """Flip the cell of the lowest price that is not tabu, whatever it costs; a flip that leaves no table is tabu as well.

    At most half of the cells that have a choice are tabu at a time, however few they are.
    """
    assert search.best is not None
    program, problem = search.program, search.problem
    tenure = min(tenure, problem.choices.size // 2)
    senses, free_from = problem.senses_of(search.best), np.zeros(problem.size, dtype=np.int64)
    solution = program.solve(senses, seconds=search.seconds_left)
    idle = turn = 0
    while solution.x is not None and solution.row_duals is not None and idle < patience and not search.done:
        price = prices(search, senses, program.deviation(solution.x), solution.row_duals)
        cell = int(np.argmin(np.where(free_from <= turn, price, np.inf)))
        if not np.isfinite(price[cell]):
            return
        turn, idle = turn + 1, idle + 1
        senses[cell] *= -1
        free_from[cell] = turn + tenure
        trial = program.solve(senses, seconds=search.seconds_left)
        if trial.ending is not Ending.OPTIMAL or trial.x is None:
            senses[cell] *= -1
            continue
        solution = trial
        cost = trial.objective * program.unit / program.price
        if cost < search.objective and search.offer(make_whole(program, senses, program.deviation(trial.x), seconds=search.seconds_left)):
            idle = 0
