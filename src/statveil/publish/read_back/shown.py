"""What a public file shows of one view, whichever format it is in: codes, labels, and numbers exactly as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import IntArray
from statveil.core.errors import FormatError
from statveil.tables.spec import Dimension
from statveil.tables.table import View

Labelled = frozenset[tuple[str, str]]


class ReadBackTuning(NamedTuple):
    """What is still taken for a file of ours; beyond it a reader stops before it fills the memory. By judgement."""

    largest_file: int = 4 << 30
    """Bytes of a file, unpacked where it is packed."""
    most_words: int = 64 << 20
    """Bytes of the parts of a workbook that are kept: its list of sheets, its styles, its shared words."""
    piece: int = 1 << 20
    """Bytes read at a time."""


TUNING = ReadBackTuning()


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """Row i stands at code `codes[k][index[i, k]]` of dimension k; `number[i]` is its number as it is written, null where there is none."""

    codes: tuple[tuple[str, ...], ...]
    index: IntArray
    number: Any
    labels: tuple[Labelled, ...] = ()
    """(code, label) of each dimension as often as they differ; nothing where the file has no labels."""
    release: str | None = None
    """The hash of the release that the file says it is of, or its beginning, where it says one."""
    faults: tuple[str, ...] = ()
    """What is wrong with the file beside its numbers, in words."""
    part: bool = False
    """Whether it shows some codes only, and says so."""


@dataclass
class Column:
    """A column of words while it is read: each different one once."""

    words: dict[str, int] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)

    def add(self, word: str) -> None:
        self.places.append(self.words.setdefault(word, len(self.words)))


def shown_rows(codes: Sequence[Column], labels: Sequence[Column | None], number: Sequence[str | None], **more: Any) -> ShownTable:
    """Rows that were read one by one."""
    index = np.stack([np.array(column.places, dtype=np.int64) for column in codes], axis=1)
    return ShownTable(
        codes=tuple(tuple(column.words) for column in codes),
        index=index,
        number=pa.array(number, pa.large_string()),
        labels=tuple(_pairs(code, label) for code, label in zip(codes, labels, strict=True)),
        **more,
    )


def _pairs(codes: Column, labels: Column | None) -> Labelled:
    if labels is None:
        return frozenset()
    known, called = list(codes.words), list(labels.words)
    return frozenset((known[code], called[label]) for code, label in set(zip(codes.places, labels.places, strict=True)))


def pairs_of(codes: tuple[tuple[str, ...], IntArray], labels: tuple[tuple[str, ...], IntArray]) -> Labelled:
    """Every (code, label) that stands side by side in some row; each column is its different words and their places."""
    both = np.unique(np.stack([codes[1], labels[1]], axis=1), axis=0)
    return frozenset((codes[0][code], labels[0][label]) for code, label in both.tolist())


def shown_grid(codes: Sequence[Sequence[str]], number: Sequence[str | None], **more: Any) -> ShownTable:
    """Every combination of codes in order, the last dimension fastest."""
    shape = [len(each) for each in codes]
    index = np.stack(np.unravel_index(np.arange(len(number)), shape), axis=1).astype(np.int64)
    return ShownTable(codes=tuple(tuple(each) for each in codes), index=index, number=pa.array(number, pa.large_string()), **more)


def nothing_shown(view: View, fault: str) -> ShownTable:
    """A file whose frame is so wrong that no number has a place."""
    none = np.zeros((0, len(view.dimensions)), dtype=np.int64)
    return ShownTable(codes=((),) * len(view.dimensions), index=none, number=pa.array([], pa.large_string()), faults=(fault,))


def is_labelled(dimension: Dimension) -> bool:
    return any(dimension.label(code) != code for code in dimension.codes)


def expected_header(view: View, last: str) -> list[str]:
    """Codes, labels where a dimension has any, and the numbers; a name that is taken gets underscores."""
    names: list[str] = []
    for dimension in view.dimensions:
        names += [dimension.name, f"{dimension.name}_label"] if is_labelled(dimension) else [dimension.name]
    return each_once([*names, last])


def each_once(names: Iterable[str]) -> list[str]:
    taken: list[str] = []
    for name in names:
        free = name
        while free in taken:
            free = f"{free}_"
        taken.append(free)
    return taken


def check_size(path: Path, largest: int | None = None) -> Path:
    """The path of a file that is there and not too large to be ours."""
    most = TUNING.largest_file if largest is None else largest
    try:
        size = path.stat().st_size
    except OSError:
        raise FormatError(f"{path.name} is missing.", hint="Take it from the release again.") from None
    if size > most:
        raise FormatError(f"{path.name} is larger than any file of this release can be.", hint="Take it from the release again.")
    return path


def not_ours(path: Path, what: str) -> FormatError:
    return FormatError(f"{path.name} is not {what} that statveil wrote.", hint="Take it from the release again.")


class Digits(str):
    """A number in JSON, as it is written there."""

    __slots__ = ()


def exact_json(text: str | bytes, path: Path) -> Any:
    """JSON with its numbers as they are written; a key that is there twice has two meanings, so it is refused."""

    def once(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise FormatError(f"{path.name} names a key twice.", hint="Take it from the release again.")
        return content

    try:
        return json.loads(text, parse_int=Digits, parse_float=Digits, parse_constant=Digits, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise not_ours(path, "a JSON file") from None


def in_decimals(units: int, decimals: int) -> str:
    """A whole number of units of 10**-decimals as it is published."""
    sign, size = "-" if units < 0 else "", abs(units)
    if decimals <= 0:
        return f"{sign}{size * 10**-decimals}"
    return f"{sign}{size // 10**decimals}.{size % 10**decimals:0{decimals}d}"
