"""Ways to write a key field more coarsely, and menus of them.

A recoding maps every value of a field to a new one. A menu lists the recodings that a plan may choose from, from fine to coarse as a
rule; "as it is" is always the first choice (S4, s.2.2). Recodings of one menu need not be nested.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation
from itertools import pairwise
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import FormatError, HierarchyError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter

AS_IT_IS = "as it is"
_CODES_SHOWN = 10
_LONGEST_NUMBER, _LARGEST_POWER = 400, 308
"""Characters of a number written as text and its power of ten: beyond them it is a word."""
_EXACT = Context(prec=4 * _LONGEST_NUMBER, traps=[Inexact, InvalidOperation])
_WHOLE = re.compile(r"(-?[0-9]+)\.0")


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """Old value to new value.

    name: in the menu. new: by the old value. others: what happens to values not listed: "refuse", or "keep" as they are.

    >>> Recoding(name="by side", new={"Basel": "north", "Bern": "north", "Chur": "south"}).apply(["Bern", "Chur"], column="town")
    ['north', 'south']
    """

    name: str
    new: Mapping[str, str] = field(repr=False)
    others: str = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.new, Mapping) or not all(isinstance(text, str) for pair in self.new.items() for text in pair):
            raise InputError(f"Recoding {self.name!r} must map text to text.", hint="Write numbers as text: {'1': '10'}.")
        object.__setattr__(self, "new", dict(self.new))
        if self.others not in ("refuse", "keep"):
            raise InputError(f"Recoding {self.name!r}: others is neither 'refuse' nor 'keep'.")

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        found = [self._listed(value) for value in values]
        if self.others == "keep":
            return [value if new is None else new for value, new in zip(values, found, strict=True)]
        unknown = sorted({value for value, new in zip(values, found, strict=True) if new is None})
        if unknown:
            shown = ", ".join(repr(code) for code in unknown[:_CODES_SHOWN]) + (", ..." if len(unknown) > _CODES_SHOWN else "")
            raise HierarchyError(
                f"Column {column!r} has {len(unknown)} values that the recoding {self.name!r} lacks: {shown}.",
                hint="Add them to the recoding or hierarchy. Values are compared as text: blanks and leading zeros count.",
            )
        return [new for new in found if new is not None]

    def _listed(self, value: str) -> str | None:
        """The new value; frames write whole numbers with gaps among them as 1.0, and lists of codes say 1."""
        whole = None if value in self.new else _WHOLE.fullmatch(value)
        return self.new.get(whole[1] if whole else value)


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Numbers into classes [edge, next edge).

    name: in the menu. width: of all classes, counted from `start`. edges: instead; the first and the last class are open where they end.
    special: codes ("refused", 999) that are in no class: they stay as they are, values like others.
    Numbers are taken as they are written, 0.1 as one tenth, and everything is exact.

    >>> Intervals(name="tens", width=10, special=("999",)).apply(["34", "40", "999"], column="age")
    ['30-39', '40-49', '999']
    """

    name: str
    width: float | None = None
    start: float = 0.0
    edges: tuple[float, ...] = ()
    special: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_special(self.name, self.special)
        if (self.width is None) == (not self.edges):
            raise InputError(f"Intervals {self.name!r} need a width or edges, one of them.")
        numbers = [exact(number, self.name) for number in (self.start, *self.edges)]
        if self.width is not None and exact(self.width, self.name) <= 0:
            raise InputError(f"Intervals {self.name!r}: the width must be a positive number.")
        if any(low >= high for low, high in pairwise(numbers[1:])):
            raise InputError(f"Intervals {self.name!r}: the edges must rise.")

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        return _beside(self.special, values, lambda plain: self._classes(numbers_of(plain, column=column)))

    def _classes(self, numbers: Sequence[Decimal]) -> list[str]:
        bounds = self._by_width(numbers) if self.width is not None else self._by_edges(numbers)
        whole = all(_is_whole(number) for number in numbers)
        return [_class_name(low, high, whole=whole) for low, high in bounds]

    def _by_width(self, numbers: Sequence[Decimal]) -> list[tuple[Decimal | None, Decimal | None]]:
        start, width = exact(self.start, self.name), exact(self.width, self.name)
        found = list[tuple[Decimal | None, Decimal | None]]()
        for number in numbers:
            away = _EXACT.subtract(number, start)
            over = _EXACT.remainder(away, width)
            low = _EXACT.subtract(number, over if over >= 0 else _EXACT.add(over, width))
            found.append((low, _EXACT.add(low, width)))
        return found

    def _by_edges(self, numbers: Sequence[Decimal]) -> list[tuple[Decimal | None, Decimal | None]]:
        edges = [exact(edge, self.name) for edge in self.edges]
        ends = [None, *edges, None]
        places = [bisect_right(edges, number) for number in numbers]
        return [(ends[place], ends[place + 1]) for place in places]


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """Top and bottom coding: numbers at or beyond the ends share a code, all others stay as they are.

    name: in the menu. bottom, top: the ends. special: codes that stay as they are.

    >>> Extremes(name="old together", top=90).apply(["89", "90", "97"], column="age")
    ['89', '90 or more', '90 or more']
    """

    name: str
    bottom: float | None = None
    top: float | None = None
    special: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_special(self.name, self.special)
        if self.bottom is None and self.top is None:
            raise InputError(f"Recoding {self.name!r} needs a bottom or a top.")
        ends = [exact(end, self.name) for end in (self.bottom, self.top) if end is not None]
        if len(ends) == 2 and ends[0] >= ends[1]:
            raise InputError(f"Recoding {self.name!r}: the bottom must lie below the top.")

    def apply(self, values: Sequence[str], *, column: str) -> list[str]:
        bottom, top = (None if end is None else exact(end, self.name) for end in (self.bottom, self.top))

        def coded(plain: Sequence[str]) -> list[str]:
            return [_end(value, number, bottom, top) for value, number in zip(plain, numbers_of(plain, column=column), strict=True)]

        return _beside(self.special, values, coded)


def _check_special(name: str, special: object) -> None:
    if not isinstance(special, tuple) or not all(isinstance(code, str) for code in special):
        raise InputError(f"Recoding {name!r}: special codes are a tuple of texts.", hint="special=('refused', '999').")


def _beside(special: Sequence[str], values: Sequence[str], recode: Callable[[list[str]], list[str]]) -> list[str]:
    """The values recoded, special codes as they are: they are compared without the blanks around them."""
    kept = [value.strip() in special for value in values]
    new = iter(recode([value for value, own in zip(values, kept, strict=True) if not own]))
    return [value if own else next(new) for value, own in zip(values, kept, strict=True)]


def _end(value: str, number: Decimal, bottom: Decimal | None, top: Decimal | None) -> str:
    if bottom is not None and number <= bottom:
        return f"{_text(bottom)} or less"
    if top is not None and number >= top:
        return f"{_text(top)} or more"
    return value


AnyRecoding = Recoding | Intervals | Extremes


@dataclass(frozen=True, kw_only=True)
class Menu:
    """The recodings a field may get besides staying as it is. Menus are added with `+`.

    recodings: each with a name of its own.

    >>> [each.name for each in (Menu.intervals(5, 10) + Menu(recodings=(Extremes(name="old together", top=90),))).recodings]
    ['width 5', 'width 10', 'old together']
    """

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
    def intervals(cls, *widths: float, start: float = 0.0, special: Sequence[str] = ()) -> Menu:
        """Classes of equal width: `Menu.intervals(5, 10, 20)`; `special` codes stay as they are."""
        kept = tuple(special) if not isinstance(special, str) else special
        return cls(
            recodings=tuple(Intervals(name=f"width {exact_text(width)}", width=width, start=start, special=kept) for width in widths)  # type: ignore[arg-type]
        )

    @classmethod
    def own(cls, recodings: Mapping[str, Mapping[str, str]]) -> Menu:
        """Recodings by name, each a mapping of every value to its new one."""
        if not isinstance(recodings, Mapping):
            raise InputError("Own recodings go by name.", hint="Menu.own({'name': {'old': 'new', ...}}).")
        return cls(recodings=tuple(Recoding(name=name, new=new) for name, new in recodings.items()))


def _level(tree: Hierarchy, depth: int) -> Recoding:
    def ancestor(code: str) -> str:
        while tree.depth[code] > depth:
            code = tree.parent[code]
        return code

    return Recoding(name=f"level {depth}" if depth else "total", new={leaf: ancestor(leaf) for leaf in tree.leaves})


def numbers_of(values: Sequence[str], *, column: str) -> list[Decimal]:
    """The values as numbers; messages tell how many are not, never which."""
    numbers = [number_of(value) for value in values]
    words = sum(number is None for number in numbers)
    if words:
        raise InputError(
            f"Column {column!r} has {words} different values that are not numbers, and its menu has recodings for numbers.",
            hint="Name them as special codes, which stay as they are and are protected, as missing codes, or give a recoding that lists "
            "its values.",
        )
    return [number for number in numbers if number is not None]


def number_of(value: str) -> Decimal | None:
    text = value.strip().replace(",", ".")
    if len(text) > _LONGEST_NUMBER or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    return number if not number or abs(number.adjusted()) <= _LARGEST_POWER else None


def exact(number: Any, name: str) -> Decimal:
    """A user's number as it is written: 0.1 is one tenth."""
    found = None
    if isinstance(number, Real) and not isinstance(number, bool):
        found = number_of(str(int(number)) if isinstance(number, Integral) else repr(float(number)))
    if found is None:
        raise InputError(f"Recoding {name!r}: the width, the edges and the ends must be numbers.", hint="Infinite ones are not needed.")
    return found


def exact_text(number: float) -> str:
    return _text(exact(number, str(number)))


def _text(number: Decimal) -> str:
    """All digits that count, and no others."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _class_name(low: Decimal | None, high: Decimal | None, *, whole: bool) -> str:
    """Whole numbers from 0 to under 10 are 0-9."""
    if low is None or high is None:
        return f"below {_text(high)}" if high is not None else f"{_text(low or Decimal())} and over"
    if not (whole and _is_whole(low) and _is_whole(high)):
        return f"{_text(low)} to under {_text(high)}"
    last = _EXACT.subtract(high, Decimal(1))
    if low == last:
        return _text(low)
    return f"{_text(low)}{' to ' if low < 0 else '-'}{_text(last)}"


class _Range(NamedTuple):
    low: str
    high: str

    def holds(self, value: str) -> bool:
        numbers = [number_of(text) for text in (value, self.low, self.high)]
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
        if text.startswith("<"):
            _tell_unused(file, text)
        if not text or text.startswith("<"):
            continue
        new, colon, old = text.partition(":")
        if not (colon and new.strip() and old.strip()):
            raise FormatError(f"{file}, line {number}: not a line of a recoding.", hint="Write `new: old, old-old, -old, old-`.")
        lines.append((new.strip(), tuple(_range(part) for part in re.split(r"[,\s]+", old.strip()) if part)))
    if not lines:
        raise FormatError(f"{file} holds no recoding.", hint="Write `new: old, old-old` on each line.")
    return GrcRecoding(name=path.stem, new={}, others="keep", lines=tuple(lines))


def _tell_unused(file: Path, text: str) -> None:
    """Missing codes are a matter of the field, not of one recoding of it; labels of codes are not written."""
    word, _, rest = text.partition(">")
    codes = [code for code in re.split(r"[,;\s]+", rest.strip()) if code]
    if codes and word.upper() == "<MISSING":
        hint = "a value is missing under every recoding or none, so name the codes of the original file as missing_codes"
        warnings.warn(f"{file}: its missing codes {', '.join(codes)} are not used: {hint}.", stacklevel=4)
    elif codes:
        warnings.warn(f"{file}: {text} is not used.", stacklevel=4)


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
