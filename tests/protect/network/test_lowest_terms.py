"""A problem whose relations have common factors is searched in lowest terms; its tables and its proofs are in its own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.network.detect import lowest_terms
from tests.protect.network.tables import small_hierarchy
from tests.protect.problems import problem_of


def multiplied(problem, factor):
    relations = csr_matrix(problem.relations.multiply(factor[:, None]))
    return dataclasses.replace(problem, relations=relations, rhs=problem.rhs * factor)


def test_each_relation_is_divided_by_what_it_has_in_common_with_its_right_hand_side():
    problem = problem_of([0, 0, 0], [[2, 2, -2], [3, -3, 0], [0, 2, 4], [0, 0, 0]], levels={}, rhs=np.array([4, 1, 6, 0]))
    lowest, factor = lowest_terms(problem)
    assert factor.tolist() == [2, 1, 2, 1]
    assert lowest.relations.toarray().tolist() == [[1, 1, -1], [3, -3, 0], [0, 1, 2], [0, 0, 0]]
    assert lowest.rhs.tolist() == [2, 1, 3, 0]


def test_a_table_in_multiplied_relations_costs_the_same_and_its_certificate_proves_the_same():
    problem = small_hierarchy(levels={9: 5, 13: 7, 21: 9})
    factor = np.arange(problem.rhs.size) % 3 + 1
    answers = [adjust_problem(each, method="network", limits=Limits(seconds=20), seed=1) for each in (problem, multiplied(problem, factor))]
    assert answers[1].objective == answers[0].objective
    assert answers[1].certified_bound == pytest.approx(answers[0].certified_bound, rel=1e-6)
    assert answers[1].certified_bound > 0.9 * answers[1].objective
