"""Decimals, weights, signs and sizes of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from tests.jobs.tables.stories import FIVE, original, protect, released, table


@pytest.mark.slow
def test_decimals_are_kept() -> None:
    release = protect({**FIVE, "sales": ["7.25", "3.5", "1", "50.75", "20"]}, table("area", "trade"), sv.MinimumFrequency(2))
    assert release.protected.decimals == 2
    assert original(release)["p", "u"] == 725


@pytest.mark.slow
def test_decimal_commas_are_understood(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("area;sales\np;7,25\np;1,5\nq;3,00\nq;2\n", encoding="utf-8")
    release = protect(tmp_path / "a.csv", table("area"), sv.PPercent(10))
    assert original(release)["Total",] == 1375


WEIGHTED = {**FIVE, "weight": ["1.25", "2.5", "1.1", "3.33", "1"]}


@pytest.mark.slow
def test_weights_with_decimals_and_fewer_published_decimals() -> None:
    """7 x 1.25 = 8.75 and 3 x 2.5 = 7.5 are one cell of 16.25; whole numbers are published, and they add up."""
    release = protect(WEIGHTED, table("area", "trade", weight="weight", decimals=0), sv.MinimumFrequency(3))
    assert release.table.scale == 2
    assert original(release)["p", "Total"] == 1625
    assert release.protected.decimals == 0


@pytest.mark.slow
def test_weights_with_decimals_and_all_of_them_published() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", decimals=2), sv.PPercent(10))
    assert release.protected.decimals == release.table.scale == 2


@pytest.mark.slow
def test_weights_rounded_on_request() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", weight_decimals=1), sv.MinimumFrequency(3))
    assert release.table.scale == 1


@pytest.mark.slow
def test_known_weights() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", weight_policy="contribution"), sv.PPercent(10))
    assert release.audit.passed
    assert (release.table.frequency == release.table.respondents).all()


@pytest.mark.slow
def test_rounding_alone_is_mended() -> None:
    """Three cells of 0.5 round to 0 each, and their sum of 1.5 to 2: nothing is sensitive, yet something must give."""
    data = {"area": list("pqr"), "sales": [1, 1, 1], "weight": ["0.5"] * 3}
    release = protect(data, table("area", weight="weight", decimals=0), sv.rules.ZeroRule(5))
    assert released(release)["Total",] == sum(released(release)[code,] for code in "pqr")


@pytest.mark.slow
def test_thousands() -> None:
    data = {**FIVE, "sales": [7_125_000, 3_000_499, 999_500, 50_000_000, 20_444_444]}
    release = protect(data, table("area", "trade", decimals=-3), sv.MinimumFrequency(2))
    assert release.protected.decimals == -3
    assert released(release)["Total", "Total"] == pytest.approx(81_569, rel=0.2)


@pytest.mark.slow
def test_more_decimals_published_than_given() -> None:
    release = protect(FIVE, table("area", "trade", decimals=3), sv.MinimumFrequency(2))
    assert original(release)["p", "u"] == 7000


@pytest.mark.slow
def test_negative_values_keep_their_sign() -> None:
    release = protect({**FIVE, "sales": [-40, 31, -19, 505, -204]}, table("area", "trade"), sv.PPercent(10))
    assert release.sensitivity.sensitive.any()
    assert {codes: np.sign(x) for codes, x in released(release).items()} == {codes: np.sign(a) for codes, a in original(release).items()}


@pytest.mark.slow
def test_a_total_of_nothing_from_gains_and_losses() -> None:
    release = protect({"area": list("ppqq"), "sales": [-5, 5, 60, 70]}, table("area"), sv.rules.ZeroRule(3))
    assert released(release)["p",] >= 3


@pytest.mark.parametrize("bad", ["", "NaN", "1.5.2", "many", "0.12345678901"])
def test_what_is_not_a_number_is_refused_in_words(tmp_path: Path, bad: str) -> None:
    (tmp_path / "a.csv").write_text(f"area,sales\np,1\nq,{bad}\n", encoding="utf-8")
    with pytest.raises(sv.InputError, match="'sales' has"):
        protect(tmp_path / "a.csv", table("area"), sv.PPercent(10))


def test_numbers_too_large_are_refused_in_words() -> None:
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": [2**61, 2**61]}, table("area"), sv.PPercent(10))
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": ["1e999", "1"]}, table("area"), sv.PPercent(10))
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": [2**55, 1]}, table("area"), sv.PPercent(10))
