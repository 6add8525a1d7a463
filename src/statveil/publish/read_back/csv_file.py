"""Public CSV files read back, SDMX-CSV among them: labels and numbers exactly as they were."""

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
from statveil.publish.read_back.shown import (
    ShownTable,
    check_size,
    each_once,
    expected_header,
    is_labelled,
    nothing_shown,
    pairs_of,
)
from statveil.tables.spec import Dimension
from statveil.tables.table import View

NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
SIGNS = "=+-@＝＋－＠"
_DATAFLOW = ("DATAFLOW",)
_STRUCTURE = ("STRUCTURE", "STRUCTURE_ID", "ACTION")
_OBSERVATION = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "DECIMALS")


def unguarded(text: str) -> str:
    """A text without the apostrophe that keeps a spreadsheet from taking it for a formula."""
    bare = text.lstrip("'")
    blank = bare[: len(bare) - len(bare.lstrip())]
    formula = "\t" in blank or "\r" in blank or bare[len(blank) :][:1] in tuple(SIGNS)
    return text[1:] if formula and len(bare) < len(text) else text


def read_csv(path: Path, view: View, decimals: int) -> ShownTable:
    """Codes, labels and numbers of a view, by the order of the columns."""
    table = _text_table(check_size(path))
    if [unguarded(name) for name in table.column_names] != expected_header(view, "value"):
        return nothing_shown(view, "the columns are not the table's dimensions")
    places = _placed(view.dimensions)
    return _shown(table, places, table.num_columns - 1)


def _shown(table: Any, places: Sequence[_DimensionColumns], number: int, **more: Any) -> ShownTable:
    coded = [_encoded(table[place.codes]) for place in places]
    text = table[number].combine_chunks().cast(pa.large_string())
    return ShownTable(
        codes=tuple(words for words, _ in coded),
        index=np.stack([index for _, index in coded], axis=1),
        number=pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.large_string()), text),
        labels=tuple(
            frozenset() if place.labels is None else pairs_of(code, _encoded(table[place.labels]))
            for place, code in zip(places, coded, strict=True)
        ),
        **more,
    )


def read_sdmx_csv(path: Path, view: View, decimals: int) -> ShownTable:
    """Codes and observations of a view; every attribute must be what a release says of all its cells."""
    table = _text_table(check_size(path))
    header = list(table.column_names)
    names = each_once(sdmx_id(dimension.name) for dimension in view.dimensions)
    start = next((each for each in (_STRUCTURE, _DATAFLOW) if tuple(header[: len(each)]) == each), ())
    if header != [*start, *names, *_OBSERVATION] or not start:
        return nothing_shown(view, "the columns are not the table's dimensions and attributes")
    flow = f"STATVEIL:{sdmx_id(view.name)}(1.0)"
    told = {"DATAFLOW": flow, "STRUCTURE": "dataflow", "STRUCTURE_ID": flow, "ACTION": "I"}
    fixed = {name: told[name] for name in start} | {"CONF_STATUS": "F", "DECIMALS": str(max(decimals, 0))}
    missing = pc.equal(table["OBS_VALUE"], "")
    wrong = [name for name, word in fixed.items() if not pc.all(pc.equal(table[name], word), min_count=0).as_py()]
    if not pc.all(pc.equal(table["OBS_STATUS"], pc.if_else(missing, "M", "A")), min_count=0).as_py():
        wrong.append("OBS_STATUS")
    places = [_DimensionColumns(name, len(start) + axis, None) for axis, name in enumerate(names)]
    return _shown(table, places, header.index("OBS_VALUE"), faults=tuple(f"{name}: another word than the release has" for name in wrong))


def sdmx_id(name: str) -> str:
    """A name as an SDMX identifier: capital letters, digits and underscores, a letter first."""
    letters = "".join(letter if letter.isascii() and (letter.isalnum() or letter == "_") else " " for letter in name)
    word = "_".join(part for part in letters.split(" ") if part).strip("_").upper() or "X"
    return word if word[0].isalpha() else f"X_{word}"


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
    header = [unguarded(name) for name in table.column_names]
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
    for dimension in dimensions:
        names += [dimension.name, *([f"{dimension.name}_label"] if is_labelled(dimension) else [])]
    return _placed(dimensions) if each_once([*names, "value"]) == header else []


def _placed(dimensions: Sequence[Dimension]) -> list[_DimensionColumns]:
    """Codes, and labels right behind them where a dimension has any."""
    places: list[_DimensionColumns] = []
    for dimension in dimensions:
        start = sum(1 if place.labels is None else 2 for place in places)
        places.append(_DimensionColumns(dimension.name, start, start + 1 if is_labelled(dimension) else None))
    return places


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
    return tuple(unguarded(word) for word in coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64)


def _labels(column: Any, words: tuple[str, ...], places: IntArray) -> dict[str, str]:
    _, first = np.unique(places, return_index=True)
    return {words[places[row]]: unguarded(column[int(row)].as_py()) for row in first}


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
