"""Second contributors: what is left of a released sum without their own must not be the first one's (T13)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from statveil.server.cube.attacks import Edition, second_contributor
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import draw_floors, position_ids, second_misses
from statveil.server.cube.lattice import build_lattice
from statveil.server.cube.prepare import prepare_cube
from tests.server.cube.stories import village
from tests.server.village import Record, key_of


def dominated() -> list[Record]:
    """A giant alone in its cell, in sums with some small ones; the rest of the country is safe and can make up for little."""
    safe = [("N1", "metal"), ("N2", "metal"), ("S1", "food"), ("S1", "metal"), ("S2", "food"), ("S2", "metal")]
    found: list[Record] = [("giant", "giant", "N1", "food", 50_000)]
    found += [(f"small{size}", f"small{size}", "N2", "food", size) for size in (1500, 1100, 900, 700)]
    for region, trade in safe:
        found += [(f"{region}{trade}{number}", f"{region}{trade}{number}", region, trade, 2000 + 37 * number) for number in range(10)]
    return found


def test_what_is_past_the_second_contributor_is_its_part_and_the_rest(tmp_path: Path) -> None:
    data = village(tmp_path, [(name, name, "N1", "food", size) for name, size in (("a", 1000), ("b", 300), ("c", 40), ("d", 20))])
    block = data.block("turnover")
    lattice = build_lattice(data, block, Depth())
    level, little = second_misses(block, lattice)
    assert set(level.tolist()) == {160}  # 1000 x 10% and the rest of 60
    assert little.all()


def test_second_contributors_miss_the_first_under_every_key(tmp_path: Path) -> None:
    """So few sensitive sums are near none by the share that chance is left."""
    hits, tries = 0, 0
    for number in range(1, 13):
        folder, key = tmp_path / str(number), key_of(number)
        folder.mkdir()
        data = village(folder, dominated())
        block = data.block("turnover")
        cube, lattice = prepare_cube(data, "turnover", depth=Depth(), key=key), build_lattice(data, block, Depth())
        edition = Edition(lattice, cube.released, position_ids(key, block, lattice), block.holding)
        score = second_contributor(edition)
        hits, tries = hits + score.hits, tries + score.tries
        fallen = edition.moved < 0
        assert (np.abs(edition.moved) >= np.where(fallen, lattice.down, lattice.up)).all()
        assert (draw_floors(key, block, lattice).beyond >= second_misses(block, lattice)[0]).all()
    assert tries == 12  # the food of the north
    assert hits == 0
