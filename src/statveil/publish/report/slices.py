"""The part of a view that the report shows: whole dimensions where they are short, the highest levels and largest codes where not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, IntArray
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.frames import FROZEN, IMPOSSIBLE, NONE, SENSITIVE, ZERO, reasons_by_cell, status_at
from statveil.publish.report.changes import TUNING, CellChanges, depths
from statveil.tables.shown.positions import EMPTY, STRUCTURAL, GridPositions, structural_rows
from statveil.tables.spec import Dimension
from statveil.tables.table import View

LETTERS = {SENSITIVE: "s", FROZEN: "f", ZERO: "z", NONE: "e", IMPOSSIBLE: "x"}
ADJUSTED, UNCHANGED = "a", "u"


def released_slice(release: AuditedTable, view: View) -> dict[str, Any]:
    """Codes and released numbers: all that the external report knows."""
    kept = kept_codes(view, release.protected.value)
    positions = _sub_grid(view, kept)
    values = exact(positions.pick(release.protected.value))
    hidden = positions.structural.tolist()
    return {
        "name": view.name,
        "decimals": release.protected.decimals,
        "dimensions": [_dimension(dimension, codes) for dimension, codes in zip(view.dimensions, kept, strict=True)],
        **_axes(kept),
        "released": [None if impossible else value for value, impossible in zip(values, hidden, strict=True)],
    }


def internal_slice(release: AuditedTable, view: View, changes: CellChanges) -> dict[str, Any]:
    """The same with originals, statuses and reasons."""
    positions = _sub_grid(view, kept_codes(view, release.protected.value))
    words, reason = reasons_by_cell(release.sensitivity)
    return {
        **released_slice(release, view),
        "finest": changes.decimals,
        "original": exact(positions.pick(changes.original)),
        "change": exact(positions.pick(changes.change)),
        "status": _letters(positions, release, changes),
        "reasons": words,
        "reason": positions.pick(reason).tolist(),
    }


def exact(values: IntArray) -> list[int] | list[str]:
    """Numbers that a browser reads exactly: as text where they are too large for it."""
    found: list[int] = values.tolist()
    return found if max(map(abs, found), default=0) < LARGEST_EXACT else [str(value) for value in found]


def kept_codes(view: View, released: IntArray) -> list[IntArray]:
    """Indices of the codes shown: by released numbers alone, so that the choice gives nothing away."""
    caps = [min(len(dimension.codes), TUNING.codes) for dimension in view.dimensions]
    while math.prod(caps) > TUNING.positions:
        caps[int(np.argmax(caps))] -= 1
    return [_largest(view, axis, cap, released) for axis, cap in enumerate(caps)]


def _largest(view: View, axis: int, cap: int, released: IntArray) -> IntArray:
    others = [k for k in range(len(view.dimensions)) if k != axis]
    margin = np.flatnonzero((view.coordinates[:, others] == 0).all(axis=1))
    total = np.zeros(len(view.dimensions[axis].codes), dtype=np.int64)
    total[view.coordinates[margin, axis]] = np.abs(released[view.cell[margin]])
    order = np.lexsort((-total, depths(view.dimensions[axis])))
    return np.sort(order[:cap])


def _sub_grid(view: View, kept: list[IntArray]) -> GridPositions:
    shape = tuple(codes.size for codes in kept)
    cell = np.full(math.prod(shape), EMPTY, dtype=np.int64)
    places, _ = _places(view, structural_rows(view), kept)
    cell[places] = STRUCTURAL
    places, inside = _places(view, view.coordinates, kept)
    cell[places] = view.cell[inside]
    coordinates = np.stack(np.unravel_index(np.arange(cell.size), shape), axis=1).astype(np.int64)
    return GridPositions(coordinates=coordinates, cell=cell, is_grid=True)


def _places(view: View, coordinates: IntArray, kept: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Flat places in the sub-grid of the rows that fall inside it, and which rows those are."""
    inside = np.ones(len(coordinates), dtype=np.bool_)
    flat = np.zeros(len(coordinates), dtype=np.int64)
    for axis, codes in enumerate(kept):
        place = np.full(len(view.dimensions[axis].codes), -1, dtype=np.int64)
        place[codes] = np.arange(codes.size)
        inside &= place[coordinates[:, axis]] >= 0
        flat = flat * codes.size + place[coordinates[:, axis]]
    return flat[inside], np.flatnonzero(inside)


def _dimension(dimension: Dimension, kept: IntArray) -> dict[str, Any]:
    codes, depth = [dimension.codes[place] for place in kept], depths(dimension)[kept]
    return {
        "name": dimension.name,
        "codes": codes,
        "labels": [dimension.label(code) for code in codes],
        "depth": depth.tolist(),
        "all": len(dimension.codes),
    }


def _axes(kept: list[IntArray]) -> dict[str, int]:
    """Rows: the dimension with most codes. Columns: the longest other one that still fits a page, else the shortest."""
    sizes = [codes.size for codes in kept]
    rows = int(np.argmax(sizes))
    others = [axis for axis in range(len(kept)) if axis != rows]
    fitting = [axis for axis in others if sizes[axis] <= TUNING.columns]
    columns = max(fitting, key=sizes.__getitem__) if fitting else min(others, key=sizes.__getitem__, default=-1)
    return {"rows": rows, "columns": columns}


def _letters(positions: GridPositions, release: AuditedTable, changes: CellChanges) -> str:
    changed = positions.pick(changes.changed.astype(np.int64)).tolist()
    statuses = status_at(positions, release.table, release.sensitivity).tolist()
    return "".join(LETTERS.get(status, ADJUSTED if moved else UNCHANGED) for status, moved in zip(statuses, changed, strict=True))
