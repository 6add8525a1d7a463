"""Trees of codes: from the total down to the codes found in the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import HierarchyError
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter

DEFAULT_TOTAL = "Total"
CHOOSE_TOTAL = "Choose another code for the total: Hierarchy.flat(codes, total='All'), or total = \"All\" in a job file."
_CODES_SHOWN = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class Hierarchy:
    """A tree of codes, of any depth, balanced or not.

    `parent` maps every code but the `total` to its parent; `labels` are words for codes. Codes are text, taken as they are:
    blanks, dots and leading zeros count. They keep the order in which they were given.

    >>> Hierarchy.from_dict({"north": ["A", "B"], "south": ["C"]}).children["north"]
    ('A', 'B')
    """

    parent: Mapping[str, str]
    total: str = DEFAULT_TOTAL
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fault = _fault(self.parent, self.total)
        if fault:
            raise HierarchyError(fault.message, hint=fault.hint)

    def __repr__(self) -> str:
        return f"Hierarchy({self.total!r}, {len(self.parent)} codes below)"

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

    def check_codes(self, codes: Iterable[str], *, column: str) -> None:
        """Refuse codes of a data column that are not leaves of this tree."""
        strangers = sorted(set(codes) - set(self.leaves))
        unknown = [code for code in strangers if code not in self.parent and code != self.total]
        if unknown:
            raise HierarchyError(
                f"Column {column!r} has {len(unknown)} codes that its hierarchy lacks: {_shown(unknown)}.",
                hint="Add them to the hierarchy, or recode them in the data. Codes are compared as text: blanks and leading zeros count.",
            )
        if strangers:
            raise HierarchyError(
                f"Column {column!r} has {len(strangers)} codes that are aggregates in its hierarchy: {_shown(strangers)}.",
                hint="Records must carry the finest codes: recode them, or add a leaf below for what is not classified further.",
            )

    @classmethod
    def flat(cls, codes: Iterable[str], *, total: str = DEFAULT_TOTAL) -> Hierarchy:
        return cls(parent=dict.fromkeys(_distinct(codes), total), total=total)

    @classmethod
    def from_dict(cls, nested: Mapping[str, Any] | Sequence[str], *, total: str = DEFAULT_TOTAL) -> Hierarchy:
        """From a dict of dicts: `{"North": {"N1": {}, "N2": {}}, "South": ["S1", "S2"], "Abroad": None}`."""
        pairs = list(_pairs(nested, total))
        _distinct(code for code, _ in pairs)
        return cls(parent=dict(pairs), total=total)

    @classmethod
    def from_digits(cls, codes: Iterable[str], *, digits: Sequence[int], total: str = DEFAULT_TOTAL) -> Hierarchy:
        """From codes whose prefixes are their ancestors: `digits=[2, 1, 1]` puts "01" above "011" above "0111".

        A code may stop at a higher level, as long as no other code continues it.
        """
        if not digits or min(digits) < 1:
            raise HierarchyError("digits must be one or more positive numbers.", hint="Example: digits=[2, 1, 1] for codes of four digits.")
        leaves = _distinct(codes)
        lengths = list(accumulate(digits))
        parent: dict[str, str] = {}
        for code in leaves:
            chain = _prefixes(code, lengths)
            parent.update(zip(chain, (total, *chain), strict=False))
        _refuse_continued(leaves, parent)
        return cls(parent=parent, total=total)

    @classmethod
    def from_csv(cls, path: str | PathLike[str], *, total: str | None = None) -> Hierarchy:
        """From a CSV file with columns code, parent and perhaps label, with or without those names as first line.

        A code without parent stands right below the total; if it is the only one, it is the total itself.
        """
        file = require_file(Path(path))
        return cls._from_lines(_read_lines(file), f"{file}, line", total)

    @classmethod
    def from_frame(cls, frame: Any, *, total: str | None = None) -> Hierarchy:
        """From a pandas, polars, pyarrow or DuckDB frame with columns code, parent and perhaps label, as `from_csv` takes them."""
        from statveil.data.frames import arrow_of_frame

        found = arrow_of_frame(frame)
        names = {name.strip().casefold(): name for name in found.column_names}
        if not {"code", "parent"} <= set(names):
            raise HierarchyError("The frame has no columns code and parent.", hint=f"Its columns: {', '.join(found.column_names)}.")
        columns = [found[names[name]].to_pylist() if name in names else [""] * found.num_rows for name in ("code", "parent", "label")]
        rows = enumerate(zip(*columns, strict=True), start=1)
        lines = [_line("The frame, row", number, ["" if each is None else each for each in row]) for number, row in rows]
        _refuse_repeated("The frame, row", lines)
        return cls._from_lines(lines, "The frame, row", total)

    @classmethod
    def _from_lines(cls, lines: Sequence[_CodeLine], where: str, total: str | None) -> Hierarchy:
        total = total or _total_among(lines)
        parent = {line.code: line.parent or total for line in lines if line.code != total or line.parent}
        fault = _fault(parent, total)
        if fault:
            number = next((f" {line.number}" for line in lines if line.code == fault.code), "")
            place = f"{where}{number}" if number else where.rsplit(", ", 1)[0]
            raise HierarchyError(f"{place}: {fault.message}", hint=fault.hint)
        return cls(parent=parent, total=total, labels={line.code: line.label for line in lines if line.label})


class _Fault(NamedTuple):
    code: str
    message: str
    hint: str


def _fault(parent: Mapping[str, str], total: str) -> _Fault | None:
    """The first thing that keeps these codes from being a tree."""
    for code in (total, *parent):
        if not isinstance(code, str) or not code:
            return _Fault(code, f"{code!r} cannot be a code.", "Codes are text and not empty: write '01', not 1.")
    if total in parent:
        below = "is itself one of the codes below it" if parent[total] == total else f"also stands below {parent[total]!r}"
        return _Fault(total, f"Code {total!r} is the total and {below}.", CHOOSE_TOTAL)
    for code, above in parent.items():
        if above != total and above not in parent:
            return _Fault(
                code,
                f"Code {code!r} has parent {above!r}, which the tree lacks.",
                "Add a line for the parent, or give the code the total as parent. Names of columns must be: code, parent, label.",
            )
    stray = _on_cycle(parent, total)
    return _Fault(stray, f"The tree has a cycle through {stray!r}.", "Follow its parents and mend one of them.") if stray else None


def _on_cycle(parent: Mapping[str, str], total: str) -> str | None:
    sound = {total}
    for start in parent:
        path: dict[str, None] = {}
        code = start
        while code not in sound:
            if code in path:
                return code
            path[code] = None
            code = parent[code]
        sound.update(path)
    return None


def _distinct(codes: Iterable[str]) -> list[str]:
    listed = list(codes)
    twice = [code for code, count in Counter(listed).items() if count > 1]
    if twice:
        raise HierarchyError(
            f"{len(twice)} codes are given more than once: {_shown(twice)}.", hint="A code has one place in the tree: give each code once."
        )
    return listed


def _shown(codes: Sequence[str]) -> str:
    return ", ".join(repr(code) for code in codes[:_CODES_SHOWN]) + (", ..." if len(codes) > _CODES_SHOWN else "")


def _pairs(nested: Mapping[str, Any] | Sequence[str] | None, above: str) -> Iterator[tuple[str, str]]:
    """(code, parent) of everything in a nested dict, a parent before its children."""
    if isinstance(nested, str) or not isinstance(nested, (Mapping, Sequence, type(None))):
        raise HierarchyError(
            f"Below {above!r} stands {type(nested).__name__}.", hint="Give a dict of codes, a list of codes, or None for a leaf."
        )
    for code in nested or ():
        yield code, above
        if isinstance(nested, Mapping):
            yield from _pairs(nested[code], code)


def _prefixes(code: str, lengths: Sequence[int]) -> list[str]:
    if len(code) not in lengths:
        raise HierarchyError(
            f"Code {code!r} has {len(code)} characters.", hint=f"By the digits given, codes have {' or '.join(map(str, lengths))}."
        )
    return [code[:length] for length in lengths if length <= len(code)]


def _refuse_continued(leaves: Sequence[str], parent: Mapping[str, str]) -> None:
    both = sorted(set(leaves) & set(parent.values()))
    if both:
        raise HierarchyError(
            f"{len(both)} codes are leaves and also begin other codes: {_shown(both)}.",
            hint="Give their records a finer code, for example with zeros at the end.",
        )


class _CodeLine(NamedTuple):
    number: int
    code: str
    parent: str
    label: str


def _read_lines(file: Path) -> list[_CodeLine]:
    encoding = settle_encoding(file)
    records = list(records_of(file, encoding, sniff_delimiter(file, encoding)))
    names = [name.strip().casefold() for name in records[0][1]] if records else []
    named = {"code", "parent"} <= set(names)
    columns = [names.index(name) if name in names else -1 for name in ("code", "parent", "label")] if named else [0, 1, 2]
    chosen = [(number, [fields[at] if 0 <= at < len(fields) else "" for at in columns], len(fields)) for number, fields in records[named:]]
    short = next((number for number, _, width in chosen if width < 2), None)
    lines = [_line(f"{file}, line", number, [] if number == short else fields) for number, fields, _ in chosen]
    _refuse_repeated(f"{file}, line", lines)
    return lines


def _line(where: str, number: int, fields: Sequence[Any]) -> _CodeLine:
    if not all(isinstance(each, str) for each in fields):
        raise HierarchyError(f"{where} {number}: a code is no text.", hint="Codes are text: write '01', not 1; cast the columns.")
    code, parent, label = fields or ("", "", "")
    if not code:
        raise HierarchyError(f"{where} {number}: no code and parent.", hint="Each line holds code, parent and perhaps a label.")
    return _CodeLine(number, code, parent, label)


def _refuse_repeated(where: str, lines: Sequence[_CodeLine]) -> None:
    seen: dict[str, _CodeLine] = {}
    for line in lines:
        first = seen.setdefault(line.code, line)
        if first is not line:
            fault = "is there twice" if first.parent == line.parent else f"has two parents, {first.parent!r} and {line.parent!r}"
            raise HierarchyError(
                f"{where} {line.number}: code {line.code!r} {fault} (first on line {first.number}).",
                hint="Keep one of the lines. Another way to group the same codes is a second hierarchy.",
            )


def _total_among(lines: Sequence[_CodeLine]) -> str:
    """The only code without a parent but with children, or the only parent that is not a code, or the default."""
    parents = {line.parent for line in lines if line.parent}
    tops = [line.code for line in lines if not line.parent]
    outside = parents - {line.code for line in lines}
    if len(tops) == 1 and tops[0] in parents and not outside:
        return tops[0]
    return outside.pop() if len(outside) == 1 and not tops else DEFAULT_TOTAL
