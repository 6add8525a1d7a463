"""Recoding and blanks together: every method finds safe files, the exact ones the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.plan import PLANNING_METHODS
from statveil.records.recode.branch_and_bound import common_coarsening
from statveil.records.recode.evaluate import Evaluator
from statveil.records.recode.relaxation import lagrangean, relaxed_problem
from tests.records.planned_files import RANDOM_FILES, WITH_CAPS, random_story
from tests.records.stories import microdata, released
from tests.reference.files import tables_up_to, unsafe

ADULT_KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM_FILES))
def test_every_method_and_rule_gives_a_file_that_a_recount_calls_safe(seed: int) -> None:
    for rule in ("original", "recount", "wildcard"):
        data, keys = random_story(seed, rule=rule)
        coded = code_file(data, keys)
        if rule == "wildcard" and coded.records < keys.threshold:  # type: ignore[operator]
            continue
        tables = tables_up_to(len(keys.names), min(int(keys.order), len(keys.names)), int(keys.threshold))  # type: ignore[arg-type]
        for method in PLANNING_METHODS:
            plan = sv.plan_recoding(coded, method=method, seed=seed)
            assert unsafe(*released(plan), tables, rule) == 0
            assert plan.bound <= plan.cost + 1e-6


def test_the_common_coarsening_of_crossing_groups_joins_them() -> None:
    joined = common_coarsening([np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 3])])
    assert joined.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "objective"), WITH_CAPS)
def test_every_method_keeps_the_caps_or_says_that_nothing_does(method: str, objective: str) -> None:
    """Two lone values and a cap of one: only the recoding that joins them helps, dear as it is. Under a cap of none nothing does."""
    joined = sv.recode.Menu.own({"joined": {"x": "xz", "y": "y", "z": "xz"}})
    rows = [("x", "p"), ("z", "p"), *[("y", "q")] * 5]
    keys = sv.KeyVariables(fields={"a": joined, "b": None}, threshold=2, order=1, caps={"a": 1}, recoding_weight=50)
    plan = sv.plan_recoding(microdata(rows), keys, method=method, search=sv.recode.RecodingSearchOptions(objective=objective))
    assert (plan.recoding["a"], plan.suppression.total, plan.method) == ("joined", 0, method)
    assert plan.bound <= plan.cost
    apart = sv.recode.Menu.own({"renamed": {"x": "1", "y": "2", "z": "3"}})
    nothing = sv.KeyVariables(fields={"a": apart, "b": None}, threshold=2, order=1, caps={"a": 0})
    with pytest.raises(sv.InfeasibleProblem):
        sv.plan_recoding(microdata(rows), nothing, method=method, search=sv.recode.RecodingSearchOptions(objective=objective))


@pytest.mark.slow
def test_a_search_that_was_cut_short_does_not_claim_that_nothing_exists() -> None:
    joined = sv.recode.Menu.own({"joined": {"x": "xz", "y": "y", "z": "xz"}})
    rows = [("x", "p"), ("z", "p"), *[("y", "q")] * 5]
    keys = sv.KeyVariables(fields={"a": joined, "b": None}, threshold=2, order=1, caps={"a": 1})
    with pytest.raises(sv.OutOfTime, match="not proved"):
        sv.plan_recoding(microdata(rows), keys, limits=sv.Limits(seconds=1e-9))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plan() -> None:
    data, keys = random_story(12)
    for method in PLANNING_METHODS:
        one, two = (sv.plan_recoding(data, keys, method=method, seed=4) for _ in range(2))
        assert (one.levels, one.cost) == (two.levels, two.cost)


def test_unknown_words_are_refused() -> None:
    data, keys = random_story(1)
    with pytest.raises(sv.InputError):
        sv.recode.RecodingSearchOptions(objective="false")
    for wrong in ({"method": "magic"}, {"seed": -1}, {"recoding": {"a": "none such"}}, {"recoding": {"zz": "x"}}):
        with pytest.raises(sv.InputError):
            sv.plan_recoding(data, keys, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("threshold", "weight", "optimum"), [(5, 0.02, 2104.9), (5, 0.05, 4247.8), (5, 0.2, 8787.4), (3, 0.01, 1049.5)])
def test_adult_is_solved_to_its_known_optimum(shared_data: Any, threshold: int, weight: float, optimum: float) -> None:
    folder = shared_data / "microdata" / "adult"
    menus = {name: sv.recode.Menu.from_arx_csv(folder / f"adult_hierarchy_{name}.csv") for name in ADULT_KEYS}
    keys = sv.KeyVariables(fields=menus, threshold=threshold, order=3, recoding_weight=weight)
    coded = code_file(sv.read_microdata(folder / "adult.csv"), keys)
    plan = sv.plan_recoding(coded)
    assert plan.cost == pytest.approx(optimum, abs=0.05)
    assert str(plan.ending) == "optimal"
    if weight == 0.02:
        evaluator = Evaluator(coded=coded)
        relaxed = relaxed_problem(evaluator, (0,) * 8, seconds=30)
        everywhere = relaxed.everywhere()
        assert everywhere is not None
        assert lagrangean(relaxed, evaluator.menu, upper=float(everywhere.min())).bound <= everywhere.min() + 1e-6 <= plan.cost
        assert sv.plan_recoding(coded, method="tabu").cost == pytest.approx(plan.cost)
