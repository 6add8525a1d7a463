"""Method `fix-and-relax`: clusters are settled in turn, and opened again where they led nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.papers import fix_and_relax
from statveil.protect.search.papers.fix_and_relax import _Answer, clusters_of
from statveil.solve.model import LinearModel
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of, two_by_two


def tight_square() -> ProtectionProblem:
    """Margins are fixed and every inner cell sensitive: the diagonals go opposite ways; all up is impossible."""
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    return problem_of([10, 10, 10, 10], rows, rhs=np.array([20, 20, 20, 20]), levels=dict.fromkeys(range(4), 3))


def test_one_cluster_is_the_whole_problem() -> None:
    """9 + 3 + 1 against 7 + 5: the total takes 1."""
    search = search_of(five_in_a_row())
    fix_and_relax.run(search, clusters=1)
    assert search.objective == 26


@pytest.mark.parametrize("clusters", [2, 3, 20])
def test_every_number_of_clusters_ends_with_a_table(clusters: int) -> None:
    for problem in (five_in_a_row(), two_by_two(), tight_square()):
        search = search_of(problem)
        fix_and_relax.run(search, clusters=clusters)
        assert search.best is not None
        assert problem.accepts(search.best)


def test_clusters_run_from_the_largest_levels_to_the_smallest() -> None:
    """Levels 9, 7, 5, 3, 1 of the second, fourth, first, fifth and third cell."""
    assert [part.tolist() for part in clusters_of(search_of(five_in_a_row()), 2)] == [[1, 3, 0], [4, 2]]
    assert [part.tolist() for part in clusters_of(search_of(five_in_a_row()), 9)] == [[1], [3], [0], [4], [2]]
    with pytest.raises(InputError, match="one cluster"):
        fix_and_relax.run(search_of(five_in_a_row()), clusters=0)


def test_where_a_cluster_has_no_answer_the_ones_before_it_are_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third of three steps fails twice: at first the second cluster is opened with it, then all are."""
    seen: list[tuple[list[int], list[int]]] = []

    def solved(_search: object, _program: object, model: LinearModel, **_: object) -> _Answer:
        assert model.whole is not None
        fixed = np.flatnonzero(model.lower[-5:] == model.upper[-5:])
        seen.append((fixed.tolist(), np.flatnonzero(model.whole[-5:]).tolist()))
        return _Answer(None if len(seen) in (3, 4) else np.ones(5), True)

    monkeypatch.setattr(fix_and_relax, "_solved", solved)
    search = search_of(five_in_a_row())
    fix_and_relax.run(search, clusters=3)
    assert seen == [([], [1, 3]), ([1, 3], [0, 4]), ([0, 1, 3, 4], [2]), ([1, 3], [0, 2, 4]), ([], [0, 1, 2, 3, 4])]


def test_what_the_clock_ended_is_no_reason_to_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_and_relax, "_solved", lambda *_, **__: _Answer(None, False))
    search = search_of(tight_square())
    fix_and_relax.run(search, clusters=2)
    assert search.best is None
