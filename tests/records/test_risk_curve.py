"""The risk-utility curve: less risk for less information, by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import statveil as sv
from statveil.recode import risk_utility

TOWNS = ["p"] + ["q"] * 3 + ["r"] * 6


@pytest.mark.parametrize("rule", ["original", "recount"])
def test_blanks_lower_the_risk_and_what_the_file_tells(rule: Any) -> None:
    data = sv.read_microdata(pa.table({"town": TOWNS}))
    points = risk_utility(data, sv.KeyVariables(fields={"town": None}, order=1, rule=rule), thresholds=[2, 4, 7])
    assert [point.blanks for point in points] == [0, 1, 4, 10]
    assert [point.largest for point in points] == pytest.approx([1, 1 / 3, 1 / 6, 0])
    assert [point.expected for point in points] == pytest.approx([3 / 10, 2 / 10, 1 / 10, 0])
    assert [point.kept for point in points] == sorted((point.kept for point in points), reverse=True)
    assert all(point.cost == point.bound for point in points)


def test_weights_stand_for_the_population() -> None:
    data = sv.read_microdata(pa.table({"town": TOWNS, "w": [1.0] * 10}))
    keys = sv.KeyVariables(fields={"town": None}, order=1, weight="w", rule="recount")
    assert risk_utility(data, keys, thresholds=[2])[1].largest == pytest.approx(1 / 3)


def test_a_curve_needs_a_threshold() -> None:
    data = sv.read_microdata(pa.table({"town": TOWNS}))
    with pytest.raises(sv.InputError, match="a threshold or more"):
        risk_utility(data, sv.KeyVariables(fields={"town": None}), thresholds=[])
