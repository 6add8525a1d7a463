"""All safe tables of small problems, listed, and what they can reach together: beside tables built from their four inner cells."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.protect.keep import verdict
from statveil.protect.keep.verdict import OutOfReach, judge
from statveil.protect.keep.wishes import CRITERIA, Keep, targets_of
from tests.protect.problems import problem_of
from tests.reference.kept import safe_tables, small_random_table, smallest_within


@pytest.mark.parametrize("seed", range(20))
def test_the_tables_listed_are_all_that_there_are(seed: int) -> None:
    problem = small_random_table(seed)
    found = verdict.safe_tables(problem)
    assert found is not None
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, safe_tables(problem).tolist()))


def test_a_relation_with_factors_leaves_whole_values_only() -> None:
    """Twice the first is the second, which moves by three or more: by four, and the first by two."""
    found = verdict.safe_tables(problem_of([5, 10], [[2, -1]], levels={1: 3}, lower=np.array([3, 5]), upper=np.array([7, 15])))
    assert found is not None
    assert sorted(found.tolist()) == [[-2, -4], [2, 4]]


def test_what_is_too_much_to_list_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_random_table(0)
    assert verdict.safe_tables(problem, lambda: True) is None
    half = dataclasses.replace(problem, relations=csr_matrix(problem.relations * 0.5), rhs=problem.rhs // 2)
    assert verdict.safe_tables(half) is None
    for setting in ({"most_listed": 8}, {"most_tables": 3}):
        monkeypatch.setattr(verdict, "TUNING", verdict.TUNING._replace(**setting))
        assert verdict.safe_tables(problem) is None
        monkeypatch.undo()


@pytest.mark.parametrize("seed", range(25))
def test_every_wish_out_of_reach_of_a_small_table_is_refused_and_no_other(seed: int) -> None:
    """Of 222 such wishes 47 had no verdict."""
    problem = small_random_table(seed)
    tables = safe_tables(problem)
    wishes = [dict.fromkeys(asked, where) for where in ("sensitive", "all") for k in (1, 2, 3, 4) for asked in combinations(CRITERIA, k)]
    for wish in wishes[seed % 3 :: 3]:
        for target in targets_of(Keep(within=0.001, **wish), problem) if len(tables) else ():  # type: ignore[arg-type]
            heard: list[OutOfReach] = []
            judge(problem, [target], 0.001, 60.0, heard.append)
            truth = min(1.0, smallest_within(target, tables))
            assert bool(heard) == (truth > 0.001 + 1e-6)
            assert not heard or truth - 3e-6 <= float(heard[-1].least) <= truth
            assert all(isinstance(each.least, Fraction) for each in heard)


def test_values_that_are_large_beside_their_differences_are_judged_alike() -> None:
    """The same table a million million further up: what it keeps is the same."""
    problem = small_random_table(2)
    inner = np.array([0, 1, 3, 4])
    target = targets_of(Keep(within=0.001, slope=inner.tolist(), variance=inner.tolist()), problem)[0]
    tables = safe_tables(problem)
    far = dataclasses.replace(target, value=target.value + 10.0**12)
    found = [verdict._exceeded_by_all(tables, each, Fraction(0)) for each in (target, far)]
    assert found[0] is not None
    assert found[0] == found[1]
