"""PC-Axis files (.px, version 2013), as PxWeb and PxWin read them: one per view, numbers written exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from statveil.core.errors import InputError
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.files import identifier
from statveil.publish.formats.frames import NO_WORDS, TableWords
from statveil.publish.formats.numbers import decimal_text
from statveil.tables.shown.positions import public_positions
from statveil.tables.spec import Dimension
from statveil.tables.table import View

_NOT_APPLICABLE, _WITHHELD = '"."', '".."'
_PER_LINE = 20
_LONGEST_MATRIX = 20
_LONGEST_PIECE = 200


def file_text(release: AuditedTable, view: View, words: TableWords = NO_WORDS) -> str:
    """The last dimension is the heading, the others are the stub. A structural zero is ".", a number withheld is "..".

    An empty cell is a zero.
    """
    positions = public_positions(view, release.protected.value)
    if not positions.is_grid:
        raise InputError(f"{view.name!r} is too large for a PC-Axis file, which lists every cell.", hint="Publish CSV or Parquet.")
    cells = decimal_text(positions.pick(release.protected.value), release.protected.decimals, positions.structural).to_pylist()
    width = len(view.dimensions[-1].codes)
    gone = _WITHHELD if words.withheld else _NOT_APPLICABLE
    told = [gone if cell is None else cell for cell in cells]
    rows = [" ".join(told[begin : begin + width]) for begin in range(0, len(told), width)]
    return "".join(f"{line}\n" for line in (*_head(release, view, words), "DATA=", *rows[:-1], f"{rows[-1]};"))


def _head(release: AuditedTable, view: View, words: TableWords) -> Iterator[str]:
    decimals = max(release.protected.decimals, 0)
    names = [_quoted(dimension.name) for dimension in view.dimensions]
    matrix = _quoted(identifier(view.name)[:_LONGEST_MATRIX])
    yield from ('CHARSET="ANSI";', 'AXIS-VERSION="2013";', 'CODEPAGE="utf-8";', 'LANGUAGE="en";')
    yield from (f"DECIMALS={decimals};", f"SHOWDECIMALS={decimals};", f"MATRIX={matrix};", f"SUBJECT-CODE={matrix};")
    yield f"SUBJECT-AREA={_quoted(view.name)};"
    title = f"{view.name} by {', '.join(words.names.get(dimension.name, dimension.name) for dimension in view.dimensions)}"
    yield f"TITLE={_quoted(title)};"
    yield from (f"CONTENTS={_quoted(view.name)};", f"UNITS={_quoted(words.unit or 'as published')};")
    yield f"SOURCE={_quoted(release.provenance.release_hash)};"
    if words.withheld:
        yield f"DATASYMBOL2={_quoted(words.withheld)};"
    if names[:-1]:
        yield f"STUB={','.join(names[:-1])};"
    yield f"HEADING={names[-1]};"
    for name, dimension in zip(names, view.dimensions, strict=True):
        yield f"VALUES({name})={_listed(_values(dimension))};"
        yield f"CODES({name})={_listed(dimension.codes)};"
        if dimension.trees and max(dimension.trees[0].depth.values()) > 1:
            yield f"HIERARCHIES({name})={_tree(dimension)};"
    if words.notes:
        yield f"NOTE={_long('#'.join(words.notes))};"


def _values(dimension: Dimension) -> list[str]:
    """Labels, each once: one that two codes share has its code added."""
    labels = [dimension.label(code) for code in dimension.codes]
    count = Counter(labels)
    return [label if count[label] == 1 else f"{label} ({code})" for label, code in zip(labels, dimension.codes, strict=True)]


def _tree(dimension: Dimension) -> str:
    """The total, then parent and child of every branch."""
    tree = dimension.trees[0]
    branches = [f"{_quoted(tree.parent[code])}:{_quoted(code)}" for code in tree.codes[1:]]
    return _broken([_quoted(tree.total), *branches])


def _listed(words: Sequence[str]) -> str:
    return _broken([_quoted(word) for word in words])


def _broken(words: Sequence[str]) -> str:
    """A long list goes on in further lines."""
    return ",\n".join(",".join(words[begin : begin + _PER_LINE]) for begin in range(0, len(words), _PER_LINE))


def _long(text: str) -> str:
    """A long text in pieces, one a line; # begins a new line where it is shown."""
    return "\n".join(_quoted(text[begin : begin + _LONGEST_PIECE]) for begin in range(0, len(text), _LONGEST_PIECE))


def _quoted(word: str) -> str:
    """A quotation mark would end the text, and cannot be escaped."""
    return '"' + word.replace('"', "'").replace("\n", " ").replace("\r", " ") + '"'
