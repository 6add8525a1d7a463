"""Combinations of senses that one relation cannot bear (S3 section 3.1, first phase; eqs 5-7).

With senses chosen, the terms of a relation lie between a least and a most. When their least sum is above the right-hand side, or
their most below it, the senses cannot stand together. S3 walks from the worst combination by single changes and prunes what
fits. The same is done here on the cells that matter alone: with every cell at its milder sense there is some slack; harsher
senses eat it, in order of size; a branch that cannot eat it all is pruned. So one short combination stands for all
longer ones that contain it, and the same choices are forbidden. All sums are exact integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import Interval, ProtectionProblem

Combination = tuple[int, ...]
"""Senses as signed numbers: cell + 1 for up, -(cell + 1) for down."""

LITERALS_PER_RELATION = 20_000
"""Long relations with many like cells have endless combinations; the first, which are the shortest, are kept."""


class Term(NamedTuple):
    """What a cell's harsher sense (the literal) adds to the least sum of its relation."""

    extra: float
    literal: int


class Forbidden:
    """Finds the combinations that relations of a problem, or sums of them, forbid."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self._matrix = problem.relations
        self._residual = problem.residual
        self.choice = problem.can_go_up & problem.can_go_down
        forced = (problem.sensitive & ~self.choice) * (2 * problem.can_go_up.astype(int) - 1)
        self._has_choice: list[bool] = self.choice.tolist()
        self._free, self._up, self._down = (_ends(interval) for interval in (problem.allowed(forced), problem.up, problem.down))

    def by_relation(self) -> Iterator[Combination]:
        """The combinations that single relations forbid."""
        matrix = self._matrix
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            cells = matrix.indices[part]
            if self.choice[cells].any():
                yield from within(LITERALS_PER_RELATION, self.of(cells, matrix.data[part], int(self._residual[row])))

    def of(self, cells: AnyArray, factors: AnyArray, right: int, *, among: IntArray | None = None) -> Iterator[Combination]:
        """All minimal combinations that  sum factor z = right  forbids; only such as these senses show, when `among` is given."""
        literals = None if among is None else {(cell + 1) * int(among[cell]) for cell in cells.tolist()}
        for turn in (1, -1):  # "at most the right-hand side", then "at least" as its mirror image
            terms = list(zip(cells.tolist(), (turn * factors).tolist(), strict=True))
            yield from self._too_much(terms, turn * right, literals)

    def _too_much(self, terms: list[tuple[int, int]], right: int, among: set[int] | None) -> Iterator[Combination]:
        least: float = 0
        needed: list[int] = []  # senses without which the least sum has no end
        extras: list[Term] = []
        for cell, factor in terms:
            mild, harsh = self._least_terms(cell, factor)
            closed = among is not None and harsh.literal not in among
            if mild.extra == -_ENDLESS and (closed or harsh.extra == -_ENDLESS):
                return
            if mild.extra == -_ENDLESS:
                needed.append(harsh.literal)
                least += harsh.extra
            else:
                least += mild.extra
                if not closed and harsh.extra > mild.extra:
                    extras.append(Term(harsh.extra - mild.extra, harsh.literal))
        for combination in minimal_covers(extras, right - least):
            yield (*needed, *combination)

    def _least_terms(self, cell: int, factor: int) -> tuple[Term, Term]:
        """The least that factor * z can be in the milder and in the harsher sense (the same twice, where there is no choice)."""
        end = 0 if factor > 0 else 1
        if not self._has_choice[cell]:
            only = Term(factor * self._free[end][cell], 0)
            return only, only
        up, down = Term(factor * self._up[end][cell], cell + 1), Term(factor * self._down[end][cell], -cell - 1)
        return (up, down) if up.extra <= down.extra else (down, up)


def minimal_covers(terms: list[Term], slack: float) -> Iterator[Combination]:
    """Every set of terms that exceeds the slack and would not without any one of its members.

    Terms are taken largest first, so the last one taken is the smallest: a set is complete, and minimal, once it exceeds.
    A branch is entered only if all that is left would exceed; so each one ends in a set, and none is wasted.
    """
    if slack < 0:
        yield ()
        return
    terms = sorted(terms, key=lambda term: (-term.extra, abs(term.literal)))
    left = [*accumulate((term.extra for term in reversed(terms)), initial=0)][::-1]
    taken: list[int] = []
    total: float = 0
    at = 0
    while True:
        if total + left[at] > slack:
            total += terms[at].extra
            taken.append(at)
            if total > slack:
                yield tuple(terms[k].literal for k in taken)
                total -= terms[taken.pop()].extra
            at += 1
        elif taken:
            at = taken.pop()
            total -= terms[at].extra
            at += 1
        else:
            return


def within(literals: int, combinations: Iterator[Combination]) -> Iterator[Combination]:
    """The combinations until so many literals have been spent."""
    for combination in combinations:
        yield combination
        literals -= len(combination)
        if literals <= 0:
            return


_ENDLESS = float("inf")


def _ends(interval: Interval) -> tuple[list[float], list[float]]:
    """Low and high ends as exact Python integers, infinite where there is no limit."""
    low = [-_ENDLESS if end <= -NO_LIMIT // 2 else end for end in interval.low.tolist()]
    high = [_ENDLESS if end >= NO_LIMIT // 2 else end for end in interval.high.tolist()]
    return low, high
