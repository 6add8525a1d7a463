"""Draws of records by the key: the record decides, not its place, and equal records are told apart."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from statveil.core.secret import SecretKey
from statveil.records.perturb.draws import KeyedDraws

KEY, OTHER = SecretKey(b"k" * 32), SecretKey(b"o" * 32)


def test_a_record_is_drawn_the_same_wherever_it_stands_and_whoever_is_beside_it() -> None:
    first = KeyedDraws(KEY, ["a", "b", "c"]).uniform("noise", "income")
    again = KeyedDraws(KEY, ["c", "d", "a"]).uniform("noise", "income")
    assert (again[2], again[0]) == (first[0], first[2])


def test_equal_records_purposes_and_keys_are_told_apart() -> None:
    draws = KeyedDraws(KEY, ["a", "a"])
    found = [*draws.uniform("noise", "income"), *draws.uniform("noise", "age"), *KeyedDraws(OTHER, ["a"]).uniform("noise", "income")]
    assert len(set(found)) == 5


def test_draws_are_uniform_and_never_the_ends() -> None:
    found = KeyedDraws(KEY, [str(each) for each in range(4000)]).uniform("noise")
    assert 0 < found.min() < found.max() < 1
    assert kstest(found, "uniform").statistic < 0.03


def test_no_records_no_draws() -> None:
    assert np.array_equal(KeyedDraws(KEY, []).uniform("noise"), np.zeros(0))
