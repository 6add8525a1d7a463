"""How deep tables go, by the officer's word alone."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest

from statveil.core.errors import InputError
from statveil.server.cube.depth import Depth, _within


@pytest.mark.parametrize("dimensions", [0, -1, True])
def test_a_depth_is_a_number_of_dimensions(dimensions: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        Depth(dimensions=dimensions)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_choices_are_those_of_the_product_that_are_shallow_enough(most: int) -> None:
    levels = (2, 3, 2)
    wanted = [each for each in itertools.product(*map(range, levels)) if sum(level > 0 for level in each) <= most]
    assert list(_within(levels, most)) == wanted


def test_a_table_that_goes_deeper_is_refused() -> None:
    class Asked:
        dimensions = ("region", "trade", "size")

    layout = cast("Any", Asked())
    Depth().check(layout)
    Depth(dimensions=3).check(layout)
    with pytest.raises(InputError, match="has 3 dimensions, filters counted; tables of this dataset have at most 2"):
        Depth(dimensions=2).check(layout)
    assert [Depth(dimensions=2).most(layout.dimensions), Depth().most(layout.dimensions)] == [2, 3]
