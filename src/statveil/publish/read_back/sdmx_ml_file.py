"""Public SDMX-ML messages (2.1, generic data) read back, observation by observation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from statveil.publish.read_back.csv_file import sdmx_id
from statveil.publish.read_back.shown import TUNING, Column, ShownTable, check_size, each_once, shown_rows
from statveil.publish.read_back.xml_events import XmlListener, read_xml
from statveil.tables.table import View

_AT = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
_GENERIC, _MESSAGE = f"{_AT}/data/generic ", f"{_AT}/message "
_KEY = f"{_GENERIC}ObsKey"
_PARTS = (_KEY, f"{_GENERIC}Attributes")


def read_sdmx_ml(path: Path, view: View, decimals: int) -> ShownTable:
    """Every observation: its key, its value where it has one, and the attributes that a release gives to all its cells."""
    message = _Message(view, decimals)
    listener = XmlListener(start=message.start, end=message.end, text=message.text)
    with check_size(path).open("rb") as stream:
        read_xml(stream, listener, name=path.name, most=TUNING.largest_file)
    return message.shown()


class _Message:
    """What was heard so far."""

    def __init__(self, view: View, decimals: int) -> None:
        self._names = each_once(sdmx_id(dimension.name) for dimension in view.dimensions)
        self._flow, self._decimals = sdmx_id(view.name), str(max(decimals, 0))
        self._columns = [Column() for _ in self._names]
        self._numbers: list[str | None] = []
        self._part, self._key, self._told = "", dict[str, str](), dict[str, str]()
        self._values: list[str] = []
        self._faults: dict[str, None] = {}
        self._id, self._in_id = "", False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == f"{_GENERIC}Obs":
            self._key, self._told, self._values = {}, {}, []
        elif name in _PARTS:
            self._part = name
        elif name == f"{_GENERIC}Value":
            self._hear(attributes)
        elif name == f"{_GENERIC}ObsValue":
            self._values.append(attributes.get("value", ""))
        elif name == f"{_MESSAGE}ID":
            self._in_id = True
        elif name == f"{_MESSAGE}DataSet" and attributes.get("structureRef") != self._flow:
            self._faults["it is of another table"] = None

    def _hear(self, attributes: Mapping[str, str]) -> None:
        into = self._key if self._part == _KEY else self._told
        name = attributes.get("id", "")
        if name in into:
            self._faults["an observation says one thing twice"] = None
        into[name] = attributes.get("value", "")

    def text(self, words: str) -> None:
        if self._in_id:
            self._id += words

    def end(self, name: str) -> None:
        if name == f"{_MESSAGE}ID":
            self._in_id = False
        elif name in _PARTS:
            self._part = ""
        elif name == f"{_GENERIC}Obs":
            self._observed()

    def _observed(self) -> None:
        for column, name in zip(self._columns, self._names, strict=True):
            column.add(self._key.pop(name, ""))
        number = self._values[0] if len(self._values) == 1 else None if not self._values else "?"
        self._numbers.append(number)
        status = "M" if number is None else "A"
        if self._key or self._told != {"OBS_STATUS": status, "CONF_STATUS": "F", "DECIMALS": self._decimals}:
            self._faults["an observation has other dimensions or attributes than the release"] = None

    def shown(self) -> ShownTable:
        return shown_rows(
            self._columns,
            [None] * len(self._columns),
            self._numbers,
            release=self._id.removeprefix("R"),
            faults=tuple(self._faults),
        )
