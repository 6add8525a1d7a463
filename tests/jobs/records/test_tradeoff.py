"""The trade-off of a file: from blanks alone to recoding alone, in Python, as a folder and at the command line."""

from __future__ import annotations

import pytest

import statveil as sv
from statveil.records.coding import code_file
from tests.jobs.records.fronts import people
from tests.records.stories import halves, microdata, random_records


@pytest.mark.parametrize("rule", ["original", pytest.param("recount", marks=pytest.mark.slow)])
def test_every_point_is_a_plan_and_the_least_is_what_planning_chooses(rule: str) -> None:
    rows = random_records(4, records=70, sizes=(6, 5, 4))
    fields = {name: halves(size) for name, size in zip("abc", (6, 5, 4), strict=True)}
    coded = code_file(microdata(rows), sv.KeyVariables(fields=fields, threshold=3, order=2, rule=rule))
    front = sv.recode.tradeoff_file(coded)
    assert front.complete == (rule == "original")  # the blanks of all recodings were priced under that rule
    best = sv.plan_recoding(coded)
    assert front.points[front.least].total == pytest.approx(best.cost)
    assert front.points[0].recoding_loss == 0
    assert [each.recoding_loss for each in front.points] == sorted(each.recoding_loss for each in front.points)
    for number, point in enumerate(front.points, start=1):
        plan = front.plan(number)
        assert (plan.recoding, plan.suppression.cost) == (point.recoding, pytest.approx(point.blank_cost))
    if rule == "original":
        assert front.proved == len(front.points)


def test_the_weight_of_a_plan_does_not_bend_the_front() -> None:
    data = sv.read_microdata(people())
    fronts = [
        sv.recode.tradeoff_file(
            data, sv.KeyVariables(fields={"age": sv.recode.Menu.intervals(10)}, threshold=2, order=1, recoding_weight=w)
        )
        for w in (1.0, 0.02)
    ]
    assert [each.recoding_loss for each in fronts[0].points] == [each.recoding_loss for each in fronts[1].points]


def test_a_front_of_wildcards_or_of_one_point_is_refused() -> None:
    data = sv.read_microdata(people())
    with pytest.raises(sv.InputError, match="wildcard"):
        sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}, rule="wildcard"))
    with pytest.raises(sv.InputError, match="points"):
        sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}), points=1)
    front = sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}, threshold=2, order=1))
    assert repr(front).startswith("FileTradeoff(1 points, 1 proved, ")
    assert repr(front.points[0]).endswith("blanks, proved)")
    with pytest.raises(sv.InputError, match="no point 2"):
        front.plan(2)
