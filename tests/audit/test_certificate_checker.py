"""The checker of lower bounds: what it proves is never above the best there is, and what is tampered with proves nothing more."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.audit import certificate_checker as module
from statveil.audit import implied_bounds as reaching
from statveil.audit.certificate_checker import bound_of, check_bound, least_imbalance
from statveil.audit.implied_bounds import exact_product
from statveil.core.errors import AuditFailed
from statveil.formats.certificate import (
    COVER,
    Cases,
    Certificate,
    Combination,
    Multipliers,
    ProofSum,
)
from statveil.protect.problem import ProtectionProblem
from tests.audit.certificates import NOTHING, certificate_of, certified_square, leaves_of, plain, polygon, row, square
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost, cheapest_whole_squares

SLOWLY = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_without_multipliers_every_cell_costs_its_level() -> None:
    assert bound_of(row(), plain(row())) == 4


def test_the_longest_side_doubles_the_bound() -> None:
    """4 <= the others together, so with multiplier one: 4 + 4."""
    assert bound_of(row(), plain(row(), polygon(0, 0))) == 8


def test_a_cover_says_the_same_of_a_lone_sensitive_cell() -> None:
    assert bound_of(row(), plain(row(), polygon(0, COVER))) == 8


def test_a_cover_leaves_the_difference_of_two_levels() -> None:
    """Levels 7 and 4 against each other leave 3, which others bring: 7 + 4 + 3."""
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 7, 1: 4})
    assert bound_of(problem, plain(problem, polygon(0, COVER))) == 14


def test_cases_take_the_cheaper_one() -> None:
    problem = problem_of([30, 20, 50], [[1, 1, -1]], levels={0: (4, 9)}, lower=np.array([0, 20, 0]), upper=np.array([99, 20, 99]))
    assert bound_of(problem, plain(problem, Cases(0, NOTHING, NOTHING))) == 8
    assert bound_of(problem, plain(problem, NOTHING)) == 8


def test_a_case_that_cannot_be_costs_more_than_any_table() -> None:
    """In the first case the cell must move by its level or more, and cannot: only the second counts."""
    problem = row(lower=np.array([8, 0, 0, 0]))
    assert bound_of(problem, plain(problem, Cases(0, polygon(0, 0), NOTHING))) == 8


def test_a_longest_side_that_is_fixed_must_be_met_by_the_others() -> None:
    problem = row(level=0, lower=np.array([0, 0, 0, 62]), upper=np.array([99, 99, 99, 62]))
    assert bound_of(problem, plain(problem, polygon(0, 3))) == 4


def test_costs_are_whole_multiples_of_the_weights() -> None:
    """Half a multiplier proves 6; with weights of 4 each the costs are 16, 20, 24, ...: rounded up from 22 to 24."""
    problem = row(weight=np.full(4, 4.0))
    assert bound_of(problem, plain(problem, polygon(0, 0, 3), scale=1)) == Fraction(24)


def test_squares_are_least_at_whole_numbers_beside_the_vertex() -> None:
    """4 must be brought by three others: 16 + 1 + 1 + 4 is the best there is."""
    problem = row(norm="l2")
    assert cheapest_whole_squares(problem) == 16 + 1 + 1 + 4
    best = max(bound_of(problem, plain(problem, polygon(0, 0, factor))) for factor in range(12))
    assert 16 + 4 < best <= 22


def test_no_table_at_all_costs_any_worth() -> None:
    problem = row(upper=np.array([13, 99, 99, 99]), lower=np.array([7, 0, 0, 0]))
    assert bound_of(problem, plain(problem, worth=77)) == 77


def test_tables_that_cost_more_are_of_no_interest() -> None:
    """Only tables below 5 count, and moving the first cell costs 4: the three others move by at most 1 and cannot bring 4."""
    assert bound_of(row(), plain(row(), worth=5)) == 5


def test_parts_add_up_unless_they_overlap() -> None:
    two = problem_of([10, 20, 30, 10, 20, 30], [[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]], levels={0: 4, 3: 5})
    split = Cases(3, polygon(1, 3), polygon(1, 3))
    assert bound_of(two, plain(two, ProofSum((polygon(0, 0), split)))) == 18
    assert bound_of(two, plain(two, ProofSum((ProofSum((polygon(0, 0),)), split)))) == 18
    with pytest.raises(AuditFailed, match="in common"):
        bound_of(two, plain(two, ProofSum((split, polygon(1, 4)))))


def test_one_sense_asked_for_twice_is_one_case() -> None:
    again = Cases(0, Cases(0, polygon(0, 0), NOTHING), polygon(0, 0))
    assert bound_of(row(), plain(row(), again)) == 8


def twice(**changes: object) -> ProtectionProblem:
    """s + 2 x = 80: s moves by 3 at least, x by half of that, the other way. Halves are not whole, so s moves by 4 and x by 2: cost 6."""
    return problem_of([20, 30], [[1, 2]], levels={0: 3}, rhs=np.array([80]), **changes)


def lean(factor: int) -> Multipliers:
    return Multipliers((0,), (factor,), (), (), ())


HALVES = Cases(0, Cases(1, lean(-2), lean(1), -2), Cases(1, lean(-1), lean(2), 1))
"""Up: x falls by 2 at least, which s pays for, or by less, which contradicts the relation. Down: the same with other signs."""


def test_cases_of_amounts_prove_what_halves_would_undercut() -> None:
    """Senses alone prove 3 and half of 3, rounded up to a whole cost."""
    assert bound_of(twice(), plain(twice(), Cases(0, lean(-1), lean(1)), scale=1)) == 5
    assert bound_of(twice(), plain(twice(), HALVES)) == 6


def test_a_case_of_amounts_may_name_a_cell_opposite_to_its_group() -> None:
    """The third cell is minus x, and costs as much: one more for each unit of x."""
    problem = problem_of([20, 30, -30], [[1, 2, 0], [0, 1, 1]], levels={0: 3}, rhs=np.array([80, 0]))
    turned = Cases(0, Cases(2, lean(1), lean(-4), 1), Cases(2, lean(4), lean(-1), -2))
    straight = Cases(0, Cases(1, lean(-4), lean(1), -2), Cases(1, lean(-1), lean(4), 1))
    assert bound_of(problem, plain(problem, turned)) == bound_of(problem, plain(problem, straight)) == 8
    wrong = Cases(0, Cases(2, lean(1), lean(-4), 0), Cases(2, lean(4), lean(-1), -2))
    assert bound_of(problem, plain(problem, wrong)) < 8


def test_a_case_of_amounts_that_holds_anyway_is_the_only_one() -> None:
    """The cell can only fall by 4 or more: that it falls by more than 3 says nothing new, and the other case is not looked at."""
    problem = row(upper=np.array([10, 99, 99, 99]))
    assert bound_of(problem, plain(problem, Cases(0, NOTHING, polygon(0, 0), -4))) == 8
    assert bound_of(problem, plain(problem, Cases(0, polygon(0, 0), NOTHING, -40))) == 8, "further than it has room for"


def test_a_case_between_the_senses_holds_no_table() -> None:
    """Up by 3 or less and by more than 2: the level is 4, so there is none. What is left is up by 4, or down."""
    between = Cases(0, Cases(0, polygon(0, 0), NOTHING, 3), polygon(0, 0), 2)
    assert bound_of(row(), plain(row(), between)) == 8


def test_a_case_about_a_fixed_cell_is_about_all_tables() -> None:
    problem = row(lower=np.array([0, 20, 0, 0]), upper=np.array([99, 20, 99, 99]))
    for at in (None, 0, -7):
        assert bound_of(problem, plain(problem, Cases(1, polygon(0, 0), NOTHING, at))) == 8


def test_cases_that_leave_a_hole_do_not_exist() -> None:
    """Between "more than 4" and "4 or less" lies nothing; a table in which the cell moves by 4 is in the second case."""
    assert bound_of(row(), plain(row(), Cases(0, plain_cases := polygon(0, 0), plain_cases, 4))) == 8
    assert bound_of(row(), plain(row(), Cases(0, polygon(0, 0), NOTHING, 4))) == 4


def test_large_numbers_are_added_up_without_overflow() -> None:
    """The same bounds with weights, scale and multipliers far beyond 64 bits."""
    large = np.array([2**50, 2**50, 2**50, 3 * 2**50])
    problem = problem_of(large, [[1, 1, 1, -1]], levels={0: 2**45}, weight=np.full(4, 2.0**20))
    for scale in (0, 10, 60, 200):
        factor = 2 ** (20 + scale)
        certificate = plain(problem, Multipliers((0,), (0,), (0,), (0,), (factor,)), scale=scale, worth=2 ** (70 + scale))
        assert bound_of(problem, certificate) == 2**66


def test_exact_products_agree_with_python() -> None:
    matrix = row().relations
    vector = np.array([2**70, -(2**65), 3, 2**64 + 1], dtype=object)
    assert exact_product(matrix, vector).tolist() == [2**70 - 2**65 + 3 - 2**64 - 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": 5},
        {"relations": 2},
        {"scale": -1},
        {"scale": 2_001},
        {"proof": Multipliers((0,), (), (), (), ())},
        {"proof": Multipliers((7,), (1,), (), (), ())},
        {"proof": Multipliers((), (), (0,), (4,), (1,))},
        {"proof": Multipliers((), (), (0,), (0,), (-1,))},
        {"proof": Multipliers((), (), (1,), (0,), (1,))},
        {"proof": Cases(4, NOTHING, NOTHING)},
        {"proof": Cases(0, NOTHING, NOTHING, 2**61)},
        {"proof": ProofSum((polygon(3, 0),))},
        {"derived": (Combination((0,), (1, 1)),)},
        {"derived": (Combination((1,), (1,)),)},
    ],
)
def test_a_certificate_for_another_system_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(AuditFailed, match="does not fit"):
        bound_of(row(), plain(row(), **changes))


@pytest.mark.parametrize(
    ("problem", "certificate"),
    [
        (row(weight=np.full(4, 2.0**-30)), plain(row())),
        (row(), plain(row(), derived=(Combination((0,), (2**70,)),))),
        (row(), plain(row(), derived=(Combination((0,), (2**40,)),))),
        (row(rhs=np.array([2**61])), plain(row())),
        (row(), plain(row(), worth=2**61)),
    ],
)
def test_what_cannot_be_worked_out_exactly_is_refused(problem: ProtectionProblem, certificate: Certificate) -> None:
    with pytest.raises(AuditFailed, match="refused"):
        bound_of(problem, certificate)


def test_constants_too_large_to_add_up_are_refused() -> None:
    far = np.array([2**58, 2**58, 2**58, 0])
    problem = problem_of([0] * 4, [[500, 500, 500, -500]], levels={}, lower=far, upper=far)
    with pytest.raises(AuditFailed, match="too large"):
        bound_of(problem, plain(problem, worth=2**100))


def test_columns_too_heavy_for_pieces_are_refused() -> None:
    matrix = type(row().relations)(np.array([[2**20] * 4096]))
    with pytest.raises(AuditFailed, match="too large"):
        exact_product(matrix, np.array([2**70] * 4096, dtype=object))


@given(st.lists(st.tuples(st.integers(0, 2**90), st.integers(0, 2**61)), min_size=1, max_size=30))
def test_costs_beyond_64_bits_are_added_up_exactly(terms: list[tuple[int, int]]) -> None:
    weights = np.array([weight for weight, _ in terms], dtype=object)
    amounts = np.array([amount for _, amount in terms], dtype=np.int64)
    expected = sum(weight * amount for weight, amount in terms)
    assert reaching._total(reaching._pieces(weights), amounts) == expected
    assert reaching._total(reaching._pieces(weights), amounts.astype(object)) == expected
    assert reaching._total([amounts], amounts) == sum(amount * amount for _, amount in terms)


def test_more_than_is_proved_may_not_be_claimed() -> None:
    certificate = plain(row(), polygon(0, 0), bound=8)
    assert check_bound(row(), certificate) == 8
    with pytest.raises(AuditFailed, match="less than it claims"):
        check_bound(row(), dataclasses.replace(certificate, bound=9))


@given(st.integers(-60, 60), st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=2), max_size=7))
@settings(deadline=None)
def test_imbalances_agree_with_trying_all(target: int, choices: list[list[int]]) -> None:
    best = min(abs(target - sum(chosen)) for chosen in itertools.product(*choices))
    assert least_imbalance(target, choices) == best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TUNING", module.TUNING._replace(few=-1))
        assert least_imbalance(target, choices) == best
        patch.setattr(module, "TUNING", module.TUNING._replace(listed=-1))
        assert least_imbalance(target, choices) in (best, 0 if not any(len(set(each)) > 1 for each in choices) else best)
        patch.setattr(module, "TUNING", module.TUNING._replace(longest_row=-1))
        assert least_imbalance(target, choices) == 0


@pytest.mark.slow
@given(small_problems(), st.booleans())
@SLOWLY
def test_no_certificate_passes_the_optimum(problem: ProtectionProblem, by_cases: bool) -> None:
    certified = certificate_of(problem, by_cases=by_cases)
    if certified is None:
        return
    best = cheapest_cost(problem)
    assert certified.bound <= best * (1 + 1e-9)
    assert check_bound(problem, certified.certificate) <= Fraction(best * (1 + 1e-9))


@pytest.mark.slow
@given(small_problems(additive=False))
@SLOWLY
def test_nor_where_the_table_does_not_add_up(problem: ProtectionProblem) -> None:
    problem = dataclasses.replace(problem, rhs=np.zeros_like(problem.rhs))
    certified = certificate_of(problem, by_cases=True)
    if certified is not None:
        assert certified.bound <= cheapest_cost(problem) * (1 + 1e-9)


@pytest.mark.slow
@given(small_problems(), st.integers(0, 30))
@settings(SLOWLY, max_examples=15)
def test_nor_with_squares(problem: ProtectionProblem, factor: int) -> None:
    problem = dataclasses.replace(problem, norm="l2")
    certified = certificate_of(problem, by_cases=False)
    if certified is None:
        return
    best = cheapest_whole_squares(problem)
    assert certified.bound <= best * (1 + 1e-9)
    worth = Fraction(certified.certificate.worth, 2**certified.certificate.scale)
    made_up = plain(problem, polygon(factor % problem.rhs.size, COVER, factor), scale=4, worth=math.ceil(worth * 16))
    assert bound_of(problem, made_up) <= best * (1 + 1e-9)


@pytest.mark.slow
@given(small_problems(), st.randoms(use_true_random=False))
@SLOWLY
def test_multipliers_pulled_out_of_a_hat_prove_nothing_false(problem: ProtectionProblem, random: object) -> None:
    """Whatever is in a certificate, what the checker makes of it holds."""
    draw = random.randint  # type: ignore[attr-defined]

    def node(depth: int) -> object:
        if depth and draw(0, 1):
            return Cases(draw(0, problem.size - 1), node(depth - 1), node(depth - 1))  # type: ignore[arg-type]
        some = [draw(0, problem.rhs.size - 1) for _ in range(draw(0, 4))]
        cuts = [draw(0, problem.rhs.size) for _ in range(draw(0, 6))]
        cells = [draw(COVER, problem.size - 1) for _ in cuts]
        return Multipliers(tuple(some), tuple(draw(-9, 9) for _ in some), tuple(cuts), tuple(cells), tuple(draw(0, 9) for _ in cuts))

    rows = tuple(range(problem.rhs.size))
    derived = (Combination(rows, tuple(draw(-2, 2) for _ in rows)),)
    certificate = plain(problem, node(3), scale=3, worth=draw(1, 20_000), derived=derived)  # type: ignore[arg-type]
    assert bound_of(problem, certificate) <= cheapest_cost(problem) * (1 + 1e-9)


@pytest.mark.slow
def test_every_tampering_is_refused_or_harmless() -> None:
    """A multiplier raised, a cut's relation or cell changed, a case cut off, a scale, a worth, a claim: never more than the truth."""
    certificate, best = certified_square(), cheapest_cost(square())
    refused = 0
    for leaf in leaves_of(certificate.proof):
        for name, place in [(each, place) for each in leaf._fields for place in range(len(getattr(leaf, each)))]:
            for change in (1, -1, 2**20):
                numbers = list(getattr(leaf, name))
                numbers[place] += change
                tampered = dataclasses.replace(
                    certificate, proof=_replaced(certificate.proof, leaf, leaf._replace(**{name: tuple(numbers)}))
                )
                try:
                    assert bound_of(square(), tampered) <= best
                    check_bound(square(), tampered)
                except AuditFailed:
                    refused += 1
    assert refused > 100
    assert isinstance(certificate.proof, Cases)
    for half in (certificate.proof.up, certificate.proof.down, NOTHING):
        assert bound_of(square(), dataclasses.replace(certificate, proof=half)) <= best
    for changes in ({"scale": certificate.scale + 1}, {"worth": certificate.worth * 5}, {"worth": certificate.worth // 2}):
        assert bound_of(square(), dataclasses.replace(certificate, **changes)) <= best


def _replaced(node: object, old: Multipliers, new: Multipliers) -> object:
    if isinstance(node, Cases):
        return Cases(node.cell, _replaced(node.up, old, new), _replaced(node.down, old, new))  # type: ignore[arg-type]
    return new if node is old else node


def test_a_certificate_does_not_hold_for_a_table_with_lower_levels() -> None:
    certificate = certified_square()
    lower = dataclasses.replace(square(), lower_level=square().lower_level // 2, upper_level=square().upper_level // 2)
    with pytest.raises(AuditFailed, match="less than it claims"):
        check_bound(lower, certificate)
