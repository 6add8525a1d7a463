"""The audit of perturbed columns: what a method did passes, and every way to break its promise is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.audit.perturbed import PerturbationStatement, audit_perturbed
from statveil.audit.report import Check

SIZE = 200
DICE = np.random.default_rng(4)
VALUES = np.round(DICE.lognormal(6, 1, SIZE))
CODES = DICE.choice(["a", "b", "c"], SIZE, p=[0.6, 0.3, 0.1])


def audited(method: str, true: Any, shown: Any, *, mark: str | None = ".", **parameters: Any) -> Check:
    before = pa.table({"id": np.arange(len(true)), "x": true})
    after = before.set_column(1, before.schema.field("x"), pa.array(shown, before.schema.field("x").type))
    promised = PerturbationStatement(method=method, columns=["x"], parameters=parameters, decimals={"x": 0}, mark=mark)
    first, check = audit_perturbed(sv.read_microdata(before), before, after, [promised])
    assert first.passed
    return check


def test_means_of_groups_pass() -> None:
    assert audited("microaggregation", [1, 2, 3, 10, 11, 12, None], [2, 2, 2, 11, 11, 11, None], k=3).passed
    assert audited("microaggregation", [1, 2, 3, 9], [2, 2, 2, None], k=3).passed  # no company: gone


def test_short_floats_are_compared_as_far_as_they_hold_digits() -> None:
    """1.2965 is not a short float, nor is its rounding: half a unit is passed by what they cannot hold."""
    table = pa.table({"x": pa.array([2.351, 0.242], pa.float32())})
    after = pa.table({"x": pa.array([1.297, 1.297], pa.float32())})
    promised = PerturbationStatement(method="microaggregation", columns=["x"], parameters={"k": 2}, decimals={"x": 3})
    assert all(check.passed for check in audit_perturbed(sv.read_microdata(table), table, after, [promised]))


@pytest.mark.parametrize(
    ("true", "shown"),
    [
        ([1, 2, 3, 10, 11], [2, 2, 2, 10, 11]),  # two alone
        ([1, 2, 3], [3, 3, 3]),  # not their mean
        ([1, 2, 3, None], [2, 2, 2, 2]),  # a gap was filled
    ],
)
def test_broken_groups_are_found(true: list[Any], shown: list[Any]) -> None:
    assert not audited("microaggregation", true, shown, k=3).passed


def test_a_record_of_several_columns_does_not_lose_one() -> None:
    before = pa.table({"x": [1.0, 1.0], "y": [5.0, 5.0]})
    after = pa.table({"x": [1.0, 1.0], "y": pa.array([None, None], pa.float64())})
    promised = PerturbationStatement(method="microaggregation", columns=["x", "y"], parameters={"k": 2}, decimals={"x": 0, "y": 0})
    assert audit_perturbed(sv.read_microdata(before), before, after, [promised])[1].faults == 2


def test_swapped_neighbours_pass_and_strangers_do_not() -> None:
    true = [1, 2, 2, 2, 3, 4, 5, 6, 7, 8]
    assert audited("rank-swapping", true, [2, 1, 2, 3, 2, 4, 5, 6, 8, 7], percent=10).passed
    assert audited("rank-swapping", true, [8, 2, 2, 2, 3, 4, 5, 6, 7, 1], percent=10).faults == 2
    assert not audited("rank-swapping", true, [1, 2, 2, 2, 3, 4, 5, 6, 7, 9], percent=10).passed
    assert not audited("rank-swapping", true, [1, 2, 2, 2, 3, 4, 5, 6, None, 8], percent=10).passed


def test_noise_must_be_there_and_within_its_limits() -> None:
    noise = np.round(VALUES + DICE.normal(0, 0.2 * VALUES.std(), SIZE))
    assert audited("noise", VALUES, noise, level=0.2).passed
    assert not audited("noise", VALUES, VALUES, level=0.2).passed
    assert not audited("noise", VALUES, noise, level=0.2, minimum=0).passed
    assert audited("noise", VALUES, np.maximum(noise, 0), level=0.2, minimum=0).passed
    assert audited("noise", [1.0, 2.0], [1.0, 2.0], level=0.2).passed  # too few to tell
    assert audited("noise", pa.array([None, None], pa.float64()), [None, None], level=0.2).passed


def test_pram_changes_as_many_as_stated() -> None:
    kept = DICE.random(SIZE) < 0.5
    drawn = np.where(kept, CODES, DICE.permutation(CODES))
    assert audited("pram", CODES, drawn, keep=0.5).passed
    assert not audited("pram", CODES, CODES, keep=0.5).passed
    assert not audited("pram", CODES, np.where(kept, CODES, "z"), keep=0.5).passed
    assert not audited("pram", CODES, np.where(kept, CODES, "c"), keep=0.5).passed
    assert not audited("pram", CODES, [None, *drawn[1:]], keep=0.5).passed


def test_only_extremes_are_coded() -> None:
    true = list(range(1, 21))
    assert audited("quantile-coding", true, [3, 3, *range(3, 21)], bottom=0.1).passed
    assert audited("quantile-coding", true, [*range(1, 19), 18, 18], top=0.9).passed
    assert not audited("quantile-coding", true, true, top=0.9).passed  # nobody shares the end
    assert not audited("quantile-coding", true, [*range(1, 11), *[10] * 10], top=0.9).passed  # far more than stated
    assert not audited("quantile-coding", true, [1, 2, 4, *range(4, 19), 18, 18], top=0.9).passed  # one between was changed


@pytest.mark.parametrize("mark", [",", None])
def test_decimal_commas_are_read(mark: str | None) -> None:
    assert audited("microaggregation", ["1,5", "2,5", ""], ["2", "2", None], mark=mark, k=2).passed


def test_other_columns_and_records_must_stay() -> None:
    before = pa.table({"id": [1, 2, 3], "x": [1, 1, 1]})
    promised = [PerturbationStatement(method="microaggregation", columns=["x"], parameters={"k": 3}, decimals={"x": 0})]
    data = sv.read_microdata(before)
    assert audit_perturbed(data, before, before, promised)[0].passed
    touched = before.set_column(0, "id", pa.array([3, 2, 7]))
    assert audit_perturbed(data, before, touched, promised)[0].faults == 1
    assert audit_perturbed(data, touched, touched, promised)[0].faults == 1  # not the original records
    assert len(audit_perturbed(data, before, before.slice(1), promised)) == 1
