"""From a request to the table that it is a slice of: every chosen dimension down to a level, with all totals above it (T09).

Filters are dimensions of that table as well. What can be asked is decided by arithmetic on the request and the configuration alone: an
error tells nothing about the records, and is the same under every key (T20).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.server.dataset.query import TUNING, DimensionChoice, TableQuery
from statveil.tables.spec import Dimension

LOWEST = "lowest"


@dataclass(frozen=True, kw_only=True)
class DimensionLevel:
    """A level of a dimension as a dimension of its own: the tree cut off below it.

    `codes` are those that the level shows. `position[i]` is where the i-th leaf of the full dimension is in `cut.codes`.
    """

    id: str
    codes: tuple[str, ...]
    cut: Dimension
    position: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedDimension:
    """A dimension that readers may ask for: its trees, its levels from the highest to the lowest.

    `filter`: it may slice tables that do not show it. `population`: by several of its codes, which are added up.
    """

    id: str
    label: str
    full: Dimension
    levels: tuple[DimensionLevel, ...]
    filter: bool
    population: bool = False

    @property
    def total(self) -> str:
        return self.full.total

    @property
    def codes(self) -> tuple[str, ...]:
        return self.full.codes

    @cached_property
    def labels(self) -> Mapping[str, str]:
        return {code: self.full.label(code) for code in self.full.codes}

    @property
    def parents(self) -> tuple[Mapping[str, str], ...]:
        """One mapping for each alternative hierarchy."""
        return tuple(tree.parent for tree in self.full.trees)

    @cached_property
    def level_of(self) -> Mapping[str, DimensionLevel]:
        return {level.id: level for level in self.levels}

    @property
    def lowest(self) -> DimensionLevel:
        return self.levels[-1]

    def level(self, name: str) -> DimensionLevel:
        if name not in self.level_of:
            raise InputError(f"Dimension {self.id!r} has no level {name!r}.", hint=f"Its levels: {_listed(list(self.level_of))}.")
        return self.level_of[name]

    def level_for(self, codes: Sequence[str]) -> DimensionLevel:
        """The highest level whose table holds all these codes."""
        unknown = [code for code in codes if code not in self.full.position]
        if unknown:
            raise InputError(f"Dimension {self.id!r} has no code {unknown[0]!r}.", hint="The description of the dataset lists its codes.")
        return next(level for level in self.levels if all(code in level.cut.position for code in codes))

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The leaves of each code; a leaf is its own."""
        found: dict[str, frozenset[str]] = {}
        for tree in self.full.trees:
            for code in reversed(tree.codes):
                parts = tree.children.get(code)
                found[code] = frozenset[str]().union(*(found[part] for part in parts)) if parts else frozenset((code,))
        return found

    def normal_codes(self, codes: tuple[str, ...]) -> tuple[str, ...]:
        """The one way to write a set of codes: the code that is the same set, else the highest codes of the first tree inside it."""
        self.level_for(codes)
        inside = frozenset[str]().union(*(self.members[code] for code in codes))
        if sum(len(self.members[code]) for code in codes) > len(inside):
            raise InputError(f"Filter {self.id!r} has codes that overlap.", hint="Name each part once.")
        same = next((code for code in self.full.codes if self.members[code] == inside), None)
        if same is not None:
            return (same,)
        tree = self.full.trees[0]
        whole = {code for code in tree.codes if self.members[code] <= inside}
        return tuple(sorted(code for code in whole if tree.parent[code] not in whole))

    def cut_at(self, name: str) -> tuple[ServedDimension, IntArray]:
        """The dimension without what lies below a level, and for each of its leaves the place of the one above it that is left."""
        level = self.level(name)
        kept = [each for each in self.levels if each.cut.trees[0].parent.items() <= level.cut.trees[0].parent.items()]
        cut = served_dimension(
            self.id, self.label, level.cut, [[each.id for each in kept]], filter_=self.filter, population=self.population
        )
        place = {level.cut.position[code]: number for number, code in enumerate(level.cut.trees[0].leaves)}
        return cut, np.array([place[each] for each in level.position.tolist()], dtype=np.int64)

    def parent_of(self, code: str, shown: set[str]) -> str | None:
        """The code above, in the first tree that has it; None where that is not shown."""
        above = next((tree.parent[code] for tree in self.full.trees if code in tree.parent), None)
        return above if above in shown else None


def served_dimension(
    name: str, label: str, full: Dimension, names: Sequence[Sequence[str]] | None, *, filter_: bool, population: bool = False
) -> ServedDimension:
    """The dimension with its levels named: one list of names per tree, from below the total to the leaves."""
    depths = [max(tree.depth.values()) for tree in full.trees]
    names = names if names is not None else _default_names(depths)
    _check_names(name, names, depths)
    levels = [
        _level(full, tree, depth, names[place][depth - 1]) for place, tree in enumerate(full.trees) for depth in range(1, depths[place])
    ]
    levels.append(DimensionLevel(id=names[0][-1], codes=full.trees[0].leaves, cut=full, position=_positions(full, full)))
    return ServedDimension(id=name, label=label, full=full, levels=tuple(levels), filter=filter_, population=population)


def _default_names(depths: Sequence[int]) -> list[list[str]]:
    several = len(depths) > 1
    return [
        [f"{place}.{depth}" if several else str(depth) for depth in range(1, most)] + [LOWEST] for place, most in enumerate(depths, start=1)
    ]


def _check_names(name: str, names: Sequence[Sequence[str]], depths: Sequence[int]) -> None:
    flat = [each for names_of_tree in names for each in names_of_tree[:-1]] + [names[0][-1]]
    wrong = len(names) != len(depths) or any(len(given) != depth for given, depth in zip(names, depths, strict=False))
    if wrong or len(set(flat)) < len(flat) or len({given[-1] for given in names}) > 1:
        raise InputError(
            f"Dimension {name!r}: levels must name every level below the total once: {' and '.join(map(str, depths))} names.",
            hint="With several hierarchies give one list each; their last names are the same.",
        )


def _level(full: Dimension, tree: Hierarchy, depth: int, name: str) -> DimensionLevel:
    parent = {code: above for code, above in tree.parent.items() if tree.depth[code] <= depth}
    cut = Dimension(name=full.name, trees=(Hierarchy(parent=parent, total=tree.total, labels=tree.labels),))
    return DimensionLevel(id=name, codes=cut.trees[0].leaves, cut=cut, position=_positions(full, cut))


def _positions(full: Dimension, cut: Dimension) -> IntArray:
    """For each leaf of the full dimension, its ancestor among the leaves of the cut one."""
    tree = next(tree for tree in full.trees if cut.trees[0].parent.items() <= tree.parent.items())
    kept = set(cut.trees[0].leaves)
    found = []
    for leaf in full.trees[0].leaves:
        code = leaf
        while code not in kept:
            code = tree.parent[code]
        found.append(cut.position[code])
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The table protected for a request: its dimensions cut at their levels, in the order of the dataset."""

    dataset: str
    measure: str
    dimensions: tuple[ServedDimension, ...]
    levels: tuple[DimensionLevel, ...]

    @property
    def cuts(self) -> tuple[Dimension, ...]:
        return tuple(level.cut for level in self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(level.cut.codes) for level in self.levels)

    @cached_property
    def query(self) -> TableQuery:
        """What names the table: the request that shows all of it."""
        choices = tuple(DimensionChoice(id=each.id, level=level.id) for each, level in zip(self.dimensions, self.levels, strict=True))
        return TableQuery(dataset=self.dataset, measure=self.measure, dimensions=choices)


def resolve(query: TableQuery, dimensions: Sequence[ServedDimension], *, cells: int) -> tuple[TableQuery, Layout]:
    """The request in its one normal form, and the table that it is a slice of. Refused by arithmetic alone if it is too large (F07)."""
    by_id = {dimension.id: dimension for dimension in dimensions}
    for name in (*(choice.id for choice in query.dimensions), *query.filters):
        if name not in by_id:
            raise InputError(f"Dataset {query.dataset!r} has no dimension {name!r}.", hint=f"Its dimensions: {_listed(list(by_id))}.")
    for name in query.filters:
        if not by_id[name].filter:
            raise InputError(f"Dimension {name!r} is not open as a filter.", hint="Ask for it as a dimension, or use another filter.")
        if len(query.filters[name]) > 1 and not by_id[name].population:
            raise InputError(f"Filter {name!r} has several codes.", hint="Give one, or ask for it as a dimension with these codes.")
    filters = {name: codes if len(codes) == 1 else by_id[name].normal_codes(codes) for name, codes in query.filters.items()}
    query = replace(query, filters=filters)
    levels = dict(_levels(query, by_id))
    if prod(len(level.cut.codes) for level in levels.values()) > cells:
        raise InputError(
            f"The table would have more than {cells:,} cells with its totals.", hint="Leave out a dimension, or ask for a higher level."
        )
    chosen = tuple(replace(choice, level=None if choice.codes else levels[choice.id].id) for choice in query.dimensions)
    kept = [dimension for dimension in dimensions if dimension.id in levels]
    layout = Layout(
        dataset=query.dataset, measure=query.measure, dimensions=tuple(kept), levels=tuple(levels[dimension.id] for dimension in kept)
    )
    return replace(query, dimensions=chosen), layout


def _levels(query: TableQuery, by_id: Mapping[str, ServedDimension]) -> Iterator[tuple[str, DimensionLevel]]:
    for choice in query.dimensions:
        dimension = by_id[choice.id]
        if choice.codes is not None:
            yield choice.id, dimension.level_for(choice.codes)
        else:
            yield choice.id, dimension.lowest if choice.level is None else dimension.level(choice.level)
    for name, codes in query.filters.items():
        yield name, by_id[name].level_for(codes)


def shown_codes(choice: DimensionChoice, level: DimensionLevel, *, totals: bool) -> tuple[str, ...]:
    """The codes of a dimension that an answer shows: in the order of its tree, totals before their parts."""
    asked = set(choice.codes if choice.codes is not None else level.codes)
    wanted = set(asked)
    if totals:
        for tree in level.cut.trees:
            wanted |= {above for code in asked for above in _above(tree, code)}
    return tuple(code for code in level.cut.codes if code in wanted)


def _above(tree: Hierarchy, code: str) -> Iterator[str]:
    while code in tree.parent:
        code = tree.parent[code]
        yield code


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[: TUNING.most_listed]) + (", ..." if len(names) > TUNING.most_listed else "")
