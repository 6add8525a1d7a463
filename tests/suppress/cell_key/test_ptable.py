"""Tables of transitions: unbiased, of a fixed variance, of the most entropy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from statveil.core.errors import InputError
from statveil.suppress.cell_key.ptable import make_ptable


@pytest.mark.parametrize(("D", "V", "js"), [(2, 1.0, 0), (2, 1.08, 1), (5, 2.0, 0), (5, 3.0, 2), (10, 6.25, 0)])
def test_every_row_is_unbiased_keeps_its_variance_and_has_the_most_entropy(D: int, V: float, js: int) -> None:
    """The parameters of the ptable package's examples. The optimum is told by its form: log p is a parabola (c >= 0) where p > 0."""
    v = np.arange(-D, D + 1)
    for count, p in enumerate(make_ptable(D, V, js=js, mono=False).p, start=1):
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


@pytest.mark.parametrize(
    ("name", "asked", "places", "rows"),
    [
        ("Frequency/tau_testW_ptable.txt", {"D": 7, "V": 4.0, "js": 2, "spread": "exactly"}, 2e-9, range(1, 11)),
        ("Frequency/20160511_szenario_5a.txt", {"D": 5, "V": 2.001, "js": 2}, 1e-8, range(4, 9)),  # rows above hold 1e-7 for nothing
        ("Magnitude/ptab_freq.txt", {"D": 5, "V": 3.0, "js": 2, "pstay": 0.5}, 2e-8, range(1, 9)),
    ],
)
@pytest.mark.shared
def test_published_tables_are_those_of_their_parameters(
    shared_data: Path, name: str, asked: dict[str, Any], places: float, rows: range
) -> None:
    """To the places that the files have: nine or eight digits, or what their solver left open."""
    table = make_ptable(**asked)
    found = np.zeros((len(table.p) + 1, table.p.shape[1]))
    for line in (shared_data / "tauargus/tauargus/cellkey" / name).read_text().replace('"', "").splitlines()[1:]:
        count, _, p, v, _ = line.split(";")
        if int(count):
            found[int(count), table.D + int(v)] = float(p)
    assert np.allclose(found[list(rows)], table.p[np.array(rows) - 1], rtol=0, atol=places)


def test_smaller_noise_is_at_least_as_likely_as_larger_below_zero() -> None:
    """The fifth row of a published table (Tau_TestW): two neighbours that would fall are alike."""
    row = make_ptable(7, 4.0, js=2).p[4]
    assert np.allclose(row[2:9], [0.040183, 0, 0, 0.179313, 0.202812, 0.202812, 0.160525], atol=1e-6)
    assert make_ptable(7, 4.0, js=2, mono=False).p[4][6] > 0.2064


def test_the_symmetric_row_is_what_a_general_optimiser_finds() -> None:
    v = np.arange(-2, 3)
    asked = [
        {"type": "eq", "fun": lambda p: p.sum() - 1},
        {"type": "eq", "fun": lambda p: p @ v},
        {"type": "eq", "fun": lambda p: p @ (v * v) - 1},
    ]
    found = minimize(lambda p: (p * np.log(p)).sum(), np.full(5, 0.2), constraints=asked, bounds=[(1e-9, 1)] * 5, tol=1e-14)
    assert np.allclose(make_ptable(2, 1.0).p[-1], found.x, atol=1e-5)


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
