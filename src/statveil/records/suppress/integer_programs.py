"""Programs of blanks: solved in a process of their own, integer ones checked in whole numbers and solved again for the second cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InfeasibleProblem, OutOfTime, SolverFailed
from statveil.core.limits import Ending
from statveil.solve.model import LinearModel
from statveil.solve.processes import run_isolated


class IntegerProgramTuning(NamedTuple):
    """By judgement."""

    told: float = 0.9
    """Share of the time that a solver is told of: it sees the end a little late, and its process is ended with the time itself."""


TUNING = IntegerProgramTuning()
SAME_COST = 1e-9
"""Costs that differ by this share or less are equal; costs that are whole numbers are compared exactly."""


class ProgramAnswer(NamedTuple):
    """What an integer program chose, the bound it proved, and whether no choice of equal cost has a lower second cost."""

    numbers: IntArray
    bound: float
    ending: Ending
    settled: bool = False


class Rows:
    """Rows of a linear program, collected one by one."""

    def __init__(self) -> None:
        self.columns: list[IntArray] = []
        self.values: list[FloatArray] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(self, columns: Sequence[int] | IntArray, values: Sequence[float] | FloatArray, lower: float, upper: float) -> None:
        self.columns.append(np.asarray(columns, dtype=np.int64))
        self.values.append(np.asarray(values, dtype=np.float64))
        self.lower.append(lower)
        self.upper.append(upper)

    def model(self, cost: FloatArray, upper: FloatArray) -> LinearModel:
        rows = np.repeat(np.arange(len(self.columns)), [each.size for each in self.columns])
        columns, values = np.concatenate(self.columns), np.concatenate(self.values)
        shape = (len(self.lower), cost.size)
        return LinearModel(
            cost=cost,
            matrix=csr_matrix((values, (rows, columns)), shape=shape),
            row_lower=np.array(self.lower),
            row_upper=np.array(self.upper),
            lower=np.zeros(cost.size),
            upper=upper,
            whole=np.ones(cost.size, dtype=np.bool_),
        )


def solve_whole(model: LinearModel, second: FloatArray, *, seconds: float) -> ProgramAnswer:
    """Solve one program in a process of its own: the least cost, and of those the least second cost."""
    deadline = time.monotonic() + seconds
    found = solve_each([model], seconds=seconds)
    if found is None:
        raise OutOfTime("The time limit came before the integer program had a solution.", hint="Give more seconds.")
    return settle_ties([model], [second], found, seconds=deadline - time.monotonic())[0]


def settle_ties(
    models: Sequence[LinearModel], second: Sequence[FloatArray], found: Sequence[ProgramAnswer], *, seconds: float, nodes: int | None = None
) -> list[ProgramAnswer]:
    """Of the choices that cost no more than those found, the ones of least second cost: a second program that holds the first cost.

    Only where the first program was solved to its end. Whatever the second one does not prove stays as it was, or better, but open.
    """
    done = [place for place, each in enumerate(found) if each.ending is Ending.OPTIMAL]
    if not done or seconds <= 0:
        return list(found)
    tied = [_with_cost_held(models[place], second[place], found[place].numbers) for place in done]
    try:
        answers = solve_each(tied, seconds=seconds, nodes=nodes, starts=[found[place].numbers for place in done])
    except (InfeasibleProblem, SolverFailed):
        answers = None  # the first answers hold: only the solver can be wrong here
    settled = list(found)
    for place, answer in zip(done, answers or [], strict=False):
        settled[place] = _the_better(models[place], second[place], found[place], answer)
    return settled


def _with_cost_held(model: LinearModel, second: FloatArray, numbers: IntArray) -> LinearModel:
    held = float(model.cost @ numbers)
    return replace(
        model,
        cost=second,
        matrix=csr_matrix(vstack([model.matrix, csr_matrix(model.cost[None])])),
        row_lower=np.append(model.row_lower, -np.inf),
        row_upper=np.append(model.row_upper, held + SAME_COST * max(1.0, held)),
    )


def _the_better(model: LinearModel, second: FloatArray, first: ProgramAnswer, answer: ProgramAnswer) -> ProgramAnswer:
    """The answer to the second program if its costs, worked out here, are what it was asked for."""
    before, after = (float(model.cost @ each.numbers) for each in (first, answer))
    least, proved = float(second @ answer.numbers), float(second @ first.numbers)
    if after > before + 2 * SAME_COST * max(1.0, before) or least > proved:
        return first
    whole = math.isfinite(answer.bound) and bool(np.all(second == np.round(second)))  # a solver out of time may have no bound
    bound = math.ceil(answer.bound - 1e-6) if whole else answer.bound
    return ProgramAnswer(answer.numbers, first.bound, first.ending, settled=least <= bound + SAME_COST * max(1.0, least))


def solve_each(
    models: Sequence[LinearModel], *, seconds: float, nodes: int | None = None, starts: Sequence[IntArray] | None = None
) -> list[ProgramAnswer] | None:
    """Solve programs one after another in a process of their own; None where one has no solution when the time is up.

    What the solver claims is checked in whole numbers.
    """
    heard: list[Any] = []
    run_isolated([(_solve, (list(models), TUNING.told * seconds, nodes, starts))], seconds=seconds, on_message=heard.append)
    if any(ending is Ending.INFEASIBLE for ending, _, _ in heard):
        raise InfeasibleProblem("No choice of blanks obeys the rule and the caps.", hint="Raise the caps, or allow more recodings.")
    if len(heard) < len(models) or any(x is None for _, x, _ in heard):
        return None
    return [_checked(model, *each) for model, each in zip(models, heard, strict=True)]


def _checked(model: LinearModel, ending: Ending, x: FloatArray, bound: float) -> ProgramAnswer:
    count = np.round(x).astype(np.int64)
    value = model.matrix @ count
    if (count < 0).any() or (value < model.row_lower - 1e-6).any() or (value > model.row_upper + 1e-6).any():
        raise SolverFailed("The solver's choice of blanks does not hold in whole numbers.", hint="Please report this.")
    return ProgramAnswer(count, max(0.0, float(bound)), ending)  # costs are not negative


class LinearAnswer(NamedTuple):
    """A solution and the prices of the rows; None where the solver found none in time."""

    x: FloatArray | None = None
    prices: FloatArray | None = None


def solve_linear(model: LinearModel, *, seconds: float) -> LinearAnswer:
    """Solve a linear program in a process of its own. The solver's word: whoever uses it checks it."""
    heard: list[LinearAnswer] = []
    run_isolated([(_solve_linear, (model, TUNING.told * seconds))], seconds=seconds, on_message=heard.append)
    return heard[-1] if heard else LinearAnswer()


def bound_by_prices(model: LinearModel, answer: LinearAnswer) -> float:
    """What every solution costs at the least by these prices, whoever found them (weak duality); zero where there are none."""
    if answer.prices is None:
        return 0.0
    prices = np.where(np.isinf(np.where(answer.prices > 0, model.row_lower, model.row_upper)), 0.0, answer.prices)
    rows = np.where(prices > 0, model.row_lower, model.row_upper)
    left = model.cost - model.matrix.T @ prices
    ends = np.where(left > 0, model.lower, model.upper)
    if np.isinf(ends[left != 0]).any():
        return 0.0
    return max(0.0, float(prices @ np.where(prices == 0, 0.0, rows) + left @ np.where(left == 0, 0.0, ends)))


def _solve_linear(model: LinearModel, seconds: float, send: Callable[[Any], None]) -> None:
    from statveil.solve.highs import solve

    found = solve(replace(model, whole=None), seconds=seconds)
    send(LinearAnswer(found.x, found.row_duals))


def _solve(
    models: Sequence[LinearModel], seconds: float, nodes: int | None, starts: Sequence[IntArray] | None, send: Callable[[Any], None]
) -> None:
    from statveil.solve.highs import solve

    deadline = time.monotonic() + seconds
    for number, model in enumerate(models):
        start = None if starts is None else starts[number].astype(np.float64)
        found = solve(model, seconds=deadline - time.monotonic(), gap=0.0, nodes=nodes, start=start)
        send((found.ending, found.x, found.bound))


class ChoiceQueue:
    """Choices with the number of times each is to be given out."""

    def __init__(self, choices: Sequence[tuple[int, int]]) -> None:
        self.left = [[choice, number] for choice, number in choices if number]

    def take(self, wanted: int) -> list[tuple[int, int]]:
        given = []
        while wanted:
            choice, number = self.left[0]
            taken = min(wanted, number)
            given.append((choice, taken))
            wanted -= taken
            self.left[0][1] -= taken
            if not self.left[0][1]:
                self.left.pop(0)
        return given

    def one(self) -> int:
        return self.take(1)[0][0]
