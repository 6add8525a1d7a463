"""Prices on rare combinations that nobody can earn too much from: a bound for files of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.suppress.problem import SuppressionProblem, problem_of
from statveil.records.suppress.wildcard_bound import Covering, covering_of, proved, wildcard_bound
from tests.records.stories import microdata, random_records
from tests.reference.files import Record, fewest_blanks, tables_up_to

TESTDATA_KEYS = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
ADULT_KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def problem(rows: list[Record], **more: Any) -> SuppressionProblem:
    wanted = sv.KeyVariables(fields=dict.fromkeys("abcde"[: len(rows[0])]), rule="wildcard", **more)
    return problem_of(code_file(microdata(rows), wanted), (0,) * len(rows[0]))


@pytest.mark.slow
def test_unique_records_cost_two_that_are_blank_altogether() -> None:
    """Sixty records that differ in both fields, threshold 3: a record blank in one field helps one other, blank in both it helps all."""
    found = wildcard_bound(problem([(f"a{n}", f"b{n}") for n in range(60)], threshold=3, order=2), worth=4.0, seconds=120)
    assert found == 4.0


def test_a_file_without_rare_combinations_has_no_prices() -> None:
    assert covering_of(problem([("x", "p")] * 5, threshold=3, order=2)) is None


@pytest.mark.slow
@given(seed=st.integers(0, 100_000), records=st.integers(3, 4), threshold=st.integers(2, 3), missing=st.sampled_from([0.0, 0.2]),
       order=st.integers(1, 3), costs=st.sampled_from([(1.0, 1.0, 1.0), (1.0, 2.0, 3.0), (0.7, 1.3, 1.0)]))  # fmt: skip
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_safe_file_costs_less(seed: int, records: int, threshold: int, missing: float, order: int, costs: tuple[float, ...]) -> None:
    rows = random_records(seed, records=records, sizes=(3, 3, 2), missing=missing)
    given_ = problem(rows, threshold=threshold, order=order, costs=dict(zip("abc", costs, strict=True)))
    bound = wildcard_bound(given_, worth=1e9, seconds=120)
    assert bound <= fewest_blanks(rows, tables_up_to(3, order, threshold), "wildcard", costs) + 1e-9


@pytest.mark.slow
@given(seed=st.integers(0, 100_000), threshold=st.integers(2, 3), missing=st.sampled_from([0.0, 0.2]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_no_safe_file_has_less_of_both_costs(seed: int, threshold: int, missing: float) -> None:
    rows = random_records(seed, records=4, sizes=(3, 3, 2), missing=missing)
    given_ = problem(rows, threshold=threshold, order=2, ties={"a": 1.0, "b": 2.0, "c": 3.0})
    assert wildcard_bound(given_, worth=1e9, seconds=120, ties=True) <= fewest_blanks(
        rows, tables_up_to(3, 2, threshold), "wildcard", [1.0, 2.0, 3.0]
    )


@pytest.mark.slow
@given(seed=st.integers(0, 100_000), records=st.integers(4, 9), threshold=st.integers(2, 4))
@settings(max_examples=6, deadline=None, derandomize=True)
def test_no_proved_optimum_of_a_larger_file_is_below(seed: int, records: int, threshold: int) -> None:
    rows = random_records(seed, records=10 * records, sizes=(6, 4, 3))
    exact = sv.recode.suppress(microdata(rows), sv.KeyVariables(fields=dict.fromkeys("abc"), threshold=threshold, order=3, rule="wildcard"))
    bound = wildcard_bound(problem(rows, threshold=threshold, order=3), worth=1e9, seconds=120)
    assert bound <= exact.cost


@pytest.mark.parametrize("seed", range(5))
def test_earnings_summed_up_field_by_field_are_those_worked_out_one_by_one(seed: int) -> None:
    """Prices at which somebody earns exactly his cost are proved, a little more is refused; the reference looks at every key and set."""
    covering = covering_of(problem(random_records(seed, records=40, sizes=(5, 4, 3), missing=0.05), threshold=3, order=3))
    assert covering is not None
    prices = np.random.default_rng(seed).random(covering.lack.size)
    fair = prices / greatest_share(covering, prices)
    assert proved(covering, fair) == np.ceil(fair @ covering.lack - 1e-6)
    assert proved(covering, 1.0001 * fair) == 0.0


def greatest_share(covering: Covering, prices: np.ndarray[Any, Any]) -> float:
    most = 0.0
    for key, row in enumerate(covering.differ.tolist()):
        for blank in range(1, 1 << covering.unit_cost.shape[1]):
            earned = 0.0
            for cell, differ in enumerate(row):
                if differ < 0 and blank & covering.table[cell]:
                    earned += prices[cell] * covering.lack[cell] / covering.shown[cell]
                elif differ > 0 and differ & ~blank == 0:
                    earned += prices[cell]
            cost = sum(covering.unit_cost[key, unit] for unit in range(covering.unit_cost.shape[1]) if blank >> unit & 1)
            most = max(most, earned / cost if cost else 0.0)
    return most


@pytest.mark.slow
def test_linked_fields_and_record_costs_are_paid_as_they_are() -> None:
    """Three unique values, threshold 2: one record blank in a, and in b with it, and the cheapest record costs 2."""
    data = microdata([("x", "p", "5"), ("y", "p", "2"), ("z", "p", "9")], names=("a", "b", "importance"))
    wanted = sv.KeyVariables(
        fields={"a": None, "b": None}, threshold=2, order=2, rule="wildcard", linked=[["a", "b"]], record_cost="importance"
    )
    assert wildcard_bound(problem_of(code_file(data, wanted), (0, 0)), worth=1e9, seconds=120) <= 4.0
    assert sv.recode.suppress(data, wanted).cost == 4.0


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("threshold", "order", "optimum"), [(3, 3, 14), (3, "full", 14), (5, "full", 28)])
def test_testdata_needs_as_many_blanks_as_k_less_one_records_have_fields(
    shared_data: Any, threshold: int, order: Any, optimum: int
) -> None:
    data = sv.read_microdata(shared_data / "microdata" / "testdata.csv")
    found = sv.recode.suppress(
        data, sv.KeyVariables(fields=dict.fromkeys(TESTDATA_KEYS), threshold=threshold, order=order, rule="wildcard")
    )
    assert (found.total, found.bound, str(found.ending)) == (optimum, optimum, "optimal")


@pytest.mark.slow
@pytest.mark.shared
def test_adult_is_proved_too_recodings_and_all(shared_data: Any) -> None:
    folder = shared_data / "microdata" / "adult"
    menus = {name: sv.recode.Menu.from_arx_csv(folder / f"adult_hierarchy_{name}.csv") for name in ADULT_KEYS}
    keys = sv.KeyVariables(fields=menus, threshold=3, recoding_weight=0.01, rule="wildcard")
    plan = sv.plan_recoding(sv.read_microdata(folder / "adult.csv"), keys)
    assert (plan.cost, plan.bound, str(plan.ending)) == (16.0, 16.0, "optimal")
