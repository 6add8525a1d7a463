"""From records to a cube: stories small enough to add up by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import AuditFailed, InputError
from statveil.core.secret import SecretKey
from statveil.server.cube import prepare
from statveil.server.cube.cube import Cube
from statveil.server.cube.depth import Depth
from statveil.server.cube.memory import CubeMemory
from statveil.server.cube.prepare import prepare_cube
from statveil.server.cube.public import PublicTotal
from tests.server.cube.prepared import UGLY
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


@pytest.mark.parametrize("story", UGLY)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_ugly_data_pass_the_audit_in_this_edition_and_the_next(tmp_path: Path, story: str, dimensions: int) -> None:
    data = village(tmp_path, UGLY[story])
    depth, memory = Depth(dimensions=dimensions), None
    for _ in range(2):
        for measure in ("turnover", "units"):
            cube = prepare_cube(data, measure, depth=depth, key=KEY, memory=memory)
            memory = CubeMemory.from_bytes(cube.memory.to_bytes())
    layout = table(data, "units", "trade")
    assert not ((cube.values(layout) > 0) & (cube.values(layout) < 3)).any()


def test_public_totals_are_held_and_sensitive_ones_cannot_be(tmp_path: Path) -> None:
    data = village(tmp_path)
    held = PublicTotal(measure="turnover", codes={"trade": "food"})
    cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY, public=[held])
    layout = table(data, "turnover", "trade")
    assert cube.values(layout)[layout.cuts[0].position["food"]] == 400 + 300 + 350 + 800 + 60 + 90 + 210 + 190 + 205
    with pytest.raises(InputError, match="sensitive"):
        prepare_cube(
            data, "turnover", depth=Depth(), key=KEY, public=[PublicTotal(measure="turnover", codes={"region": "N1", "trade": "metal"})]
        )
    with pytest.raises(InputError, match="not a dimension"):
        prepare_cube(data, "turnover", depth=Depth(), key=KEY, public=[PublicTotal(measure="turnover", codes={"colour": "red"})])


def test_what_the_audit_finds_fault_with_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = village(tmp_path)
    monkeypatch.setattr(prepare, "adjust", lambda lattice, *_: np.zeros(lattice.leaves, np.int64))
    with pytest.raises(AuditFailed):
        prepare_cube(data, "turnover", depth=Depth(), key=KEY)


def test_another_key_moves_other_cells_and_refuses_nothing_else(tmp_path: Path) -> None:
    data = village(tmp_path)
    one, other = (prepare_cube(data, "turnover", depth=Depth(), key=key) for key in (KEY, SecretKey(b"another key, also of 32 bytes...")))
    layout = table(data, "turnover", "region", "trade")
    assert (one.values(layout) != other.values(layout)).any()
    assert np.array_equal(one.values(layout) == 0, other.values(layout) == 0)
