"""Which combinations are rare: by threshold, identification level, weights, and missing values as a category."""

from __future__ import annotations

import statveil as sv
from tests.records.stories import microdata
from tests.records.suppress.blanked import keys


def test_weights_count_in_the_population() -> None:
    data = microdata([("x", "30"), ("x", "30"), ("y", "500")], names=("a", "w"))
    wanted = sv.KeyVariables(fields={"a": None}, threshold=100, order=1, counting="weights", weight="w")
    assert sv.recode.suppress(data, wanted).total == 2


def test_mu_argus_calls_the_threshold_itself_unsafe() -> None:
    data = microdata([("x",), ("x",), ("y",), ("y",), ("y",)])
    assert sv.find_unsafe(data, keys(1, threshold=2, order=1)).records == 0
    assert sv.find_unsafe(data, keys(1, threshold=2, order=1, at_most=True)).records == 2


def test_identification_levels_give_the_tables_of_mu_argus() -> None:
    wanted = sv.KeyVariables(fields=dict.fromkeys("abcd"), levels={"a": 1, "b": 2, "c": 3, "d": 3})
    assert [places for places, _ in wanted.tables()] == [(0, 1, 2), (0, 1, 3)]


def test_missing_as_a_category_can_be_rare() -> None:
    rows = [("x", "p"), ("x", "p"), (None, "p")]
    assert sv.find_unsafe(microdata(rows), keys(2, threshold=2, order=1)).records == 0
    assert sv.find_unsafe(microdata(rows), keys(2, threshold=2, order=1, missing="category")).records == 1
