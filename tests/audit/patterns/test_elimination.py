"""Null vectors modulo primes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.audit.patterns.elimination import PRIMES, null_vectors, proportions
from tests.reference.hidden_cells import follows, rank


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-2, 2), min_size=6, max_size=6), min_size=1, max_size=6))
def test_zeros_and_proportions_are_what_follows(rows: list[list[int]]) -> None:
    found = null_vectors(csr_matrix(np.array(rows, dtype=np.int64)))
    keys = proportions(found)
    assert set(found.rank) == {rank(rows)}
    for cell in range(6):
        assert (not any(keys[cell])) == follows(rows, cell)
        for other in range(6):
            if any(keys[cell]) and any(keys[other]):
                assert (keys[cell] == keys[other]) == follows(rows, cell, other)


def test_vectors_of_a_matrix_that_fills_up_are_null() -> None:
    rng = np.random.default_rng(5)
    dense = np.zeros((30, 40), dtype=np.int64)
    for row in dense:
        row[rng.choice(40, size=6, replace=False)] = rng.choice([-1, 1], size=6)
    found = null_vectors(csr_matrix(dense))
    for vectors, prime in zip(found.vectors, found.primes, strict=True):
        assert not (dense.astype(object) @ vectors.T.astype(object) % prime).any()
    assert found.rank == (30, 30)


def test_a_prime_that_divides_a_determinant_is_left_out() -> None:
    found = null_vectors(csr_matrix(np.array([[PRIMES[0], 1], [0, 1]], dtype=np.int64)))
    assert found.primes == (PRIMES[1],)
    assert found.rank == (2,)
