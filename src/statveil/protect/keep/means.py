"""Means as relations: the deviations over a set of cells add up to nothing, to the unit (S1 section 3.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.sparse import block_diag, csr_matrix, hstack, vstack

from statveil.core.arrays import IntArray
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem


def with_means(problem: ProtectionProblem, targets: Sequence[Target]) -> ProtectionProblem:
    """The problem with a cell more for each mean, fixed at nothing, that all deviations over the mean's cells add up to."""
    kept = [target for target in targets if target.mean]
    if not kept:
        return problem
    place = np.repeat(np.arange(len(kept)), [each.size for each in kept])
    cells = np.concatenate([each.cells for each in kept])
    rows = csr_matrix((np.ones(cells.size, dtype=np.int64), (place, cells)), shape=(len(kept), problem.size))
    count = len(kept)
    own = csr_matrix(-np.eye(count, dtype=np.int64))
    above = hstack([problem.relations, csr_matrix(np.zeros((problem.rhs.size, count), dtype=np.int64))])
    nothing = np.zeros(count, dtype=np.int64)
    totals = [sum(problem.value[each.cells].tolist()) for each in kept]
    return dataclasses.replace(
        problem,
        relations=csr_matrix(vstack([above, hstack([rows, own])], format="csr"), dtype=np.int64),
        rhs=np.concatenate([problem.rhs, np.array(totals, dtype=np.int64)]),
        value=np.concatenate([problem.value, nothing]),
        weight=np.concatenate([problem.weight, np.ones(count)]),
        lower=np.concatenate([problem.lower, nothing]),
        upper=np.concatenate([problem.upper, nothing]),
        sensitive=np.concatenate([problem.sensitive, np.zeros(count, dtype=np.bool_)]),
        lower_level=np.concatenate([problem.lower_level, nothing]),
        upper_level=np.concatenate([problem.upper_level, nothing]),
    )


def means_off(deviation: IntArray, targets: Sequence[Target]) -> list[int]:
    """By how many units each mean's sum is off, in Python integers; all zero where every mean asked for is kept."""
    return [sum(deviation[target.cells].tolist()) for target in targets if target.mean]


def side_by_side(problems: Sequence[ProtectionProblem]) -> ProtectionProblem:
    """Several problems as one, their cells one after the other, no relation joining them."""
    first = problems[0]
    joined = {
        name: np.concatenate([getattr(problem, name) for problem in problems])
        for name in ("rhs", "value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    }
    relations = csr_matrix(block_diag([problem.relations for problem in problems], format="csr"), dtype=np.int64)
    return ProtectionProblem(relations=relations, variant=first.variant, norm=first.norm, **joined)
