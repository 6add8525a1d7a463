"""Cell keys: tables of probabilities with the most entropy, and noise that depends on the records alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from statveil.core.errors import AuditFailed, InputError
from statveil.core.secret import SecretKey
from statveil.suppress.cell_key import cell_key as module
from statveil.suppress.cell_key.cell_key import cell_key, record_keys
from statveil.suppress.cell_key.ptable import make_ptable

KEY = SecretKey(bytes(range(32)))


@pytest.mark.parametrize(("D", "V", "js"), [(2, 1.0, 0), (2, 1.08, 1), (5, 2.0, 0), (5, 3.0, 2), (10, 6.25, 0)])
def test_every_row_is_unbiased_keeps_its_variance_and_has_the_most_entropy(D: int, V: float, js: int) -> None:
    """The parameters of the ptable package's examples. The optimum is told by its form: log p is a parabola (c >= 0) where p > 0."""
    v = np.arange(-D, D + 1)
    for count, p in enumerate(make_ptable(D, V, js=js).p, start=1):
        assert abs(p.sum() - 1) < 1e-12
        assert abs(p @ v) < 1e-10
        assert p @ (v * v) <= V + 1e-10
        assert not p[(count + v >= 1) & (count + v <= js)].any()
        some = p > 0
        if some.sum() > 3:
            form, *_ = np.linalg.lstsq(np.stack([np.ones(some.sum()), v[some], v[some] ** 2], axis=1), np.log(p[some]), rcond=None)
            assert np.allclose(np.exp(form[0] + form[1] * v[some] + form[2] * v[some] ** 2), p[some], atol=1e-9)
            assert form[2] < 1e-7
            assert abs(p @ (v * v) - V) < 1e-9 or abs(form[2]) < 1e-7


def test_the_symmetric_row_is_what_a_general_optimiser_finds() -> None:
    v = np.arange(-2, 3)
    asked = [
        {"type": "eq", "fun": lambda p: p.sum() - 1},
        {"type": "eq", "fun": lambda p: p @ v},
        {"type": "eq", "fun": lambda p: p @ (v * v) - 1},
    ]
    found = minimize(lambda p: (p * np.log(p)).sum(), np.full(5, 0.2), constraints=asked, bounds=[(1e-9, 1)] * 5, tol=1e-14)
    assert np.allclose(make_ptable(2, 1.0).p[-1], found.x, atol=1e-5)


def test_one_count_by_hand() -> None:
    """D = 1, V = 1/2: half of all stay, a quarter goes each way."""
    assert np.allclose(make_ptable(1, 0.5).p, [[0.25, 0.5, 0.25]], atol=1e-12)


def test_pstay_is_kept_with_the_same_variance() -> None:
    row = make_ptable(8, 3.0, pstay=0.6).p[-1]
    assert row[8] == pytest.approx(0.6)
    assert abs(row @ np.arange(-8, 9) ** 2 - 3) < 1e-9


@pytest.mark.parametrize(
    "asked", [{"D": 0, "V": 1.0}, {"D": 1, "V": 5.0, "spread": "exactly"}, {"D": 1, "V": 1.0, "js": 3}, {"D": 2, "V": 0.5, "js": 1}]
)
def test_what_cannot_be_met_is_refused(asked: dict[str, float]) -> None:
    with pytest.raises(InputError):
        make_ptable(**asked)  # type: ignore[arg-type]


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
