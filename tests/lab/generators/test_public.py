"""Tables like the public ones: they add up, small cells of all kinds are sensitive, and the same seed gives the same table."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil_lab.generators.public import LARGEST, PublicShape, public_system

NINE = PublicShape()
HIERARCHIES = PublicShape(codes=(22, 17, 16), inner=(6, 5, 4), sensitive=6, empty=10, level=10)


@pytest.mark.parametrize(("shape", "cells"), [(NINE, 6_561), (HIERARCHIES, 5_984)])
def test_they_add_up_and_small_cells_are_sensitive(shape: PublicShape, cells: int) -> None:
    system = public_system(shape, seed=1)
    assert system.value.size == cells
    assert not (system.relations @ system.value).any()
    sensitive, empty = system.status == "u", system.value == 0
    assert sensitive.mean() == pytest.approx(shape.sensitive / 100, rel=0.01)
    assert system.value[sensitive].max() <= LARGEST
    assert (100 * system.upper_level[sensitive] >= shape.level * system.value[sensitive]).all()
    assert not system.upper_level[~sensitive].any()
    assert np.array_equal(system.status == "z", empty)
    assert not system.upper[empty].any()
    assert (system.cost == 1).all()


def test_totals_are_among_the_sensitive_ones() -> None:
    system = public_system(HIERARCHIES, seed=1)
    finest = np.zeros(HIERARCHIES.codes, dtype=np.bool_)
    finest[6:, 5:, 4:] = True
    assert (system.status == "u")[~finest.ravel()].any()


def test_the_same_seed_gives_the_same_table() -> None:
    one, same, other = (public_system(NINE, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.value, same.value)
    assert np.array_equal(one.status, same.status)
    assert not np.array_equal(one.value, other.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"codes": (9,), "inner": (1,)},
        {"inner": (1, 1, 1)},
        {"inner": (1, 1, 1, 5)},
        {"depth": 0},
        {"inner": (2, 1, 1, 1), "depth": 1},
        {"codes": (99, 99, 99, 99)},
        {"sensitive": 0},
        {"empty": 91},
        {"level": 101},
    ],
)
def test_shapes_that_make_no_table_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        PublicShape(**changes)
