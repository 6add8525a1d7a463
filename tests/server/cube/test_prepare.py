"""From records to a cube: stories small enough to add up by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.server.cube.cube import Cube
from statveil.server.cube.depth import Depth
from statveil.server.cube.prepare import prepare_cube
from tests.server.cube.stories import KEY, table, village
from tests.server.village import VILLAGE


def test_the_village_is_answered_by_sums_and_its_single_firms_are_hidden(tmp_path: Path) -> None:
    data = village(tmp_path)
    cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY)
    layout = table(data, "turnover", "region", "trade")
    region, trade = layout.cuts
    found = cube.values(layout)
    at = {(one, other): int(found[region.position[one], trade.position[other]]) for one in region.codes for other in trade.codes}
    assert at["N", "Total"] == at["N1", "Total"] + at["N2", "Total"] == at["N", "food"] + at["N", "metal"]
    assert abs(at["N1", "metal"] - 900) >= 90  # the smith alone
    assert abs(at["S1", "food"] - 90) >= 9  # the inn; a firm without turnover hides nobody
    assert at["S2", "metal"] == 0  # nobody there
    alone = cube.values(table(data, "turnover", "trade"))
    assert alone.tolist() == [at["Total", code] for code in trade.codes]  # a cell has one number


def test_populations_are_sums(tmp_path: Path) -> None:
    data = village(tmp_path, populations=["region"])
    cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY)
    whole, trade = cube.values(table(data, "turnover", "region")), table(data, "turnover", "trade", filters={"region": ("N1", "S2")})
    region = table(data, "turnover", "region").cuts[0]
    cut = trade.cuts[0]
    place = trade.levels[0].place_of(("N1", "S2"))
    assert cut.name == "region"
    assert cube.values(trade)[place, 0] == whole[region.position["N1"]] + whole[region.position["S2"]]


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


def test_same_data_and_key_same_bytes_in_whatever_order(tmp_path: Path) -> None:
    made = []
    for number, records in enumerate((VILLAGE, VILLAGE[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        data = village(folder, records)
        cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY)
        made.append((cube.to_bytes(), cube.memory.to_bytes()))
    assert made[0] == made[1]
    again = Cube.from_bytes(made[0][0])
    assert again.to_bytes() == made[0][0]
    assert np.array_equal(again.values(table(data, "turnover", "trade")), cube.values(table(data, "turnover", "trade")))


def test_what_is_deeper_than_the_officer_allows_is_refused_whatever_the_records(tmp_path: Path) -> None:
    data = village(tmp_path)
    flat = prepare_cube(data, "turnover", depth=Depth(dimensions=1), key=KEY)
    assert flat.values(table(data, "turnover", "trade")).size == 3
    with pytest.raises(InputError, match="2 dimensions"):
        flat.values(table(data, "turnover", "region", "trade"))
    high = prepare_cube(data, "turnover", depth=Depth(lowest={"region": "part"}), key=KEY)
    assert high.values(table(data, "turnover", "region:part", "trade")).shape == (3, 3)
    with pytest.raises(InputError, match="'part'"):
        high.values(table(data, "turnover", "region"))


def test_a_later_edition_keeps_its_senses(tmp_path: Path) -> None:
    memory, directions = None, []
    for year in range(4):
        folder = tmp_path / str(year)
        folder.mkdir()
        data = village(folder, [(*record[:4], record[4] + year) for record in VILLAGE])
        cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY, memory=memory)
        layout = table(data, "turnover", "region", "trade")
        region, trade = layout.cuts
        directions.append(np.sign(cube.values(layout)[region.position["N1"], trade.position["metal"]] - 900 - year))
        memory = cube.memory
    assert len(set(directions)) == 1
