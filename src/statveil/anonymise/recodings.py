"""Ways to write a key field more coarsely, and menus of them.

A recoding maps every value of a field to a new one. A menu lists the recodings that a plan may choose from, from fine to coarse as a
rule; "as it is" is always the first choice (S4, s.2.2). Recodings of one menu need not be nested.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from statveil.data.hierarchy import Hierarchy
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter
from statveil.errors import FormatError, HierarchyError, InputError

AS_IT_IS = "as it is"
_CODES_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """Old value to new value. `others` says what happens to values not listed: they are refused, or kept as they are."""

    name: str
    new: Mapping[str, str] = field(repr=False)
    others: str = "refuse"

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        if self.others == "keep":
            return [self.new.get(value, value) for value in values]
        unknown = sorted({value for value in values if value not in self.new})
        if unknown:
            shown = ", ".join(repr(code) for code in unknown[:_CODES_SHOWN]) + (", ..." if len(unknown) > _CODES_SHOWN else "")
            raise HierarchyError(
                f"Column {column!r} has {len(unknown)} values that the recoding {self.name!r} lacks: {shown}.",
                hint="Add them to the recoding or hierarchy. Values are compared as text: blanks and leading zeros count.",
            )
        return [self.new[value] for value in values]


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Numbers into classes [edge, next edge); the first and the last class are open where `edges` end."""

    name: str
    width: float | None = None
    start: float = 0.0
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if (self.width is None) == (not self.edges):
            raise InputError(f"Intervals {self.name!r} need a width or edges, one of them.")
        if self.width is not None and not (math.isfinite(self.width) and self.width > 0 and math.isfinite(self.start)):
            raise InputError(f"Intervals {self.name!r}: the width must be a positive number.")
        if any(low >= high for low, high in zip(self.edges, self.edges[1:], strict=False)):
            raise InputError(f"Intervals {self.name!r}: the edges must rise.")

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        return [self._class(number) for number in numbers_of(values, column=column)]

    def _class(self, number: float) -> str:
        if self.width is not None:
            low = self.start + math.floor((number - self.start) / self.width) * self.width
            return _between(low, low + self.width)
        place = sum(edge <= number for edge in self.edges)
        if place == 0:
            return f"below {_short(self.edges[0])}"
        if place == len(self.edges):
            return f"{_short(self.edges[-1])} and over"
        return _between(self.edges[place - 1], self.edges[place])


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """Top and bottom coding: numbers at or beyond the ends share a code, all others stay as they are."""

    name: str
    bottom: float | None = None
    top: float | None = None

    def __post_init__(self) -> None:
        if self.bottom is None and self.top is None:
            raise InputError(f"Recoding {self.name!r} needs a bottom or a top.")
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise InputError(f"Recoding {self.name!r}: the bottom must lie below the top.")

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        return [self._code(value, number) for value, number in zip(values, numbers_of(values, column=column), strict=True)]

    def _code(self, value: str, number: float) -> str:
        if self.bottom is not None and number <= self.bottom:
            return f"{_short(self.bottom)} or less"
        if self.top is not None and number >= self.top:
            return f"{_short(self.top)} or more"
        return value


AnyRecoding = Recoding | Intervals | Extremes


@dataclass(frozen=True, kw_only=True)
class Menu:
    """The recodings a field may get besides staying as it is. Menus are added with `+`."""

    recodings: tuple[AnyRecoding, ...] = ()

    def __post_init__(self) -> None:
        names = [recoding.name for recoding in self.recodings]
        twice = [name for name in names if names.count(name) > 1 or name == AS_IT_IS]
        if twice:
            raise InputError(f"A menu has two recodings named {twice[0]!r}.", hint="Give each a name of its own.")

    def __add__(self, other: Menu) -> Menu:
        return Menu(recodings=self.recodings + other.recodings)

    @classmethod
    def from_hierarchy(cls, tree: Hierarchy) -> Menu:
        """One recoding for each level above the leaves, up to the total; a leaf that stops early moves when its level comes."""
        deepest = max((tree.depth[leaf] for leaf in tree.leaves), default=0)
        return cls(recodings=tuple(_level(tree, depth) for depth in range(deepest - 1, -1, -1)))

    @classmethod
    def from_arx_csv(cls, path: str | PathLike[str]) -> Menu:
        """ARX's form: no header, column 0 the value, one column for each level, the last often `*`."""
        file = require_file(Path(path))
        encoding = settle_encoding(file)
        lines = [fields for _, fields in records_of(file, encoding, sniff_delimiter(file, encoding))]
        widths = {len(fields) for fields in lines}
        if len(widths) != 1 or widths == {1}:
            raise FormatError(f"{file}: lines have different numbers of levels, or none.", hint="Each line: value;level 1;level 2;...")
        if len({fields[0] for fields in lines}) != len(lines):
            raise HierarchyError(f"{file}: a value is there twice.", hint="Keep one line for each value.")
        levels = range(1, widths.pop())
        return cls(recodings=tuple(Recoding(name=f"level {k}", new={fields[0]: fields[k] for fields in lines}) for k in levels))

    @classmethod
    def from_grc(cls, *paths: str | PathLike[str]) -> Menu:
        """mu-ARGUS recoding files, one recoding each, in the order given; values that none of its lines takes stay as they are."""
        return cls(recodings=tuple(read_grc(Path(path)) for path in paths))

    @classmethod
    def intervals(cls, *widths: float, start: float = 0.0) -> Menu:
        """Classes of equal width: `Menu.intervals(5, 10, 20)`."""
        return cls(recodings=tuple(Intervals(name=f"width {_short(width)}", width=width, start=start) for width in widths))

    @classmethod
    def own(cls, recodings: Mapping[str, Mapping[str, str]]) -> Menu:
        """Recodings by name, each a mapping of every value to its new one."""
        return cls(recodings=tuple(Recoding(name=name, new=dict(new)) for name, new in recodings.items()))


def _level(tree: Hierarchy, depth: int) -> Recoding:
    def ancestor(code: str) -> str:
        while tree.depth[code] > depth:
            code = tree.parent[code]
        return code

    return Recoding(name=f"level {depth}" if depth else "total", new={leaf: ancestor(leaf) for leaf in tree.leaves})


def numbers_of(values: Sequence[str], *, column: str) -> list[float]:
    """The values as numbers; messages tell how many are not, never which."""
    numbers = [_number(value) for value in values]
    words = sum(number is None for number in numbers)
    if words:
        raise InputError(
            f"Column {column!r} has {words} different values that are not numbers, and its menu has recodings for numbers.",
            hint="Name them as missing codes, or give a recoding that lists its values.",
        )
    return [number for number in numbers if number is not None]


def _number(value: str) -> float | None:
    try:
        number = float(value.strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _between(low: float, high: float) -> str:
    if low == int(low) and high == int(high):
        return _short(low) if high - low == 1 else f"{_short(low)}-{_short(high - 1)}"
    return f"{_short(low)} to under {_short(high)}"


def _short(number: float) -> str:
    return f"{number:g}" if number != int(number) else str(int(number))


class _Range(NamedTuple):
    low: str
    high: str

    def holds(self, value: str) -> bool:
        numbers = [_number(text) for text in (value, self.low, self.high)]
        low, high = self.low != "", self.high != ""
        if numbers[0] is not None and (numbers[1] is not None or not low) and (numbers[2] is not None or not high):
            return (not low or numbers[1] <= numbers[0]) and (not high or numbers[0] <= numbers[2])  # type: ignore[operator]
        text = value.strip()
        return (not low or self.low <= text) and (not high or text <= self.high)


@dataclass(frozen=True, kw_only=True)
class GrcRecoding(Recoding):
    """Lines `new: old, old-old, -old, old-`; the first line that holds a value takes it."""

    lines: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        return [self._new(value) for value in values]

    def _new(self, value: str) -> str:
        for new, ranges in self.lines:
            if any(_Range(*each).holds(value) for each in ranges):
                return new
        return value


def read_grc(path: Path) -> GrcRecoding:
    file = require_file(path)
    encoding = settle_encoding(file)
    lines: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for number, line in enumerate(file.read_text(encoding=encoding).splitlines(), start=1):
        text = line.strip()
        if text.upper().startswith("<TREERECODE>"):
            raise FormatError(f"{file}, line {number}: a recoding of a tree.", hint="Give the hierarchy itself as the field's menu.")
        if not text or text.startswith("<"):
            continue
        new, colon, old = text.partition(":")
        if not (colon and new.strip() and old.strip()):
            raise FormatError(f"{file}, line {number}: not a line of a recoding.", hint="Write `new: old, old-old, -old, old-`.")
        lines.append((new.strip(), tuple(_range(part) for part in re.split(r"[,\s]+", old.strip()) if part)))
    if not lines:
        raise FormatError(f"{file} holds no recoding.", hint="Write `new: old, old-old` on each line.")
    return GrcRecoding(name=path.stem, new={}, others="keep", lines=tuple(lines))


def _range(part: str) -> tuple[str, str]:
    if part.startswith("-"):
        return "", part[1:]
    low, dash, high = part.partition("-")
    return (low, high) if dash else (part, part)


class Resolved(NamedTuple):
    """A recoding on the values that a file holds: `code[old]` is the place of the new value in `values`."""

    name: str
    code: list[int]
    values: list[str]


def resolve(menu: Menu, values: Sequence[str], *, column: str) -> list[Resolved]:
    """The menu on the values found, "as it is" first."""
    every: list[tuple[str, Callable[[], list[str]]]] = [(AS_IT_IS, lambda: list(values))]
    every += [(each.name, lambda each=each: each.apply(values, column=column)) for each in menu.recodings]  # type: ignore[misc]
    return [_resolved(name, new()) for name, new in every]


def _resolved(name: str, new: Iterable[str]) -> Resolved:
    written = list(new)
    distinct = sorted(set(written))
    place = {value: number for number, value in enumerate(distinct)}
    return Resolved(name, [place[value] for value in written], distinct)
