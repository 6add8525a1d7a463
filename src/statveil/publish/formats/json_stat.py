"""JSON-stat 2.0 (json-stat.org/full): one dataset per view, numbers written exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from statveil.publish.formats.numbers import decimal_text
from statveil.publish.formats.positions import Positions, public_positions, shape_of
from statveil.tables.spec import Dimension
from statveil.tables.table import View

if TYPE_CHECKING:
    from statveil.publish.release import Release


def dataset_text(release: Release, view: View, *, names: Mapping[str, str] | None = None) -> str:
    """The dataset's frame by the standard library, its values put in as exact decimal text. `names`: dimensions in words."""
    content = {
        "version": "2.0",
        "class": "dataset",
        "label": view.name,
        "id": [dimension.name for dimension in view.dimensions],
        "size": list(shape_of(view)),
        "dimension": {each.name: _dimension(each, (names or {}).get(each.name, each.name)) for each in view.dimensions},
        "extension": _extension(release),
    }
    positions = public_positions(view, release.protected.value)
    head = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"value":{_values(release, view, positions)}}}\n'


def _dimension(dimension: Dimension, name: str) -> dict[str, Any]:
    category: dict[str, Any] = {
        "index": list(dimension.codes),
        "label": {code: dimension.label(code) for code in dimension.codes},
    }
    child = {code: list(below) for code, below in dimension.children.items()}
    return {"label": name, "category": {**category, "child": child} if child else category}


def _extension(release: Release) -> dict[str, Any]:
    return {
        "decimals": release.protected.decimals,
        "provenance": {"release": release.provenance.release_hash, "software": dict(release.provenance.software)},
    }


def _values(release: Release, view: View, positions: Positions) -> str:
    """An array over the whole grid, or an object of non-zero positions when the grid is too large."""
    text = decimal_text(positions.pick(release.protected.value), release.protected.decimals, positions.structural)
    words = ["null" if word is None else word for word in text.to_pylist()]
    if positions.is_grid:
        return "[" + ",".join(words) + "]"
    shape = np.array(shape_of(view), dtype=object)
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
    return "{" + ",".join(f'"{place}":{word}' for place, word in zip(positions.coordinates @ strides, words, strict=True)) + "}"
