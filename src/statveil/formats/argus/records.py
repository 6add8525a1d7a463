"""Records of tau-ARGUS (.asc), in columns of fixed width or separated, by the metadata that describe them.

The records are copied once into a private file of separated fields, a line at a time, so that a file of any length needs little memory.
Leading blanks of a code belong to it. A number that equals its declared missing value is missing.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

from statveil.core.errors import FormatError, HierarchyError
from statveil.data.engines import engine_over_arrow, engine_over_csv
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import DecimalMark, Microdata
from statveil.data.readers import STATS_ENDINGS, read_stats
from statveil.formats.argus.lines import ArgusLine, check_text, find_file, require, single_byte
from statveil.formats.argus.metadata import ArgusVariable, Metadata, VariableRole
from statveil.formats.argus.trees import read_labels, read_tree

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d{1,3})?")
REQUESTED = "request rule applies"
"""The column that is added for a request variable: true where the code asks for protection."""
REQUESTED_FIRST, REQUESTED_SECOND = "first request rule applies", "second request rule applies"
"""The same for the first of its codes, and for the second."""


class ArgusRecordsTuning(NamedTuple):
    """How records are read."""

    piece: int = 1 << 22
    """Characters at a time; no line is longer. By judgement."""


TUNING = ArgusRecordsTuning()


def read_records(path: str | Path, metadata: Metadata, *, recoded: Mapping[str, Mapping[str, str]] | None = None) -> Microdata:
    """Records as text columns, named as in the metadata. `recoded` gives the new codes of some variables."""
    path = require(Path(path))
    if metadata.dialect == "spss":
        return _from_package(path, metadata, recoded or {})
    decimals = _Decimals()
    copy = tempfile.NamedTemporaryFile("w+", prefix="statveil-", suffix=".csv", encoding="utf-8", newline="")  # noqa: SIM115 - lives on
    _copy(path, metadata, decimals, recoded or {}, copy)
    engine = engine_over_csv(
        Path(copy.name),
        columns=_columns(metadata),
        delimiter=",",
        origin=path.name,
        line_of=lambda record: next(islice(record_lines(path), record - 1, None)).number,
        holds=copy,
    )
    return Microdata(engine=engine, origin=path.name, decimal=decimals.mark)


def _from_package(path: Path, metadata: Metadata, recoded: Mapping[str, Mapping[str, str]]) -> Microdata:
    """Records of an SPSS file (or one of its like), the variables found by name."""
    if path.suffix.lower() not in STATS_ENDINGS:
        raise metadata.fault(f"{path.name} is no file of SPSS, as <SPSS> says", hint="Leave <SPSS> out for a text file.")
    table = read_stats(path)
    columns = {variable.name: _package_column(table, metadata, variable) for variable in metadata.variables}
    for name, codes in recoded.items():
        columns[name] = [None if code is None else codes.get(code, code) for code in columns[name]]
    for request in metadata.of_role(VariableRole.REQUEST)[:1]:
        marks = [_asks(code or "", request) for code in columns[request.name]]
        columns |= {name: [each[place] for each in marks] for place, name in enumerate(_REQUEST_COLUMNS)}
    texts = pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
    return Microdata(engine=engine_over_arrow(texts, origin=path.name), origin=path.name, decimal=".")


def _package_column(table: pa.Table, metadata: Metadata, variable: ArgusVariable) -> list[str | None]:
    found = [name for name in table.column_names if name.casefold() == variable.name.casefold()]
    if not found:
        raise metadata.fault(f"the file of records has no variable {variable.name!r}", variable=variable)
    texts = [None if value is None else str(value).rstrip() for value in table[found[0]].to_pylist()]
    return [None if variable.numeric and text in variable.missing else text for text in texts]


_REQUEST_COLUMNS = (REQUESTED, REQUESTED_FIRST, REQUESTED_SECOND)
_KINDS = {"spss": "an SPSS file", "table": "a table", "fixed": "records", "free": "records"}


class _Decimals:
    """Points or commas in the numbers: one kind in a whole file."""

    def __init__(self) -> None:
        self.comma: ArgusLine | None = None
        self.point: ArgusLine | None = None

    @property
    def mark(self) -> DecimalMark:
        return "," if self.comma else "."

    def look(self, line: ArgusLine, number: str) -> None:
        if "," in number:
            self.comma = self.comma or line
        if "." in number:
            self.point = self.point or line
        if self.comma and self.point:
            raise line.fault("decimal commas and decimal points in one file", hint="Write all numbers with one of them.")


def _columns(metadata: Metadata) -> list[str]:
    requests = _REQUEST_COLUMNS if metadata.of_role(VariableRole.REQUEST) else ()
    return [*(variable.name for variable in metadata.variables), *requests]


def _asks(code: str, request: ArgusVariable) -> list[str]:
    """Whether a code asks for protection, and whether it is the first or the second that does."""
    asked = [code.strip() in codes for codes in (request.requests, request.requests[:1], request.requests[1:])]
    return ["true" if each else "false" for each in asked]


def _copy(path: Path, metadata: Metadata, decimals: _Decimals, recoded: Mapping[str, Mapping[str, str]], copy: IO[str]) -> None:
    writer = csv.writer(copy, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(_columns(metadata))
    request = next(iter(metadata.of_role(VariableRole.REQUEST)), None)
    asked = metadata.variables.index(request) if request else -1
    changed = [(place, recoded[each.name]) for place, each in enumerate(metadata.variables) if each.name in recoded]
    for fields in _rows(path, metadata, decimals):
        for place, codes in changed:
            fields[place] = codes.get(fields[place], fields[place])
        writer.writerow([*fields, *_asks(fields[asked], request)] if request else fields)
    copy.flush()


def _rows(path: Path, metadata: Metadata, decimals: _Decimals) -> Iterator[list[str]]:
    if metadata.dialect not in ("fixed", "free"):
        raise metadata.fault(f"the file describes {_KINDS[metadata.dialect]}, not a text file of records")
    split = _cutter(metadata) if metadata.dialect == "fixed" else _splitter(metadata)
    numeric = [(place, variable) for place, variable in enumerate(metadata.variables) if variable.numeric]
    for line in record_lines(path):
        fields = [text.rstrip() for text in split(line)]
        for place, variable in numeric:
            fields[place] = _number(line, variable, fields[place].lstrip(), decimals)
        yield fields


def record_rows(path: str | Path, metadata: Metadata) -> Iterator[list[str]]:
    """The fields of every record in the order of the variables, numbers with a decimal point."""
    numeric = [variable.numeric for variable in metadata.variables]
    for fields in _rows(require(Path(path)), metadata, _Decimals()):
        yield [field.replace(",", ".") if number else field for field, number in zip(fields, numeric, strict=True)]


def _number(line: ArgusLine, variable: ArgusVariable, number: str, decimals: _Decimals) -> str:
    if not number or number in variable.missing:
        return ""
    if not _NUMBER.fullmatch(number):
        raise line.fault(f"{variable.name!r} is not a number", hint="Do the columns of the .rda file fit the records?")
    decimals.look(line, number)
    return number


def _cutter(metadata: Metadata) -> Callable[[ArgusLine], list[str]]:
    places = [(variable, (variable.start or 1) - 1, (variable.start or 1) - 1 + (variable.width or 0)) for variable in metadata.variables]
    longest, end = max(((variable, end) for variable, _, end in places), key=lambda pair: pair[1])

    def cut(line: ArgusLine) -> list[str]:
        if len(line.text) < end:
            raise line.fault(
                f"the record has {len(line.text)} characters, but {longest.name!r} ends at {end}",
                hint="Do the columns of the .rda file fit the records?",
            )
        return [line.text[begin:stop] for _, begin, stop in places]

    return cut


def _splitter(metadata: Metadata) -> Callable[[ArgusLine], list[str]]:
    def split(line: ArgusLine) -> list[str]:
        fields = fields_of(line, metadata.separator)
        if len(fields) == len(metadata.variables) + 1 and not fields[-1].strip():
            fields.pop()  # a separator closes the line
        if len(fields) != len(metadata.variables):
            raise line.fault(f"the record has {len(fields)} fields, but the .rda file names {len(metadata.variables)} variables")
        return fields

    return split


def fields_of(line: ArgusLine, separator: str) -> list[str]:
    """Fields between separators; one in quotation marks may hold a separator, and blanks count in both kinds."""
    if '"' not in line.text:
        return line.text.split(separator)
    fields, at, mark = [], 0, re.escape(separator)
    field = re.compile(rf'[ ]*"((?:[^"]|"")*)"[ ]*(?={mark}|$)|([^"{mark}]*)(?={mark}|$)')
    while found := field.match(line.text, at):
        quoted, plain = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end() + 1
        if found.end() == len(line.text):
            return fields
    raise line.fault("a quotation mark stands where none may", hint="Quotation marks go around a whole field.")


def record_lines(path: Path) -> Iterator[ArgusLine]:
    """The lines that are not blank, read piece by piece."""
    encoding = _encoding(path)
    with path.open("r", encoding=encoding, newline="\n") as file:
        name, number = path.name, 0
        while raw := file.readline(TUNING.piece):
            if len(raw) >= TUNING.piece:
                raise FormatError(f"{path.name}, line {number + 1}: the line has no end.", hint="Is it a text file?")
            for part in raw.rstrip("\r\n").split("\r"):
                number += 1
                line = ArgusLine(file=name, number=number, text=part.rstrip("\x1a"))
                check_text(line)
                if line.text.strip():
                    yield line


def _encoding(path: Path) -> str:
    """UTF-8 if every byte fits, else one byte a character."""
    with path.open("r", encoding="utf-8-sig", newline="") as file:
        try:
            while file.read(TUNING.piece):
                pass
            return "utf-8-sig"
        except UnicodeDecodeError:
            pass
    with path.open("rb") as raw:
        pieces = iter(lambda: raw.read(TUNING.piece), b"")
        return "latin-1" if any(single_byte(piece) == "latin-1" for piece in pieces) else "cp1252"


def dimension_trees(data: Microdata, metadata: Metadata, variable: ArgusVariable, *, folders: Sequence[Path]) -> Hierarchy:
    """The tree of a variable: from its .hrc file, by its digits, or flat over the codes found; missing codes stand below the total."""
    found = data.codes(variable.name)
    missing = missing_codes(variable, found)
    labels = label_list(variable, folders)
    if variable.tree:
        file = tree_file(variable, folders, metadata)
        return padded_as(read_tree(file, lead=variable.lead, total=variable.total, labels=labels, missing=missing), found)
    try:
        return tree_without_file(variable, [code for code in found if code not in missing], missing, labels)
    except HierarchyError as error:
        raise metadata.fault(f"{variable.name!r}: {error.message.rstrip('.')}", variable=variable, hint=error.hint) from None


def tree_without_file(variable: ArgusVariable, ordinary: Sequence[str], missing: Sequence[str], labels: Mapping[str, str]) -> Hierarchy:
    """By the digits of the codes, or flat; missing codes stand below the total."""
    tree = (
        Hierarchy.from_digits(ordinary, digits=variable.digits, total=variable.total)
        if variable.digits
        else Hierarchy.flat(ordinary, total=variable.total)
    )
    parent = {**tree.parent, **dict.fromkeys(missing, variable.total)}
    return Hierarchy(parent=parent, total=variable.total, labels={code: label for code, label in labels.items() if code in parent})


def padded_as(tree: Hierarchy, found: Sequence[str]) -> Hierarchy:
    """The tree with its codes padded as the data pad theirs, where that is clear."""
    by_text = {code.strip(): code for code in tree.codes}
    strangers = {by_text[code.strip()]: code for code in found if code not in tree.parent and code.strip() in by_text}
    renamed = {old: new for old, new in strangers.items() if old not in found and old != tree.total}
    if not renamed:
        return tree
    parent = {renamed.get(code, code): renamed.get(above, above) for code, above in tree.parent.items()}
    return Hierarchy(parent=parent, total=tree.total, labels={renamed.get(code, code): label for code, label in tree.labels.items()})


def missing_codes(variable: ArgusVariable, found: Sequence[str]) -> list[str]:
    """The codes declared missing, padded as the data pad them."""
    by_text = {code.strip(): code for code in found}
    return [by_text.get(code.strip(), code.rjust(variable.width or 0)) for code in variable.missing if code.strip()]


def tree_file(variable: ArgusVariable, folders: Sequence[Path], metadata: Metadata) -> Path:
    """The .hrc file of a variable."""
    file = find_file(variable.tree or "", list(folders))
    if file is None:
        raise metadata.fault(
            f"{variable.name!r} has the tree {variable.tree!r}, and there is no such file",
            variable=variable,
            hint="Put it beside the .rda file.",
        )
    return file


def label_list(variable: ArgusVariable, folders: Sequence[Path]) -> Mapping[str, str]:
    """Labels are a courtesy: a code list that is not there changes no number."""
    file = find_file(variable.codelist, list(folders)) if variable.codelist else None
    return read_labels(file) if file else {}
