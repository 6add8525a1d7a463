"""Noise, swapping, PRAM and coding of extremes: what each promises, in stories checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.core.errors import InputError
from statveil.records.perturb.columns import Codes
from statveil.records.perturb.draws import KeyedDraws
from statveil.records.perturb.methods import add_noise, code_extremes, randomise_codes, swap_ranks
from statveil.records.perturb.steps import Noise, QuantileCoding
from tests.records.perturb.stories import KEY, records, shown, workers

NAN = float("nan")


def test_swapping_by_hand() -> None:
    """Six ranks, window 2. Rank 0 draws 0.9 of {1, 2}: 2. Rank 1 draws 0.1 of {3}: 3. Rank 4 draws of {5}: 5 (Moore 1996)."""
    values = np.array([10.0, 20, 30, 40, 50, 60])
    source = swap_ranks("wage", 34, values, np.array([0.9, 0.1, 0.5, 0.5, 0.5, 0.5]))
    assert values[source].tolist() == [30, 40, 10, 20, 60, 50]


@given(st.integers(2, 200), st.floats(0.5, 100), st.integers(0, 1000))
def test_swapping_keeps_the_values_and_stays_within_its_window(size: int, percent: float, seed: int) -> None:
    dice = np.random.default_rng(seed)
    values = dice.permutation(size).astype(float)
    source = swap_ranks("wage", percent, values, dice.random(size))
    assert sorted(source.tolist()) == list(range(size))
    assert (source[source] == np.arange(size)).all()  # two change places
    assert np.abs(values[source] - values).max() <= max(1, percent / 100 * size)


def test_missing_values_are_not_swapped() -> None:
    source = swap_ranks("wage", 100, np.array([NAN, 1, NAN, 2]), np.full(4, 0.5))
    assert source.tolist() == [0, 3, 2, 1]


def test_noise_keeps_correlations_and_adds_its_share_of_the_variance() -> None:
    dice = np.random.default_rng(3)
    first = dice.normal(100, 10, 20_000)
    values = np.stack([first, 2 * first + dice.normal(0, 10, first.size)], axis=1)
    draws = KeyedDraws(KEY, [str(each) for each in range(first.size)])
    moved = add_noise(Noise(["a", "b"], level=0.5), values, [2, 2], draws)
    assert np.corrcoef(moved, rowvar=False)[0, 1] == pytest.approx(np.corrcoef(values, rowvar=False)[0, 1], abs=0.01)
    assert moved.var(axis=0) / values.var(axis=0) == pytest.approx([1.25, 1.25], abs=0.03)
    assert moved.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.5)


def test_noise_stays_within_its_limits() -> None:
    found = shown(records(workers()), sv.perturb.Noise(["wage"], level=1, minimum=0, maximum=5000))["wage"]
    assert min(found) == 0
    assert max(found) == 5000


def test_noise_that_rounding_would_undo_is_refused() -> None:
    with pytest.raises(InputError, match="lost in the rounding"):
        shown(records({"id": range(4), "rooms": [1, 2, 3, 4]}), sv.perturb.Noise(["rooms"], level=0.1))


def test_the_matrix_of_pram_is_invariant() -> None:
    """Frequencies (1/2, 1/3, 1/6), keep 0.4: t R = t, entry by entry (Gouweleeuw et al. 1998)."""
    t = np.array([3, 2, 1]) / 6
    matrix = 0.4 * np.eye(3) + 0.6 * t
    assert matrix.sum(axis=1) == pytest.approx([1, 1, 1])
    assert t @ matrix == pytest.approx(t)
    size = 60_000
    code = np.repeat([0, 1, 2], [size // 2, size // 3, size // 6])
    codes = Codes(code, np.array([0, size // 2, size - 1]))
    new = code[randomise_codes("degree", 0.4, codes, KeyedDraws(KEY, [str(each) for each in range(size)]))]
    moved = np.array([np.bincount(new[code == each], minlength=3) / (code == each).sum() for each in range(3)])
    assert moved == pytest.approx(matrix, abs=0.02)


def test_pram_leaves_gaps_and_knows_only_the_codes_of_the_column() -> None:
    found = shown(records({"id": range(40), "degree": ["a", "b", None, ""] * 10}), sv.perturb.Pram(["degree"], keep=0.1))["degree"]
    assert {each for each in found if each} == {"a", "b"}
    assert [place for place, each in enumerate(found) if not each] == [place for place in range(40) if place % 4 > 1]


def test_extremes_show_the_quantile() -> None:
    values = np.array([*range(1, 101)], dtype=float)
    source = code_extremes("wage", QuantileCoding(["wage"], bottom=0.03, top=0.95), values)
    assert values[source].tolist() == [4] * 4 + list(range(5, 95)) + [95] * 6


@pytest.mark.parametrize(
    ("step", "column", "words"),
    [
        (sv.perturb.Noise(["x"]), [7, 7, 7], "fewer than two different numbers"),
        (sv.perturb.Noise(["x"]), [7], "fewer than two different numbers"),
        (sv.perturb.RankSwapping(["x"]), [7, None, 7], "fewer than two different numbers"),
        (sv.perturb.Pram(["x"]), ["a", "a", None], "fewer than two different codes"),
        (sv.perturb.QuantileCoding(["x"], top=0.99), [1, 2, 3, 4], "Fewer than 3 records would share an end"),
        (sv.perturb.QuantileCoding(["x"], top=0.99), [None, None], "Fewer than 3 records would share an end"),
        (sv.perturb.QuantileCoding(["x"], bottom=0.5), [1], "Fewer than 3 records would share an end"),
    ],
)
def test_what_would_protect_nothing_is_refused(step: object, column: list[object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        shown(records({"id": range(len(column)), "x": column}), step)
