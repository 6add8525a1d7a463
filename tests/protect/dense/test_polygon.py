"""The bound of polygons and covers: by hand, against the linear program, and never from duals that are not feasible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from statveil.protect.dense.polygon import LineMultipliers, PolygonBound
from statveil.solve.tensors import Tensors


def program_of(weight: np.ndarray, least: np.ndarray, covers: list[np.ndarray] | None = None) -> PolygonBound:
    on = Tensors(0)
    nothing = [np.zeros(least.sum(axis=axis, keepdims=True).shape) for axis in range(least.ndim)]
    given = [on.put(each, "float") for each in covers or nothing]
    return PolygonBound(on, on.put(weight, "float"), on.put(least, "float"), given)


def by_simplex(weight: np.ndarray, least: np.ndarray) -> float:
    cells, rows = np.arange(least.size).reshape(least.shape), []
    for axis in range(least.ndim):
        for line in np.moveaxis(cells, axis, -1).reshape(-1, least.shape[axis]):
            for longest in line:
                row = np.zeros(least.size)
                row[line], row[longest] = -1, 1
                rows.append(row)
    found = linprog(weight.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=[(low, None) for low in least.ravel()])
    return float(found.fun)


@pytest.mark.parametrize("seed", range(4))
def test_it_comes_near_the_program_and_never_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (4, 3, 3) if seed % 2 else (6, 4)
    least = np.pad(np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0), [(0, 1)] * len(shape))
    weight = np.ones(least.shape) if seed < 2 else rng.uniform(0.5, 2, least.shape)
    best = by_simplex(weight, least)
    program = program_of(weight, least)
    assert program.raise_bound(most=6000, stop=lambda: False) == program.bound
    assert best * 0.985 <= program.bound <= best * (1 + 1e-5)


def test_one_cell_needs_a_box() -> None:
    """A single sensitive cell of 5 in a 2 x 2 table: its row and its column bring 5 each, and so does what crosses them: 20."""
    least = np.zeros((3, 3))
    least[0, 0] = 5
    program = program_of(np.ones((3, 3)), least)
    assert program.raise_bound(most=6000, stop=lambda: False) == pytest.approx(20, rel=1e-2)


def test_covers_bring_what_polygons_miss() -> None:
    """Three equal levels of 4 in a row: a triangle for the polygons, but signs leave 4 over."""
    least = np.zeros((2, 5))
    least[0, :3] = 4
    rows = np.array([[16.0], [0.0]])
    with_covers = program_of(np.ones((2, 5)), least, [np.zeros((1, 5)), rows])
    plain = program_of(np.ones((2, 5)), least)
    assert plain.raise_bound(most=4000, stop=lambda: False) < with_covers.raise_bound(most=4000, stop=lambda: False)


def test_duals_that_take_too_much_shrink_until_they_are_feasible() -> None:
    rng = np.random.default_rng(0)
    least = rng.integers(0, 5, (4, 5)).astype(np.float64)
    program = program_of(np.ones((4, 5)), least)
    wild = LineMultipliers(
        [rng.uniform(0, 3, (4, 5)).astype(np.float32) for _ in range(2)],
        [rng.uniform(0, 3, (1, 5)).astype(np.float32), rng.uniform(0, 3, (4, 1)).astype(np.float32)],
    )
    found = program.feasible(wild)
    taken = sum(f.sum(axis=k, keepdims=True) + c - 2 * f for k, (f, c) in enumerate(zip(*found, strict=True)))
    assert taken.max() <= 1 + 1e-5
    assert all((each >= 0).all() for kind in found for each in kind)


def test_a_cover_that_says_no_more_than_its_longest_side_becomes_one() -> None:
    """Levels 9 and 2: the line needs 18 at the least, by cover as by polygon; it proves as much, and takes less from the cell itself."""
    least = np.array([[9.0, 2.0, 0.0]])
    program = program_of(np.ones((1, 3)), least, [least * 0, np.array([[18.0]])])
    before = LineMultipliers([0 * least, 0 * least], [0 * least, np.array([[0.5]])])
    after = program.in_sides(before)
    assert after.covers[1].tolist() == [[0.0]]
    assert after.sides[1].tolist() == [[0.5, 0.0, 0.0]]
    assert program.worth(after) == pytest.approx(program.worth(before))
