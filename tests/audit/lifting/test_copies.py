"""Certificates that multiply signs of sensitive cells into the table: worked by hand, never above the best there is, refused if unsound."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.audit import certificate_checker as checker
from statveil.audit.certificate_checker import bound_of
from statveil.core.errors import AuditFailed
from statveil.formats.certificate import Alike, Cases, Copies, Multipliers, Node, ProofSum, packed, read_certificate, write_certificate
from statveil.protect.problem import ProtectionProblem
from tests.audit.certificates import NOTHING, plain
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost


def row(levels: dict[int, int] | None = None) -> ProtectionProblem:
    """10 + 20 + 30 = 60; the first cell must move by 4."""
    return problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels=levels or {0: 4})


def copies(cells: tuple[int, ...], *entries: tuple[int, int, int], shift: int = 0, triangles: tuple[int, ...] = ()) -> Copies:
    """Entries: copy, relation, factor."""
    relations = sorted({relation for _, relation, _ in entries})
    factors = np.zeros((len(relations), len(cells)), dtype=np.int64)
    for copy, relation, factor in entries:
        factors[relations.index(relation), copy] += factor
    return Copies(NOTHING, cells, tuple(relations), packed(factors), (shift,) * len(relations), triangles)


def test_a_lone_sensitive_cell_doubles_its_cost() -> None:
    """Times its own sign the cell stands at 4 or more above zero, so the others must bring 4: with multiplier one, 4 (1 + 1)."""
    assert bound_of(row(), plain(row(), copies((0,), (0, 0, 1)))) == 8


def test_a_multiplier_of_the_wrong_sign_proves_little() -> None:
    assert bound_of(row(), plain(row(), copies((0,), (0, 0, -1)))) == 0


def test_a_shift_stands_for_a_power_of_two() -> None:
    one, other = (plain(row(), copies((0,), (0, 0, factor), shift=shift), scale=3) for factor, shift in ((8, 0), (2, 2)))
    assert bound_of(row(), one) == bound_of(row(), other) == 8


def test_two_levels_that_cannot_cancel() -> None:
    """7 and 4: the first copy asks 7 of the others, the second cell gives 4 of it at the best, whatever the product of the signs."""
    problem = row({0: 7, 1: 4})
    assert bound_of(problem, plain(problem, copies((0, 1), (0, 0, 1)))) == 14


def test_what_the_right_hand_side_may_take_away() -> None:
    """The parts lack 3 of their total: the cell's 4 may bring them, so the others need bring 1 only."""
    problem = dataclasses.replace(row(), value=np.array([10, 20, 30, 63]))
    assert bound_of(problem, plain(problem, copies((0,), (0, 0, 1)))) == 5


def test_it_reads_back_as_it_was_written(tmp_path: Path) -> None:
    certificate = plain(row(), copies((0,), (0, 0, 5), shift=2))
    write_certificate(certificate, tmp_path / "proof.json")
    assert read_certificate(tmp_path / "proof.json") == certificate


def test_beside_a_proof_of_other_cells() -> None:
    both = problem_of([10, 20, 30, 5, 5], [[1, 1, -1, 0, 0], [0, 0, 0, 1, -1]], levels={0: 4, 3: 2})
    assert bound_of(both, plain(both, ProofSum((copies((0,), (0, 0, 1)), NOTHING)))) == 4 + 4 + 2 + 2


@pytest.mark.parametrize(
    "unsound",
    [
        copies((9,), (0, 0, 1)),
        copies((0,), (0, 4, 1)),
        copies((0,), (0, 0, 1), shift=-1),
        copies((0,), (0, 0, 1))._replace(factors=b""),
        copies((0,), (0, 0, 1), triangles=(0, 0, 1, 0, 5)),
        copies((0,), (0, 0, 1), triangles=(0, 0, 0, 4, 5)),
        copies((0,), (0, 0, 1), triangles=(0, 0, 0, 0, -1)),
        copies((0,), (0, 0, 1), triangles=(0, 0, 0, 0)),
        copies((0,), (0, 0, 1))._replace(plain=Multipliers((7,), (1,), (), (), ())),
    ],
)
def test_what_does_not_fit_is_refused(unsound: Copies) -> None:
    with pytest.raises(AuditFailed, match="refused"):
        bound_of(row(), plain(row(), unsound))


def test_a_cell_that_need_not_move_has_no_sign_and_its_copy_says_nothing() -> None:
    assert bound_of(row(), plain(row(), copies((1,), (0, 0, 1)))) == 4


def test_nor_does_that_of_a_fixed_cell() -> None:
    bounds = {"lower": np.array([0, 20, 0, 0]), "upper": np.array([99, 20, 99, 99])}
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, **bounds)
    assert bound_of(problem, plain(problem, copies((1,), (0, 0, 1)))) == 4


def test_the_same_sign_twice_is_one_copy() -> None:
    assert bound_of(row(), plain(row(), copies((0, 0), (0, 0, 3), (1, 0, 5)), scale=3)) == 8


def test_too_many_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "TUNING", checker.TUNING._replace(most_copies=3))
    with pytest.raises(AuditFailed, match="too many copies"):
        bound_of(row(), plain(row(), copies((0,), (0, 0, 1))))


def test_multipliers_beyond_64_bits() -> None:
    assert bound_of(row(), plain(row(), copies((0,), (0, 0, 1), shift=90), scale=90, worth=1_000_000 << 90)) == 8


def test_factors_that_do_not_add_up_in_64_bits_are_refused() -> None:
    large = 2**29
    problem = problem_of([10, 20, 30], [[large, large, -large]], levels={0: 4, 1: 4})
    with pytest.raises(AuditFailed, match="too large"):
        bound_of(problem, plain(problem, copies((0, 1), (0, 0, 2**31 - 1), (1, 0, 2**31 - 1))))


def test_factors_of_two_relations_too_far_apart_for_64_bits_are_refused() -> None:
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1], [1, 1, 1, -1]], levels={0: 4})
    apart = copies((0,), (0, 0, 1), (0, 1, 1))._replace(shifts=(0, 90))
    with pytest.raises(AuditFailed, match="too large"):
        bound_of(problem, plain(problem, apart))


def test_sums_beyond_64_bits_of_numbers_within_them() -> None:
    """Levels of 2^30 at 2^40 units of cost each: no number is large, their products are."""
    level, scale = 2**30, 40
    problem = problem_of([2**31, 2**31, 2**31, 3 * 2**31], [[1, 1, 1, -1]], levels={0: level, 1: level, 2: level})
    lone = copies((0, 1, 2), (0, 0, 1), (1, 0, 1), shift=scale - 2)
    assert bound_of(problem, plain(problem, lone, scale=scale, worth=2**36 << scale)) >= 3 * level - 2 * level


@pytest.mark.slow
@given(small_problems(additive=False), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_copies_pulled_out_of_a_hat_prove_nothing_false(problem: ProtectionProblem, random: object) -> None:
    """Whatever the multipliers: tables with asymmetric levels, caps, fixed cells, right-hand sides, and exact amounts."""
    draw, best = random.randint, cheapest_cost(problem)  # type: ignore[attr-defined]
    cells = [cell for cell in np.flatnonzero(problem.sensitive).tolist() if draw(0, 3)]
    if not cells or best == float("inf"):
        return
    entries = [(draw(0, len(cells) - 1), draw(0, problem.rhs.size - 1), draw(-12, 12)) for _ in range(draw(1, 12))]
    assert bound_of(problem, plain(problem, copies(tuple(cells), *entries), scale=3, worth=int(best * 8) + 8)) <= best + 1e-6


# --- triangles, and cases of two cells that move alike or not


def three_apart(level: int = 4) -> ProtectionProblem:
    """Cells 0, 1, 2 must move by a level each; any two of them are in a relation with a neighbour of their own."""
    relations = [[1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1]]
    return problem_of([50] * 6, relations, levels=dict.fromkeys((0, 1, 2), level), rhs=np.full(3, 150))


def test_two_of_three_signs_are_equal() -> None:
    """Two cells that move alike leave 8 to the neighbour of their relation: one pair does at least. Without the triangle, none need."""
    problem = three_apart()
    entries = ((0, 0, 1), (1, 0, 1), (0, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1))
    assert cheapest_cost(problem) == 3 * 4 + 8
    shift, scale = 1, 3  # a multiplier of a quarter
    without = copies((0, 1, 2), *entries, shift=shift)
    with_one = copies((0, 1, 2), *entries, shift=shift, triangles=(0, 1, 2, 0, 16))
    assert bound_of(problem, plain(problem, without, scale=scale)) <= 12 < bound_of(problem, plain(problem, with_one, scale=scale)) <= 20


def test_cells_that_move_alike_and_cells_that_do_not() -> None:
    """Levels of 7 and 4 in one relation: together they leave 11 to the others, apart from one another 3."""
    problem = row({0: 7, 1: 4})
    one = copies((0,), (0, 0, 1))
    both = Alike(0, 1, one, one)
    assert bound_of(problem, plain(problem, both._replace(opposite=NOTHING))) == 11
    assert bound_of(problem, plain(problem, both)) == 11 + 3 == cheapest_cost(problem)


def test_a_pair_that_is_settled_already() -> None:
    """A case that contradicts the ones above it has no table; a tie through a third cell is one, too."""
    problem = row({0: 7, 1: 4, 2: 2})
    one = copies((0,), (0, 0, 1))
    again = Alike(0, 1, one, NOTHING)
    assert bound_of(problem, plain(problem, Alike(0, 1, again, again._replace(same=NOTHING, opposite=one)))) >= 13
    tied = Alike(0, 1, Alike(1, 2, Alike(0, 2, one, NOTHING), one), Alike(1, 2, one, one))
    assert bound_of(problem, plain(problem, tied)) > bound_of(problem, plain(problem, NOTHING)) == 13


def test_the_sense_of_one_is_that_of_all_tied_to_it() -> None:
    """Both up, or both down: the others bring 11 either way, which plain multipliers show for settled senses."""
    problem = row({0: 7, 1: 4})
    up, down = (Multipliers((0,), (factor,), (), (), ()) for factor in (-1, 1))
    assert bound_of(problem, plain(problem, Alike(0, 1, Cases(0, up, down), copies((0,), (0, 0, 1))))) == 14
    assert bound_of(problem, plain(problem, Alike(0, 1, Cases(1, up, down), copies((0,), (0, 0, 1))))) == 14


def test_a_tie_to_a_fixed_cell_says_nothing() -> None:
    bounds = {"lower": np.array([0, 20, 0, 0]), "upper": np.array([99, 20, 99, 99])}
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, **bounds)
    assert bound_of(problem, plain(problem, Alike(0, 1, copies((0,), (0, 0, 1)), NOTHING))) == 8


def test_cases_of_two_cells_read_back(tmp_path: Path) -> None:
    leaf = copies((0, 1, 2), (0, 0, 5), (2, 0, -3), triangles=(0, 1, 2, 3, 7))
    certificate = plain(row(), Alike(0, 1, leaf, Cases(0, NOTHING, leaf)))
    write_certificate(certificate, tmp_path / "proof.json")
    assert read_certificate(tmp_path / "proof.json") == certificate
    assert certificate.by_cases


def test_parts_with_cases_of_two_cells() -> None:
    both = problem_of([10, 20, 30, 5, 5], [[1, 1, -1, 0, 0], [0, 0, 0, 1, -1]], levels={0: 4, 3: 2, 1: 3})
    one = copies((0,), (0, 0, 1))
    assert bound_of(both, plain(both, ProofSum((Alike(0, 1, one, one), NOTHING)))) <= cheapest_cost(both)
    with pytest.raises(AuditFailed, match="in common"):
        bound_of(both, plain(both, ProofSum((Alike(0, 1, one, one), one))))


def test_pairs_of_cells_that_do_not_exist_are_refused() -> None:
    with pytest.raises(AuditFailed, match="refused"):
        bound_of(row(), plain(row(), Alike(0, 4, NOTHING, NOTHING)))


@pytest.mark.slow
@given(small_problems(additive=False), st.randoms(use_true_random=False))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_trees_pulled_out_of_a_hat_prove_nothing_false(problem: ProtectionProblem, random: object) -> None:
    """Cases of pairs and of senses, copies and triangles, whatever the multipliers: never above the best there is."""
    draw, best = random.randint, cheapest_cost(problem)  # type: ignore[attr-defined]
    cells = np.flatnonzero(problem.sensitive).tolist()
    if not cells or best == float("inf"):
        return

    def leaf() -> Node:
        named = tuple(cells[draw(0, len(cells) - 1)] for _ in range(draw(1, 4)))
        entries = [(draw(0, len(named) - 1), draw(0, problem.rhs.size - 1), draw(-12, 12)) for _ in range(draw(1, 12))]
        corners = [draw(0, len(named) - 1) for _ in range(3)]
        made = copies(named, *entries, triangles=(*corners, draw(0, 3), draw(0, 20)) if draw(0, 1) else ())
        relations = tuple(range(problem.rhs.size)) if draw(0, 1) else ()
        return made._replace(plain=made.plain._replace(relations=relations, factors=tuple(draw(-8, 8) for _ in relations)))

    def tree(depth: int) -> Node:
        kind = draw(0, 3) if depth else 3
        if kind == 3:
            return leaf()
        pair = draw(0, problem.size - 1), cells[draw(0, len(cells) - 1)]
        children = tree(depth - 1), tree(depth - 1)
        return Cases(pair[1], *children) if kind == 2 else Alike(*pair, *children)

    assert bound_of(problem, plain(problem, tree(3), scale=3, worth=int(best * 8) + 8)) <= best + 1e-6
