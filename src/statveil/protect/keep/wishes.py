"""What is to be kept, and over which cells: the user's wishes, checked at the door, and what they mean for one problem or table.

In a table, rows and levels are named by the codes of its dimensions, and measures of two-way tables are laid out on its cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import check_kind, is_finite, known
from statveil.core.statistics import variance_of
from statveil.protect.keep.tabu.measures import LAID_OUT, Measure, ShownCells, TwoWay, measure_named
from statveil.protect.problem import ProtectionProblem
from statveil.tables.spec import Dimension
from statveil.tables.table import Table, View

Senses = Literal["auto", "free", "fixed", "searched"]
By = Literal["both", "programs", "tabu"]
Named = Literal["sensitive", "all"]
CRITERIA = ("mean", "variance", "correlation", "slope")
TABLE = "table"
"""The key that says which of several linked tables is meant."""
NAMED: Mapping[str, str] = {"sensitive": "the sensitive cells", "all": "all cells"}


class Cells(NamedTuple):
    """A set of cells whose statistics are kept.

    numbers: of the cells. words: what to call it.

    >>> Keep(mean=Cells((1, 2), "the north")).mean.words
    'the north'
    """

    numbers: tuple[int, ...]
    words: str


Where = Named | str | Cells | Sequence[int] | Mapping[str, Any]
"""`"sensitive"`, `"all"`, numbers of cells, a mark for each cell, `"relation:3"` (the parts of that relation), `"cells:3,5,8"`; in a table
also {dimension: code} (a row) and {dimension: level} (0 is the total). Dimensions that are not named there stand at their finest codes."""


class Coefficients(NamedTuple):
    """What each term of the objective counts for.

    change: in shares of the plain table's cost. correlation, slope, variance: as Cox and Kelly have them. measures: those of the user.

    >>> Coefficients(change=2.0).slope
    1000.0
    """

    change: float = 1.0
    correlation: float = 1000.0
    slope: float = 1000.0
    variance: float = 1000.0
    measures: float = 1000.0


DEFAULT = Coefficients()
"""A hundredth of a statistic counts for ten times the plain table's change: first the statistics, then the change."""


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Statistics to keep, each over one set of cells or several.

    mean: kept exactly, to the published unit.
    variance, correlation, slope: of released with, and on, true values; as close to one as can be; or, with `within`, at least that
        close, and then with the least change.
    measures: more to keep, by tabu search alone: "chi-square", "cramers-v", "ranks", "quantiles", "gini", "distance", or functions of
        (true, released) values of all cells that are zero when nothing is lost.
    senses: of the linear programs: `free` (a mixed-integer program), `fixed` (those of the plain table), `searched`; `auto` chooses.
    by: linear `programs`, `tabu` search, or `both`, the second from where the first ended.
    coefficients: what the terms of the tabu search's objective count for.
    widen: caps to try in turn, as multiples of the protection levels, where what is asked cannot be met within the bounds given.

    >>> Keep(mean="all", slope="sensitive", within=0.005).by
    'both'
    """

    mean: Where | Sequence[Where] | None = None
    variance: Where | Sequence[Where] | None = None
    correlation: Where | Sequence[Where] | None = None
    slope: Where | Sequence[Where] | None = None
    measures: Sequence[str | Callable[[AnyArray, AnyArray], float] | Measure] = ()
    within: float | None = None
    senses: Senses = "auto"
    by: By = "both"
    coefficients: Coefficients = DEFAULT
    widen: Sequence[float] = ()

    def __post_init__(self) -> None:
        for what in CRITERIA:
            object.__setattr__(self, what, _as_lists(getattr(self, what)))
        known("senses", self.senses, ("auto", "free", "fixed", "searched"))
        known("way to keep statistics", self.by, ("both", "programs", "tabu"))
        if self.within is not None and not (is_finite(self.within) and 0 <= self.within < 1):
            raise InputError("Keep: within is a distance from one, from 0 to less than 1.", hint="For example within=0.005.")
        check_kind("coefficients", self.coefficients, Coefficients)
        if not all(is_finite(each) and each >= 0 for each in self.coefficients):
            raise InputError("Keep: coefficients must be numbers, zero or more.")
        _check_list("widen", self.widen, "caps, such as widen=[1.5, 2]")
        _check_list("measures", self.measures, "names and functions, such as measures=['ranks']")
        caps = [*self.widen]
        if not all(is_finite(cap) and cap >= 1 for cap in caps) or caps != sorted(set(caps)):
            raise InputError("Keep: widen lists caps, multiples of the protection level of one or more, each larger than the last.")
        if not self.asked and not self.measures:
            raise InputError("Keep: nothing is to be kept.", hint="For example Keep(mean='sensitive', slope='sensitive').")
        if self.measures and self.by == "programs":
            raise InputError("Keep: measures are kept by tabu search, not by linear programs.", hint="Leave out by, or say by='tabu'.")
        object.__setattr__(self, "measures", tuple(measure_named(each) for each in self.measures))
        object.__setattr__(self, "widen", tuple(float(cap) for cap in caps))

    @cached_property
    def asked(self) -> tuple[tuple[str, Where], ...]:
        """(criterion, cells) one by one."""
        return tuple((what, where) for what in CRITERIA for where in several(getattr(self, what)))

    def settled(self, resolve: Callable[[Where], Where]) -> Keep:
        """The same wishes with each set of cells as `resolve` knows it."""
        found = {what: [resolve(where) for where in several(getattr(self, what))] or None for what in CRITERIA}
        return dataclasses.replace(self, **found)  # type: ignore[arg-type]


def _check_list(name: str, given: object, of: str) -> None:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"Keep: {name} is a list of {of}.")


def _as_lists(where: Any) -> Any:
    """Sets of cells as the provenance can hold them: names, codes, and lists of Python numbers or marks."""
    if where is None or isinstance(where, str | Mapping | Cells):
        return where
    if isinstance(where, np.ndarray) and where.ndim == 1 and where.size:
        return where.tolist()
    if (isinstance(where, np.ndarray) and where.ndim != 1) or not isinstance(where, Iterable):
        raise InputError("Keep: a set of cells is 'sensitive', 'all', or a list of whole numbers.")
    if not (listed := [each if _is_number(each) else _as_lists(each) for each in where]):
        raise InputError("Keep: a list of cells is empty.", hint="Name cells, or leave the statistic out.")
    return listed


def several(where: Where | Sequence[Where] | None) -> list[Where]:
    """One set of cells or a list of them, as a list: numbers in a row are one set, and so are marks."""
    if where is None:
        return []
    if isinstance(where, str | Mapping | Cells | np.ndarray) or all(_is_number(each) for each in where):
        return [where]  # type: ignore[list-item]
    return list(where)  # type: ignore[arg-type]


def _is_number(each: object) -> bool:
    return isinstance(each, int | np.integer | np.bool_)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A set of cells of one problem and what is to be kept over it."""

    words: str
    cells: IntArray
    value: FloatArray
    mean: bool
    variance: bool
    correlation: bool
    slope: bool

    @property
    def size(self) -> int:
        return int(self.cells.size)

    @property
    def spread(self) -> bool:
        """Whether a statistic is asked that is about how the cells differ."""
        return self.variance or self.correlation or self.slope

    @cached_property
    def variance_before(self) -> float:
        return variance_of(self.value)

    @cached_property
    def gradient(self) -> FloatArray:
        """g with L(y) = g y: Cov(a, y) / Var(a) as a linear function of the deviations (S1 section 3.2)."""
        return np.asarray((self.value - self.value.mean()) / (self.size * self.variance_before))


def targets_of(keep: Keep, problem: ProtectionProblem) -> list[Target]:
    """The wishes in terms of the problem's cells, one target for each set of cells.

    Which cells are sensitive is not the user's choice: where there are none, or none that differ, there is nothing to keep over them.
    """
    wished: dict[tuple[int, ...], tuple[str, set[str]]] = {}
    for what, where in keep.asked:
        found = cells_of(where, problem)
        wished.setdefault(found.numbers, (found.words, set()))[1].add(what)
    targets = [_target(problem, Cells(numbers, words), criteria) for numbers, (words, criteria) in wished.items() if numbers]
    return [kept for target in targets if (kept := _meaningful(target)) is not None]


def _meaningful(target: Target) -> Target | None:
    """The target without a spread of cells that do not differ; None where nothing else is asked."""
    if not target.spread or target.variance_before > 0:
        return target
    if target.words != NAMED["sensitive"]:
        which = "a single cell has" if target.size == 1 else "cells that do not differ have"
        raise InputError(f"Keep: {which} no variance, correlation or slope to keep: {target.words}.")
    return dataclasses.replace(target, variance=False, correlation=False, slope=False) if target.mean else None


def _target(problem: ProtectionProblem, cells: Cells, criteria: set[str]) -> Target:
    numbers = np.array(cells.numbers, dtype=np.int64)
    return Target(
        words=cells.words,
        cells=numbers,
        value=problem.value[numbers].astype(np.float64),
        **{what: what in criteria for what in CRITERIA},
    )


def cells_of(where: Where, problem: ProtectionProblem) -> Cells:
    """The cells that are meant."""
    if isinstance(where, Cells):
        numbers, words = where
    elif isinstance(where, str):
        numbers, words = _cells_named(where, problem)
    elif isinstance(where, Mapping):
        raise InputError("Keep: cells by the codes of dimensions can be named in a table only.", hint="Give numbers of cells.")
    else:
        numbers = _numbers(where, problem.size)
        words = _listed(numbers)
    if not numbers and words == NAMED["sensitive"]:
        return Cells((), words)
    if not numbers:
        raise InputError(f"Keep: there are no cells in {words!r}.")
    if min(numbers) < 0 or max(numbers) >= problem.size:
        raise InputError("Keep: a cell is named that does not exist.", hint=f"Cells go from 0 to {problem.size - 1}.")
    return Cells(tuple(sorted(set(numbers))), words)


def _listed(numbers: Sequence[object]) -> str:
    count = len(set(numbers))
    return f"{count:,} {'cell' if count == 1 else 'cells'} listed"


def _numbers(where: Any, cells: int) -> tuple[int, ...]:
    """The cells of a list of numbers, or of a list with a mark for every cell."""
    given = np.asarray(where)
    if isinstance(where, Iterable) and any(isinstance(each, bool | np.bool_) for each in where):
        if given.dtype != np.bool_ or given.shape != (cells,):
            raise InputError(f"Keep: marks of cells are one for each of the {cells:,} cells.")
        return tuple(np.flatnonzero(given).tolist())
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise InputError("Keep: a set of cells is 'sensitive', 'all', or a list of whole numbers.")
    return tuple(given.tolist())


def _cells_named(where: str, problem: ProtectionProblem) -> tuple[tuple[int, ...], str]:
    if where == "sensitive":
        return tuple(np.flatnonzero(problem.sensitive).tolist()), NAMED[where]
    if where == "all":
        return tuple(range(problem.size)), NAMED[where]
    kind, _, rest = where.partition(":")
    numbers = [word.strip() for word in rest.split(",")]
    if kind in ("relation", "cells") and all(word.isascii() and word.isdigit() and len(word) < 12 for word in numbers):
        if kind == "cells":
            return tuple(int(word) for word in numbers), _listed(numbers)
        if len(numbers) == 1 and int(numbers[0]) < problem.rhs.size:
            return _parts(problem, int(numbers[0])), f"the parts of relation {numbers[0]}"
    raise InputError(f"Keep: {where!r} names no set of cells.", hint="Known: sensitive, all, relation:N, cells:N,N,...")


def _parts(problem: ProtectionProblem, relation: int) -> tuple[int, ...]:
    """The cells of a relation but for the one that is alone with its sign: the total."""
    matrix = problem.relations
    part = slice(matrix.indptr[relation], matrix.indptr[relation + 1])
    cells, negative = matrix.indices[part], matrix.data[part] < 0
    for side in (negative, ~negative):
        if side.sum() == 1 and side.size > 2:
            return tuple(cells[~side].tolist())
    return tuple(cells.tolist())


def keep_of(keep: Keep, table: Table, sensitive: BoolArray | None = None) -> Keep:
    """The same wishes with rows and levels as lists of cells, and each two-way measure laid out on the table.

    Statistics are those of cells that a reader sees: sums of sets of cells that no view shows are left out. Without `sensitive`
    the sensitive cells stay unresolved, as for tables whose sensitive cells differ; they must show all that is sensitive.
    """
    shown = np.ones(table.shown, dtype=np.bool_)
    seen = {"all": shown} if sensitive is None else {"all": shown, "sensitive": sensitive[: table.shown]}

    def resolve(where: Where) -> Where:
        if isinstance(where, Mapping):
            return cells_at(where, table)
        named = seen.get(where) if isinstance(where, str) else None
        return where if named is None else Cells(tuple(np.flatnonzero(named).tolist()), NAMED[str(where)])

    settled = keep.settled(resolve)
    measures = [_laid_out(each, table) if isinstance(each, Measure) and each.two_way else each for each in keep.measures]
    if table.shown < table.size:
        measures = [Measure(each.name, ShownCells(each.function, table.shown)) for each in measures if isinstance(each, Measure)]
    return dataclasses.replace(settled, measures=measures)


def cells_at(where: Mapping[str, Any], table: Table) -> Cells:
    """The cells of a row ({dimension: code}) or a level ({dimension: depth}); dimensions that are not named stand at their finest codes."""
    view = _view(where.get(TABLE), table)
    names = {dimension.name for dimension in view.dimensions}
    unknown = sorted(set(where) - names - {TABLE})
    if unknown:
        raise InputError(f"Keep: {unknown[0]!r} is no dimension of {view.name!r}.", hint=f"Known: {', '.join(sorted(names))}.")
    inside = np.ones(view.cell.size, dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        inside &= _chosen(dimension, where.get(dimension.name))[view.coordinates[:, axis]]
    words = ", ".join(f"{name} {choice if isinstance(choice, str) else f'level {choice}'}" for name, choice in where.items())
    return Cells(tuple(np.unique(view.cell[inside]).tolist()), f"the cells of {words}")


def _view(name: Any, table: Table) -> View:
    found = [view for view in table.views if name in (None, view.name)]
    if not found or (name is None and len(table.views) > 1):
        known = ", ".join(view.name for view in table.views)
        raise InputError("Keep: say which of the tables the cells are of.", hint=f'Give "{TABLE}": one of {known}.')
    return found[0]


def _chosen(dimension: Dimension, choice: Any) -> BoolArray:
    """Which codes of a dimension are meant: one by name, all of a depth by number, the finest where nothing is said."""
    depth = _depths(dimension)
    if choice is None:
        leaves = set(dimension.trees[0].leaves)
        return np.array([code in leaves for code in dimension.codes])
    if isinstance(choice, str):
        if choice not in dimension.position:
            raise InputError(f"Keep: {choice!r} is no code of {dimension.name!r}.")
        return np.asarray(np.arange(len(dimension.codes)) == dimension.position[choice])
    if isinstance(choice, bool) or not isinstance(choice, int | np.integer) or not (depth == choice).any():
        raise InputError(f"Keep: {dimension.name!r} has no level {choice!r}.", hint=f"Levels go from 0 (total) to {int(depth.max())}.")
    return np.asarray(depth == choice)


def _depths(dimension: Dimension) -> IntArray:
    """How deep below the total each code lies in the first tree that has it."""
    depth = np.full(len(dimension.codes), -1, dtype=np.int64)
    depth[dimension.position[dimension.total]] = 0
    for tree in range(len(dimension.trees)):
        parent = dimension.parents(tree)
        for _ in range(len(dimension.codes)):
            new = (depth < 0) & (parent >= 0) & (depth[parent] >= 0)
            if not new.any():
                break
            depth[new] = depth[parent[new]] + 1
    return depth


def _laid_out(measure: Measure, table: Table) -> Measure:
    """A measure of a two-way table on the finest codes of a table that is one."""
    view = table.views[0]
    if len(table.views) > 1 or len(view.dimensions) != 2:
        raise InputError(f"Keep: {measure.name} is of a table with two dimensions.", hint="Lay the cells out yourself: chi_square(layout).")
    rows, columns = (np.flatnonzero(_chosen(dimension, None)) for dimension in view.dimensions)
    layout = np.full((rows.size, columns.size), -1, dtype=np.int64)
    place = {(int(row), int(column)): int(cell) for (row, column), cell in zip(view.coordinates, view.cell, strict=True)}
    for r, row in enumerate(rows.tolist()):
        for c, column in enumerate(columns.tolist()):
            layout[r, c] = place.get((row, column), -1)
    return Measure(measure.name, TwoWay(LAID_OUT[measure.name], layout))
