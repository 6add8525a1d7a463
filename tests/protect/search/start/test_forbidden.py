"""What a relation forbids: exactly the senses it cannot bear, told in the fewest words."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.start.forbidden import Forbidden, Term, minimal_covers, within
from tests.protect.problems import problem_of, small_problems


def relation_of_the_paper() -> ProtectionProblem:
    """S3's example: 1 + 3 + 4 + 12 = 20, the second cell with level 2 and the fourth with level 4; the total is published as it is."""
    fixed_total = np.array([99, 99, 99, 99, 20])
    return problem_of([1, 3, 4, 12, 20], [[1, 1, 1, 1, -1]], levels={1: 2, 3: 4}, lower=np.array([0, 0, 0, 0, 20]), upper=fixed_total)


def test_the_paper_forbids_both_up() -> None:
    """Both up would make 5 + 16 = 21 of a total of 20."""
    assert list(Forbidden(relation_of_the_paper()).by_relation()) == [(4, 2)]


def test_a_total_without_a_limit_forbids_nothing_upwards() -> None:
    problem = problem_of([1, 3, 4, 12, 20], [[1, 1, 1, 1, -1]], levels={1: 2, 3: 4})
    assert list(Forbidden(problem).by_relation()) == []


def test_a_total_and_its_only_other_part_must_go_together() -> None:
    """10 + 5 = 15 with the 5 fixed: one may not rise while the other falls, however far they could go."""
    problem = problem_of([10, 5, 15], [[1, 1, -1]], levels={0: 2, 2: 2}, lower=np.array([0, 5, 0]), upper=np.array([2**62, 5, 2**62]))
    assert {frozenset(c) for c in Forbidden(problem).by_relation()} == {frozenset({1, -3}), frozenset({-1, 3})}


def test_one_large_cell_speaks_for_all_small_ones() -> None:
    """30 small cells beside one that is too large: a single combination, not 2^30."""
    terms = [Term(1, k) for k in range(2, 32)] + [Term(100, 1)]
    assert list(minimal_covers(terms, 40)) == [(1,)]


def test_covers_stop_at_the_work_allowed() -> None:
    like = [Term(1, k) for k in range(1, 41)]
    assert len(list(within(200, minimal_covers(like, 19)))) == 10  # sets of 20, of which there are 10^11


@given(st.lists(st.integers(1, 9), max_size=8), st.integers(-2, 30))
def test_covers_are_all_the_minimal_sets(sizes: list[int], slack: int) -> None:
    found = [frozenset(cover) for cover in minimal_covers([Term(size, k + 1) for k, size in enumerate(sizes)], slack)]
    subsets = [frozenset(s) for n in range(len(sizes) + 1) for s in itertools.combinations(range(1, len(sizes) + 1), n)]
    over = {s for s in subsets if sum(sizes[k - 1] for k in s) > slack}
    assert len(found) == len(set(found))
    assert set(found) == {s for s in over if not any(s - {k} in over for k in s)}


@given(small_problems(additive=False))
@settings(max_examples=150, deadline=None)
def test_forbidden_is_what_no_amounts_can_bring(problem: ProtectionProblem) -> None:
    """By brute force over all senses: forbidden by some combination just when some relation's terms cannot meet its right-hand side."""
    forbidden = Forbidden(problem)
    combinations = [frozenset(c) for c in forbidden.by_relation()]
    cells = np.flatnonzero(forbidden.choice)
    for signs in itertools.product((1, -1), repeat=cells.size):
        senses = np.where(problem.sensitive, np.where(problem.can_go_up, 1, -1), 0)
        senses[cells] = signs
        literals = {(int(cell) + 1) * int(sign) for cell, sign in zip(cells, signs, strict=True)}
        assert any(c <= literals for c in combinations) == any(_clashes(problem, senses, row) for row in range(problem.rhs.size))


def _clashes(problem: ProtectionProblem, senses: np.ndarray, row: int) -> bool:
    """Whether a relation with a choice in it is out of reach; amounts beyond 2^60 are endless."""
    allowed, line = problem.allowed(senses), problem.relations[row].toarray()[0]
    choice = problem.can_go_up & problem.can_go_down
    if not (choice & (line != 0)).any():
        return False
    ends = [(int(f) * int(allowed.low[c]), int(f) * int(allowed.high[c])) for c, f in enumerate(line) if f]
    return not sum(min(e) for e in ends) <= problem.residual[row] <= sum(max(e) for e in ends)
