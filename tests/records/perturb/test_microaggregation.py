"""Groups of at least k: the best possible ones of a column, MDAV for several, both against slow plain code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.core.errors import InputError
from statveil.records.perturb import microaggregation
from statveil.records.perturb.microaggregation import best_groups, by_blocks, group_means, mdav
from tests.records.perturb.stories import records, shown
from tests.reference.perturbation import least_squares, mdav_groups, squares


def test_two_clusters_become_their_means() -> None:
    data = records({"id": range(6), "wage": [12, 1, 11, 2, 10, 3]})
    assert shown(data, sv.perturb.Microaggregation(["wage"], k=3))["wage"] == [11, 2, 11, 2, 11, 2]


def test_groups_of_fixed_size_are_not_always_best() -> None:
    """Sizes 3 and 4: cutting {1, 2, 3 | 4, 50, 51, 52} by threes from below would tear 4 from its neighbours (Hansen and Mukherjee)."""
    assert group_means(np.array([[1.0], [2], [3], [4], [50], [51], [52]]), 3).ravel().tolist() == [2.5] * 4 + [51.0] * 3


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=9), st.integers(2, 3))
def test_no_grouping_of_a_column_is_better(values: list[int], k: int) -> None:
    numbers = np.array(values, dtype=np.float64)
    group = best_groups(numbers, k)
    parts = [numbers[group == each].tolist() for each in np.unique(group)]
    assert min(map(len, parts)) >= k
    assert sum(map(squares, parts)) == pytest.approx(least_squares(sorted(numbers.tolist()), k), abs=1e-9)


def test_mdav_on_two_far_pairs_of_clusters() -> None:
    """Four corners of three points each: every corner is a group."""
    corners = [(x, y) for x in (0.0, 100.0) for y in (0.0, 40.0)]
    points = np.array([(x + dx, y + dy) for x, y in corners for dx, dy in ((0, 0), (1, 0), (0, 1))])
    group = mdav(points, 3)
    assert [len(set(group[start : start + 3])) for start in range(0, 12, 3)] == [1] * 4
    assert len(set(group)) == 4


@given(st.integers(4, 40), st.integers(2, 5), st.integers(0, 10_000))
def test_mdav_is_that_of_the_paper(size: int, k: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(max(size, k), 3))
    group = mdav(points, k)
    assert {frozenset(np.flatnonzero(group == each).tolist()) for each in np.unique(group)} == set(mdav_groups(points, k))


def test_blocks_keep_groups_of_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microaggregation, "TUNING", microaggregation.MdavTuning(block=50))
    group = by_blocks(np.random.default_rng(1).normal(size=(333, 2)), 4)
    assert np.bincount(group).min() >= 4


def test_records_with_the_same_gaps_are_grouped_and_those_without_company_are_blanked() -> None:
    data = records({"id": range(7), "wage": [1, 2, 3, 4, 5, None, None], "tax": [1, 1, 1, None, None, 9, None]})
    found = shown(data, sv.perturb.Microaggregation(["wage", "tax"], k=2))
    assert found["wage"] == [2, 2, 2, 4, 4, None, None]
    assert found["tax"] == [1, 1, 1, None, None, None, None]


def test_fewer_records_than_k_are_refused() -> None:
    with pytest.raises(InputError, match="Fewer than k = 3 records hold 'wage'"):
        shown(records({"id": [1, 2], "wage": [5, 7]}), sv.perturb.Microaggregation(["wage"]))


def test_a_constant_column_stays() -> None:
    data = records({"id": range(4), "wage": [7] * 4, "tax": [1, 2, 3, 4]})
    assert shown(data, sv.perturb.Microaggregation(["wage", "tax"], k=2))["wage"] == [7] * 4


def test_negatives_and_decimals_are_written_as_the_column_writes_them() -> None:
    data = records({"id": range(4), "result": ["-1,50", "-2,25", "10", " +11,5"]})
    data = sv.Microdata(engine=data.engine, origin=data.origin, decimal=",")
    assert shown(data, sv.perturb.Microaggregation(["result"], k=2))["result"] == ["-1,88", "-1,88", "10,75", "10,75"]


@pytest.mark.shared
@pytest.mark.parametrize(("k", "published"), [(3, 0.4829), (5, 1.6667), (10, 3.8397)])
def test_mdav_loses_what_is_published_of_the_firms_of_the_eia(shared_data: Path, k: int, published: float) -> None:
    """SSE / SST in percent of 4,092 records by 11 columns, a file on which papers on microaggregation compare their methods."""
    columns = ["UTILITYID", *(f"{of}{what}" for of in ("RES", "COM", "IND", "TOT") for what in ("REVENUE", "SALES"))]
    table = pc.read_csv(shared_data / "microdata" / "EIA.csv").select([*columns, "OTHREVENUE", "OTHRSALES"])
    values = np.stack([column.to_numpy().astype(np.float64) for column in table.columns], axis=1)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    lost = ((scaled - group_means(scaled, k)) ** 2).sum() / (scaled**2).sum()
    assert 100 * lost == pytest.approx(published, abs=5e-5)
