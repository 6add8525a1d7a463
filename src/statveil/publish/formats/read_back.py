"""Our own public files read back, labels and numbers exactly as they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import FormatError, InputError
from statveil.publish.formats.files import unguard
from statveil.publish.formats.frames import distinct_names, has_labels
from statveil.tables.spec import Dimension

NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A public file: row i holds code `codes[k][index[i, k]]` of dimension k and `units[i] * 10**-decimals`, unless missing."""

    dimensions: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    labels: tuple[Mapping[str, str], ...]
    index: IntArray
    units: IntArray
    missing: BoolArray
    decimals: int


class _DimensionColumns(NamedTuple):
    """A dimension's name, the column of its codes and that of its labels, if it has one."""

    name: str
    codes: int
    labels: int | None


def read_public_csv(path: str | Path, dimensions: Sequence[Dimension] = ()) -> PublicTable:
    """Read a CSV file that `write_csv` made in its external edition.

    With the table's dimensions given, the columns are known by their order, even if one dimension is called like the labels of another.
    """
    table = _text_table(Path(path))
    header = [unguard(name) for name in table.column_names]
    places = _known_places(header, dimensions) or _guessed_places(header)
    coded = [_encoded(table[place.codes]) for place in places]
    units, missing, decimals = _numbers(table[table.num_columns - 1].combine_chunks(), Path(path).name)
    return PublicTable(
        dimensions=tuple(place.name for place in places),
        codes=tuple(words for words, _ in coded),
        labels=tuple(
            {} if place.labels is None else _labels(table[place.labels], *code) for place, code in zip(places, coded, strict=True)
        ),
        index=np.stack([places for _, places in coded], axis=1),
        units=units,
        missing=missing,
        decimals=decimals,
    )


def _known_places(header: list[str], dimensions: Sequence[Dimension]) -> list[_DimensionColumns]:
    """Where the dimensions stand in a header that is exactly theirs; nothing if it is another."""
    names: list[str] = []
    places: list[_DimensionColumns] = []
    for dimension in dimensions:
        labels = [f"{dimension.name}_label"] if has_labels(dimension) else []
        places.append(_DimensionColumns(dimension.name, len(names), len(names) + 1 if labels else None))
        names += [dimension.name, *labels]
    return places if distinct_names([*names, "value"]) == header else []


def _guessed_places(header: list[str]) -> list[_DimensionColumns]:
    named = header[:-1]
    labels = {place for place, (name, after) in enumerate(pairwise(named), start=1) if after == f"{name}_label"}
    return [
        _DimensionColumns(name, place, place + 1 if place + 1 in labels else None)
        for place, name in enumerate(named)
        if place not in labels
    ]


def _text_table(path: Path) -> Any:
    try:
        parsing = pa_csv.ParseOptions(newlines_in_values=True)
        names = pa_csv.open_csv(path, parse_options=parsing).schema.names
        options = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        table = pa_csv.read_csv(path, parse_options=parsing, convert_options=options)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {str(path)!r}.") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise FormatError(f"{path.name} is not a CSV file that statveil wrote.", hint="Write it again with to_csv.") from error
    if table.num_columns < 2:
        raise FormatError(f"{path.name} has {table.num_columns} column; codes and a value are needed.")
    return table


def _encoded(column: Any) -> tuple[tuple[str, ...], IntArray]:
    coded = column.combine_chunks().dictionary_encode()
    return tuple(unguard(word) for word in coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64)


def _labels(column: Any, words: tuple[str, ...], places: IntArray) -> dict[str, str]:
    _, first = np.unique(places, return_index=True)
    return {words[places[row]]: unguard(column[int(row)].as_py()) for row in first}


def _numbers(text: Any, name: str) -> tuple[IntArray, BoolArray, int]:
    missing = pc.equal(text, "")
    filled = pc.if_else(missing, None, text)
    decimals = [count for count in pc.unique(_places(filled)).to_pylist() if count is not None]
    if not pc.all(pc.fill_null(pc.match_substring_regex(filled, NUMBER), True)).as_py() or len(decimals) > 1:
        raise FormatError(f"{name}: the last column must hold numbers, all with the same decimals.", hint="Was the file edited?")
    units = pc.fill_null(pc.replace_substring(filled, ".", "").cast(pa.int64()), 0)
    return units.to_numpy(zero_copy_only=False), missing.to_numpy(zero_copy_only=False), decimals[0] if decimals else 0


def _places(text: Any) -> Any:
    point = pc.find_substring(text, ".")
    return pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.binary_length(text), point), 1))
