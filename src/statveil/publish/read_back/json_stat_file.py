"""Public JSON-stat files read back, numbers as they are written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from statveil.publish.read_back.shown import Digits, Labelled, ShownTable, check_size, exact_json, not_ours, nothing_shown, shown_grid
from statveil.tables.spec import Dimension
from statveil.tables.table import View

_KEYS = {"version", "class", "label", "id", "size", "dimension", "extension", "value"}
_CATEGORY = {"index", "label", "child"}


def read_json_stat_file(path: Path, view: View, decimals: int) -> ShownTable:
    """The dataset of a view: an array over all positions, or an object of those that are not zero."""
    content = exact_json(check_size(path).read_bytes(), path)
    try:
        names, told = list(content["id"]), content["extension"]
        if names != [dimension.name for dimension in view.dimensions] or set(content["dimension"]) != set(names):
            return nothing_shown(view, "the dimensions are not the table's")
        categories = [content["dimension"][name]["category"] for name in names]
        codes = [_codes(category["index"]) for category in categories]
        faults = [*_frame_faults(content, view, codes, decimals), *_tree_faults(view, categories)]
        more = {
            "labels": tuple(_called(category.get("label", {})) for category in categories),
            "release": str(told["provenance"]["release"]),
            "faults": tuple(faults),
        }
        return _shown(content["value"], view, codes, more, path)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise not_ours(path, "a JSON-stat file") from None


def _codes(index: Any) -> list[str]:
    return sorted(index, key=lambda code: int(index[code])) if isinstance(index, Mapping) else [str(code) for code in index]


def _called(labels: Mapping[str, str]) -> Labelled:
    return frozenset((code, str(label)) for code, label in labels.items())


def _frame_faults(content: Mapping[str, Any], view: View, codes: Sequence[Sequence[str]], decimals: int) -> list[str]:
    wrong = {
        "it is of another kind or version": (content["version"], content["class"]) != ("2.0", "dataset"),
        "it has another name": content["label"] != view.name,
        "it has keys that a release does not write": set(content) != _KEYS,
        "its sizes are not those of its dimensions": list(map(str, content["size"])) != [str(len(each)) for each in codes],
        "it tells other decimals": content["extension"]["decimals"] != str(decimals),
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]


def _tree_faults(view: View, categories: Sequence[Mapping[str, Any]]) -> list[str]:
    """A code under another total would add up to something else."""
    return [
        f"{dimension.name}: another tree"
        for dimension, category in zip(view.dimensions, categories, strict=True)
        if not set(category) <= _CATEGORY or category.get("child", {}) != _branches(dimension)
    ]


def _branches(dimension: Dimension) -> dict[str, list[str]]:
    return {code: list(below) for code, below in dimension.children.items()}


def _shown(value: Any, view: View, codes: Sequence[Sequence[str]], more: Mapping[str, Any], path: Path) -> ShownTable:
    size = math.prod(len(each) for each in codes)
    if isinstance(value, list):
        if len(value) != size:
            return nothing_shown(view, "it has not one number for each position")
        return shown_grid(codes, _numbers(value), **more)
    places = np.array([int(place) for place in value], dtype=np.int64)
    if ((places < 0) | (places >= size)).any():
        raise not_ours(path, "a JSON-stat file")
    index = np.stack(np.unravel_index(places, [len(each) for each in codes]), axis=1).astype(np.int64)
    number = pa.array(_numbers(list(value.values())), pa.large_string())
    return ShownTable(codes=tuple(tuple(each) for each in codes), index=index, number=number, **more)


def _numbers(values: Sequence[Any]) -> list[str | None]:
    """A text in the place of a number is none, whatever it says."""
    return [None if each is None else each if isinstance(each, Digits) else "?" for each in values]
