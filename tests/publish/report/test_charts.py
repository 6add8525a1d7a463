"""Charts of changes: shares by size, how much goes up and down, and nothing where there is nothing to show."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.report.changes import measure
from statveil.publish.report.charts import GROUPS, all_charts, distribution
from tests.publish.stories import MakeRelease


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return list(spec["data"]["values"])


def test_shares_of_each_group_add_up_to_one(village: Any) -> None:
    rows = rows_of(distribution(measure(village)))
    for group in GROUPS:
        assert sum(row["share"] for row in rows if row["group"] == group) == pytest.approx(1)


def test_a_cell_that_stays_is_in_the_first_bin(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 100, ("b",): 100}, changes={("a",): 2, ("b",): -2})
    filled = {(row["bin"], row["cells"]) for row in rows_of(distribution(measure(release))) if row["cells"]}
    assert filled == {("0", 1), ("≤ 3", 2)}, "the total stays, the parts move by 2%"


def test_only_charts_with_something_to_show_are_there(make_release: MakeRelease) -> None:
    one, none = (make_release({"r": Hierarchy.flat("a")}, cells) for cells in ({("a",): 1}, {}))
    assert all(rows_of(each) for each in all_charts(measure(one), one.adjustment).values())
    assert "distribution" not in all_charts(measure(none), none.adjustment)
