"""Suppression as a whole: patterns that pass the audit, bounds below every optimum, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.audit.patterns.pattern import KnowingReader
from statveil.suppress.cells.options import SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells
from tests.reference.suppression import cheapest_pattern, is_safe
from tests.suppress.cells.stories import grid, of_arrays, random_grid

pytestmark = pytest.mark.slow
INNER = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def test_one_cell_of_a_square_needs_three_others():
    found = suppress_cells(grid(INNER, {4: 4}), None, "optimal")
    assert found.secondary.sum() == 3
    assert (found.cost, found.certified_bound, found.ending) == (3.0, 3.0, "optimal")
    assert found.audit.passed


@pytest.mark.parametrize("seed", range(12))
def test_optimal_is_what_trying_everything_finds_and_no_bound_is_above_it(seed):
    problem = random_grid(np.random.default_rng(seed))
    least = cheapest_pattern(problem)
    if least is None:
        for method in ("optimal", "auto"):
            with pytest.raises((sv.InfeasibleProblem, sv.NoTableFound)):
                suppress_cells(problem, None, method)
        return
    best, quick = suppress_cells(problem, None, "optimal"), suppress_cells(problem, None, "auto")
    assert best.cost * 1000 == best.certified_bound * 1000 == least
    assert quick.certified_bound * 1000 <= least <= quick.cost * 1000
    assert is_safe(problem, best.suppressed)
    assert is_safe(problem, quick.suppressed)


def test_what_is_suppressed_already_costs_nothing_and_stays():
    """Of three partners two are given: one is left to choose."""
    problem = grid(INNER, {4: 4})
    given = np.zeros(problem.size, dtype=bool)
    given[[0, 1]] = True
    found = suppress_cells(problem, None, "optimal", already=given)
    assert found.cost == 1.0
    assert (found.secondary & given).sum() == 2
    assert found.secondary.sum() == 3
    with pytest.raises(sv.InputError, match="must be published"):
        suppress_cells(grid(INNER, {4: 4}, frozen=(0,)), None, already=given)


def test_a_respondent_who_is_alone_does_not_recover_another():
    lone = grid(INNER, {0: 4, 1: 10}, single=(0,))
    found = suppress_cells(lone, None, "auto")
    assert np.count_nonzero(found.suppressed[:4]) >= 3  # two would do against outsiders: the first would then give the second away
    assert np.count_nonzero(suppress_cells(grid(INNER, {0: 4, 1: 10}), None, "optimal").suppressed[:4]) == 2


def test_what_the_audit_finds_for_a_reader_is_mended():
    problem = grid(INNER, {0: 4})
    plain = suppress_cells(problem, None, "optimal")
    partner = int(np.flatnonzero(plain.secondary[:4])[0])
    reader = KnowingReader(name="a holding", cells=np.array([partner]), least=problem.value[[partner]], alone=np.array([True]))
    found = suppress_cells(problem, None, "optimal", readers=[reader])
    assert found.repairs == 1
    assert found.cost > plain.cost
    assert found.audit.passed


def test_a_sum_of_frozen_cells_around_a_sensitive_one_is_refused():
    with pytest.raises(sv.InfeasibleProblem, match="cannot be protected"):
        suppress_cells(grid(INNER, {0: 4}, frozen=(1, 2, 3)), None, "auto")


def test_a_single_respondent_beside_a_sensitive_cell_and_a_frozen_total_is_refused():
    relations, value = np.array([[1, 1, -1]]), np.array([5, 7, 12])
    with pytest.raises(sv.AuditFailed, match="to a singleton"):
        suppress_cells(of_arrays(relations, value, {0: 1, 1: 1}, single=(0,), frozen=(2,)), None, "auto")


def test_a_table_without_sensitive_cells_loses_nothing():
    found = suppress_cells(grid(INNER, {}), None)
    assert not found.suppressed.any()
    assert found.gap == 0.0


def test_a_table_is_audited_by_sums_from_its_labels_and_costs_what_the_options_say():
    trees = {
        "area": sv.Hierarchy.flat(["A", "B", "C"]),
        "trade": sv.Hierarchy(parent={"a": "T", "b": "T", "a1": "a", "a2": "a"}, total="T"),
    }
    inner = {(area, trade): 10 + 7 * place for place, (area, trade) in enumerate((a, t) for a in "ABC" for t in ("a1", "a2", "b"))}
    table = sv.table_from_cells(trees, inner)
    secret = sv.rules.assess(
        table, [sv.rules.Manual([sv.rules.ManualCell(cell={"area": "A", "trade": "a1"}, status="sensitive")], level=30)]
    )
    by_count = suppress_cells(table, secret, "optimal")
    by_value = suppress_cells(table, secret, "optimal", options=SuppressionOptions(cost="value"))
    assert by_count.secondary.sum() == 3
    assert table.value[by_value.secondary].sum() <= table.value[by_count.secondary].sum()
    assert by_value.cost == table.value[by_value.secondary].sum()
    assert all(by_count.reasons_of(cell) for cell in np.flatnonzero(by_count.secondary))


def test_the_same_question_has_the_same_answer():
    problem = random_grid(np.random.default_rng(3))
    one, two = (suppress_cells(problem, None, "auto") for _ in range(2))
    assert np.array_equal(one.suppressed, two.suppressed)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"method": "magic"}, "Unknown method"), ({"sensitivity": 1}, "has its own levels"), ({"limits": 3}, "limits must be Limits")],
)
def test_what_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(sv.InputError, match=words):
        suppress_cells(grid(INNER, {0: 4}), **wrong)
