"""Small random tables with known optima: is what we call optimal certified, and is what is optimal called so?

    python benchmarks/small_proofs.py --first 0 --tables 300 [--seconds 20] [--show]

Tables of one to four dimensions, with hierarchies and linked by a second tree, and systems with coefficients of two, whose best amounts
are often not whole; up to 12 sensitive cells, levels alike or not, zeros, frozen cells, finite bounds, both variants, and weights that are
unit, inverse or any, absolute changes (L1) or squares (`--norm l2`). The optimum is found apart from the engine, by a
plain search over senses with scipy's linear programs and a whole program for each choice of senses that is left.
Seeds below 100,000 were used while the engine was changed; those from 500,000 on were not.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import time
from collections import Counter
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

from statveil.audit.certificate_checker import bound_of
from statveil.core.errors import InfeasibleProblem, StatveilError
from statveil.core.limits import Ending, Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem

SAME = 1e-9
"""Relative difference of costs that are the same but for the order in which doubles were added up."""

Tree = tuple[int, list[tuple[int, list[int]]]]
"""How many codes, and the sums among them: a code and the codes it is the sum of."""

SHAPES = {
    "two-way": lambda rng: [_flat(rng.integers(2, 6)), _flat(rng.integers(2, 6))],
    "three-way": lambda rng: [_flat(rng.integers(2, 4)), _flat(rng.integers(2, 4)), _flat(rng.integers(2, 4))],
    "hierarchical": lambda rng: [_two_levels(rng), _flat(rng.integers(2, 4))],
    "two hierarchies": lambda rng: [_two_levels(rng), _two_levels(rng)],
    "linked": lambda rng: [_two_trees(rng), _flat(rng.integers(2, 4))],
    "one-way": lambda rng: [_two_levels(rng)],
    "four-way": lambda rng: [_flat(2), _flat(2), _flat(2), _flat(rng.integers(2, 4))],
    "three trees": lambda rng: [_two_trees(rng), _two_trees(rng)],
    "large three-way": lambda rng: [_flat(rng.integers(3, 5)), _flat(rng.integers(3, 5)), _flat(rng.integers(3, 4))],
    "system": lambda rng: [],
}


def _flat(size: int) -> Tree:
    return int(size) + 1, [(int(size), list(range(size)))]


def _two_levels(rng: np.random.Generator) -> Tree:
    """Leaves in groups of two or three, the groups in a total."""
    groups, sums, at = int(rng.integers(2, 4)), [], 0
    leaves = [int(rng.integers(2, 4)) for _ in range(groups)]
    first = sum(leaves)
    for number, size in enumerate(leaves):
        sums.append((first + number, list(range(at, at + size))))
        at += size
    return first + groups + 1, [*sums, (first + groups, list(range(first, first + groups)))]


def _two_trees(rng: np.random.Generator) -> Tree:
    """Four to six leaves, halved in two different ways; both halves come to the same total."""
    leaves = int(rng.integers(4, 7))
    mixed = rng.permutation(leaves).tolist()
    halves = [list(range(leaves // 2)), list(range(leaves // 2, leaves)), mixed[: leaves // 2], mixed[leaves // 2 :]]
    sums = [(leaves + number, half) for number, half in enumerate(halves)]
    total = leaves + 4
    return total + 1, [*sums, (total, [leaves, leaves + 1]), (total, [leaves + 2, leaves + 3])]


class Drawn(NamedTuple):
    """A problem and the family it is from."""

    family: str
    problem: ProtectionProblem


def draw(seed: int) -> Drawn:
    """The table of a seed; the same for ever."""
    rng = np.random.Generator(np.random.PCG64(seed))
    family = str(rng.choice(list(SHAPES)))
    trees = SHAPES[family](rng)
    value, relations = _table(trees, rng) if trees else _system(rng)
    size = value.size
    sensitive = np.zeros(size, dtype=np.bool_)
    sensitive[rng.choice(size, size=min(int(rng.integers(1, 13)), size), replace=False)] = True
    level = _levels(value, rng)
    other = level if rng.random() < 0.5 else _levels(value, rng)
    lower, upper = _bounds(value, sensitive, np.maximum(level, other), rng)
    problem = ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        weight=_weights(value, rng),
        lower=lower,
        upper=upper,
        sensitive=sensitive,
        lower_level=np.where(sensitive, level, 0),
        upper_level=np.where(sensitive, other, 0),
        variant="exact" if rng.random() < 0.3 else "at-least",
    )
    return Drawn(family, problem)


def _table(trees: list[Tree], rng: np.random.Generator) -> tuple[np.ndarray, csr_matrix]:
    """Values and relations of the grid of all codes; every cell that no sum makes is drawn, a quarter of some tables is zero."""
    shape = tuple(size for size, _ in trees)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    kind = rng.choice(["small", "middling", "heavy tails"])
    values = {
        "small": rng.integers(1, 12, size=shape),
        "middling": rng.integers(1, 500, size=shape),
        "heavy tails": np.ceil(np.exp(rng.normal(3.0, 2.0, size=shape))).astype(np.int64),
    }[str(kind)]
    values = np.where(rng.random(shape) < rng.choice([0.0, 0.1, 0.25]), 0, values)
    rows = []
    for axis, (_, sums) in enumerate(trees):
        for code, parts in sums:
            at = (slice(None),) * axis
            values[(*at, code)] = values[(*at, parts)].sum(axis=axis)
            others = np.moveaxis(numbers, axis, 0).reshape(shape[axis], -1)
            for place in range(others.shape[1]):
                row = np.zeros(numbers.size, dtype=np.int64)
                row[others[parts, place]] = 1
                row[others[code, place]] = -1
                rows.append(row)
    return values.ravel().astype(np.int64), csr_matrix(np.array(rows))


def _system(rng: np.random.Generator) -> tuple[np.ndarray, csr_matrix]:
    """Any relations with coefficients of one and two, solved for cells of their own, so that they have solutions."""
    free, made = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    while True:
        factors = rng.choice([0, 1, 1, 1, -1, 2], size=(made, free))
        if (np.abs(factors).sum(axis=1) > 1).all():
            break
    own = rng.choice([1, 1, 2], size=made)
    value = rng.integers(5, 60, size=free) * 2
    value = np.concatenate([value, factors @ value // own])
    return value, csr_matrix(np.hstack([factors, -np.diag(own)]))


def _levels(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    share = rng.choice([0.05, 0.1, 0.3])
    return np.maximum(np.ceil(share * np.abs(value) * rng.uniform(0.5, 1.5, size=value.size)), rng.integers(1, 6)).astype(np.int64)


def _bounds(value: np.ndarray, sensitive: np.ndarray, level: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Zero and no end; some tables have a finite reach, some have frozen cells, some zeros that stay."""
    lower, upper = np.where(value < 0, -NO_LIMIT, 0), np.full(value.size, NO_LIMIT)
    reach = rng.choice(["none", "half", "narrow"], p=[0.5, 0.3, 0.2])
    if reach != "none":
        most = np.ceil((0.5 if reach == "half" else 0.25) * np.abs(value)).astype(np.int64) + 3
        most = np.where(sensitive, np.maximum(most, 2 * level), most)
        lower, upper = np.maximum(lower, value - most), value + most
    frozen = ~sensitive & (rng.random(value.size) < rng.choice([0.0, 0.1]))
    if rng.random() < 0.3:
        frozen |= ~sensitive & (value == 0)
    return np.where(frozen, value, lower), np.where(frozen, value, upper)


def _weights(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    kind = str(rng.choice(["unit", "inverse", "any"], p=[0.4, 0.45, 0.15]))
    if kind == "unit":
        return np.ones(value.size)
    return 1.0 / np.maximum(np.abs(value), 1) if kind == "inverse" else rng.uniform(0.1, 3.0, size=value.size)


class Reference:
    """The optimum by a plain search: senses one after the other, a linear program at each step, whole amounts at the end."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self.problem, self.best = problem, math.inf
        one, size = np.eye(problem.size), problem.size
        relations = problem.relations.toarray().astype(float)
        self.equal = np.hstack([relations, np.zeros_like(relations)])
        self.above = np.block([[one, -one], [-one, -one]])
        self.cost = np.concatenate([np.zeros(size), problem.weight])
        self.cells = np.flatnonzero(problem.sensitive).tolist()

    def optimum(self) -> float:
        """Infinite where no safe table exists."""
        self._from({})
        return self.best

    def _from(self, senses: dict[int, int]) -> None:
        low, high = self._ranges(senses)
        if (low > high).any():
            return
        ranges = list(zip(low, high, strict=True)) + [(0, np.inf)] * self.problem.size
        none = np.zeros(2 * self.problem.size)
        found = linprog(self.cost, A_ub=self.above, b_ub=none, A_eq=self.equal, b_eq=self.problem.residual, bounds=ranges)
        if found.status != 0 or found.fun >= self.best - 1e-7 * (1 + abs(found.fun)):
            return
        z = found.x[: self.problem.size]
        within = [cell for cell in self.cells if cell not in senses]
        within.sort(key=lambda cell: min(self.problem.upper_level[cell] - z[cell], z[cell] + self.problem.lower_level[cell]))
        if not within:
            self._whole(low, high)
            return
        cell = within[-1]
        first = 1 if z[cell] > 0 else -1
        for way in (first, -first):
            self._from({**senses, cell: way})

    def _ranges(self, senses: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
        problem = self.problem
        low = np.where(problem.lower <= -NO_LIMIT, -np.inf, problem.lower - problem.value.astype(float))
        high = np.where(problem.upper >= NO_LIMIT, np.inf, problem.upper - problem.value.astype(float))
        for cell in self.cells:
            down, up = -float(problem.lower_level[cell]), float(problem.upper_level[cell])
            if problem.variant == "exact":
                low[cell], high[cell] = max(low[cell], down), min(high[cell], up)
            if senses.get(cell, 0) > 0:
                low[cell] = max(low[cell], up)
            elif senses.get(cell, 0) < 0:
                high[cell] = min(high[cell], down)
        return low, high

    def _whole(self, low: np.ndarray, high: np.ndarray) -> None:
        size = self.problem.size
        ranges = Bounds(np.concatenate([low, np.zeros(size)]), np.concatenate([high, np.full(size, np.inf)]))
        limits = [LinearConstraint(self.above, -np.inf, 0.0), LinearConstraint(self.equal, self.problem.residual, self.problem.residual)]
        whole = np.repeat([1, 0], size)
        found = milp(self.cost, constraints=limits, bounds=ranges, integrality=whole, options={"mip_rel_gap": 0.0})
        if found.x is None:
            return
        deviation = np.rint(found.x[:size]).astype(np.int64)
        if not (self.problem.relations @ deviation == self.problem.residual).all():
            raise ArithmeticError("The reference's table is not additive.")
        self.best = min(self.best, float(self.problem.weight @ np.abs(deviation)))


class SquaresReference(Reference):
    """The same for squares: on whole numbers  w z^2  is the largest of the chords  w ((2a + 1) z - a (a + 1)), added where broken."""

    def __init__(self, problem: ProtectionProblem) -> None:
        super().__init__(problem)
        self.cost = np.repeat([0.0, 1.0], problem.size)
        self.chords = {(cell, at) for cell in range(problem.size) for power in range(16) for at in (2**power - 1, -(2**power))}

    def _rows(self) -> tuple[csr_matrix, np.ndarray]:
        cell, at = np.array(sorted(self.chords)).T
        each, weight = np.arange(cell.size), self.problem.weight[cell]
        factors, columns = np.concatenate([weight * (2 * at + 1), -np.ones(cell.size)]), np.concatenate([cell, self.problem.size + cell])
        return csr_matrix((factors, (np.tile(each, 2), columns)), shape=(cell.size, 2 * self.problem.size)), weight * at * (at + 1)

    def _from(self, senses: dict[int, int]) -> None:
        low, high = self._ranges(senses)
        if (low > high).any():
            return
        ranges = list(zip(low, high, strict=True)) + [(0, np.inf)] * self.problem.size
        chords, least = self._rows()
        found = linprog(self.cost, A_ub=chords, b_ub=least, A_eq=self.equal, b_eq=self.problem.residual, bounds=ranges)
        if found.status != 0 or found.fun >= self.best * (1 - 1e-9):
            return
        z = found.x[: self.problem.size]
        within = [cell for cell in self.cells if cell not in senses]
        if not within:
            self._whole(low, high)
            return
        cell = max(within, key=lambda cell: min(self.problem.upper_level[cell] - z[cell], z[cell] + self.problem.lower_level[cell]))
        first = 1 if z[cell] > 0 else -1
        for way in (first, -first):
            self._from({**senses, cell: way})

    def _whole(self, low: np.ndarray, high: np.ndarray) -> None:
        size = self.problem.size
        ranges = Bounds(np.concatenate([low, np.zeros(size)]), np.concatenate([high, np.full(size, np.inf)]))
        while True:
            chords, least = self._rows()
            limits = [LinearConstraint(chords, -np.inf, least), LinearConstraint(self.equal, self.problem.residual, self.problem.residual)]
            found = milp(self.cost, constraints=limits, bounds=ranges, integrality=np.repeat([1, 0], size), options={"mip_rel_gap": 0.0})
            if found.x is None or found.fun >= self.best * (1 - 1e-9):
                return
            deviation = np.rint(found.x[:size]).astype(np.int64)
            if not (self.problem.relations @ deviation == self.problem.residual).all():
                raise ArithmeticError("The reference's table is not additive.")
            self.best = min(self.best, float(self.problem.weight @ deviation**2))
            before = len(self.chords)
            self.chords |= {(cell, at) for cell, z in enumerate(deviation.tolist()) for at in (z - 1, z)}
            if len(self.chords) == before:
                return


def verdicts(problem: ProtectionProblem, found: Adjustment, optimum: float) -> list[str]:
    """What is to be counted of one answer."""
    words = ["tables"]
    if not safe(problem, found.deviation):
        words.append("UNSAFE")
    above = optimum * (1 + SAME)
    if max(found.bound, found.certified_bound) > above:
        words.append("BOUND ABOVE THE OPTIMUM")
    proves = 0.0 if found.certificate is None else float(bound_of(problem, found.certificate))
    certified = found.objective <= min(proves, found.certified_bound) * (1 + SAME)
    if found.ending is Ending.OPTIMAL and not certified:
        words.append("OPTIMAL, NOT CERTIFIED")
    if found.objective > above:
        words += ["optimum missed"] + (["MORE THAN 2% ABOVE"] if found.objective > 1.02 * optimum else [])
    else:
        words += ["optimum found", "optimum found and certified" if certified else "optimum found, not certified"]
        words += ["called optimal"] if found.ending is Ending.OPTIMAL else []
    return words


def safe(problem: ProtectionProblem, deviation: np.ndarray) -> bool:
    """Sums, bounds and levels of the released table, in integers."""
    released = problem.value + deviation
    down, up = -deviation >= problem.lower_level, deviation >= problem.upper_level
    if problem.variant == "exact":
        down, up = -deviation == problem.lower_level, deviation == problem.upper_level
    inside = (released >= problem.lower) & (released <= problem.upper)
    return bool((problem.relations @ released == problem.rhs).all() and inside.all() and (~problem.sensitive | down | up).all())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--tables", type=int, default=300, help="with a safe table")
    options.add_argument("--seconds", type=float, default=20.0, help="limit of each adjustment")
    options.add_argument("--show", action="store_true", help="a line for each table that is not certified")
    options.add_argument("--norm", choices=("l1", "l2"), default="l1")
    options.add_argument("--most-cells", type=int, default=10**6, help="leave larger tables out")
    asked = options.parse_args()
    count, families, began, shares = Counter[str](), Counter[str](), time.monotonic(), []
    for seed in itertools.count(asked.first):
        if count["tables"] == asked.tables:
            break
        family, problem = draw(seed)
        if problem.size > asked.most_cells:
            continue
        problem = dataclasses.replace(problem, norm=asked.norm)
        optimum = (Reference if asked.norm == "l1" else SquaresReference)(problem).optimum()
        try:
            found = adjust_problem(problem, limits=Limits(seconds=asked.seconds))
        except InfeasibleProblem:
            count["no safe table" if math.isinf(optimum) else "CALLED INFEASIBLE"] += 1
            continue
        except StatveilError as error:
            count[f"no table: {type(error).__name__}"] += 1
            continue
        words = verdicts(problem, found, optimum)
        count.update(words)
        families[family] += 1
        shares.append(found.certified_bound / optimum if optimum else 1.0)
        if asked.show and "optimum found and certified" not in words:
            print(seed, family, problem.variant, found.objective, optimum, found.certified_bound, found.bound_by, found.ending, words[1:])
    print(f"seeds from {asked.first}: {time.monotonic() - began:,.0f} s; {dict(families)}")
    print(f"certified bound / optimum: {median(shares):.3f} at the median")
    print("\n".join(f"{number:6,}  {words}" for words, number in count.most_common()))


if __name__ == "__main__":
    main()
