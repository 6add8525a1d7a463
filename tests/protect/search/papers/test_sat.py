"""Senses by satisfiability: near what is wanted, never what a relation forbids, and a proof when there is nothing."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.limits import Ending, Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.papers import sat
from statveil.protect.search.papers.sat import ForbiddenCombinations, Term, minimal_covers, within
from statveil.protect.search_state import Search, SearchNews
from statveil.solve import highs
from statveil.solve.model import LinearModel, LinearSolution
from statveil.solve.sat import Formula
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost


def search_of(problem: ProtectionProblem, heard: list[SearchNews] | None = None) -> Search:
    return Search(problem, Limits(seconds=120), 0, (heard if heard is not None else []).append)


def square(**changes: object) -> ProtectionProblem:
    """Two rows and two columns with fixed margins, every inner cell sensitive: the diagonals go opposite ways or nothing goes."""
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    fields = {"rhs": np.array([20, 20, 20, 20]), "levels": dict.fromkeys(range(4), 3), **changes}
    return problem_of([10, 10, 10, 10], rows, **fields)  # type: ignore[arg-type]


def test_the_formula_of_the_paper_is_satisfied() -> None:
    formula = Formula()
    for clause in ([-1, 2, -3, -4], [-3, -2, -4], [-5, 2, -1]):
        formula.add(clause)
    ending, literals = formula.solve()
    assert ending is Ending.FEASIBLE
    true = set(literals.tolist())
    assert all(true & set(clause) for clause in ([-1, 2, -3, -4], [-3, -2, -4], [-5, 2, -1]))


def test_clauses_may_follow_until_nothing_is_left() -> None:
    formula = Formula()
    formula.add([1, 2])
    formula.prefer([1, 2])
    assert formula.solve()[1].tolist() == [1, 2]
    formula.add([-1])
    formula.add([-2])
    assert formula.solve()[0] is Ending.INFEASIBLE


def test_phases_are_kept_where_they_may_be() -> None:
    wanted = np.array([0, 1, 0, -1, 0])
    senses = sat._SenseClauses(relation_of_the_paper()).solve(wanted)
    assert senses is not None
    assert senses.tolist() == wanted.tolist()


def test_phases_give_way_to_relations() -> None:
    senses = sat._SenseClauses(relation_of_the_paper()).solve(np.array([0, 1, 0, 1, 0]))
    assert senses is not None
    assert sorted(senses[[1, 3]]) == [-1, 1]


def test_a_square_with_fixed_margins_moves_along_its_diagonals() -> None:
    senses = sat._SenseClauses(square()).solve(np.array([1, 1, 1, 1]))
    assert senses is not None
    assert senses[0] == senses[3] == -senses[1] == -senses[2]


def test_no_satisfying_senses_is_a_proof() -> None:
    """Three parts of a fixed total, each able to move by just its level, 3, 3 and 4: no signs add up to nothing."""
    problem = problem_of([10, 10, 10], [[1, 1, 1]], rhs=np.array([30]), levels={0: 3, 1: 3, 2: 4}, variant="exact")
    heard: list[SearchNews] = []
    sat.run(search_of(problem, heard))
    assert any(found.infeasible for found in heard)


def test_what_two_relations_forbid_together_is_learnt() -> None:
    """a + b = s and b + c = s, with b the same: a and c are equal, though no relation says so; they cannot go opposite ways."""
    problem = problem_of([10, 50, 10, 60], [[1, 1, 0, -1], [0, 1, 1, -1]], levels={0: 4, 2: 4})
    wanted = np.array([1, 0, -1, 0])
    clauses, search = sat._SenseClauses(problem), search_of(problem)
    senses = clauses.solve(wanted)
    assert senses is not None
    assert senses.tolist() == wanted.tolist()
    duals = sat._LeastViolation(search.program).multipliers(senses, seconds=60)
    assert duals is not None
    clauses.learn(duals, senses)
    found = clauses.solve(wanted)
    assert found is not None
    assert found[0] == found[2]
    assert sat.find_feasible(search, wanted) is not None
    assert search.best is not None


def test_the_fallback_finds_the_nearest_table() -> None:
    """Only one of four senses is wrong: b must follow c, for a - and with it the total - is fixed."""
    problem = problem_of(
        [5, 20, 20, 45], [[1, 1, 1, -1]], levels={1: 4, 2: 4}, lower=np.array([5, 0, 0, 45]), upper=np.array([5, 99, 99, 45])
    )
    search = search_of(problem)
    found = sat._nearest_feasible(search, np.array([0, 1, 1, 0]))
    assert found is not None
    assert sorted(found[[1, 2]]) == [-1, 1]
    assert search.best is not None


@pytest.mark.slow
@given(small_problems())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sat_finds_a_table_just_when_there_is_one(problem: ProtectionProblem) -> None:
    best, heard = cheapest_cost(problem), []
    search = search_of(problem, heard)
    if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        return  # the reduction has said so before any method is asked
    sat.run(search)
    if math.isinf(best):
        assert search.best is None
    elif search.best is not None:
        assert problem.accepts(search.best)
        assert search.objective >= best * (1 - 1e-9)
    else:
        pytest.fail("a table exists, and sat found none")
    assert math.isinf(best) or not any(found.infeasible for found in heard)


def test_senses_without_a_whole_table_are_left_behind() -> None:
    """2a = c and b + c = t, t fixed: c moves by even amounts only, and going down it has no even one at its level or beyond."""
    problem = problem_of(
        [5, 20, 10, 30],
        [[2, 0, -1, 0], [0, 1, 1, -1]],
        levels={2: 3},
        lower=np.array([-99, 0, 7, 30]),
        upper=np.array([99, 99, 99, 30]),
    )
    search = search_of(problem)
    sat.run(search)
    assert search.best is not None
    assert search.best[2] == 4


def relation_of_the_paper() -> ProtectionProblem:
    """S3's example: 1 + 3 + 4 + 12 = 20, the second cell with level 2 and the fourth with level 4; the total is published as it is."""
    fixed_total = np.array([99, 99, 99, 99, 20])
    return problem_of([1, 3, 4, 12, 20], [[1, 1, 1, 1, -1]], levels={1: 2, 3: 4}, lower=np.array([0, 0, 0, 0, 20]), upper=fixed_total)


def test_the_paper_forbids_both_up() -> None:
    """Both up would make 5 + 16 = 21 of a total of 20."""
    assert list(ForbiddenCombinations(relation_of_the_paper()).by_relation()) == [(4, 2)]


def test_a_total_without_a_limit_forbids_nothing_upwards() -> None:
    problem = problem_of([1, 3, 4, 12, 20], [[1, 1, 1, 1, -1]], levels={1: 2, 3: 4})
    assert list(ForbiddenCombinations(problem).by_relation()) == []


def test_a_total_and_its_only_other_part_must_go_together() -> None:
    """10 + 5 = 15 with the 5 fixed: one may not rise while the other falls, however far they could go."""
    problem = problem_of([10, 5, 15], [[1, 1, -1]], levels={0: 2, 2: 2}, lower=np.array([0, 5, 0]), upper=np.array([2**62, 5, 2**62]))
    assert {frozenset(c) for c in ForbiddenCombinations(problem).by_relation()} == {frozenset({1, -3}), frozenset({-1, 3})}


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
    forbidden = ForbiddenCombinations(problem)
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


def test_the_fallback_hands_the_senses_that_failed_to_the_solver_as_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 section 3.1: the program's own costs, these senses, amounts left to the solver; near them by count only if that brings nothing."""
    given: list[tuple[bool, list[float]]] = []

    def nothing(model: LinearModel, *, seconds: float, gap: float, start: np.ndarray) -> LinearSolution:
        given.append((bool(model.cost[0]), start[-4:].tolist()))
        assert np.isnan(start[:-4]).all()
        return LinearSolution(ending=Ending.OUT_OF_TIME, x=None, objective=math.inf, bound=-math.inf, row_duals=None, native="")

    monkeypatch.setattr(highs, "solve", nothing)
    assert sat._nearest_feasible(search_of(square()), np.array([1, 1, -1, 1])) is None
    assert given == [(True, [1, 1, 0, 1]), (False, [1, 1, 0, 1])]


def test_a_start_without_amounts_is_completed_by_the_solver() -> None:
    """Which diagonal rises is all the same to the costs; the start says it."""
    program = Disjunctions(search_of(square()))
    for up in ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]):
        start = np.concatenate([np.full(program.model.cost.size - 4, np.nan), up])
        solution = highs.solve(program.model, seconds=60, gap=sat.FIRST_FOUND, start=start)
        assert solution.x is not None
        assert solution.x[-4:].tolist() == up
