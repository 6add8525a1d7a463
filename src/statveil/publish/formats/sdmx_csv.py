"""SDMX-CSV: codes, the observation and its attributes. Every cell of a release is published: CONF_STATUS is F throughout.

Which cells were sensitive, and why, stays in the internal file: with the rule in hand it would help an attacker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from statveil.core.errors import InputError
from statveil.publish.formats.files import identifier
from statveil.publish.formats.frames import Column, Text, dimension_columns, released_column
from statveil.publish.formats.positions import Positions, public_positions
from statveil.tables.table import View

if TYPE_CHECKING:
    from statveil.publish.release import Release

Version = Literal["1.0", "2.0"]
NORMAL, CANNOT_EXIST = "A", "M"


def columns(release: Release, view: View, version: Version) -> list[Column]:
    positions = public_positions(view, release.protected.value)
    return [
        *_structure(view, positions, version),
        *_dimensions(view, positions),
        released_column(release, positions, "OBS_VALUE"),
        Text(name="OBS_STATUS", words=(NORMAL, CANNOT_EXIST), index=positions.structural.astype(np.int64)),
        _constant("CONF_STATUS", "F", positions),
        _constant("DECIMALS", str(max(release.protected.decimals, 0)), positions),
    ]


def _structure(view: View, positions: Positions, version: Version) -> list[Column]:
    dataflow = f"STATVEIL:{identifier(view.name)}(1.0)"
    if version == "1.0":
        return [_constant("DATAFLOW", dataflow, positions)]
    if version == "2.0":
        return [
            _constant("STRUCTURE", "dataflow", positions),
            _constant("STRUCTURE_ID", dataflow, positions),
            _constant("ACTION", "I", positions),
        ]
    raise InputError(f"Unknown SDMX-CSV version {version!r}. Known: 1.0, 2.0.")


def _dimensions(view: View, positions: Positions) -> list[Column]:
    """Codes under identifiers, each name once."""
    named: list[Column] = []
    for column in dimension_columns(view, positions, labels=False):
        name, taken = identifier(column.name), {other.name for other in named}
        while name in taken:
            name += "_"
        named.append(replace(column, name=name))
    return named


def _constant(name: str, word: str, positions: Positions) -> Text:
    return Text(name=name, words=(word,), index=np.zeros(positions.cell.size, dtype=np.int64))
