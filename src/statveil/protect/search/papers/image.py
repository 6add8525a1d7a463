"""The parametric image of S0 section 5.2 and the resistances of 5.3 (eqs 9-16), for method `learn`.

A binary x_j says that cell j goes up. Goals ask some of them to go UP (1) or DN (0); nothing enforces a goal, but a penalty M in
the objective of the linear relaxation rewards it. How the binaries answer tells which direction each prefers.

Readings taken where the text leaves a choice:
- eqs 9 and 16 print only the binaries' costs. The cost of the amounts, S0's eq. 1, stays beside them. c_j is then what a cell
  at its level costs more up than down: w_j (U_j - L_j), nothing where the levels are equal.
- eqs 12 and 13 ask for "a suitably reduced cost" RC_j. The rows that tie x_j to its cell's rise and fall are substituted away
  (x_j moves the cell from -L_j to U_j), for they share the price between x_j and the amounts at the solver's whim. RC_j is the
  penalty and the relations' price of that move; c_j, which the equations add, is not in it. M then cancels, and d_UP is what
  going from DN to UP costs at the duals found, d_DN its negative. Below zero it is support, not resistance.
- M is "very large" against the cost of turning one cell: a multiple of it, for a boundless M drowns the duals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.state import Search

FAST_SIMPLEX = 1_000
"""Below this many cells simplex solves an image as quickly as an interior point and its crossover; at 15x15x15 it takes twice as long."""
POTENTIAL = 0.1
"""Weight of the potential resistances beside the overt and the free ones; more of it led to dearer tables in trials."""


class Answer(NamedTuple):
    """A solved image: the binaries' values x'', their own costs c, and their reduced costs RC."""

    x: FloatArray
    cost: FloatArray
    reduced: FloatArray


class Resistance(NamedTuple):
    """How much each binary resists going UP and DN."""

    up: FloatArray
    down: FloatArray


class ParametricImage:
    """The program (LP') of eq. 9 for any goals: +1 UP, -1 DN, 0 free."""

    def __init__(self, search: Search, *, penalty: float) -> None:
        program, fixed, problem = Disjunctions(search), search.program, search.problem
        self._model = replace(program.model, whole=None)
        self._first = program.model.cost.size - program.choice.size
        self._algorithm: Literal["simplex", "ipm"] = "simplex" if problem.size < FAST_SIMPLEX else "ipm"
        self.large = penalty * _dearest_turn(search, program.choice)
        up, down = problem.up.low[program.choice] / fixed.unit, problem.down.high[program.choice] / fixed.unit
        rise, fall = self._model.matrix[:, program.at], self._model.matrix[:, fixed.moving.size + program.at]
        self._rows = fixed.matrix.shape[0]
        self._move = csr_matrix(rise @ diags(up) + fall @ diags(down))[: self._rows]
        weight = problem.weight[program.choice] * fixed.price
        self._own = weight * (up + down)  # `down` is negative

    def answer(self, goals: IntArray, *, seconds: float) -> Answer | None:
        """Solve for these goals, afresh (presolve gains more than the last basis would); None when out of time or infeasible."""
        from statveil.solve import highs

        cost = np.concatenate([self._model.cost[: self._first], -self.large * goals])
        solution = highs.solve(replace(self._model, cost=cost), seconds=seconds, algorithm=self._algorithm)
        if solution.x is None or solution.row_duals is None:
            return None
        reduced = -self.large * goals - self._move.T @ solution.row_duals[: self._rows]
        return Answer(solution.x[self._first :], self._own, np.asarray(reduced))


def _dearest_turn(search: Search, cells: IntArray) -> float:
    """What turning a cell from one sense to the other may cost, at most: in each of its relations another must make up for it."""
    problem, program = search.problem, search.program
    relations = np.diff(problem.relations.tocsc().indptr)[cells]
    swing = (problem.lower_level + problem.upper_level)[cells] * problem.weight[cells] * relations
    return float(swing.max(initial=0.0)) * program.price / program.unit + 1.0


def resistance(goals: IntArray, answer: Answer, large: float) -> Resistance:
    """Overt (eqs 10-11), potential (12-13) and free (14-15) resistance, added up.

    The three have no common unit. Overt and free ones are shares; potentials are scaled so that the largest counts `POTENTIAL`.
    They are many, each for one binary turned alone, where the free ones were found together.
    """
    overt_up, overt_down = overt(goals, answer.x)
    potential_up, potential_down = potential(goals, answer, large)
    scale = max(float(np.abs(potential_up).max(initial=0.0)), float(np.abs(potential_down).max(initial=0.0)), 1e-12) / POTENTIAL
    free = goals == 0
    return Resistance(
        up=overt_up + potential_up / scale + np.where(free, 1 - answer.x, 0.0),
        down=overt_down + potential_down / scale + np.where(free, answer.x, 0.0),
    )


def overt(goals: IntArray, x: FloatArray) -> Resistance:
    """Eqs 10 and 11: how far a binary stays from its goal."""
    return Resistance(np.where(goals > 0, 1 - x, 0.0), np.where(goals < 0, x, 0.0))


def potential(goals: IntArray, answer: Answer, large: float) -> Resistance:
    """Eqs 12 and 13, for binaries that met their goal: what the direction costs at the duals found."""
    met = np.abs(answer.x - (goals > 0)) < 1e-6
    up = np.where((goals > 0) & met, large + answer.cost + answer.reduced, 0.0)
    down = np.where((goals < 0) & met, -(-large + answer.cost + answer.reduced), 0.0)
    return Resistance(up, down)
