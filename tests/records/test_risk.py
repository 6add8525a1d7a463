"""Risk: sample uniques that are unique in the population (M06), against populations that are known; unsafe combinations in words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.records.risk import classes_after, population_uniques, risk
from tests.records.stories import microdata

POPULATIONS = 20


def population(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Fields of a population, who is in the sample, and the sampling share."""
    rng = np.random.default_rng(100 + seed)
    people, share = int(rng.integers(20_000, 120_000)), float(rng.choice([0.02, 0.05, 0.1, 0.2]))
    columns, before = [], np.zeros(people, dtype=np.int64)
    for size in rng.integers(2, 25, int(rng.integers(3, 7))):
        drawn = [rng.exponential(size / rng.uniform(2, 8), people) % size, size * rng.random(people) ** rng.uniform(1, 2.5)]
        code = np.minimum(drawn[int(rng.integers(2))].astype(np.int64), size - 1)
        before = np.where(rng.random(people) < 0.3, before % size, code)
        columns.append(before)
    return np.stack(columns), rng.random(people) < share, share


@pytest.mark.slow
def test_the_estimate_is_within_a_fifth_of_the_truth_over_twenty_populations() -> None:
    errors = []
    for seed in range(POPULATIONS):
        fields, sampled, _ = population(seed)
        _, key = np.unique(fields, axis=1, return_inverse=True)
        people, sample = np.bincount(key.ravel()), np.bincount(key.ravel()[sampled], minlength=int(key.max()) + 1)
        truth = int(((sample == 1) & (people == 1)).sum())
        codes, count = np.unique(fields[:, sampled], axis=1, return_counts=True)
        if truth >= 20:
            errors.append(population_uniques(codes, count, float(fields.shape[1])) / truth - 1)
    assert len(errors) >= 12
    assert abs(float(np.mean(errors))) <= 0.2
    assert abs(float(np.median(errors))) <= 0.1


def test_a_whole_population_has_all_its_uniques_and_no_uniques_are_none() -> None:
    codes = np.array([[0, 1, 2]])
    assert population_uniques(codes, np.array([1, 1, 3]), 5.0) == 2
    assert population_uniques(codes, np.array([2, 4, 3]), 90.0) == 0


@pytest.mark.slow
def test_no_unique_of_the_population_is_shown_on_the_declared_combinations_after_release() -> None:
    """The original sample shows uniques of the population; the released one shows no combination that one person has."""
    fields, sampled, share = population(3)
    _, key = np.unique(fields, axis=1, return_inverse=True)
    alone = np.bincount(key.ravel())[key.ravel()] == 1
    sample = fields[:, sampled]
    assert alone[sampled].sum() > 0
    names = [f"f{place}" for place in range(len(sample))]
    columns = {name: pa.array([str(code) for code in row]) for name, row in zip(names, sample, strict=True)}
    data = sv.read_microdata(pa.table({**columns, "w": pa.array(np.full(sample.shape[1], 1 / share))}))
    plan = sv.plan_recoding(data, sv.KeyVariables(fields=dict.fromkeys(names), threshold=2, order="full", rule="recount", weight="w"))
    after = risk(classes_after(plan))
    assert after.population_uniques is not None
    shown = [tuple(row) for row in classes_after(plan).codes[:, classes_after(plan).count == 1].T if (row >= 0).all()]
    assert shown == []


def weighted() -> sv.Microdata:
    rows = {"a": ["x"] * 3 + ["y"] * 2, "w": ["0.5", "0.25", "1", "500", "500"]}
    return sv.read_microdata(pa.table(rows))


def test_where_weights_are_compared_with_the_threshold_the_weight_is_told() -> None:
    keys = sv.KeyVariables(fields={"a": None}, threshold=100, order=1, counting="weights", weight="w")
    found = sv.find_unsafe(weighted(), keys)
    assert found.why(int(found.keys[0])) == ["Only a weight of 1.75 (3 records) has a = x."]


def test_every_record_has_its_score() -> None:
    """z is rare alone, q only with x: a minuc of one field weighs more than one of two."""
    rows = [
        ("x", "p", "k", "1"),
        ("x", "p", "k", "2"),
        ("x", "q", "k", "3"),
        ("y", "q", "k", "4"),
        ("y", "q", "k", "5"),
        ("z", None, "k", "6"),
    ]
    data = microdata(rows, ("a", "b", "c", "id"))
    found = sv.find_unsafe(data, sv.KeyVariables(fields=dict.fromkeys("abc"), threshold=2, order=2))
    table = found.by_record(data, "id").to_pydict()
    assert table["id"][:2] == ["6", "3"]
    assert sorted(table["id"]) == list("123456")
    assert table["score"] == sorted(table["score"], reverse=True)
    assert table["score"][2:] == [0.0] * 4
    assert table["score"][0] > table["score"][1] > 0


def test_records_of_equal_keys_are_told_once_each() -> None:
    keys = sv.KeyVariables(fields={"a": None}, threshold=3, order=1, rule="recount", record_cost="w")
    data = weighted()
    plan = sv.plan_recoding(data, keys)
    assert sv.find_unsafe(plan.coded).by_record(data, "w").num_rows == 5


def test_an_unknown_column_of_records_is_refused() -> None:
    data = weighted()
    with pytest.raises(sv.errors.UnknownColumn):
        sv.find_unsafe(data, sv.KeyVariables(fields={"a": None})).by_record(data, "id")
