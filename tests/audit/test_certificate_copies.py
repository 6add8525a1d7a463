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
from statveil.formats.certificate import Copies, Multipliers, ProofSum, packed, read_certificate, write_certificate
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
    return Copies(NOTHING, cells, tuple(relations), packed(factors), shift, triangles)


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
