"""1H2D tables have the counts of S3's Table 1, add up, and repeat."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LinearSystem, write_system
from statveil_lab.generators.one_hierarchy import SHAPES, Filling, Shape, one_hierarchy_system
from tests.formats.systems import same

TABLE_1 = {
    "table11": (20280, 973, 1560, 41314),
    "table12": (21476, 2062, 1684, 43784),
    "table13": (36806, 3345, 5832, 76087),
    "table14": (5388, 224, 1474, 11346),
    "table15": (26884, 2443, 3368, 54681),
    "table16": (52063, 4732, 6900, 106282),
    "table17": (16852, 1531, 2390, 34551),
    "table18": (8316, 755, 1339, 17204),
    "table21": (126362, 12324, 5501, 255102),
    "table22": (43365, 4128, 3577, 88221),
    "table23": (71640, 10442, 3430, 144684),
    "table24": (166248, 12927, 7966, 335808),
    "table25": (55620, 4323, 2877, 112536),
    "table26": (209456, 16110, 12164, 422994),
    "table27": (65241, 4744, 7240, 131780),
    "table28": (88164, 6854, 4321, 178164),
    "table31": (155841, 14744, 6876, 314716),
    "table32": (443169, 44096, 18230, 893718),
    "table33": (116841, 14083, 4586, 235926),
    "table34": (180999, 26432, 6456, 364854),
    "table35": (499298, 55527, 20747, 1007124),
    "table36": (1200439, 107743, 45638, 2417196),
    "table37": (296004, 42652, 10904, 597057),
    "table38": (572373, 81359, 18873, 1152345),
}
"""n, s, m and coefficients as S3 prints them."""

SMALL = Shape(rows=20, columns=4, inner=4, depth=3, sensitive=9)


def counts(system: LinearSystem) -> tuple[int, int, int, int]:
    return system.value.size, int((system.status == "u").sum()), system.rhs.size, system.relations.nnz


def test_all_24_shapes_are_there() -> None:
    assert sorted(SHAPES) == sorted(TABLE_1)


@pytest.mark.parametrize("name", TABLE_1)
def test_a_shape_has_the_counts_of_table_1(name: str) -> None:
    shape = SHAPES[name]
    assert (shape.cells, shape.sensitive, shape.relations, shape.coefficients) == TABLE_1[name]


@pytest.mark.parametrize("name", ["table14", "table18", "table26", "table36"])
@pytest.mark.parametrize("where", ["leaf", "any"])
def test_the_system_has_them_too_and_adds_up(name: str, where: str) -> None:
    system = one_hierarchy_system(SHAPES[name], seed=1, filling=Filling(values="lognormal", where=where))  # type: ignore[arg-type]
    assert counts(system) == TABLE_1[name]
    assert not (system.relations @ system.value).any()
    assert system.value.min() >= 1


def parents(system: LinearSystem, shape: Shape) -> list[int]:
    """Each row's parent, read from the relations of column 1."""
    parent = [-1] * shape.rows
    for inner in range(shape.inner):
        row = shape.rows + inner * shape.columns + 1
        cells = system.relations.indices[system.relations.indptr[row] : system.relations.indptr[row + 1]]
        assert all(cell % shape.columns == 1 for cell in cells)
        for cell in cells[1:]:
            parent[cell // shape.columns] = cells[0] // shape.columns
    return parent


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_are_one_tree_of_the_depth_asked(seed: int) -> None:
    parent = parents(one_hierarchy_system(SMALL, seed=seed), SMALL)
    assert parent[0] == -1
    assert min(parent[1:]) >= 0

    def depth(row: int) -> int:
        return 0 if row == 0 else 1 + depth(parent[row])

    assert max(depth(row) for row in range(SMALL.rows)) == SMALL.depth
    assert sorted(set(parent[1:])) == list(range(SMALL.inner))


def test_a_plain_table_has_depth_one() -> None:
    shape = Shape(rows=5, columns=4, inner=1, depth=1, sensitive=3)
    system = one_hierarchy_system(shape, seed=1)
    table = system.value.reshape(5, 4)
    assert np.array_equal(table[0], table[1:].sum(axis=0))
    assert np.array_equal(table[:, 0], table[:, 1:].sum(axis=1))
    assert counts(system) == (20, 3, 9, 40)


def test_leaf_means_that_no_total_is_sensitive() -> None:
    system = one_hierarchy_system(dataclasses.replace(SMALL, sensitive=48), seed=1)
    marked = (system.status == "u").reshape(SMALL.rows, SMALL.columns)
    assert marked[SMALL.inner :, 1:].all()
    assert not marked[: SMALL.inner].any()
    assert not marked[:, 0].any()


def test_any_means_that_every_cell_may_be() -> None:
    system = one_hierarchy_system(dataclasses.replace(SMALL, sensitive=80), seed=1, filling=Filling(where="any"))
    assert (system.status == "u").all()


def test_levels_are_shares_of_the_value_rounded_up() -> None:
    system = one_hierarchy_system(SMALL, seed=1, filling=Filling(lower_percent=Fraction(5), upper_percent=Fraction("12.5")))
    marked = system.status == "u"
    value = system.value[marked]
    assert np.array_equal(system.lower_level[marked], -(-value * 5 // 100))
    assert np.array_equal(system.upper_level[marked], -(-value * 125 // 1000))
    assert not system.lower_level[~marked].any()


def test_upper_bounds_are_none_or_a_share() -> None:
    assert (one_hierarchy_system(SMALL, seed=1).upper == NO_BOUND).all()
    bounded = one_hierarchy_system(SMALL, seed=1, filling=Filling(bound_percent=Fraction(150)))
    assert np.array_equal(bounded.upper, bounded.value * 3 // 2)
    assert not bounded.lower.any()


def test_uniform_values_fill_the_range_and_lognormal_ones_have_a_tail() -> None:
    shape = Shape(rows=3001, columns=11, inner=1, depth=1, sensitive=0)
    leaves = [
        one_hierarchy_system(shape, seed=3, filling=Filling(values=kind)).value.reshape(3001, 11)[1:, 1:]
        for kind in ("uniform", "lognormal")
    ]  # type: ignore[arg-type]
    assert (leaves[0].min(), leaves[0].max()) == (1, 1000)
    assert 190 < np.median(leaves[1]) < 210
    assert leaves[1].max() > 10_000


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for ending in ("jj", "npz"):
        for name, seed in (("one", 7), ("two", 7), ("other", 8)):
            write_system(one_hierarchy_system(SMALL, seed=seed, filling=Filling(values="lognormal")), tmp_path / f"{name}.{ending}")
        files = {name: (tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two", "other")}
        assert files["one"] == files["two"] != files["other"]


def test_fillings_of_one_seed_share_their_relations() -> None:
    one, other = (one_hierarchy_system(SMALL, seed=7, filling=Filling(values=kind)) for kind in ("uniform", "lognormal"))  # type: ignore[arg-type]
    assert (one.relations != other.relations).nnz == 0
    assert np.array_equal(one.status, other.status)
    assert not same(one, other)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rows": 0}, "1 or more"),
        ({"columns": 2}, "two columns and their total"),
        ({"inner": 0}, "1 or more"),
        ({"depth": 5}, "cannot reach a depth of 5"),
        ({"depth": 1}, "cannot reach a depth of 1"),
        ({"rows": 11}, "too few"),
        ({"sensitive": -1}, "1 or more"),
        ({"sensitive": 81}, "than there are cells"),
    ],
)
def test_an_impossible_shape_is_refused(wrong: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        dataclasses.replace(SMALL, **wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"values": "normal"}, "Unknown values 'normal'"),
        ({"where": "top"}, "Unknown place 'top'"),
        ({"spread": 0.0}, "spread"),
        ({"lower_percent": Fraction(0)}, "percentage"),
        ({"upper_percent": Fraction(1, 3)}, "four decimals"),
        ({"bound_percent": Fraction(99)}, "below the value"),
    ],
)
def test_an_impossible_filling_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Filling(**wrong)  # type: ignore[arg-type]


def test_more_sensitive_leaves_than_leaves_are_refused() -> None:
    with pytest.raises(InputError, match="only 48 of that kind"):
        one_hierarchy_system(dataclasses.replace(SMALL, sensitive=49), seed=1)


def test_a_shape_too_large_for_any_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match="too large to be made"):
        Shape(rows=10**12, columns=10, inner=8, depth=3, sensitive=5)
