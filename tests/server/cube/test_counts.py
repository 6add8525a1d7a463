"""Counts are zero or three and more."""

from __future__ import annotations

from pathlib import Path

from statveil.server.cube.depth import Depth
from statveil.server.cube.prepare import prepare_cube
from tests.server.cube.stories import KEY, table, village


def test_counts_are_zero_or_three_and_more_and_small_ones_are_shown_as_such(tmp_path: Path) -> None:
    data = village(tmp_path)
    cube = prepare_cube(data, "units", depth=Depth(), key=KEY)
    layout = table(data, "units", "region", "trade")
    found, hidden = cube.values(layout), cube.suppressed(layout)
    assert not ((found > 0) & (found < 3)).any()
    assert not (hidden & (found > 0)).any()
    region, trade = layout.cuts
    assert not hidden[region.position["S2"], trade.position["metal"]]  # nobody there: a true zero
    assert found[region.position["N1"], trade.position["food"]] >= 3
