"""S4's example, Tables 1 and 2: its three programs written out, and what the library makes of them."""

from __future__ import annotations

from itertools import product

import pytest

import statveil as sv
from tests.records.stories import S4_RECORDS, microdata, s4_menu

KEYS = sv.KeyVariables(fields={"a": s4_menu("1"), "b": s4_menu("10")}, threshold=2, order=2)


def suppression_program(cost: float) -> float:
    """Program (1): x11 + x12 >= 1, x21 >= 1, x22 >= 1."""
    return min(cost * sum(x) for x in product((0, 1), repeat=4) if x[0] + x[1] >= 1 and x[2] >= 1 and x[3] >= 1)


def restricted_program(blank: float, pairs: float, decade: float) -> float:
    """Program (2): recodings protect on their own or not at all; y is (y11, y12, y13, y21, y22, y23)."""
    best = float("inf")
    for x in product((0, 1), repeat=4):
        for first, second in product(range(3), repeat=2):
            y = [int(first == k) for k in range(3)] + [int(second == k) for k in range(3)]
            if x[0] + x[1] + y[1] + y[4] >= 1 and x[2] + y[0] + y[1] >= 1 and x[3] + y[3] + y[4] >= 1:
                best = min(best, blank * sum(x) + pairs * (y[0] + y[3]) + decade * (y[1] + y[4]))
    return best


def complete_program(pairs: float, decade: float) -> sv.FilePlan:
    costs = {name: {"pairs": pairs, "decade": decade} for name in ("a", "b")}
    keys = sv.KeyVariables(fields=KEYS.fields, threshold=2, order=2, recoding_costs=costs)
    return sv.plan_recoding(microdata(S4_RECORDS), keys)


def test_the_minucs_are_those_of_table_1() -> None:
    found = sv.find_unsafe(microdata(S4_RECORDS), KEYS)
    assert found.records == 2
    assert [found.minucs(int(key)) for key in found.keys] == [[("a", "b")], [("a",), ("b",)]]
    assert found.manucs(int(found.keys[1])) == [("a", "b")]
    assert found.why(int(found.keys[1])) == ["Only 1 record has a = 11.", "Only 1 record has b = 101."]


def test_program_1_blanks_three_values() -> None:
    found = sv.recode.suppress(microdata(S4_RECORDS), KEYS)
    assert found.cost == suppression_program(1.0) == 3
    assert str(found.ending) == "optimal"


def test_the_complete_model_sees_what_recodings_do_together() -> None:
    """Pairs in both fields protect combination 1 together, though neither does alone: (3) costs 2.8 where (2) costs 3."""
    plan = complete_program(pairs=1.4, decade=10.0)
    assert restricted_program(1.0, 1.4, 10.0) == 3
    assert plan.cost == pytest.approx(2.8)
    assert plan.recoding == {"a": "pairs", "b": "pairs"}
    assert plan.suppression.total == 0
    assert plan.gap == 0


def test_dear_recodings_leave_the_blanks_of_program_1() -> None:
    plan = complete_program(pairs=5.0, decade=5.0)
    assert plan.cost == restricted_program(1.0, 5.0, 5.0) == 3
    assert set(plan.recoding.values()) == {"as it is"}


def test_a_cheap_decade_is_taken_by_both_models() -> None:
    """The decade in field a leaves 101 alone in field b: one blank, or pairs there."""
    plan = complete_program(pairs=0.9, decade=0.3)
    assert plan.cost == restricted_program(1.0, 0.9, 0.3) == pytest.approx(0.6)
    assert plan.recoding == {"a": "decade", "b": "decade"}


@pytest.mark.parametrize(("pairs", "decade"), [(1.4, 10.0), (5.0, 5.0), (0.9, 0.3), (0.4, 0.9), (1.1, 1.6)])
def test_program_2_is_a_method_by_name(pairs: float, decade: float) -> None:
    """What model (2) costs is what its program costs; its recoding then gets the blanks that it really needs."""
    costs = {name: {"pairs": pairs, "decade": decade} for name in ("a", "b")}
    keys = sv.KeyVariables(fields=KEYS.fields, threshold=2, order=2, recoding_costs=costs)
    plan = sv.plan_recoding(microdata(S4_RECORDS), keys, method="restricted")
    assert plan.facts["cost of model (2)"] == pytest.approx(restricted_program(1.0, pairs, decade))
    assert plan.facts["proved in model (2)"]
    assert complete_program(pairs, decade).cost - 1e-9 <= plan.cost
    assert 0 < plan.bound <= plan.cost + 1e-9
