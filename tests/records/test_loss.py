"""What is lost, in one unit: values. Blanks alone are a plan too, so that no plan loses more than they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.loss import known_mass, recoding_costs, shares_lost
from statveil.records.plan import PLANNING_METHODS
from tests.records.stories import halves, microdata, random_records

WIPED = sv.recode.Menu.own({"all": dict.fromkeys(["v0", "v1", "v2", "v3"], "*")})


def four(menu: sv.recode.Menu | None, **settings: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields={"a": menu}, **{"threshold": 2, "order": 1, **settings})


def test_half_the_entropy_of_four_equal_values_is_lost_by_pairs() -> None:
    coded = code_file(microdata([("v0",), ("v1",), ("v2",), ("v3",)]), four(halves(4)))
    assert shares_lost(coded, "entropy")[0] == pytest.approx([0.0, 0.5, 1.0])


def test_a_code_for_two_of_four_values_loses_a_third_of_each() -> None:
    """(g - 1) / (m - 1): pairs lose 1/3 of a value in each record, all in one code the whole."""
    coded = code_file(microdata([("v0",), ("v1",), ("v2",), ("v3",)]), four(halves(4)))
    assert shares_lost(coded, "values")[0] == pytest.approx([0.0, 1 / 3, 1.0])


def test_values_are_averaged_over_records_and_unknown_ones_left_out() -> None:
    """v0 and v1 share a code, v2 stands alone: four of the five known records lose half a value."""
    menu = sv.recode.Menu.own({"two": {"v0": "p", "v1": "p", "v2": "q"}})
    coded = code_file(microdata([("v0",), ("v0",), ("v0",), ("v1",), ("v2",), (None,)]), four(menu))
    assert shares_lost(coded, "values")[0] == pytest.approx([0.0, 0.4])
    assert known_mass(coded).tolist() == [5.0]
    assert recoding_costs(code_file(microdata([("v0",), ("v1",), ("v2",), (None,)]), four(menu, recoding_costs="values")))[0][1] == 1.0


def test_wiping_a_field_costs_what_blanking_it_everywhere_does() -> None:
    rows = [(f"v{n % 4}", "x") for n in range(7)]
    for measure in ("entropy", "values"):
        for costs in ("equal", "priority", {"a": 2.5, "b": 1.0}):
            keys = sv.KeyVariables(fields={"a": WIPED, "b": None}, recoding_costs=measure, costs=costs)
            coded = code_file(microdata(rows), keys)
            blank = {"equal": 1.0, "priority": 2.0}.get(costs if isinstance(costs, str) else "", 2.5)
            assert recoding_costs(coded)[0][1] == pytest.approx(7 * blank)


def many_lone_values() -> list[tuple[str, str]]:
    """Ten lone pairs among a hundred records: ten blanks, or field a wiped."""
    return [(f"v{n % 4}", f"w{n}") for n in range(10)] + [(f"v{n % 4}", "w") for n in range(90)]


def test_by_default_a_field_is_not_wiped_to_save_a_few_blanks() -> None:
    """The weight of 0.02 that was the default wiped field b in all 100 records to save ten blanks."""
    everything = sv.recode.Menu.own({"all": {"w": "*", **{f"w{n}": "*" for n in range(10)}}})
    keys = sv.KeyVariables(fields={"a": None, "b": everything}, threshold=2, order=2)
    plan = sv.plan_recoding(microdata(many_lone_values()), keys)
    assert (plan.suppression.total, plan.loss.wiped, plan.loss.lost, plan.blanks_alone) == (10, (), 10.0, 10.0)
    cheap = sv.plan_recoding(microdata(many_lone_values()), sv.KeyVariables(fields=keys.fields, threshold=2, order=2, recoding_weight=0.02))
    assert (cheap.suppression.total, cheap.loss.wiped, cheap.loss.wiped_values, cheap.loss.lost) == (0, ("b",), 100, 100.0)
    assert repr(cheap).startswith("FilePlan(wiped: b; ")
    assert cheap.loss.words() == "b wiped in every record (100 values); 100 of 200 key values lost (50.0%): 100 by recoding, 0 by blanks"
    assert next(iter(cheap.loss.figures())) == "wiped"


def test_a_field_that_is_blank_in_every_record_is_wiped_too() -> None:
    plan = sv.plan_recoding(microdata([("v0", "x"), ("v1", "x"), ("v2", "x")]), sv.KeyVariables(fields=dict.fromkeys("ab"), threshold=2))
    assert (plan.loss.wiped, plan.loss.wiped_values, plan.loss.lost) == (("a",), 3, 3.0)


def test_a_blank_in_a_recoded_field_is_one_value_and_no_more() -> None:
    """Ten pairs of codes and a lone one: recoding loses half of what is left, the blank its whole value."""
    keys = four(halves(4), recoding_costs={"a": {"pairs": 0.0, "all": 100.0}}, threshold=3)
    plan = sv.plan_recoding(microdata([("v0",)] * 2 + [("v1",)] * 2 + [("v2",)]), keys)
    assert (plan.recoding["a"], plan.suppression.total) == ("pairs", 1)
    assert plan.loss.lost == pytest.approx(1 + 4 * plan.loss.fields["a"].share)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_method_under_any_rule_loses_more_than_blanks_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_records(seed, records=int(rng.integers(8, 40)), sizes=(5, 4, 3), missing=float(rng.choice([0.0, 0.1])))
    measure, rule = ("entropy", "values")[seed % 2], ("original", "recount", "wildcard")[seed % 3]
    fields = {name: halves(size) for name, size in zip("abc", (5, 4, 3), strict=True)}
    keys = sv.KeyVariables(fields=fields, threshold=3, order=2, rule=rule, recoding_costs=measure)
    coded = code_file(microdata(rows), keys)
    alone = sv.recode.suppress(coded)
    for method in PLANNING_METHODS if rule != "wildcard" else ("auto", "tabu"):
        plan = sv.plan_recoding(coded, method=method, seed=seed)
        assert plan.loss.lost <= plan.cost + 1e-9 <= alone.cost + 2e-9, method
        assert 0 < plan.bound <= plan.cost + 1e-9 or alone.cost == 0, method
        assert np.isfinite(plan.gap)
