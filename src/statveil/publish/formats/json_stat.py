"""JSON-stat 2.0 (json-stat.org/full): one dataset per view, numbers written exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, IntArray, frozen_array
from statveil.core.errors import FormatError, InputError
from statveil.core.provenance import Provenance
from statveil.data.hierarchy import Hierarchy
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.frames import NO_WORDS, TableWords
from statveil.publish.formats.numbers import decimal_text
from statveil.tables.shown.positions import LARGEST_GRID, GridPositions, public_positions, shape_of
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, View

MOST_DECIMALS = 17


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """What the writers of public files ask of a release: the numbers, and where they came from."""

    protected: ProtectedTable
    provenance: Provenance


def read_json_stat(path: str | Path) -> PublishedTable:
    """Read a JSON-stat 2.0 dataset whose dimensions tell their trees, as `write_json_stat` makes them."""
    path = Path(path)
    content = _object(path)
    try:
        dimensions = tuple(_read_dimension(name, content["dimension"][name]["category"]) for name in content["id"])
        told = content.get("extension", {})
        view, value, decimals = _cells(content, dimensions, told.get("decimals"))
        made = told.get("provenance", {})
        provenance = Provenance(
            parameters={}, input_hash="", release_hash=str(made.get("release", "")), software=dict(made.get("software", {}))
        )
    except InputError as error:
        raise FormatError(f"{path.name}, line 1: {error.message}", hint=error.hint) from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        kind = type(error).__name__
        raise FormatError(f"{path.name}, line 1: not a JSON-stat 2.0 dataset ({kind}).", hint="Was the file edited?") from None
    return PublishedTable(protected=ProtectedTable(views=(view,), value=frozen_array(value), decimals=decimals), provenance=provenance)


def _object(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal, parse_int=Decimal)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path.name}, line {error.lineno}: not JSON ({error.msg}).", hint="Is the file cut off?") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{path.name}, line 1: not JSON text ({type(error).__name__}).") from None
    if not isinstance(content, Mapping) or content.get("class") != "dataset":
        raise FormatError(f"{path.name}, line 1: not a JSON-stat dataset.", hint='Its "class" must be "dataset".')
    return content


def _read_dimension(name: str, category: Mapping[str, Any]) -> Dimension:
    index = category["index"]
    codes = sorted(index, key=index.__getitem__) if isinstance(index, Mapping) else list(index)
    parent: dict[str, str] = {}
    for above, below in category.get("child", {}).items():
        for code in below:
            if code in parent:
                raise InputError(f"Dimension {name!r} has several trees.", hint="Only a dimension with one tree can be read back.")
            parent[code] = above
    tops = [code for code in codes if code not in parent]
    if len(tops) != 1 or len(codes) < 2:
        raise InputError(f"Dimension {name!r} does not tell which code is its total.", hint='Its category needs "child".')
    labels = {code: label for code, label in category.get("label", {}).items() if label != code}
    tree = Hierarchy(parent={code: parent[code] for code in codes if code in parent}, total=tops[0], labels=labels)
    if list(tree.codes) != codes:
        raise InputError(f"Dimension {name!r} has its codes in another order than its tree.")
    return Dimension(name=name, trees=(tree,))


def _cells(content: Mapping[str, Any], dimensions: Sequence[Dimension], decimals: Any) -> tuple[View, IntArray, int]:
    shape = [len(dimension.codes) for dimension in dimensions]
    if [int(size) for size in content["size"]] != shape or math.prod(shape) > LARGEST_GRID:
        raise InputError("The sizes are not those of the dimensions, or the table is too large to be read back.")
    numbers = _listed(content["value"], math.prod(shape))
    places = _decimals(numbers) if decimals is None else int(decimals)
    there = np.array([number is not None for number in numbers])
    units = np.array([_units(number, places) for number in numbers if number is not None], dtype=np.int64)
    coordinates = np.stack(np.unravel_index(np.arange(len(numbers)), shape), axis=1).astype(np.int64)
    view = View(
        name=str(content.get("label", "table")),
        dimensions=tuple(dimensions),
        coordinates=frozen_array(coordinates[there]),
        cell=frozen_array(np.arange(units.size)),
        structural=frozen_array(coordinates[~there]),
    )
    return view, units, places


def _listed(value: Any, size: int) -> list[Decimal | None]:
    """All numbers in order; an object lists those that are not zero."""
    if isinstance(value, Mapping):
        numbers: list[Decimal | None] = [Decimal(0)] * size
        for place, number in value.items():
            numbers[int(place)] = number
        return numbers
    if not isinstance(value, list) or len(value) != size:
        raise InputError(f"There must be {size} values, as many as the sizes say.")
    return value


def _decimals(numbers: Sequence[Decimal | None]) -> int:
    exponents = [number.as_tuple().exponent for number in numbers if number is not None]
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def _units(number: Decimal, decimals: int) -> int:
    if not isinstance(number, Decimal) or not abs(decimals) <= MOST_DECIMALS or abs(number) >= LARGEST_EXACT:
        raise InputError("A value is not a number, or too large.")
    units = number.scaleb(decimals)
    if units != units.to_integral_value() or abs(units) >= LARGEST_EXACT:
        raise InputError("A value has more decimals than the table, or is too large.")
    return int(units)


def dataset_text(release: AuditedTable, view: View, words: TableWords = NO_WORDS) -> str:
    """The dataset's frame by the standard library, its values put in as exact decimal text.

    A number that is withheld is null, and its `status` says what is told instead.
    """
    positions = public_positions(view, release.protected.value)
    content: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": view.name,
        "id": [dimension.name for dimension in view.dimensions],
        "size": list(shape_of(view)),
        "dimension": {each.name: _dimension(each, words.names.get(each.name, each.name)) for each in view.dimensions},
        **({"note": list(words.notes)} if words.notes else {}),
        **({"status": _statuses(view, positions, words.withheld)} if words.withheld else {}),
        "extension": {**({"unit": words.unit} if words.unit else {}), **_extension(release)},
    }
    head = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"value":{_values(release, view, positions)}}}\n'


def _dimension(dimension: Dimension, name: str) -> dict[str, Any]:
    category: dict[str, Any] = {
        "index": list(dimension.codes),
        "label": {code: dimension.label(code) for code in dimension.codes},
    }
    child = {code: list(below) for code, below in dimension.children.items()}
    return {"label": name, "category": {**category, "child": child} if child else category}


def _extension(release: AuditedTable) -> dict[str, Any]:
    return {
        "decimals": release.protected.decimals,
        "provenance": {"release": release.provenance.release_hash, "software": dict(release.provenance.software)},
    }


def _values(release: AuditedTable, view: View, positions: GridPositions) -> str:
    """An array over the whole grid, or an object of non-zero positions when the grid is too large."""
    text = decimal_text(positions.pick(release.protected.value), release.protected.decimals, positions.structural)
    words = ["null" if word is None else word for word in text.to_pylist()]
    if positions.is_grid:
        return "[" + ",".join(words) + "]"
    return "{" + ",".join(f'"{place}":{word}' for place, word in zip(_places(view, positions), words, strict=True)) + "}"


def _places(view: View, positions: GridPositions) -> list[int]:
    """Where positions are in the array of all values; beyond 64 bits if need be."""
    shape = np.array(shape_of(view), dtype=object)
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
    return [int(place) for place in positions.coordinates @ strides]


def _statuses(view: View, positions: GridPositions, withheld: str) -> dict[str, str]:
    return {str(place): withheld for place, gone in zip(_places(view, positions), positions.structural, strict=True) if gone}
