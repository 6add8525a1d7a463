"""Method `alternate`: Ordering-With-Alternate-Assignment of S0 section 3.

S0 orders by the value of the cells. Here the problem is in deviations and a cell may stand for several, so the order is by
protection level. In S0's tables every level is 20% of the value: the orders are the same.
"""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search


def run(search: Search) -> None:
    """One assignment, one program. A start given is priced too; if neither has a table, the method ends with none."""
    search.enter("alternating senses")
    if search.start is not None:
        search.try_senses(search.start)
    if not search.done:
        search.try_senses(alternate_senses(search.problem))


def largest_first(problem: ProtectionProblem) -> IntArray:
    """The cells with a choice of sense, by falling protection level (the sum of both); equals in the order of the table."""
    choice = problem.choices
    size = problem.lower_level[choice] + problem.upper_level[choice]
    return choice[np.argsort(-size, kind="stable")]


def alternate_senses(problem: ProtectionProblem) -> IntArray:
    """The largest up, the next down, and so on; a cell with one open sense takes it and does not count."""
    senses = problem.all_up()
    senses[largest_first(problem)[1::2]] = -1
    return senses
