"""Totals that are public elsewhere: held to the unit under every key, refused beforehand where they tell a cell, attacked."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.server.cube import prepare
from statveil.server.cube.attacks import Edition
from statveil.server.cube.depth import Depth
from statveil.server.cube.floors import position_ids
from statveil.server.cube.lattice import build_lattice
from statveil.server.cube.prepare import prepare_cube
from statveil.server.cube.public import places_of, rows_held
from statveil.server.cube.public_attacks import exact_totals
from tests.server.cube.publics import TOWN, _public
from tests.server.cube.stories import KEY, village
from tests.server.village import VILLAGE


@pytest.mark.slow
def test_totals_of_two_dimensions_are_held_to_the_unit_under_every_key(tmp_path: Path) -> None:
    data = village(tmp_path, TOWN)
    block = data.block("turnover")
    lattice = build_lattice(data, block, Depth())
    wanted = [_public(), *(_public(**{each.name: code}) for each in lattice.grid.dimensions for code in each.codes[1:])]
    of = {each: rows_held(places_of([total], "turnover", lattice.grid, 2), lattice) for each, total in enumerate(wanted)}
    safe = [each for each, rows in of.items() if rows and not lattice.sensitive[rows[0][0]]]
    assert len(safe) > 4
    for key in (SecretKey(bytes([number]) * 32) for number in range(1, 5)):
        cube = prepare_cube(data, "turnover", depth=Depth(), key=key, public=[wanted[each] for each in safe])
        moved = lattice.sums(cube.released) - lattice.value
        assert [int(moved[of[each][0][0]]) for each in safe] == [0] * len(safe)
        assert (moved[lattice.sensitive] != 0).all()
    edition = Edition(lattice, cube.released, position_ids(KEY, block, lattice), block.holding)
    told, subtracted = exact_totals(edition, [of[each][0][0] for each in safe])
    assert told.tries > 0
    assert 0 <= told.hits <= told.tries
    assert subtracted.hits <= subtracted.tries


def test_public_totals_whose_difference_is_a_single_firm_are_refused_before_anything_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ("big", "big", "N2", "food", 5000)
    data = village(tmp_path, [*(each for each in VILLAGE if each[2:4] != ("N2", "food")), alone])
    monkeypatch.setattr(prepare, "search_signs", None)
    public = [_public(region="N", trade="food"), _public(region="N1", trade="food")]
    with pytest.raises(InputError, match="tell 1 cells that must be protected") as refused:
        prepare_cube(data, "turnover", depth=Depth(), key=KEY, public=public)
    assert "within" in (refused.value.hint or "")
    assert "5000" not in str(refused.value)
