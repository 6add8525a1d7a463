"""Ready tables (.tab): a cell per line, its fields in the order of the .rda file. tau-ARGUS writes them as "intermediate" files too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from pathlib import Path

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import FormatError, HierarchyError, InputError, UnknownColumn
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.cells import ArgusStatus, CellTable, ExactColumn, amounts, read_count, read_number
from statveil.formats.argus.lines import ArgusLine, fits_line, read_lines
from statveil.formats.argus.metadata import ArgusVariable, Metadata, VariableRole, read_metadata, write_metadata
from statveil.formats.argus.records import fields_of, label_list, tree_file, tree_without_file
from statveil.formats.argus.trees import read_tree, write_tree
from statveil.tables.spec import Dimension

FREQUENCY_RESPONSE = "<freq>"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which columns of a .tab file to read; None takes the only one there is."""

    dimensions: Sequence[str] | None = None
    response: str | None = None
    shadow: str | None = None
    cost: str | None = None


def read_cells(
    path: str | Path, metadata: Metadata | str | Path | None = None, *, wanted: Wanted | None = None, folders: Sequence[Path] = ()
) -> CellTable:
    """Read a .tab file by its metadata (by default the .rda file beside it)."""
    path = Path(path)
    if not isinstance(metadata, Metadata):
        metadata = read_metadata(metadata or path.with_suffix(".rda"), table=True)
    folders = [*folders, *([metadata.path.parent] if metadata.path else []), path.parent]
    return _TabReader(metadata, wanted or Wanted(), folders).read(read_lines(path), path.name)


class _TabReader:
    def __init__(self, metadata: Metadata, wanted: Wanted, folders: Sequence[Path]) -> None:
        self.metadata, self.folders = metadata, folders
        self.spanning = _spanning(metadata, wanted.dimensions)
        self.response = _response(metadata, wanted.response)
        self.shadow = _named(metadata, wanted.shadow, VariableRole.SHADOW)
        self.cost = _named(metadata, wanted.cost, VariableRole.COST)

    def read(self, lines: list[ArgusLine], name: str) -> CellTable:
        if not lines:
            raise FormatError(f"{name}, line 1: the table has no cells.", hint="Is it cut off?")
        rows = [self._fields(line) for line in lines]
        self._check_marks(lines, rows)
        dimensions = tuple(self._dimension(variable, rows) for variable in self.spanning)
        coordinates = np.stack([self._places(axis, dimension, lines, rows) for axis, dimension in enumerate(dimensions)], axis=1)
        _refuse_repeated(lines, coordinates)
        status = self._statuses(lines, rows)
        value = self._amounts(self.response, lines, rows, "value", least=self.response.decimals)
        frequency = self._frequencies(lines, rows)
        _check(lines, value, frequency)
        empty = value.missing if frequency is None else value.missing | ((frequency == 0) & (value.units == 0))
        status = np.where(empty, int(ArgusStatus.EMPTY), np.where(status == ArgusStatus.EMPTY, int(ArgusStatus.UNKNOWN), status))
        return CellTable(
            response=self.response.name,
            dimensions=dimensions,
            coordinates=frozen_array(coordinates),
            value=ExactColumn(units=value.units, decimals=value.decimals, missing=frozen_array(empty)),
            status=frozen_array(status),
            frequency=frequency,
            shadow=self._optional(self.shadow, lines, rows, "shadow value"),
            cost=self._optional(self.cost, lines, rows, "cost"),
            top=tuple(self._amounts(each, lines, rows, "largest contribution") for each in self.metadata.of_role(VariableRole.TOP)),
            lower=self._levels(VariableRole.LOWER_LEVEL, lines, rows, "lower protection level"),
            upper=self._levels(VariableRole.UPPER_LEVEL, lines, rows, "upper protection level"),
        )

    def _fields(self, line: ArgusLine) -> list[str]:
        fields, wanted = fields_of(line, self.metadata.separator), len(self.metadata.variables)
        if len(fields) == wanted + 1 and not fields[-1].strip():
            fields.pop()  # a separator closes the line
        if len(fields) != wanted:
            raise line.fault(f"{len(fields)} fields, but the .rda file names {wanted} variables", hint="Is the separator the right one?")
        return fields

    def _check_marks(self, lines: list[ArgusLine], rows: list[list[str]]) -> None:
        """Points and commas in one file: one of them would be a mark of thousands, and a number a thousand times too small."""
        places = [place for place, variable in enumerate(self.metadata.variables) if variable.numeric]
        commas, points = (
            [line for line, row in zip(lines, rows, strict=True) if any(mark in row[place] for place in places)] for mark in ",."
        )
        if commas and points:
            raise max(commas[0], points[0], key=lambda line: line.number).fault(
                "decimal commas and decimal points in one file", hint="Write all numbers with one of them."
            )

    def _column(self, variable: ArgusVariable, rows: list[list[str]]) -> list[str]:
        place = self.metadata.variables.index(variable)
        return [row[place] for row in rows]

    def _dimension(self, variable: ArgusVariable, rows: list[list[str]]) -> Dimension:
        found = list(dict.fromkeys(_code(variable, text) for text in self._column(variable, rows)))
        below = [code for code in found if code != variable.total]
        missing = [next((code for code in below if code.strip() == word.strip()), word) for word in variable.missing]
        labels = label_list(variable, self.folders)
        if variable.tree:
            file = tree_file(variable, self.folders, self.metadata)
            tree = read_tree(file, lead=variable.lead, total=variable.total, labels=labels, missing=missing)
        else:
            tree = self._tree(variable, [code for code in below if code not in missing], missing, labels)
        return Dimension(name=variable.name, trees=(tree,))

    def _tree(self, variable: ArgusVariable, ordinary: list[str], missing: list[str], labels: Mapping[str, str]) -> Hierarchy:
        if variable.digits:
            # Of codes whose beginnings are their ancestors, those that no other continues are the finest.
            begun = {code[:length] for code in ordinary for length in accumulate(variable.digits) if length < len(code)}
            ordinary = [code for code in ordinary if code not in begun]
        try:
            return tree_without_file(variable, ordinary, missing, labels)
        except HierarchyError as error:
            raise self.metadata.fault(f"{variable.name!r}: {error.message.rstrip('.')}", variable=variable, hint=error.hint) from None

    def _places(self, axis: int, dimension: Dimension, lines: list[ArgusLine], rows: list[list[str]]) -> IntArray:
        """Places of the codes; where a table pads a code otherwise than its tree, the tree's is meant."""
        variable = self.spanning[axis]
        by_text = {code.strip(): place for code, place in dimension.position.items()}
        places = []
        for line, text in zip(lines, self._column(variable, rows), strict=True):
            place = dimension.position.get(_code(variable, text), by_text.get(text.strip()))
            if place is None:
                raise line.fault(f"{variable.name!r} has no code {text[:40]!r}", hint="Add it to the .hrc file, or mend the line.")
            places.append(place)
        return np.array(places, dtype=np.int64)

    def _statuses(self, lines: list[ArgusLine], rows: list[list[str]]) -> IntArray:
        found = self.metadata.of_role(VariableRole.STATUS)
        if not found:
            return np.zeros(len(lines), dtype=np.int64)
        letters = status_letters(self.metadata)
        statuses = []
        for line, text in zip(lines, self._column(found[0], rows), strict=True):
            status = letters.get(text.strip().upper())
            if status is None:
                raise line.fault(f"unknown status {text.strip()[:10]!r}", hint=f"Known: {', '.join(filter(None, letters))} and blank.")
            statuses.append(int(status))
        return np.array(statuses, dtype=np.int64)

    def _amounts(self, variable: ArgusVariable, lines: list[ArgusLine], rows: list[list[str]], what: str, *, least: int = 0) -> ExactColumn:
        numbers = [read_number(line, text, what) for line, text in zip(lines, self._column(variable, rows), strict=True)]
        return amounts(lines, numbers, what, least=least)

    def _optional(self, variable: ArgusVariable | None, lines: list[ArgusLine], rows: list[list[str]], what: str) -> ExactColumn | None:
        return None if variable is None else self._amounts(variable, lines, rows, what)

    def _levels(self, role: VariableRole, lines: list[ArgusLine], rows: list[list[str]], what: str) -> ExactColumn | None:
        """Levels may have any number of decimals: what does not fit is rounded up."""
        found = self.metadata.of_role(role)
        if not found:
            return None
        numbers: list[Decimal | None] = []
        for line, text in zip(lines, self._column(found[0], rows), strict=True):
            number = read_number(line, text, what)
            if number is not None and number < 0:
                raise line.fault(f"the {what} is below zero")
            numbers.append(number)
        return amounts(lines, numbers, what, up=True)

    def _frequencies(self, lines: list[ArgusLine], rows: list[list[str]]) -> IntArray | None:
        """A value without a frequency counts as one."""
        found = self.metadata.of_role(VariableRole.FREQUENCY)
        if not found:
            return None
        values = self._column(self.response, rows)
        counts = []
        for line, text, value in zip(lines, self._column(found[0], rows), values, strict=True):
            count = read_count(line, text, "frequency")
            counts.append((0 if value.strip() in ("", "-") else 1) if count is None else count)
        return frozen_array(np.array(counts, dtype=np.int64))


def _spanning(metadata: Metadata, names: Sequence[str] | None) -> list[ArgusVariable]:
    spanning = [variable for variable in metadata.variables if variable.recodable]
    if not spanning:
        raise metadata.fault("no variable spans a table", hint="Such a variable has the tag <RECODEABLE>.")
    if names is None:
        return spanning
    chosen = [_require(metadata, name) for name in names]
    left_out = [variable.name for variable in spanning if variable not in chosen]
    if left_out or len(set(names)) < len(names) or not all(variable.recodable for variable in chosen):
        raise InputError(
            f"The table must be spanned by all variables that span the file: {', '.join(each.name for each in spanning)}.",
            hint="A cell of a ready table has a code in each of them.",
        )
    return chosen


def _response(metadata: Metadata, name: str | None) -> ArgusVariable:
    if name is not None and name.casefold() == FREQUENCY_RESPONSE:
        found = metadata.of_role(VariableRole.FREQUENCY)
    elif name is not None:
        found = [_require(metadata, name)]
    else:
        found = metadata.of_role(VariableRole.RESPONSE) or metadata.of_role(VariableRole.FREQUENCY)
    if not found or found[0].role not in (VariableRole.RESPONSE, VariableRole.FREQUENCY, VariableRole.SHADOW, VariableRole.COST):
        raise metadata.fault("the file has no such response variable", hint="It needs the tag <NUMERIC> or <FREQUENCY>.")
    if name is None and len(found) > 1:
        raise metadata.fault("the file has several response variables", hint=f"Name one: {', '.join(each.name for each in found)}.")
    return found[0]


def _named(metadata: Metadata, name: str | None, role: VariableRole) -> ArgusVariable | None:
    return _require(metadata, name) if name is not None else next(iter(metadata.of_role(role)), None)


def _require(metadata: Metadata, name: str) -> ArgusVariable:
    variable = metadata.find(name)
    if variable is None:
        known = ", ".join(repr(each.name) for each in metadata.variables)
        raise UnknownColumn(
            f"{metadata.path.name if metadata.path else 'The metadata'} has no variable {name!r}.", hint=f"Its variables: {known}."
        )
    return variable


def _code(variable: ArgusVariable, text: str) -> str:
    """The total is its own code or an empty field; blanks before any other code belong to it."""
    return variable.total if text.strip() in ("", variable.total.strip()) else text.rstrip()


def _refuse_repeated(lines: list[ArgusLine], coordinates: IntArray) -> None:
    _, first, inverse = np.unique(coordinates, axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(len(lines)))
    if again.size:
        row = int(again[0])
        raise lines[row].fault(f"the cell is there already, on line {lines[int(first[inverse.reshape(-1)[row]])].number}")


def _check(lines: list[ArgusLine], value: ExactColumn, frequency: IntArray | None) -> None:
    if frequency is None:
        return
    for wrong, words in (
        (value.missing & (frequency > 0), "a frequency without a value"),
        ((frequency == 0) & (value.units != 0), "a value that is not zero, and the frequency 0"),
    ):
        if wrong.any():
            raise lines[int(np.argmax(wrong))].fault(words)


def status_letters(metadata: Metadata) -> dict[str, ArgusStatus]:
    """What each letter means; the file's own letters come before the usual ones."""
    own = {metadata.safe: ArgusStatus.SAFE, metadata.unsafe: ArgusStatus.UNSAFE_MANUAL, metadata.protect: ArgusStatus.PROTECTED}
    return {"": ArgusStatus.EMPTY, "E": ArgusStatus.EMPTY, "M": ArgusStatus.SECONDARY} | {
        letter.strip().upper(): status for letter, status in own.items()
    }


LETTERS = {
    **dict.fromkeys((ArgusStatus.SAFE, ArgusStatus.SAFE_MANUAL, ArgusStatus.UNKNOWN), "S"),
    **{status: "U" for status in ArgusStatus if status.unsafe},
    ArgusStatus.PROTECTED: "P",
    **{status: "M" for status in ArgusStatus if status.secondary},
    **{status: "E" for status in ArgusStatus if status.empty},
}


def write_cells(cells: CellTable, path: str | Path, *, separator: str = ";", decimal: str = ".") -> list[Path]:
    """Write a .tab file, its .rda file beside it, and a .hrc file for each dimension with more than one level."""
    path = Path(path)
    if cells.adjusted is not None:
        raise InputError("A .tab file has no place for adjusted values.", hint="Write code-value instead.")
    trees = {dimension.name: _tree_file(path, place, dimension) for place, dimension in enumerate(cells.dimensions)}
    for dimension in cells.dimensions:
        if (file := trees[dimension.name]) is not None:
            write_tree(dimension.trees[0], file, lead=_lead(dimension))
    write_metadata(_metadata_of(cells, separator, trees), path.with_suffix(".rda"))
    columns = [_quoted_codes(dimension, cells.coordinates[:, axis]) for axis, dimension in enumerate(cells.dimensions)]
    columns += _number_columns(cells, decimal)
    with path.open("w", encoding="utf-8", newline="\r\n") as file_:
        file_.writelines(f"{separator.join(row)}\n" for row in zip(*columns, strict=True))
    return [path, path.with_suffix(".rda"), *(file for file in trees.values() if file)]


def _tree_file(path: Path, place: int, dimension: Dimension) -> Path | None:
    if len(dimension.trees) > 1:
        raise InputError(
            f"A .tab file cannot hold the several trees of {dimension.name!r}.", hint="Write a JJ file: it holds all relations."
        )
    deep = max(dimension.trees[0].depth.values()) > 1
    return path.with_name(f"{path.stem}_{place + 1}.hrc") if deep else None


def _lead(dimension: Dimension) -> str:
    """A mark that no code begins with."""
    return next(mark for mark in ("@", "#", "~", "@@@", "@#@") if not any(code.startswith(mark) for code in dimension.codes))


def _metadata_of(cells: CellTable, separator: str, trees: dict[str, Path | None]) -> Metadata:
    spanning = []
    for dimension in cells.dimensions:
        file = trees[dimension.name]
        tree = {"hierarchical": True, "tree": file.name, "lead": _lead(dimension)} if file else {}
        spanning.append(ArgusVariable(name=dimension.name, recodable=True, total=dimension.total, **tree))  # type: ignore[arg-type]
    taken = {variable.name.casefold() for variable in spanning}
    rest = []
    for name, role, decimals in _roles(cells):
        while name.casefold() in taken:
            name += "_"  # noqa: PLW2901 - a dimension may be called like a column of ours
        taken.add(name.casefold())
        rest.append(ArgusVariable(name=name, role=role, decimals=decimals))
    return Metadata(dialect="table", separator=separator, variables=(*spanning, *rest))


def _roles(cells: CellTable) -> list[tuple[str, VariableRole, int]]:
    """What stands after the codes, in the order of an intermediate file."""
    columns = [(cells.response, VariableRole.RESPONSE, cells.value.decimals)]
    columns += [(f"{cells.response}_frequency", VariableRole.FREQUENCY, 0)] if cells.frequency is not None else []
    columns += [(f"{cells.response}_shadow", VariableRole.SHADOW, cells.shadow.decimals)] if cells.shadow else []
    columns += [(f"{cells.response}_cost", VariableRole.COST, cells.cost.decimals)] if cells.cost else []
    columns += [(f"{cells.response}_top{place}", VariableRole.TOP, top.decimals) for place, top in enumerate(cells.top, start=1)]
    columns += [(f"{cells.response}_status", VariableRole.STATUS, 0)]
    columns += [(f"{cells.response}_lower", VariableRole.LOWER_LEVEL, cells.lower.decimals)] if cells.lower else []
    return columns + ([(f"{cells.response}_upper", VariableRole.UPPER_LEVEL, cells.upper.decimals)] if cells.upper else [])


def _number_columns(cells: CellTable, mark: str) -> list[list[str]]:
    between = [each for each in (cells.shadow, cells.cost, *cells.top) if each]
    frequency = [] if cells.frequency is None else [[str(count) for count in cells.frequency.tolist()]]
    letters = [LETTERS[ArgusStatus(status)] for status in cells.status.tolist()]
    levels = [each for each in (cells.lower, cells.upper) if each]
    return [
        cells.value.texts(mark),
        *frequency,
        *(each.texts(mark) for each in between),
        letters,
        *(each.texts(mark) for each in levels),
    ]


def _quoted_codes(dimension: Dimension, places: IntArray) -> list[str]:
    for code in dimension.codes:
        if not fits_line(code) or code != code.rstrip():
            raise FormatError(f"A .tab file cannot hold the code {code!r} of {dimension.name!r}.", hint="Leave blanks at its end out.")
    quoted = ['"' + code.replace('"', '""') + '"' for code in dimension.codes]
    return [quoted[place] for place in places.tolist()]
