"""What table is wanted: dimensions, measure, weight, holding, decimals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import HierarchyError, InputError
from statveil.core.show import OnlyWhatIsSet
from statveil.data.hierarchy import Hierarchy

Trees = Hierarchy | Sequence[Hierarchy] | None
WeightPolicy = Literal["units", "contribution"]
_COLUMNS = ("measure", "weight", "holding", "shadow", "request", "waiver")
_OF_RECORDS = ("measure", "weight", "holding", "shadow")
"""Columns whose contents belong to single records or owners: as codes of a dimension they would be published."""
_TREES = "Give a Hierarchy, a list of alternative ones, or None for a flat dimension of the codes found."
_PATTERN = "Example: [{'region': 'Sea', 'trade': 'farming'}]."


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One axis of a table: one or more trees over the same leaves, with one total on top.

    `codes` are the total, then the first tree depth first, then the aggregates that further trees add.
    """

    name: str
    trees: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        first = self.trees[0]
        for tree in self.trees[1:]:
            if set(tree.leaves) != set(first.leaves):
                raise HierarchyError(
                    f"The trees of dimension {self.name!r} have different leaves.",
                    hint="Alternative trees must group the same finest codes.",
                )
            if tree.total != first.total:
                raise HierarchyError(f"The trees of dimension {self.name!r} have different totals.", hint="Give them the same total code.")
            clash = sorted(set(tree.aggregates) & set(first.aggregates) - {first.total})
            if clash:
                raise HierarchyError(
                    f"Dimension {self.name!r}: aggregate {clash[0]!r} is in two trees.",
                    hint="Rename it in one tree; equal cells are merged anyway.",
                )

    @cached_property
    def codes(self) -> tuple[str, ...]:
        later = [code for tree in self.trees[1:] for code in tree.aggregates if code != tree.total]
        return (*self.trees[0].codes, *later)

    @cached_property
    def position(self) -> Mapping[str, int]:
        return {code: index for index, code in enumerate(self.codes)}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Every tree's branches; a total with several trees has the children of all of them, each once."""
        below: dict[str, dict[str, None]] = {}
        for tree in self.trees:
            for code, codes in tree.children.items():
                below.setdefault(code, {}).update(dict.fromkeys(codes))
        return {code: tuple(codes) for code, codes in below.items()}

    @property
    def total(self) -> str:
        return self.trees[0].total

    def label(self, code: str) -> str:
        return next((tree.labels[code] for tree in self.trees if code in tree.labels), code)

    def parents(self, tree: int) -> IntArray:
        """Index of each code's parent in that tree, -1 for the total and for codes that the tree lacks."""
        parent = self.trees[tree].parent
        return np.array([self.position[parent[code]] if code in parent else -1 for code in self.codes], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class TableSpec(OnlyWhatIsSet):
    """A table to build from records.

    dimensions: column -> a `Hierarchy`, several alternative ones over the same leaves, or None (flat: the codes found).
    measure: column to add up; None counts records.
    weight: sampling weight column.
    weight_policy: "units" repeats each unit weight times in the rules (weights are secret or estimates); "contribution" takes
        weight x value as what the respondent contributes (weights are known). With a holding column a holding's contribution is
        always the weighted sum of its records.
    holding: column that names the owner; the records of one holding are one respondent.
    shadow: column the rules look at instead of the measure.
    request, waiver: boolean columns (true/1): the respondent asked for protection; permits publication.
    decimals: decimals of the published numbers (negative: -3 publishes thousands); default: those of the measure.
    weight_decimals: round the weights to this many decimals; by default they are taken as they are, at most six.
    structural_zeros: positions that cannot hold a record, as {dimension: code}; omitted dimensions mean any code.

    name: of the table, in files and messages.

    >>> TableSpec(dimensions={"region": None, "size": None}, measure="turnover", holding="group").name
    'table'
    """

    dimensions: Mapping[str, Trees]
    measure: str | None = None
    weight: str | None = None
    weight_policy: WeightPolicy = "units"
    holding: str | None = None
    shadow: str | None = None
    request: str | None = None
    waiver: str | None = None
    decimals: int | None = None
    weight_decimals: int | None = None
    structural_zeros: Sequence[Mapping[str, str]] = field(default_factory=tuple)
    name: str = "table"

    def __post_init__(self) -> None:
        _check_dimensions(self.dimensions)
        self._check_columns()
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("The name of a table must be text and not empty.")
        if self.weight_policy not in ("units", "contribution"):
            raise InputError(f"Unknown weight_policy {self.weight_policy!r}.", hint="Known: 'units', 'contribution'.")
        for name in ("decimals", "weight_decimals"):
            if getattr(self, name) is not None and not is_whole(getattr(self, name)):
                raise InputError(f"{name} must be a whole number or None, not {type(getattr(self, name)).__name__}.")
        if isinstance(self.structural_zeros, Mapping | str) or not isinstance(self.structural_zeros, Sequence):
            raise InputError("structural_zeros must be a list.", hint=_PATTERN)
        for pattern in self.structural_zeros:
            if not isinstance(pattern, Mapping):
                raise InputError(f"structural_zeros holds {type(pattern).__name__}.", hint=_PATTERN)
            unknown = sorted(set(pattern) - set(self.dimensions))
            if unknown:
                raise InputError(f"structural_zeros names {unknown[0]!r}, which is not a dimension of {self.name!r}.")

    def _check_columns(self) -> None:
        for role in _COLUMNS:
            name = getattr(self, role)
            if name is not None and (not isinstance(name, str) or not name):
                raise InputError(f"{role} must be the name of a column or None.", hint="Names of columns are text and not empty.")
            if name is not None and role in _OF_RECORDS and name in self.dimensions:
                raise InputError(
                    f"Column {name!r} is the {role} and also a dimension: what single records hold would be published as codes.",
                    hint="Take another column, or group its values into classes in a column of its own.",
                )


def is_whole(number: object) -> bool:
    """Whether it is an integer, ours or numpy's; True and False are not."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _check_dimensions(dimensions: object) -> None:
    if not isinstance(dimensions, Mapping):
        raise InputError(
            f"dimensions must be a dict from columns to hierarchies, not {type(dimensions).__name__}.",
            hint="For flat dimensions: {'region': None, 'size': None}.",
        )
    if not dimensions:
        raise InputError("A table needs at least one dimension.")
    for name, trees in dimensions.items():
        if not isinstance(name, str) or not name:
            raise InputError("A dimension must be the name of a column.", hint="Names of columns are text and not empty.")
        _check_trees(name, trees)


def _check_trees(name: str, trees: object) -> None:
    if trees is None or isinstance(trees, Hierarchy):
        return
    if isinstance(trees, str) or not isinstance(trees, Sequence):
        raise InputError(f"Dimension {name!r} is given as {type(trees).__name__}.", hint=_TREES)
    if not trees:
        raise InputError(f"Dimension {name!r} has an empty list of hierarchies.", hint=_TREES)
    strangers = [tree for tree in trees if not isinstance(tree, Hierarchy)]
    if strangers:
        raise InputError(f"Dimension {name!r} has {type(strangers[0]).__name__} among its hierarchies.", hint=_TREES)
