from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.arrays import frozen_array
from statveil.data.hierarchy import Hierarchy
from statveil.server.engine.protection.nested import nested_pairs
from statveil.tables.spec import Dimension
from statveil.tables.table import View

TREE = Hierarchy.from_dict({"N": ["N1", "N2"], "S": {"S1": {"S1a": {}, "S1b": {}}, "S2": {}}, "W": None})
COUNTIES = Hierarchy.from_dict({"C1": ["N1", "N2", "S1a"], "C2": ["S1b", "S2", "W"]})
TRADES = Dimension(name="trade", trees=(Hierarchy.flat(["food", "metal"]),))
Place = tuple[str, str]


def sets_at(region: Dimension, records: list[Place]) -> dict[tuple[int, int], frozenset[int]]:
    """The records at every position that holds one."""
    above = [
        {leaf: {leaf, *(code for tree in dimension.trees for code in chain(tree, leaf))} for leaf in dimension.trees[0].leaves}
        for dimension in (region, TRADES)
    ]
    found: dict[tuple[int, int], set[int]] = {}
    for number, (place, trade) in enumerate(records):
        for codes in product(above[0][place], above[1][trade]):
            found.setdefault((region.position[codes[0]], TRADES.position[codes[1]]), set()).add(number)
    return {position: frozenset(members) for position, members in sorted(found.items())}


def chain(tree: Hierarchy, code: str) -> list[str]:
    return [tree.parent[code], *chain(tree, tree.parent[code])] if code in tree.parent else []


@pytest.mark.parametrize("trees", [(TREE,), (TREE, COUNTIES)])
@settings(max_examples=60, deadline=None)
@given(
    records=st.lists(st.tuples(st.sampled_from(TREE.leaves), st.sampled_from(["food", "metal"])), min_size=1, max_size=14),
    reach=st.integers(1, 3),
    unwanted=st.sets(st.integers(0, 20)),
)
def test_all_nested_pairs_are_found_each_once(trees: tuple[Hierarchy, ...], records: list[Place], reach: int, unwanted: set[int]) -> None:
    """Brute force over the sets of records; with alternative trees too, where neither code is above the other."""
    region = Dimension(name="region", trees=trees)
    at = sets_at(region, records)
    members = list(dict.fromkeys(at.values()))
    view = View(
        name="", dimensions=(region, TRADES), coordinates=frozen_array(np.array(list(at))),
        cell=frozen_array(np.array([members.index(each) for each in at.values()])), structural=np.zeros((0, 2), np.int64),
    )  # fmt: skip
    wanted = np.array([number not in unwanted for number in range(len(members))])
    pairs = list(
        zip(*(each.tolist() for each in nested_pairs(view, np.array([len(m) for m in members]), wanted, reach=reach)), strict=True)
    )
    expected = {
        (i, j)
        for i, j in product(np.flatnonzero(wanted).tolist(), repeat=2)
        if members[i] < members[j] and len(members[j]) - len(members[i]) <= reach
    }
    assert len(pairs) == len(set(pairs))
    assert expected <= set(pairs)
    assert all(0 < len(members[j]) - len(members[i]) <= reach for i, j in pairs)
