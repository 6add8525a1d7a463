"""What users of a table work out from it, before and after protection, for any release by any method: confidential.

The statistics are those of S1 section 3 and their kin, over sets of cells that a reader may have in mind: all cells, the sensitive ones,
each level of aggregation, each level of a dimension, each row (the cells of one code).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.statistics import Statistics, statistics_of

if TYPE_CHECKING:
    from statveil.publish.audited import AuditedTable
    from statveil.publish.report.changes import CellChanges
    from statveil.tables.spec import Dimension
    from statveil.tables.table import View

Kind = Literal["cells", "level", "dimension", "row"]


class Subset(NamedTuple):
    """A set of cells by name; `kind` tells what it was chosen by."""

    kind: Kind
    name: str
    cells: IntArray


@dataclass(frozen=True, kw_only=True)
class SubsetUtility:
    """Statistics of one set of cells, and which of them mean something there.

    subset: the set. statistics: before and after. before_varies, after_varies: whether its true, and its released, values differ at all.

    >>> from statveil.core.statistics import statistics_of
    >>> alike = Subset("cells", "the north", np.array([0, 1]))
    >>> SubsetUtility(subset=alike, statistics=statistics_of([5, 5], [4, 6]), before_varies=False, after_varies=True).correlation is None
    True
    """

    subset: Subset
    statistics: Statistics
    before_varies: bool
    after_varies: bool

    @property
    def correlation(self) -> float | None:
        """Of released with true values; None unless both vary."""
        return self.statistics.correlation if self.before_varies and self.after_varies else None

    @property
    def rank_correlation(self) -> float | None:
        return self.statistics.rank_correlation if self.before_varies and self.after_varies else None

    @property
    def slope(self) -> float | None:
        """Of released on true values; None unless the true ones vary."""
        return self.statistics.slope if self.before_varies else None

    @property
    def variance_ratio(self) -> float | None:
        return self.statistics.variance_ratio if self.before_varies else None

    def figures(self) -> dict[str, float | int | list[float] | None]:
        """The statistics under fixed names, pairs as [before, after]; None for what is not defined."""
        found = self.statistics
        return {
            "cells": found.cells,
            "mean": list(found.mean),
            "variance": list(found.variance),
            "variance_ratio": self.variance_ratio,
            "correlation": self.correlation,
            "slope": self.slope,
            "rank_correlation": self.rank_correlation,
            "top_kept": found.top.kept,
            "top_in_place": found.top.in_place,
        }

    @property
    def why_undefined(self) -> str:
        """Why some statistic is not defined; empty if all are."""
        if self.before_varies and self.after_varies:
            return ""
        if self.statistics.cells == 1:
            return "one cell only"
        return "all true values are equal" if not self.before_varies else "all released values are equal"


def utility(release: AuditedTable) -> tuple[SubsetUtility, ...]:
    """Statistics before and after over every set of cells that the internal report shows: rows last, those most changed first.

    release: of `sv.protect_table`.

    >>> import pyarrow as pa, statveil as sv
    >>> shops, spec = pa.table({"area": list("ppq"), "sales": [7, 3, 50]}), sv.TableSpec(dimensions={"area": None}, measure="sales")
    >>> release = sv.protect_table(shops, spec, rules=[sv.MinimumFrequency(2)], limits=sv.Limits(seconds=600))
    >>> utility(release)[0].subset.name, utility(release)[0].statistics.cells
    ('all cells', 3)
    """
    from statveil.publish.report.changes import measure

    return tuple(utility_by_subset(release, measure(release)))


def utility_by_subset(release: AuditedTable, changes: CellChanges) -> list[SubsetUtility]:
    """As `utility`, of changes measured before."""
    found = [*cell_subsets(changes), *dimension_subsets(release.table.views, changes), *row_subsets(release.table.views, changes)]
    return [utility_of(changes, subset) for subset in found]


def utility_of(changes: CellChanges, subset: Subset) -> SubsetUtility:
    unit = 10.0**changes.decimals
    before, change = changes.original[subset.cells], changes.change[subset.cells]
    return _compared(subset, before / unit, (before + change) / unit)


def system_utility(value: IntArray, released: IntArray, sensitive: BoolArray, *, decimals: int) -> list[SubsetUtility]:
    """The same of a linear system, which knows no levels and no rows: over all cells and over the sensitive ones."""
    found = [Subset("cells", "all cells", np.arange(value.size)), Subset("cells", "sensitive cells", np.flatnonzero(sensitive))]
    unit = 10.0**decimals
    return [_compared(subset, value[subset.cells] / unit, released[subset.cells] / unit) for subset in found if subset.cells.size]


def _compared(subset: Subset, before: FloatArray, after: FloatArray) -> SubsetUtility:
    return SubsetUtility(
        subset=subset,
        statistics=statistics_of(before, after),
        before_varies=_varies(before),
        after_varies=_varies(after),
    )


def _varies(values: FloatArray) -> bool:
    return bool((values != values[0]).any())


def cell_subsets(changes: CellChanges) -> list[Subset]:
    """All cells, the sensitive, the others, and each level of aggregation; without the empty ones."""
    from statveil.publish.report.changes import level_groups

    every = np.ones(changes.original.size, dtype=np.bool_)
    cells: list[tuple[Kind, str, BoolArray]] = [("cells", "all cells", every)]
    if changes.sensitive.any():
        cells += [("cells", "sensitive cells", changes.sensitive), ("cells", "other cells", ~changes.sensitive)]
    levels: list[tuple[Kind, str, BoolArray]] = [("level", name, members) for name, members in level_groups(changes)]
    return [Subset(kind, name, np.flatnonzero(members)) for kind, name, members in (*cells, *levels) if members.any()]


def dimension_subsets(views: tuple[View, ...], changes: CellChanges) -> list[Subset]:
    """The cells at each level of each dimension; a dimension of one level has nothing to tell."""
    from statveil.publish.report.changes import depths

    found: list[Subset] = []
    for view, axis, dimension in _axes(views):
        depth = depths(dimension)[view.coordinates[:, axis]]
        present = np.unique(depth)
        if present.size < 2:
            continue
        for level in present.tolist():
            words = _depth_words(level, int(present[-1]))
            cells = _each_once(view.cell[depth == level])
            found.append(Subset("dimension", f"{_axis_name(views, view, dimension)}: {words}", cells))
    return [subset for subset in found if subset.cells.size and changes.original.size]


def _depth_words(level: int, deepest: int) -> str:
    if level == 0:
        return "its total"
    return f"level {level} (finest)" if level == deepest else f"level {level}"


def _axes(views: tuple[View, ...]) -> Iterator[tuple[View, int, Dimension]]:
    yield from ((view, axis, dimension) for view in views for axis, dimension in enumerate(view.dimensions))


def _axis_name(views: tuple[View, ...], view: View, dimension: Dimension) -> str:
    return dimension.name if len(views) == 1 else f"{view.name}, {dimension.name}"


def row_subsets(views: tuple[View, ...], changes: CellChanges) -> list[Subset]:
    """The rows (all cells of one code of a dimension) whose statistics changed most, at most twenty of them, worst first.

    How much is told by S1's measure of section 4, without the total change: 1 - corr^2 + |1 - slope| + |variance ratio - 1|.
    """
    from statveil.publish.report.changes import TUNING

    before, after = changes.original.astype(np.float64), (changes.original + changes.change).astype(np.float64)
    scored: list[tuple[float, View, int, Dimension, int]] = []
    for view, axis, dimension in _axes(views):
        code = view.coordinates[:, axis]
        score = _distortion_by_group(before[view.cell], after[view.cell], code, len(dimension.codes))
        worst = np.argsort(-score, kind="stable")[: TUNING.subsets]
        scored += [(float(score[place]), view, axis, dimension, int(place)) for place in worst if score[place] > 0]
    scored.sort(key=lambda row: -row[0])
    return [
        Subset("row", f"{_axis_name(views, view, dimension)} = {_code_words(dimension, place)}", _cells_of(view, axis, place))
        for _, view, axis, dimension, place in scored[: TUNING.subsets]
    ]


def _each_once(cells: IntArray) -> IntArray:
    """The cells in order, each once: positions may share a cell."""
    found = np.zeros(int(cells.max(initial=-1)) + 1, dtype=np.bool_)
    found[cells] = True
    return np.flatnonzero(found)


def _cells_of(view: View, axis: int, place: int) -> IntArray:
    return _each_once(view.cell[view.coordinates[:, axis] == place])


def _code_words(dimension: Dimension, place: int) -> str:
    code = dimension.codes[place]
    label = dimension.label(code)
    return code if label == code else f"{code} {label}"


def _distortion_by_group(before: FloatArray, after: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """S1's measure for each group of positions at once; zero where the true values do not vary."""
    count = np.maximum(np.bincount(group, minlength=groups), 1)
    first, last = before - _means(before, group, count)[group], after - _means(after, group, count)[group]
    spread, new = _means(first * first, group, count), _means(last * last, group, count)
    both = _means(first * last, group, count)
    varies = (spread > 0) & (new > 0)
    spread, new, both = (np.where(varies, each, 1.0) for each in (spread, new, both))
    return np.asarray(np.where(varies, 1 - both * both / (spread * new) + np.abs(1 - both / spread) + np.abs(new / spread - 1), 0.0))


def _means(values: FloatArray, group: IntArray, count: IntArray) -> FloatArray:
    return np.asarray(np.bincount(group, weights=values, minlength=count.size) / count)
