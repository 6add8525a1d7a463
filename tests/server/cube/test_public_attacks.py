"""A rival that subtracts from an exact total is measured."""

from __future__ import annotations

from pathlib import Path

from statveil.server.cube.attacks import Edition
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import position_ids
from statveil.server.cube.lattice import build_lattice
from statveil.server.cube.public import places_of, rows_held
from statveil.server.cube.public_attacks import exact_totals
from tests.server.cube.publics import _public
from tests.server.cube.stories import KEY, village


def test_a_rival_that_subtracts_from_an_exact_total_is_measured(tmp_path: Path) -> None:
    """Two firms and next to nothing else in a total: what the one moved, the other moved back."""
    small = [(f"s{each}", f"s{each}", "N1", "food", 9) for each in range(8)]
    data = village(tmp_path, [("a", "a", "N1", "metal", 1000), ("b", "b", "N2", "food", 1000), *small])
    block = data.block("turnover")
    lattice = build_lattice(data, block, Depth())
    change = lattice.leaf_value * 0
    place = {int(value): at for at, value in enumerate(lattice.leaf_value)}
    metal, food = (at for at, value in enumerate(lattice.leaf_value) if value == 1000)
    change[metal], change[food] = 120, -120
    assert set(place) == {72, 1000}
    edition = Edition(lattice, lattice.leaf_value + change, position_ids(KEY, block, lattice), block.holding)
    total = [int(row) for row, _ in rows_held(places_of([_public()], "turnover", lattice.grid, 2), lattice)]
    subtracted = exact_totals(edition, total)[1]
    assert (subtracted.hits, subtracted.tries) == (2, 2)
