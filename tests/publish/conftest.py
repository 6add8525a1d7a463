"""Releases made by hand: leaf values and leaf changes are given, all totals are added up, so every table is additive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.audit.report import AuditReport, Check
from statveil.core.limits import Ending
from statveil.core.provenance import Provenance
from statveil.data.hierarchy import Hierarchy
from statveil.protect.adjustment import Adjustment, TracePoint
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, Table, View
from tests.publish.safe_files import town
from tests.publish.stories import MakeRelease

Leaves = Mapping[tuple[str, ...], int]


def members(dimension: Dimension) -> np.ndarray:
    """Which leaves (columns) each code (rows) adds up."""
    leaves = dimension.trees[0].leaves
    matrix = np.zeros((len(dimension.codes), len(leaves)), dtype=np.int64)
    for tree in dimension.trees:
        for place, leaf in enumerate(leaves):
            code: str | None = leaf
            while code is not None:
                matrix[dimension.position[code], place] = 1
                code = tree.parent.get(code)
    return matrix


def add_up(dimensions: tuple[Dimension, ...], leaves: np.ndarray) -> np.ndarray:
    matrices = enumerate(members(dimension) for dimension in dimensions)
    return reduce(lambda cube, item: np.moveaxis(np.tensordot(item[1], cube, axes=(1, item[0])), 0, item[0]), matrices, leaves)


def leaf_array(dimensions: tuple[Dimension, ...], leaves: Leaves) -> np.ndarray:
    array = np.zeros([len(dimension.trees[0].leaves) for dimension in dimensions], dtype=np.int64)
    for codes, value in leaves.items():
        array[tuple(d.trees[0].leaves.index(code) for d, code in zip(dimensions, codes, strict=True))] = value
    return array


def build_release(
    dimensions: tuple[Dimension, ...],
    original: np.ndarray,
    change: np.ndarray,
    records: np.ndarray,
    *,
    sensitive: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    scale: int = 0,
    decimals: int = 0,
    names: tuple[str, ...] = ("turnover",),
    structural: tuple[tuple[int, ...], ...] = (),
    **more: Any,
) -> SimpleNamespace:
    """A stand-in for `Release`: `original` in 10**-scale, `change` in 10**-decimals, over the leaves."""
    values, moved, counts = (add_up(dimensions, leaves) for leaves in (original, change, records))
    present = np.argwhere(counts > 0)
    value, deviation, count = (cube[tuple(present.T)] for cube in (values, moved, counts))
    released = value // 10 ** (scale - decimals) + deviation
    size = value.size
    unsafe = np.zeros(size, bool) if sensitive is None else sensitive(value, count)
    view = {"dimensions": dimensions, "coordinates": present.reshape(-1, len(dimensions)), "cell": np.arange(size)}
    rows = np.array(structural, dtype=np.int64).reshape(-1, len(dimensions))
    views = tuple(View(name=name, structural=rows, **view) for name in names)
    level = np.where(unsafe, np.maximum(np.abs(value) // 10, 1), 0)
    zeros = np.zeros(size, dtype=np.int64)
    table = Table(
        views=views, value=value, scale=scale, decimals=decimals, records=count, respondents=count, frequency=count, frequency_scale=0,
        magnitude=np.abs(value), top=np.zeros((size, 1), dtype=np.int64), largest_unwaived=zeros, largest_requested=zeros - 1,
        rule_scale=scale, has_shadow=False, input_hash="1" * 64,
    )  # fmt: skip
    few = unsafe & (count < 3)
    sensitivity = Sensitivity(
        sensitive=unsafe, lower_level=level, upper_level=level, frozen=np.zeros(size, bool), weight=np.full(size, np.nan),
        minimum=zeros - UNBOUNDED, maximum=zeros + UNBOUNDED, reasons={"fewer than 3 respondents": few, "p% rule, p = 10": unsafe},
    )  # fmt: skip
    trace = (TracePoint(0.2, 900.0, 10.0), TracePoint(1.0, 500.0, 300.0), TracePoint(3.5, 420.0, 400.0), TracePoint(8.0, 412.5, 408.25))
    adjustment = Adjustment(
        deviation=deviation, senses=np.where(unsafe, np.sign(deviation), 0), objective=412.5, bound=408.25, ending=Ending.FEASIBLE,
        bound_by="cuts", certified_bound=408.25,
        trace=more.pop("trace", trace), method="auto", seed=7, seconds=8.4,
    )  # fmt: skip
    checks = (
        Check(name="additivity", words="Every total equals the sum of its parts", checked=4321, faults=0),
        Check(name="protection", words="Every sensitive cell is at or beyond its protection level", checked=int(unsafe.sum()), faults=0),
        Check(name="decimals", words="All numbers have the agreed decimals", checked=size, faults=0),
    )
    provenance = Provenance(
        parameters={"rules": ["p% rule, p = 10"], "seed": 7}, input_hash="ab" * 32, release_hash="cd" * 32, software={"statveil": "0.1.0"}
    )
    return SimpleNamespace(
        protected=ProtectedTable(views=views, value=released, decimals=decimals), adjustment=adjustment, provenance=provenance,
        table=table, sensitivity=sensitivity, job=more.pop("job", {}), audit=AuditReport(checks=checks), gap=adjustment.gap,
        relaxations=(), protection_weakened=False, repairs_in_words=list,
    )  # fmt: skip


@pytest.fixture
def make_release() -> MakeRelease:
    """A small table: leaves with their values, changes and sensitive leaves by code."""

    def make(
        trees: Mapping[str, Hierarchy], values: Leaves, *, changes: Leaves | None = None, sensitive: tuple[int, ...] = (), **more: Any
    ) -> SimpleNamespace:
        dimensions = tuple(Dimension(name=name, trees=(tree,)) for name, tree in trees.items())
        records = leaf_array(dimensions, dict.fromkeys(values, 1))
        return build_release(
            dimensions, leaf_array(dimensions, values), leaf_array(dimensions, changes or {}), records,
            sensitive=lambda value, count: np.isin(value, sensitive), **more,
        )  # fmt: skip

    return make


@pytest.fixture
def village(make_release: MakeRelease) -> Any:
    """Bakers, vets and smiths in Urk and Ens: the vet of Urk (777123) is alone and was moved to 999000."""
    regions = Hierarchy(parent={"U": "Total", "E": "Total"}, labels={"U": "Urk", "E": "Ens"})
    trades = Hierarchy.flat(["baker", "vet", "smith"])
    values = {("U", "baker"): 5000, ("U", "vet"): 777123, ("E", "baker"): 4000, ("E", "vet"): 600500}
    changes = {("U", "vet"): 221877, ("E", "vet"): -221877}
    return make_release({"region": regions, "trade": trades}, values, changes=changes, sensitive=(777123,), structural=((1, 3),))


@pytest.fixture
def data(tmp_path: Path) -> sv.Microdata:
    return sv.read_microdata(town(tmp_path / "town.parquet"))
