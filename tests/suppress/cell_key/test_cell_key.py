"""Cell keys: tables of probabilities with the most entropy, and noise that depends on the records alone."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import AuditFailed, InputError
from statveil.core.secret import SecretKey
from statveil.suppress.cell_key import cell_key as module
from statveil.suppress.cell_key.cell_key import cell_key, record_keys
from statveil.suppress.cell_key.ptable import make_ptable

KEY = SecretKey(bytes(range(32)))


def test_one_count_by_hand() -> None:
    """D = 1, V = 1/2: half of all stay, a quarter goes each way."""
    assert np.allclose(make_ptable(1, 0.5).p, [[0.25, 0.5, 0.25]], atol=1e-12)


def test_the_same_records_get_the_same_noise_and_empty_cells_stay_empty() -> None:
    keys = record_keys([f"firm {number}" for number in range(1000)], KEY)
    counts, sums = np.array([0, 3, 3, 1000]), np.array([0, keys[:3].sum(), keys[[2, 0, 1]].sum(), keys.sum()])
    released = cell_key(counts, sums, make_ptable(3, 1.5, js=1)).released
    assert released[0] == 0
    assert released[1] == released[2]
    assert abs(released[3] - 1000) <= 3


def test_noise_of_many_cells_has_the_mean_and_variance_promised() -> None:
    sums = record_keys(map(str, range(40_000)), KEY)
    noise = cell_key(np.full(sums.size, 50), sums, make_ptable(5, 2.0)).released - 50
    assert abs(noise.mean()) < 0.04
    assert abs(noise.var() - 2.0) < 0.08


def test_counts_below_zero_are_refused() -> None:
    with pytest.raises(InputError):
        cell_key(np.array([-1]), np.array([3]), make_ptable(2, 1.0))


def test_noise_that_no_key_gives_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_perturbed", lambda counts, *_: counts + 7)
    with pytest.raises(AuditFailed):
        cell_key(np.array([5]), np.array([1]), make_ptable(2, 1.0))
