"""Method `learn`: the parametric image learning of S0 section 5.

S0 gives the principle and leaves the specification to a later paper: a diversified sample of goal vectors is put to the image,
resistances are recorded, part of the binaries are tentatively fixed at the directions they prefer, the rest is solved, and the
whole is repeated from what was found ("a good solution at one level is likely to lead to good solutions at adjacent levels").
The details here are ours:
- Goals are drawn around an anchor: the best table's senses, or before there is one the directions learnt so far. A table and its
  mirror image often cost the same, so directions can only be learnt relative to each other.
- The binaries left open are those that resist the anchor most, after those long open in vain have had their turn.
- Where the first rest has no table, the senses with every goal UP are priced (a table without upper bounds can always meet
  them), so that the next round has a table to learn from.
- Where a rest is solved to the proof without gain, more are left open next time; where it runs out of time, fewer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Ending
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search_state import Search


class LearnTuning(NamedTuple):
    """How goals are drawn and what is learnt from the answers; all by judgement, but for what is said."""

    reversed: float = 0.1  # share of the goals of a sample that go against the anchor
    first_round: int = 4  # the first round, which has no table to build on, learns from so many times as many goal vectors
    kept: float = 0.5  # how much of what was learnt in one round counts in the next
    tired: float = 0.5
    """What one round spent open in vain takes from a binary's claim to be open; the strongest claim of a goal vector is about one."""
    learning_share: float = 0.4
    """Learning stops for the round after this share of the time left, so that large tables are left time for the rest."""
    rest_share: float = 0.1
    """The rest is given at most this share of the whole time; while there is no table, a third of what is left."""
    fast_simplex: int = 1_000
    """Cells below which simplex solves an image as quickly as an interior point and its crossover; at 15x15x15 it takes twice as long."""
    potential: float = 0.1
    """Weight of the potential resistances beside the overt and the free ones; more of it led to dearer tables in trials."""


TUNING = LearnTuning()


def run(search: Search, *, goals: int = 8, free: float = 0.5, opened: int = 40, rounds: int = 200, penalty: float = 10.0) -> None:
    """Learn from `goals` goal vectors a round, `free` the share of binaries without a goal; solve for `opened` of them.

    At first no more than half of the binaries are opened; rests solved without gain raise the number. Ends after `rounds`, or
    once the rest with every binary open was solved, or when the image has no table even relaxed. A start given is priced and
    becomes the first anchor.
    """
    if goals < 1 or opened < 1 or not 0 <= free < 1:
        raise InputError("Method 'learn' needs goals and opened of 1 or more, and free between 0 and 1.")
    search.enter("learning senses")
    if search.start is not None:
        search.try_senses(search.start)
    memory = Memory(search, opened)
    for turn in range(rounds):
        if search.done:
            return
        search.enter(f"learning senses, round {turn + 1}")
        samples = goals * (TUNING.first_round if search.best is None and turn == 0 else 1)
        answered = memory.learn(samples, free, penalty)
        if answered and memory.solve_rest():
            return
        if search.best is None and turn == 0:
            search.try_senses(search.problem.all_up())
        elif not answered:
            return


class Memory:
    """What was learnt: `lean` (positive: resists DN more than UP) and `tired`, for each cell with a choice."""

    def __init__(self, search: Search, opened: int) -> None:
        self.search, problem = search, search.problem
        self.cells = problem.choices
        self.opened = min(opened, (self.cells.size + 1) // 2)
        self.lean: FloatArray = search.rng.normal(scale=1e-6, size=self.cells.size)
        self.tired = np.zeros(self.cells.size)

    def anchor(self) -> IntArray:
        """The best table's senses, else the start's, else the directions learnt so far."""
        search = self.search
        if search.best is not None:
            return search.problem.senses_of(search.best)[self.cells]
        return np.where(self.lean > 0, 1, -1) if search.start is None else search.start[self.cells]

    def learn(self, samples: int, free: float, penalty: float) -> bool:
        """Put goal vectors to the image and add up the resistances; whether there was any answer."""
        image = ParametricImage(self.search, penalty=penalty)
        self.lean *= TUNING.kept
        until, answered = (1 - TUNING.learning_share) * self.search.seconds_left, False
        for _ in range(samples):
            goals = draw_goals(self.anchor(), free, self.search.rng)
            answer = image.answer(goals, seconds=self.search.seconds_left - until)
            if answer is None:
                break
            up, down = resistance(goals, answer, image.large)
            self.lean += down - up
            answered = True
            if self.search.seconds_left <= until:
                break
        return answered

    def solve_rest(self) -> bool:
        """Fix the binaries that agree with the anchor most, solve for the others; whether the whole problem was solved."""
        anchor, search = self.anchor(), self.search
        left_open = most_resisting(self.lean * anchor + TUNING.tired * self.tired, self.opened)
        before = search.objective
        seconds = search.seconds_left / 3 if search.best is None else TUNING.rest_share * search.limits.seconds
        ending = solve_open(search, left_open, anchor, seconds=seconds)
        if search.objective < before:
            self.tired[:] = 0
        else:
            self.tired[left_open] += 1
            wider = ending in (Ending.OPTIMAL, Ending.INFEASIBLE)
            self.opened = max(2, round(self.opened * (1.3 if wider else 0.7)) + wider)
        return bool(left_open.all()) and ending in (Ending.OPTIMAL, Ending.INFEASIBLE)


def draw_goals(anchor: IntArray, free: float, rng: np.random.Generator) -> IntArray:
    """Goals at the anchor's directions, a few reversed, a share of the binaries without one."""
    draw = rng.random(anchor.size)
    goals = np.where(rng.random(anchor.size) < TUNING.reversed, -anchor, anchor)
    return np.where(draw < free, 0, goals)


def most_resisting(agreement: FloatArray, count: int) -> BoolArray:
    """The `count` binaries that agree least."""
    chosen = np.zeros(agreement.size, dtype=np.bool_)
    chosen[np.argsort(agreement, kind="stable")[:count]] = True
    return chosen


def solve_open(search: Search, left_open: BoolArray, directions: IntArray, *, seconds: float) -> Ending:
    """The MILP with all binaries but the open ones fixed at these directions, from the best table where that keeps them."""
    from statveil.solve import highs

    program = Disjunctions(search)
    model = program.model
    first = model.cost.size - left_open.size
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[first:] = np.where(left_open, 0.0, directions > 0)
    upper[first:] = np.where(left_open, 1.0, directions > 0)

    def improved(columns: FloatArray, _: float) -> None:
        search.try_senses(program.senses(columns))

    start = None if search.best is None else program.columns(search.best)
    solution = highs.solve(
        replace(model, lower=lower, upper=upper),
        seconds=min(seconds, search.seconds_left),
        gap=search.limits.gap / (1 + search.limits.gap),
        start=start,
        on_incumbent=improved,
    )
    if solution.x is not None:
        search.try_senses(program.senses(solution.x))
    if left_open.all() and search.problem.norm == "l1" and np.isfinite(solution.bound):
        search.offer_bound(program.in_costs(solution.bound))
    return solution.ending


class ImageSolution(NamedTuple):
    """A solved image: the binaries' values x'', their own costs c, and their reduced costs RC."""

    x: FloatArray
    cost: FloatArray
    reduced: FloatArray


class Resistance(NamedTuple):
    """How much each binary resists going UP and DN."""

    up: FloatArray
    down: FloatArray


class ParametricImage:
    """The program (LP') of eq. 9 for any goals: +1 UP, -1 DN, 0 free.

    A binary x_j says that cell j goes up. Goals ask some of them to go UP (1) or DN (0); nothing enforces a goal, but a penalty M in
    the objective of the linear relaxation rewards it. How the binaries answer tells which direction each prefers (S0 sections 5.2 and
    5.3, eqs 9-16). Readings taken where the text leaves a choice:
    - eqs 9 and 16 print only the binaries' costs. The cost of the amounts, S0's eq. 1, stays beside them. c_j is then what a cell
      at its level costs more up than down: w_j (U_j - L_j), nothing where the levels are equal.
    - eqs 12 and 13 ask for "a suitably reduced cost" RC_j. The rows that tie x_j to its cell's rise and fall are substituted away
      (x_j moves the cell from -L_j to U_j), for they share the price between x_j and the amounts at the solver's whim. RC_j is the
      penalty and the relations' price of that move; c_j, which the equations add, is not in it. M then cancels, and d_UP is what
      going from DN to UP costs at the duals found, d_DN its negative. Below zero it is support, not resistance.
    - M is "very large" against the cost of turning one cell: a multiple of it, for a boundless M drowns the duals.
    """

    def __init__(self, search: Search, *, penalty: float) -> None:
        program, fixed, problem = Disjunctions(search), search.program, search.problem
        self._model = replace(program.model, whole=None)
        self._first = program.model.cost.size - program.choice.size
        self._algorithm: Literal["simplex", "ipm"] = "simplex" if problem.size < TUNING.fast_simplex else "ipm"
        self.large = penalty * _dearest_turn(search, program.choice)
        up, down = problem.up.low[program.choice] / fixed.unit, problem.down.high[program.choice] / fixed.unit
        rise, fall = self._model.matrix[:, program.at], self._model.matrix[:, fixed.moving.size + program.at]
        self._rows = fixed.matrix.shape[0]
        self._move = csr_matrix(rise @ diags(up) + fall @ diags(down))[: self._rows]
        weight = problem.weight[program.choice] * fixed.price
        self._own = weight * (up + down)  # `down` is negative

    def answer(self, goals: IntArray, *, seconds: float) -> ImageSolution | None:
        """Solve for these goals, afresh (presolve gains more than the last basis would); None when out of time or infeasible."""
        from statveil.solve import highs

        cost = np.concatenate([self._model.cost[: self._first], -self.large * goals])
        solution = highs.solve(replace(self._model, cost=cost), seconds=seconds, algorithm=self._algorithm)
        if solution.x is None or solution.row_duals is None:
            return None
        reduced = -self.large * goals - self._move.T @ solution.row_duals[: self._rows]
        return ImageSolution(solution.x[self._first :], self._own, np.asarray(reduced))


def _dearest_turn(search: Search, cells: IntArray) -> float:
    """What turning a cell from one sense to the other may cost, at most: in each of its relations another must make up for it."""
    problem, program = search.problem, search.program
    relations = np.diff(problem.relations.tocsc().indptr)[cells]
    swing = (problem.lower_level + problem.upper_level)[cells] * problem.weight[cells] * relations
    return float(swing.max(initial=0.0)) * program.price / program.unit + 1.0


def resistance(goals: IntArray, answer: ImageSolution, large: float) -> Resistance:
    """Overt (eqs 10-11), potential (12-13) and free (14-15) resistance, added up.

    The three have no common unit. Overt and free ones are shares; potentials are scaled so that the largest counts `TUNING.potential`.
    They are many, each for one binary turned alone, where the free ones were found together.
    """
    overt_up, overt_down = overt(goals, answer.x)
    potential_up, potential_down = potential(goals, answer, large)
    scale = max(float(np.abs(potential_up).max(initial=0.0)), float(np.abs(potential_down).max(initial=0.0)), 1e-12) / TUNING.potential
    free = goals == 0
    return Resistance(
        up=overt_up + potential_up / scale + np.where(free, 1 - answer.x, 0.0),
        down=overt_down + potential_down / scale + np.where(free, answer.x, 0.0),
    )


def overt(goals: IntArray, x: FloatArray) -> Resistance:
    """Eqs 10 and 11: how far a binary stays from its goal."""
    return Resistance(np.where(goals > 0, 1 - x, 0.0), np.where(goals < 0, x, 0.0))


def potential(goals: IntArray, answer: ImageSolution, large: float) -> Resistance:
    """Eqs 12 and 13, for binaries that met their goal: what the direction costs at the duals found."""
    met = np.abs(answer.x - (goals > 0)) < 1e-6
    up = np.where((goals > 0) & met, large + answer.cost + answer.reduced, 0.0)
    down = np.where((goals < 0) & met, -(-large + answer.cost + answer.reduced), 0.0)
    return Resistance(up, down)
