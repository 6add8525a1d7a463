"""Trees of codes: from the total down to the codes found in the data."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from statveil.errors import HierarchyError

DEFAULT_TOTAL = "Total"


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """A tree of codes, of any depth, balanced or not.

    `parent` maps every code but the total to its parent. Codes keep the order in which they were given.
    """

    parent: Mapping[str, str]
    total: str = DEFAULT_TOTAL
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.total in self.parent:
            raise HierarchyError(f"The total {self.total!r} has a parent.", hint="Give the total another code.")
        orphans = [code for code, above in self.parent.items() if above != self.total and above not in self.parent]
        if orphans:
            raise HierarchyError(f"Code {orphans[0]!r} has parent {self.parent[orphans[0]]!r}, which the tree lacks.", hint="Add a line for the parent, or give the code the total as parent.")
        if len(self.codes) != len(self.parent) + 1:
            stray = sorted(set(self.parent) - set(self.codes))
            raise HierarchyError(f"The tree has a cycle through {stray[0]!r}.", hint="Follow its parents and mend one of them.")

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        below: dict[str, list[str]] = {}
        for code, above in self.parent.items():
            below.setdefault(above, []).append(code)
        return {code: tuple(codes) for code, codes in below.items()}

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes, the total first, depth first."""
        found: list[str] = []
        waiting = [self.total]
        while waiting:
            code = waiting.pop()
            found.append(code)
            waiting.extend(reversed(self.children.get(code, ())))
        return tuple(found)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(code for code in self.codes if code not in self.children and code != self.total)

    @cached_property
    def aggregates(self) -> tuple[str, ...]:
        return tuple(code for code in self.codes if code in self.children or code == self.total)

    @cached_property
    def depth(self) -> Mapping[str, int]:
        """Levels below the total: 0 for the total itself."""
        depth = {self.total: 0}
        for code in self.codes[1:]:
            depth[code] = depth[self.parent[code]] + 1
        return depth

    @classmethod
    def flat(cls, codes: Iterable[str], *, total: str = DEFAULT_TOTAL) -> Hierarchy:
        return cls(parent=dict.fromkeys(_distinct(codes), total), total=total)
