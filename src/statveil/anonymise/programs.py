"""Suppression as an integer program over patterns: where records depend on each other.

Caps on the blanks of a field tie all records together ("one very big problem", S4 s.2.1); records with equal patterns are
interchangeable, so that the program counts how many of them get which minimal cover. Households add the choice of shared blanks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.anonymise.problem import SuppressionProblem
from statveil.arrays import FloatArray, IntArray
from statveil.errors import InfeasibleProblem, OutOfTime, SolverFailed
from statveil.solve.isolate import run_isolated
from statveil.solve.model import LinearModel
from statveil.solve.outcome import Ending

GRACE = 5.0
SAME_COST = 1e-9
"""Costs that differ by this share or less are equal; costs that are whole numbers are compared exactly."""


class Counted(NamedTuple):
    """What an integer program chose, the bound it proved, and whether no choice of equal cost has a lower second cost."""

    numbers: IntArray
    bound: float
    ending: Ending
    settled: bool = False


class Rows:
    """Rows of a linear program, collected one by one."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, float]] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(self, columns: Sequence[int] | IntArray, values: Sequence[float], lower: float, upper: float) -> None:
        row = len(self.lower)
        self.entries += [(row, int(column), float(value)) for column, value in zip(columns, values, strict=True)]
        self.lower.append(lower)
        self.upper.append(upper)

    def model(self, cost: FloatArray, upper: FloatArray) -> LinearModel:
        rows, columns, values = (np.array(part) for part in zip(*self.entries, strict=True))
        shape = (len(self.lower), cost.size)
        return LinearModel(
            cost=cost,
            matrix=csr_matrix((values, (rows.astype(np.int64), columns.astype(np.int64))), shape=shape),
            row_lower=np.array(self.lower),
            row_upper=np.array(self.upper),
            lower=np.zeros(cost.size),
            upper=upper,
            whole=np.ones(cost.size, dtype=np.bool_),
        )


def solve_whole(model: LinearModel, second: FloatArray, *, seconds: float) -> Counted:
    """Solve one program in a process of its own: the least cost, and of those the least second cost."""
    deadline = time.monotonic() + seconds
    found = solve_each([model], seconds=seconds)
    if found is None:
        raise OutOfTime("The time limit came before the integer program had a solution.", hint="Give more seconds.")
    return settle_ties([model], [second], found, seconds=deadline - time.monotonic())[0]


def settle_ties(
    models: Sequence[LinearModel], second: Sequence[FloatArray], found: Sequence[Counted], *, seconds: float, nodes: int | None = None
) -> list[Counted]:
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


def _the_better(model: LinearModel, second: FloatArray, first: Counted, answer: Counted) -> Counted:
    """The answer to the second program if its costs, worked out here, are what it was asked for."""
    before, after = (float(model.cost @ each.numbers) for each in (first, answer))
    least, proved = float(second @ answer.numbers), float(second @ first.numbers)
    if after > before + 2 * SAME_COST * max(1.0, before) or least > proved:
        return first
    bound = math.ceil(answer.bound - 1e-6) if np.all(second == np.round(second)) else answer.bound
    return Counted(answer.numbers, first.bound, first.ending, settled=least <= bound + SAME_COST * max(1.0, least))


def solve_each(
    models: Sequence[LinearModel], *, seconds: float, nodes: int | None = None, starts: Sequence[IntArray] | None = None
) -> list[Counted] | None:
    """Solve programs one after another in a process of their own; None where one has no solution when the time is up.

    What the solver claims is checked in whole numbers.
    """
    heard: list[Any] = []
    run_isolated([(_solve, (list(models), seconds, nodes, starts))], seconds=seconds + GRACE, on_message=heard.append)
    if any(ending is Ending.INFEASIBLE for ending, _, _ in heard):
        raise InfeasibleProblem("No choice of blanks obeys the rule and the caps.", hint="Raise the caps, or allow more recodings.")
    if len(heard) < len(models) or any(x is None for _, x, _ in heard):
        return None
    return [_checked(model, *each) for model, each in zip(models, heard, strict=True)]


def _checked(model: LinearModel, ending: Ending, x: FloatArray, bound: float) -> Counted:
    count = np.round(x).astype(np.int64)
    value = model.matrix @ count
    if (count < 0).any() or (value < model.row_lower - 1e-6).any() or (value > model.row_upper + 1e-6).any():
        raise SolverFailed("The solver's choice of blanks does not hold in whole numbers.", hint="Please report this.")
    return Counted(count, float(bound), ending)


def _solve(
    models: Sequence[LinearModel], seconds: float, nodes: int | None, starts: Sequence[IntArray] | None, send: Callable[[Any], None]
) -> None:
    from statveil.solve.highs import solve

    deadline = time.monotonic() + seconds
    for number, model in enumerate(models):
        start = None if starts is None else starts[number].astype(np.float64)
        found = solve(model, seconds=deadline - time.monotonic(), gap=0.0, nodes=nodes, start=start)
        send((found.ending, found.x, found.bound))


class Group(NamedTuple):
    """Interchangeable records: how many, what a blank of cost 1 costs in one of them, and the covers to choose from."""

    records: int
    mass: float
    covers: list[int]


def choose_capped(problem: SuppressionProblem, groups: Sequence[Group], *, seconds: float) -> tuple[list[list[tuple[int, int]]], Counted]:
    """For each group, (cover of units, number of records) with the least cost under the caps on fields."""
    group_of = np.repeat(np.arange(len(groups)), [len(group.covers) for group in groups])
    covers = np.array([cover for group in groups for cover in group.covers], dtype=np.int64)
    masks = problem.fields_of(covers)
    records = np.array([group.records for group in groups])
    rows = Rows()
    for number in range(len(groups)):
        columns = np.flatnonzero(group_of == number)
        rows.add(columns, [1.0] * columns.size, records[number], records[number])
    for name, cap in problem.coded.keys.caps.items():
        columns = np.flatnonzero((masks >> problem.coded.keys.names.index(name)) & 1)
        if columns.size:
            rows.add(columns, [1.0] * columns.size, 0, cap)
    mass = np.array([group.mass for group in groups])[group_of]
    model = rows.model(problem.mask_cost(masks) * mass, records[group_of].astype(np.float64))
    found = solve_whole(model, problem.tie_cost(covers) * mass, seconds=seconds)
    chosen: list[list[tuple[int, int]]] = [[] for _ in groups]
    for column in np.flatnonzero(found.numbers):
        chosen[group_of[column]].append((int(covers[column]), int(found.numbers[column])))
    return chosen, found


def choose_households(
    problem: SuppressionProblem, homes: Sequence[Group], members: Sequence[Sequence[tuple[int, int]]], parts: Sequence[Group], shared: int,
    *, seconds: float,
) -> tuple[list[list[tuple[int, int]]], dict[tuple[int, int], list[tuple[int, int]]], Counted]:  # fmt: skip
    """Households under caps. `homes` are kinds of households with the shared covers to choose from, `members` the (part, number) in each;
    `parts` are kinds of members with their covers, each of which has its shared blanks among its bits.

    Given a household's shared blanks its members are independent: the program counts shared blanks per kind of household, and covers
    per kind of member and shared blanks; the two meet in one equation.
    """
    home_columns = [(home, cover) for home, group in enumerate(homes) for cover in group.covers]
    part_columns = [(part, cover) for part, group in enumerate(parts) for cover in group.covers]
    first = len(home_columns)
    rows = Rows()
    for home, group in enumerate(homes):
        columns = [column for column, (each, _) in enumerate(home_columns) if each == home]
        rows.add(columns, [1.0] * len(columns), group.records, group.records)
    for part, blanks in sorted({(part, cover & shared) for part, cover in part_columns} | {
        (part, cover) for home, cover in home_columns for part, _ in members[home]
    }):  # fmt: skip
        own = [first + column for column, (each, cover) in enumerate(part_columns) if each == part and cover & shared == blanks]
        demand = [
            (column, float(number))
            for column, (home, cover) in enumerate(home_columns)
            if cover == blanks
            for each, number in members[home]
            if each == part
        ]
        rows.add([*own, *(column for column, _ in demand)], [1.0] * len(own) + [-number for _, number in demand], 0, 0)
    covers = np.array([cover for _, cover in part_columns], dtype=np.int64)
    masks = problem.fields_of(covers)
    for name, cap in problem.coded.keys.caps.items():
        columns = [first + int(column) for column in np.flatnonzero((masks >> problem.coded.keys.names.index(name)) & 1)]
        if columns:
            rows.add(columns, [1.0] * len(columns), 0, cap)
    mass = np.array([parts[part].mass for part, _ in part_columns])
    cost = np.concatenate([np.zeros(first), problem.mask_cost(masks) * mass])
    most = [homes[home].records for home, _ in home_columns] + [parts[part].records for part, _ in part_columns]
    second = np.concatenate([np.zeros(first), problem.tie_cost(covers) * mass])
    found = solve_whole(rows.model(cost, np.array(most, dtype=np.float64)), second, seconds=seconds)
    by_home: list[list[tuple[int, int]]] = [[] for _ in homes]
    by_part: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for column in np.flatnonzero(found.numbers):
        if column < first:
            by_home[home_columns[column][0]].append((home_columns[column][1], int(found.numbers[column])))
        else:
            part, cover = part_columns[column - first]
            by_part.setdefault((part, cover & shared), []).append((cover, int(found.numbers[column])))
    return by_home, by_part, found
