"""Chance for compiled loops: the published sequence of splitmix64, and numbers below a size."""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed


@njit
def words(count):  # type: ignore[no-untyped-def]
    found = np.zeros(count, np.uint64)
    for at in range(count):
        found[at] = mixed(np.uint64(at + 1) * STEP)
    return found


@njit
def sizes(count, size):  # type: ignore[no-untyped-def]
    found = np.zeros(count, np.int64)
    for at in range(count):
        found[at] = below(mixed(np.uint64(at + 1) * STEP) >> np.uint64(32), size)
    return found


def test_the_words_are_those_of_splitmix64_from_seed_zero() -> None:
    assert [int(each) for each in words(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_numbers_below_a_size_are_all_of_them_about_as_often() -> None:
    times = np.bincount(sizes(7000, 7), minlength=7)
    assert times.size == 7
    assert abs(times - 1000).max() < 150


def test_chances_are_those_of_the_exponential_law() -> None:
    assert EXPONENTIAL.size == CHANCES
    assert abs(EXPONENTIAL.mean() - 1) < 1e-3
    assert (np.diff(EXPONENTIAL) < 0).all()
