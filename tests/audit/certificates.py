"""Certificates for tests: from the search's own multipliers, or made up."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from statveil.core.limits import Limits
from statveil.formats.certificate import Cases, Certificate, Multipliers, Node
from statveil.protect.bounds.branch_and_bound import prove_by_tree
from statveil.protect.bounds.certificate import Certified
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose
from statveil.protect.search_state import NO_MULTIPLIERS, Search, SearchNews
from tests.protect.certify import certify
from tests.protect.problems import problem_of, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost

NOTHING = Multipliers((), (), (), (), ())


def certificate_of(problem: ProtectionProblem, *, by_cases: bool, worth: float | None = None) -> Certified | None:
    """The certificate of the best proof that a search finds; None where there is no table to start from."""
    heard: list[SearchNews] = []
    reduction = reduce_problem(problem)
    if not reduction.feasible:
        return None
    search = Search(reduction.problem, Limits(seconds=300), 0, heard.append)
    if reduction.problem.accepts(np.zeros(reduction.problem.size, dtype=np.int64)):
        return certify(reduction, NO_MULTIPLIERS, reduction.fixed_cost)
    bound_by_cuts(search)
    choose.first_table(search)
    if search.best is None:
        return None
    if by_cases:
        prove_by_tree(search)
    proofs = [found.proof for found in heard if found.proof is not None]
    return certify(reduction, proofs[-1], search.objective + reduction.fixed_cost if worth is None else worth)


def plain(problem: ProtectionProblem, proof: Node = NOTHING, **changes: Any) -> Certificate:
    """A certificate with these multipliers in whole units, for tables that cost less than a million."""
    base = Certificate(cells=problem.size, relations=int(problem.rhs.size), scale=0, worth=1_000_000, bound=0, derived=(), proof=proof)
    return dataclasses.replace(base, **changes)


def leaves_of(node: Node) -> list[Multipliers]:
    if isinstance(node, Cases):
        return leaves_of(node.up) + leaves_of(node.down)
    return [node] if isinstance(node, Multipliers) else [leaf for part in node.parts for leaf in leaves_of(part)]


def row(level: int = 4, **changes: object) -> ProtectionProblem:
    """10 + 20 + 30 = 60; the first cell must move by 4, so one neighbour or the total must give 4: cost 8."""
    return problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: level}, **changes)


def polygon(relation: int, cell: int, factor: int = 1) -> Multipliers:
    return Multipliers((), (), (relation,), (cell,), (factor,))


def square() -> ProtectionProblem:
    value = with_margins(np.array([[20, 35, 50], [44, 28, 61], [90, 17, 33]])).ravel()
    return problem_of(value, two_way_relations(3, 3), levels={0: 7, 5: 3, 6: 5, 9: (2, 6)})


def certified_square() -> Certificate:
    certified = certificate_of(square(), by_cases=True)
    assert certified is not None
    assert certified.bound == cheapest_cost(square())
    assert certified.certificate.by_cases
    return certified.certificate
