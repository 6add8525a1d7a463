"""Numbers that have no place, or a place twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.compare import table_shown
from statveil.publish.read_back.json_stat_file import read_json_stat_file
from statveil.publish.read_back.pc_axis_file import read_pc_axis
from statveil.publish.read_back.shown import exact_json, shown_grid
from statveil.tables.table import UnionCell
from tests.publish.read_back.stories import edit, found
from tests.publish.stories import MakeRelease


def test_too_few_numbers_have_no_place(trade: Any, tmp_path: Path) -> None:
    [axis] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(axis, "DATA=\n12 ", "DATA=\n")
    [stat] = export.write_json_stat(trade, tmp_path / "x.json")
    edit(stat, '"value":[12,', '"value":[')
    for path, read in ((axis, read_pc_axis), (stat, read_json_stat_file)):
        assert found(trade, read, path)[0] == "it has not one number for each position"


def test_a_key_that_is_there_twice_has_two_meanings() -> None:
    with pytest.raises(FormatError, match="names a key twice"):
        exact_json('{"value": [1], "value": [2]}', Path("x.json"))


def test_the_sum_of_a_set_of_cells_is_added_up_from_what_is_shown(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 10, ("b",): 20})
    union = UnionCell(words="a and b", cell=3, members=np.array([1, 2]))
    table = replace(release.table, value=np.array([30, 10, 20, 30]), unions=(union,))
    assert table_shown(table, [shown_grid([["Total", "a", "b"]], ["31", "10", "21"])]).value.tolist() == [31, 10, 21, 31]
