"""The methods that offices know by name: their own rules, what is mended after them, and what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import statveil as sv
from statveil.audit.patterns.pattern import KnowingReader
from statveil.suppress.cells.options import HypercubeOptions, ModularOptions, SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells
from tests.reference.suppression import is_safe
from tests.suppress.cells.methods.cubes import INNER, shaped
from tests.suppress.cells.stories import grid

METHODS = ("hypercube", "modular", "network")
TREE = sv.Hierarchy(parent={"a": "T", "b": "T", "a1": "a", "a2": "a", "b1": "b", "b2": "b"}, total="T")


def tree_table(seed: int, *, both: bool) -> tuple[sv.Table, sv.Sensitivity]:
    rng = np.random.default_rng(seed)
    second = TREE if both else sv.Hierarchy.flat(["x", "y", "z", "w"])
    cells = {(one, two): int(rng.integers(5, 60)) for one in TREE.leaves for two in second.leaves}
    table = sv.table_from_cells({"area": TREE, "trade": second}, cells)
    chosen = [dict(zip(("area", "trade"), codes, strict=True)) for codes in rng.permutation(list(cells))[:3]]
    rule = sv.rules.Manual([sv.rules.ManualCell(cell=each, status="sensitive") for each in chosen], level=20)
    return table, sv.rules.assess(table, [rule])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_one_cell_of_a_square_needs_three_others(method):
    found = suppress_cells(shaped({4: 1}), None, method)
    assert (int(found.secondary.sum()), found.by_rules, found.promise) == (3, 3, "intervals")
    assert found.audit.passed
    assert is_safe(found.problem, found.suppressed)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "elimination"])
@pytest.mark.parametrize("seed", range(4))
def test_hierarchies_are_safe_in_the_whole_and_not_only_table_by_table(method, seed):
    table, sensitivity = tree_table(seed, both=method != "network")
    found = suppress_cells(table, sensitivity, method)
    assert found.by_rules is not None
    assert found.by_rules <= found.secondary.sum()
    assert is_safe(found.problem, found.suppressed)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hypercube", "modular"])
def test_linked_tables_are_one_model(method):
    table, sensitivity = linked()
    found = suppress_cells(table, sensitivity, method)
    assert is_safe(found.problem, found.suppressed)
    assert found.audit.passed


def linked() -> tuple[sv.Table, sv.Sensitivity]:
    import pyarrow as pa

    rng = np.random.default_rng(5)
    columns = {"a": rng.choice(["a1", "a2", "b1", "b2"], 50), "b": rng.choice(list("uvw"), 50), "c": rng.choice(list("xyz"), 50)}
    records = sv.read_microdata(pa.table({**columns, "sales": rng.integers(1, 200, 50)}))
    specs = [sv.TableSpec(dimensions={"a": TREE, other: None}, measure="sales", name=other) for other in "bc"]
    table = sv.tabulate(records, specs, top=3)
    return table, sv.rules.assess(table, [sv.MinimumFrequency(3), sv.PPercent(15)])


@pytest.mark.slow
def test_two_cells_with_too_few_respondents_together_need_a_third():
    pair = replace(shaped({0: 4, 1: 4}), respondents=np.where(np.arange(16) < 2, 1, 9))
    alone = suppress_cells(pair, None, "modular")
    more = suppress_cells(pair, None, "modular", options=SuppressionOptions(modular=ModularOptions(minimum_frequency=3)))
    assert int(alone.suppressed[:4].sum()) == 2
    assert int(more.suppressed[:4].sum()) >= 3


def test_what_a_method_is_not_made_for_is_refused():
    with pytest.raises(sv.InputError, match="works by the codes of a table"):
        suppress_cells(grid(INNER, {4: 4}), None, "modular")
    table, sensitivity = tree_table(1, both=True)
    with pytest.raises(sv.InputError, match="a hierarchy in the first one only"):
        suppress_cells(table, sensitivity, "network")
    reader = KnowingReader(name="a holding", cells=np.array([1]), least=np.array([1]), alone=np.array([False]))
    with pytest.raises(sv.InputError, match="promises nothing to readers"):
        suppress_cells(grid(INNER, {4: 4}), None, "elimination", readers=[reader])


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (HypercubeOptions, {"known_percent": 0}),
        (HypercubeOptions, {"ratio": -1}),
        (ModularOptions, {"minutes": 0}),
        (ModularOptions, {"margins": (1.1, 1)}),
    ],
)
def test_options_that_make_no_sense_are_refused(options, wrong):
    with pytest.raises(sv.InputError):
        options(**wrong)
