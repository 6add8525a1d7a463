"""Relations in lowest terms: one that counts every cell twice says what it says when it counts them once, and only that is a network's."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.arrays import IntArray
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import Found, Multipliers, Search


class LowestTerms(NamedTuple):
    """The problem with its relations divided by their factors."""

    problem: ProtectionProblem
    factor: IntArray


def lowest_terms(problem: ProtectionProblem) -> LowestTerms:
    """Divide each relation by what its coefficients and its right-hand side have in common."""
    matrix, lengths = problem.relations.tocsr(), np.diff(problem.relations.indptr)
    factor = np.ones(matrix.shape[0], dtype=np.int64)
    if (np.abs(matrix.data) == 1).all():
        return LowestTerms(problem, factor)
    factor[lengths > 0] = np.gcd.reduceat(np.abs(matrix.data), matrix.indptr[:-1][lengths > 0])
    factor = np.where(problem.residual % np.maximum(factor, 1) == 0, np.maximum(factor, 1), 1)
    divided = csr_matrix((matrix.data // np.repeat(factor, lengths), matrix.indices, matrix.indptr), shape=matrix.shape)
    return LowestTerms(replace(problem, relations=divided, rhs=problem.rhs // factor), factor)


def in_lowest_terms(search: Search) -> Search:
    """A search in the same problem with its relations in lowest terms, whose news reach the one given in its own terms."""
    problem, factor = lowest_terms(search.problem)
    if (factor == 1).all():
        return search

    def tell(found: Found) -> None:
        if found.stage != search.stage:
            search.enter(found.stage)
        search.offer(found.deviation)
        proof = found.proof if not isinstance(found.proof, Multipliers) else _divided(found.proof, factor)
        search.offer_bound(found.bound if proof is None else found.proved, proof)

    inner = Search(problem, Limits(seconds=max(search.seconds_left, 1e-3), gap=search.limits.gap), 0, tell)
    inner.rng, inner.start = search.rng, search.start
    return inner


def _divided(multipliers: Multipliers, factor: IntArray) -> Multipliers:
    """Multipliers of relations in lowest terms as multipliers of the relations."""
    relations = multipliers.relations / factor if multipliers.relations.size else multipliers.relations
    return multipliers._replace(relations=relations, cut=multipliers.cut / factor[multipliers.cut_relation])
