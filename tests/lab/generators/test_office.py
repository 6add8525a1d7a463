"""Tables as offices have them: they add up, range over nine decades, and are the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.formats.system import read_system, write_system
from statveil_lab.generators.office import THREE_HIERARCHIES, OfficeShape, draw_tree, office_relations, office_system

SMALL = OfficeShape(codes=(9, 7, 5), inner=(3, 2, 1), sensitive=5, empty=10)


def test_the_usual_table_has_the_size_of_an_offices() -> None:
    system = office_system(OfficeShape(), seed=1)
    assert (system.value.size, system.rhs.size) == (26_325, 17_865)
    assert not (system.relations @ system.value).any()
    sensitive = system.status == "u"
    assert 0.02 <= sensitive.mean() <= 0.06
    filled = system.value[system.value > 0]
    assert filled.max() / filled.min() >= 1e9
    assert np.array_equal(system.cost[system.value > 0], filled)


@pytest.mark.parametrize("shape", [SMALL, THREE_HIERARCHIES])
def test_empty_cells_stay_empty_and_levels_are_a_tenth(shape: OfficeShape) -> None:
    system = office_system(shape, seed=2)
    assert not (system.relations @ system.value).any()
    assert system.relations.shape == (shape.relations, shape.cells)
    empty, sensitive = system.value == 0, system.status == "u"
    assert empty.any()
    assert np.array_equal(system.status == "z", empty)
    assert not system.upper[empty].any()
    assert (10 * system.upper_level[sensitive] >= system.value[sensitive]).all()
    assert (10 * system.upper_level[sensitive] < system.value[sensitive] + 10).all()
    assert not system.upper_level[~sensitive].any()


def test_a_total_with_a_single_part_is_sensitive_with_it() -> None:
    system = office_system(OfficeShape(), seed=3)
    filled = system.relations.multiply(system.value > 0).tocsr()
    filled.eliminate_zeros()
    pairs = filled[np.diff(filled.indptr) == 2].indices.reshape(-1, 2)
    sensitive = system.status == "u"
    assert sensitive[pairs].any()
    assert np.array_equal(sensitive[pairs[:, 0]], sensitive[pairs[:, 1]])


def test_every_inner_code_has_a_part_and_no_code_lies_too_deep() -> None:
    for seed in range(20):
        tree = draw_tree(21, 9, 3, np.random.Generator(np.random.PCG64(seed)))
        assert set(range(9)) <= set(tree[1:].tolist())
        for code in range(21):
            above, steps = code, 0
            while above > 0:
                assert tree[above] < above
                above, steps = int(tree[above]), steps + 1
            assert steps <= 3


def test_relations_of_two_crossed_pairs_by_hand() -> None:
    """Total 0 of parts 1 and 2 in both dimensions: cells 0 to 8 in three lines of three."""
    tree = np.array([-1, 0, 0])
    matrix = office_relations([tree, tree], [1, 1]).toarray()
    assert matrix.shape == (6, 9)
    assert matrix[0].tolist() == [-1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert matrix[3].tolist() == [-1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_the_same_seed_gives_the_same_file_and_it_reads_back(tmp_path: Path) -> None:
    for name in ("one.jj", "two.jj"):
        write_system(office_system(SMALL, seed=4), tmp_path / name)
    assert (tmp_path / "one.jj").read_bytes() == (tmp_path / "two.jj").read_bytes()
    again, system = read_system(tmp_path / "one.jj"), office_system(SMALL, seed=4)
    assert np.array_equal(again.value, system.value)
    assert np.array_equal(again.cost, system.cost)
    assert not np.array_equal(office_system(SMALL, seed=5).value, system.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": (9,), "inner": (3,)},
        {"codes": (9, 7), "inner": (3,)},
        {"codes": (9, 6), "inner": (3, 3)},
        {"depth": 1},
        {"codes": (9001, 9001), "inner": (3, 3)},
        {"sensitive": 0},
        {"empty": 95},
        {"level": 0},
    ],
)
def test_what_makes_no_table_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        OfficeShape(**wrong)  # type: ignore[arg-type]
