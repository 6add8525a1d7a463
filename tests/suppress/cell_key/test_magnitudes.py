"""Noise of magnitudes: in proportion to the largest contribution, the same for the same records."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.suppress.cell_key.cell_key import KEY_BITS
from statveil.suppress.cell_key.magnitudes import cell_key_magnitudes, drawn
from statveil.suppress.cell_key.ptable import make_ptable

PTABLE = make_ptable(3, 1.0)


def test_the_same_records_have_the_same_noise_wherever_they_stand() -> None:
    made = cell_key_magnitudes(np.array([900, 50, 900]), np.array([[500], [50], [500]]), np.array([77, 2**20, 77]), PTABLE)
    assert made.audit.passed
    assert made.released[0] == made.released[2]


def test_noise_has_no_bias_and_the_variance_of_the_table() -> None:
    keys = np.random.default_rng(1).integers(0, 2**KEY_BITS, 200_000)
    for place in (0, 1):
        noise = drawn(keys, PTABLE, place)
        assert abs(noise.mean()) < 0.01
        assert abs(noise.var() - 1.0) < 0.02
    assert abs(np.corrcoef(drawn(keys, PTABLE, 0), drawn(keys, PTABLE, 1))[0, 1]) < 0.01


def test_the_second_contribution_counts_for_its_share() -> None:
    top = np.array([[0, 1000]] * 100)
    keys = np.random.default_rng(2).integers(0, 2**KEY_BITS, 100)
    made = cell_key_magnitudes(np.full(100, 5000), top, keys, PTABLE, scale=0.1, shares=(1.0, 0.5))
    assert set((made.released - 5000).tolist()) <= {-150, -100, -50, 0, 50, 100, 150}
    assert (made.released != 5000).any()


def test_zeros_stay_and_signs_are_kept() -> None:
    keys = np.random.default_rng(3).integers(0, 2**KEY_BITS, 300)
    values = np.repeat([0, 1, -400], 100)
    made = cell_key_magnitudes(values, np.repeat([[0], [300], [400]], 100, axis=0), keys, PTABLE)
    assert not made.released[:100].any()
    assert (made.released[100:200] >= 0).all()
    assert (made.released[200:] <= 0).all()


def test_noise_that_could_reach_a_contribution_is_refused() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        cell_key_magnitudes(np.array([5]), np.array([[5]]), np.array([1]), PTABLE, scale=0.5)
    with pytest.raises(InputError, match="same cells"):
        cell_key_magnitudes(np.array([5]), np.array([[5], [6]]), np.array([1]), PTABLE)
