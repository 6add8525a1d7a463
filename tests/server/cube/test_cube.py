"""A cube is its bytes: read back it gives the same numbers, and a byte that changed is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import FormatError
from statveil.server.cube.cube import Cube
from statveil.server.cube.depth import Depth
from statveil.server.cube.prepare import prepare_cube
from tests.server.cube.stories import KEY, table, village


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cube")


def test_a_cube_of_counts_reads_back_with_what_is_too_small_to_show(folder: Path) -> None:
    data = village(folder)
    cube = prepare_cube(data, "units", depth=Depth(dimensions=2), key=KEY)
    again, layout = Cube.from_bytes(cube.to_bytes()), table(data, "units", "region", "trade")
    assert (again.measure, again.dimensions, again.depth) == (cube.measure, cube.dimensions, cube.depth)
    assert np.array_equal(again.values(layout), cube.values(layout))
    assert np.array_equal(again.suppressed(layout), cube.suppressed(layout))
    assert again.suppressed(layout).any()
    assert again.accuracy == cube.accuracy


def test_a_byte_that_changed_anywhere_is_refused(folder: Path) -> None:
    content = prepare_cube(village(folder), "turnover", depth=Depth(), key=KEY).to_bytes()
    for place in (0, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(FormatError, match="damaged or of another version"):
            Cube.from_bytes(bytes(changed))
